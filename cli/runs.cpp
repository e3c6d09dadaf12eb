// skipless runs [FOLDER ...]: the runs in folders, their state and losses; two of them compared; CSV.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/not_empty.h"
#include "cli/standard_output.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "configs/printable.h"
#include "train/grouped.h"
#include "train/run_folder.h"
#include "train/run_summary.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;

struct RunsArguments {
  std::vector<std::string> folders = {"."};
  bool csv = false;
  bool curves = false;
  bool compare = false;
};

std::string loss_text(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "not finite";
}

std::string last_loss(const RunSummary& run) {
  return run.evaluations.empty() ? "-" : loss_text(run.evaluations.back().loss);
}

std::string table(const std::vector<RunSummary>& runs) {
  size_t widest = 3;
  for (const auto& run : runs) widest = std::max(widest, printable(run.folder.string()).size());
  std::string text =
      fmt::format("{:<{}}  {:<10}{:<6}{:<12}{:<11}{:>9}{:>11}{:>9}{:>15}{:>9}{:>11}{:>12}\n", "run", widest, "state",
                  "kind", "block", "norm", "size", "parameters", "step", "tokens", "seconds", "tokens/s", "loss");
  for (const auto& run : runs) {
    const std::string folder = printable(run.folder.string());
    if (run.state == RunState::unreadable) {
      text += fmt::format("{:<{}}  unreadable: {}\n", folder, widest, printable_lines(run.problem));
      continue;
    }
    text +=
        fmt::format("{:<{}}  {:<10}{:<6}{:<12}{:<11}{:>9}{:>11}{:>9}{:>15}{:>9.0f}{:>11}{:>12}\n", folder, widest,
                    name_of(run.state), run.kind, run.block, run.norm, fmt::format("{}x{}", run.n_layer, run.d_model),
                    run.parameters, run.step, grouped(static_cast<double>(run.tokens)), run.seconds,
                    grouped(run.tokens_per_second), last_loss(run));
  }
  return text;
}

/// A field of CSV (RFC 4180).
std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

/// Empty where there is no number.
std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string csv(const std::vector<RunSummary>& runs) {
  std::string text =
      "run,state,kind,block,norm,n_layer,d_model,parameters,step,tokens,seconds,tokens_per_second,loss\n";
  for (const auto& run : runs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(run.folder.string()), name_of(run.state),
                        run.kind, run.block, run.norm, run.n_layer, run.d_model, run.parameters, run.step, run.tokens,
                        csv_number(run.seconds), csv_number(run.tokens_per_second),
                        run.evaluations.empty() ? "" : csv_number(run.evaluations.back().loss));
  }
  return text;
}

std::string curves(const std::vector<RunSummary>& runs) {
  std::string text = "run,block,norm,step,tokens,seconds,loss\n";
  for (const auto& run : runs) {
    for (const auto& at : run.evaluations) {
      text += fmt::format("{},{},{},{},{},{},{}\n", quoted(run.folder.string()), run.block, run.norm, at.step,
                          at.tokens, csv_number(at.seconds), csv_number(at.loss));
    }
  }
  return text;
}

/// What differs in the configs, and the losses where both were evaluated at one step.
std::string comparison(const RunSummary& first, const RunSummary& second) {
  std::string text = table({first, second}) + "\n";
  const auto differences = compare_configs(run_config_text(first.folder), run_config_text(second.folder));
  if (differences.empty()) text += "the same config\n";
  size_t of_one = 0;  // as a block's own settings, where the blocks differ
  for (const auto& difference : differences) {
    if (difference.left == kAbsentKey || difference.right == kAbsentKey) {
      ++of_one;
    } else {
      text += printable(fmt::format("{}: {} -> {}", difference.path, difference.left, difference.right)) + "\n";
    }
  }
  if (of_one > 0) text += fmt::format("{} more keys are in one of them only\n", of_one);
  std::string losses;
  for (const auto& a : first.evaluations) {
    const auto b = std::find_if(second.evaluations.begin(), second.evaluations.end(),
                                [&](const RunEvaluation& at) { return at.step == a.step; });
    if (b == second.evaluations.end()) continue;
    losses +=
        fmt::format("{:>9}{:>12}{:>12}{:>+12.4f}\n", a.step, loss_text(a.loss), loss_text(b->loss), b->loss - a.loss);
  }
  if (losses.empty()) return text + "\nno step at which both were evaluated\n";
  return text + fmt::format("\n{:>9}{:>12}{:>12}{:>12}\n", "step", "first", "second", "difference") + losses;
}

std::vector<RunSummary> summaries(const std::vector<std::string>& folders) {
  std::vector<RunSummary> runs;
  for (const auto& folder : folders) {
    for (const auto& run : find_runs(folder)) runs.push_back(summarize_run(run));
  }
  return runs;
}

void list_runs(const RunsArguments& given) {
  std::string text;
  if (given.compare) {
    if (given.folders.size() != 2) throw UserError("--compare needs two runs: skipless runs --compare RUN RUN");
    std::vector<RunSummary> pair;
    for (const auto& folder : given.folders) {
      run_config_text(folder);  // throws for what is no run
      pair.push_back(summarize_run(folder));
      if (pair.back().state == RunState::unreadable) throw UserError(pair.back().problem);
    }
    text = comparison(pair[0], pair[1]);
  } else {
    const auto runs = summaries(given.folders);
    if (runs.empty()) throw UserError(fmt::format("no run in {}", fmt::join(given.folders, ", ")));
    text = given.csv ? csv(runs) : given.curves ? curves(runs) : table(runs);
  }
  if (!write_standard_output(text)) throw RunError(standard_output_problem());
}

}  // namespace

void add_runs(CLI::App& app) {
  const auto given = std::make_shared<RunsArguments>();
  CLI::App* command = app.add_subcommand("runs", "List the runs in folders, or compare two");
  command->add_option("folder", given->folders, "Folders to look in, and below; default: this one")->check(not_empty());
  auto* csv = command->add_flag("--csv", given->csv, "The list as CSV");
  auto* curves = command->add_flag("--curves", given->curves, "Every evaluation of every run, as CSV")->excludes(csv);
  command
      ->add_flag("--compare", given->compare,
                 "Of two runs: what differs in their configs, and their losses at the same steps")
      ->excludes(csv)
      ->excludes(curves);
  command->footer(
      "States: running, done (the budget is spent), stopped (can be continued), begun (no checkpoint yet), imported, "
      "unreadable. loss: of the last evaluation on the validation data.");
  command->callback([given] { list_runs(*given); });
}

}  // namespace skipless
