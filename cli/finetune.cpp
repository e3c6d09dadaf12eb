// skipless finetune RUN --task TASK,...|all [key=value ...]
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/not_empty.h"
#include "cli/openmp.h"
#include "cli/option_checks.h"
#include "cli/recipes.h"
#include "cli/run_options.h"
#include "cli/standard_output.h"
#include "cli/version.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "train/finetune.h"

namespace skipless {

namespace {

constexpr const char* kGlueVariable = "SKIPLESS_GLUE";

struct FinetuneArguments {
  std::vector<std::string> arguments;  // RUN and key=value
  std::string recipe = "paper";
  std::string glue;
  std::string device;
  std::string out;
  std::string submit;
  bool json = false;
  bool keys = false;
  FinetuneOptions options;
};

/// A recipe's name, or a file.
FinetuneConfig read_recipe(const FinetuneArguments& given, const std::vector<std::string>& overrides) {
  const auto& recipes = finetune_recipes();
  const auto found = recipes.find(given.recipe);
  FinetuneConfig config = found != recipes.end()
                              ? parse_config<FinetuneConfig>(found->second, "recipe " + given.recipe, overrides)
                              : read_config_file<FinetuneConfig>(given.recipe, overrides);
  const char* const variable = std::getenv(kGlueVariable);
  if (!given.glue.empty()) {
    config.data.folder = given.glue;
  } else if (!config.data.folder && variable != nullptr && *variable != '\0') {
    config.data.folder = variable;
  }
  if (!config.data.folder) {
    throw UserError(
        fmt::format("where are the GLUE tasks? --glue DIR, {} or data.folder says it; scripts/get_glue.sh fetches them",
                    kGlueVariable));
  }
  return config;
}

void run_finetune(const FinetuneArguments& given) {
  if (given.keys) {
    if (!write_standard_output(describe_config<FinetuneConfig>())) throw RunError(standard_output_problem());
    return;
  }
  auto [run, overrides] = split_config_arguments(given.arguments);
  if (run.empty()) throw UserError("RUN is needed: the folder of a pre-trained encoder");
  if (given.options.tasks.empty()) throw UserError("--task is needed: names of tasks, or all");
  if (!given.device.empty()) overrides.push_back(fmt::format("train.device={}", given.device));
  FinetuneOptions options = given.options;
  const auto of_recipe = std::stable_partition(overrides.begin(), overrides.end(),
                                               [](const std::string& text) { return !text.starts_with("model."); });
  options.model.assign(of_recipe, overrides.end());
  overrides.erase(of_recipe, overrides.end());
  options.run = run;
  options.recipe = std::filesystem::path(given.recipe).stem().string();
  options.out = given.out;
  options.submit = given.submit;
  options.version = version_json();
  options.terminal = ::isatty(STDOUT_FILENO) == 1;
  const FinetuneConfig config = read_recipe(given, overrides);
  let_openmp_threads_sleep();
  const FinetuneOutcome outcome = finetune(config, options);
  constexpr int kSignalBase = 128;  // the shell's convention
  if (outcome.signal != 0) throw ExitCode{kSignalBase + outcome.signal};
  const std::string text = given.json ? finetune_json(outcome.title, outcome.results).dump(2) + "\n"
                                      : finetune_table(outcome.title, outcome.results);
  if (!write_standard_output(text)) throw RunError(standard_output_problem());
}

}  // namespace

void add_finetune(CLI::App& app) {
  const auto given = std::make_shared<FinetuneArguments>();
  CLI::App* command = app.add_subcommand("finetune", "Fine-tune a pre-trained encoder on tasks of GLUE");
  command
      ->add_option(
          "run", given->arguments,
          "Folder of the run, then key.path=value to override single keys of the recipe (all keys: --keys), and "
          "of the run's model (model.key.path=value)")
      ->check(not_empty());
  command
      ->add_option("--task", given->options.tasks,
                   "Tasks, with commas between them, or all: those of the paper's table")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(not_empty());
  command
      ->add_option("--glue", given->glue,
                   "Folder of the tasks (CoLA, SST-2, ...); default: SKIPLESS_GLUE, or the recipe's data.folder")
      ->check(not_empty());
  command->add_option("--recipe", given->recipe, "paper, cramming, or a YAML file")
      ->check(not_empty())
      ->capture_default_str();
  command->add_option("--seeds", given->options.seeds, "Runs of each task, from train.seed on")
      ->check(integer_between(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--out", given->out,
                   "Folder of all that is written; what is done there is not done again; default: RUN/finetune/RECIPE")
      ->check(not_empty());
  auto* untrained = command->add_flag("--untrained", given->options.untrained,
                                      "Begin with a model of the same shape that nothing trained");
  command
      ->add_flag("--from-mnli", given->options.from_mnli,
                 "RTE, STS-B and MRPC begin with what fine-tuning on MNLI made of the run, seed by seed")
      ->excludes(untrained);
  command
      ->add_option("--submit", given->submit,
                   "Folder for the leaderboard's TSV files: the test sets, predicted by the best seed of each task")
      ->check(not_empty());
  add_checkpoint_option(*command, given->options.checkpoint);
  add_tokenizer_option(*command, given->options.tokenizer);
  command->add_option("--device", given->device, "Short for train.device=...: cpu, cuda or cuda:N")->check(not_empty());
  command->add_flag("--json", given->json, "Print one JSON object instead of the table");
  command->add_flag("--keys", given->keys, "List all keys of a recipe with their defaults, and exit");
  command->footer(
      "SIGINT and SIGTERM save a checkpoint and end with code 130 or 143; the same command continues.\n"
      "results.json and results.md in the folder of --out grow with every task.");
  command->callback([given] { run_finetune(*given); });
}

}  // namespace skipless
