// The program: subcommands, messages of errors, exit codes (0 done, 1 failed while running, 2 the user's mistake).
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/freed_memory.h"
#include "cli/logging.h"
#include "cli/standard_output.h"
#include "cli/version.h"
#include "configs/error.h"
#include "configs/nearest.h"
#include "configs/printable.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUserMistake = 2;

/// What comes from file names and files must not steer the terminal.
int fail(int code, const std::string& message) {
  std::fflush(stdout);
  skipless::write_standard_error(fmt::format("error: {}\n", skipless::printable_lines(message)));
  return code;
}

int fail_for_memory(const std::string& detail) {
  return fail(kFailed, "out of memory; a smaller train.micro_batch needs less, with the same result" +
                           (detail.empty() ? "" : " (" + detail + ")"));
}

/// LibTorch's message without the C++ stack and the lines that explain its options.
int fail_in_libtorch(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  const std::string line = text.substr(0, text.find('\n'));
  const bool memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                      text.find("can't allocate memory") != std::string::npos;
  return memory ? fail_for_memory(line) : fail(kFailed, line);
}

/// CLI11's message, in which arguments stand as they were given.
int fail_for_arguments(const CLI::ParseError& error) {
  constexpr size_t kMost = 400;
  return fail(kUserMistake, skipless::printable(error.what(), kMost));
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string command_names(const CLI::App& app) {
  return fmt::format("{}", fmt::join(commands_of(app), ", "));
}

std::string unknown_command(const CLI::App& app) {
  const std::string name = app.remaining().front();
  return fmt::format("there is no command {}{}; there are {}", skipless::in_quotes(name),
                     skipless::did_you_mean(name, commands_of(app)), command_names(app));
}

int run_program(int argc, char** argv) {
  CLI::App app("skipless: train transformers with simplified blocks (He & Hofmann, 2024)", "skipless");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.set_version_flag("--version", [] { return skipless::version_text(); });
  std::string level = "info";
  app.add_option("--log-level", level, "The least that is shown: debug, info, warning, error or off")
      ->check(CLI::IsMember(skipless::log_levels()))
      ->capture_default_str();
  app.parse_complete_callback([&] {
    skipless::set_up_logging(level);
    app.got_subcommand("prepare") ? skipless::return_freed_memory() : skipless::keep_freed_memory();
  });
  skipless::add_prepare(app);
  skipless::add_info(app);
  skipless::add_train(app);
  skipless::add_finetune(app);
  skipless::add_eval(app);
  skipless::add_generate(app);
  skipless::add_fill(app);
  skipless::add_convert(app);
  skipless::add_bench(app);
  skipless::add_runs(app);
  skipless::add_analyze(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) return fail(kUserMistake, "a command is needed: " + command_names(app));
  } catch (const CLI::ExtrasError& error) {
    if (app.get_subcommands().empty()) return fail(kUserMistake, unknown_command(app));
    return fail_for_arguments(error);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail_for_arguments(error);
  } catch (const skipless::ExitCode& exit) {
    return exit.code;
  } catch (const skipless::UserError& error) {
    return fail(kUserMistake, error.what());
  } catch (const std::bad_alloc&) {
    return fail_for_memory("");
  } catch (const c10::Error& error) {
    return fail_in_libtorch(error);
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  skipless::open_standard_streams();
  // A limit on file sizes and a closed pipe are errors of a write, to be reported, and not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const int code = run_program(argc, argv);
  const std::string problem = skipless::standard_output_problem();
  return code == 0 && !problem.empty() ? fail(kFailed, problem) : code;
}
