#include "cli/run_options.h"

#include "cli/not_empty.h"
#include "cli/openmp.h"

namespace skipless {

void add_run_folder(CLI::App& command, RunOptions& options) {
  command.add_option("run", options.folder, "Folder of the run")->required()->check(not_empty());
}

void add_run_options(CLI::App& command, RunOptions& options) {
  add_checkpoint_option(command, options.checkpoint);
  command.add_option("--device", options.device, "cpu, cuda or cuda:N; default: the run's own")->check(not_empty());
}

void add_checkpoint_option(CLI::App& command, std::string& checkpoint) {
  command.add_option("--checkpoint", checkpoint, "Of the run: last, best (lowest validation loss), or a step")
      ->capture_default_str();
}

CLI::Option* add_tokenizer_option(CLI::App& command, std::string& tokenizer) {
  return command
      .add_option("--tokenizer", tokenizer,
                  "The run's tokenizer, where neither its folder nor its data have it: a file, or a folder with it")
      ->check(not_empty());
}

LoadedRun load_run(const RunOptions& options) {
  let_openmp_threads_sleep();
  return load_run(options.folder, options.checkpoint, options.device);
}

}  // namespace skipless
