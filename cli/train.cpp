// skipless train CONFIG --run DIR [key=value ...]
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/not_empty.h"
#include "cli/openmp.h"
#include "cli/standard_output.h"
#include "cli/version.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "train/run_config.h"
#include "train/run_folder.h"
#include "train/run_key.h"
#include "train/trainer.h"

namespace skipless {

namespace {

struct TrainOptions {
  std::vector<std::string> arguments;  // CONFIG and key=value
  std::string run;
  std::string store;
  std::string device;
  bool where = false;
  bool keys = false;
};

RunConfig read_run_config(const TrainOptions& options) {
  auto [file, overrides] = split_config_arguments(options.arguments);
  if (!options.device.empty()) overrides.push_back("train.device=" + options.device);
  if (!file.empty()) return read_config_file<RunConfig>(file, overrides);
  if (options.run.empty()) throw UserError("--store DIR needs a config: it names the run");
  if (!is_run(options.run)) {
    throw UserError(fmt::format("'{}' is no run yet: a config is needed to start one", options.run));
  }
  return parse_config<RunConfig>(run_config_text(options.run), RunPaths{options.run}.config().string(), overrides);
}

void run_train(const TrainOptions& options) {
  if (options.keys) {
    if (!write_standard_output(describe_config<RunConfig>())) throw RunError(standard_output_problem());
    return;
  }
  if (options.run.empty() == options.store.empty()) {
    throw UserError("--run DIR is needed: the folder of the run; or --store DIR: a folder of runs");
  }
  const RunConfig config = read_run_config(options);
  const std::string run =
      options.run.empty() ? (std::filesystem::path(options.store) / run_key(config)).string() : options.run;
  if (options.where) {
    if (!write_standard_output(run + "\n")) throw RunError(standard_output_problem());
    return;
  }
  let_openmp_threads_sleep();
  const auto outcome = train(config, run, version_json(), /*terminal=*/::isatty(STDOUT_FILENO) == 1);
  constexpr int kSignalBase = 128;  // the shell's convention
  if (outcome.signal != 0) throw ExitCode{kSignalBase + outcome.signal};
}

}  // namespace

void add_train(CLI::App& app) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command = app.add_subcommand("train", "Train a model, or continue a run");
  command
      ->add_option("config", options->arguments,
                   "YAML config, then key.path=value to override single keys (all keys: --keys). "
                   "May be left out to continue a run with its own config")
      ->check(not_empty());
  command
      ->add_option("--run", options->run,
                   "Folder of the run: config, metrics, log, checkpoints. An existing run is continued")
      ->check(not_empty());
  command
      ->add_option(
          "--store", options->store,
          "Instead of --run: the folder is DIR/KEY, its name made of what the config computes, so that no run is "
          "trained twice")
      ->check(not_empty());
  command->add_flag("--where", options->where, "Print the run's folder, and exit");
  command->add_option("--device", options->device, "Short for train.device=...: cpu, cuda or cuda:N")
      ->check(not_empty());
  command->add_flag("--keys", options->keys, "List all keys of a config with their defaults, and exit");
  command->footer(
      "SIGINT and SIGTERM save a checkpoint and end with code 130 or 143; a second one ends at once.\n"
      "Codes: 0 done, 1 failed while running, 2 a mistake in the arguments, the config or a file.");
  command->callback([options] { run_train(*options); });
}

}  // namespace skipless
