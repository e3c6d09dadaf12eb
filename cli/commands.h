// The subcommands: each adds itself to the program, with its options and what it does.
#pragma once

namespace CLI {
class App;
}

namespace skipless {

void add_prepare(CLI::App& app);
void add_info(CLI::App& app);
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_generate(CLI::App& app);
void add_fill(CLI::App& app);
void add_convert(CLI::App& app);
void add_finetune(CLI::App& app);
void add_bench(CLI::App& app);
void add_runs(CLI::App& app);
void add_analyze(CLI::App& app);

/// Thrown by a command that has said all it had to say, and ends with a code other than 0.
struct ExitCode {
  int code;
};

}  // namespace skipless
