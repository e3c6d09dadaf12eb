// The options of commands that work with the model of a run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "train/load_run.h"

namespace skipless {

struct RunOptions {
  std::string folder;
  std::string checkpoint = "last";
  std::string device;  // empty: the run's own
};

/// The positional argument, which comes before others that a command has.
void add_run_folder(CLI::App& command, RunOptions& options);

/// --checkpoint and --device.
void add_run_options(CLI::App& command, RunOptions& options);

void add_checkpoint_option(CLI::App& command, std::string& checkpoint);
CLI::Option* add_tokenizer_option(CLI::App& command, std::string& tokenizer);

/// For commands that compute (openmp.h): called before anything is printed.
LoadedRun load_run(const RunOptions& options);

}  // namespace skipless
