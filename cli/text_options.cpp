#include "cli/text_options.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "cli/run_options.h"
#include "configs/error.h"

namespace skipless {

CLI::Option* add_text_options(CLI::App& command, TextOptions& options, const std::string& help) {
  auto* text = command.add_option("--text", options.inputs.paths, help);
  command.add_option("--field", options.field, "Field of a .jsonl line that holds the text")->needs(text);
  command.add_option("--glob", options.inputs.globs, "Files to take in folders, such as '*.py'; may be repeated")
      ->allow_extra_args(false)
      ->needs(text);
  command.add_option("--exclude", options.inputs.excludes, "Files and folders to leave out; may be repeated")
      ->allow_extra_args(false)
      ->needs(text);
  add_tokenizer_option(command, options.tokenizer)->needs(text);
  return text;
}

void leave_out(const InputFile& file, const SkippedDocument& skipped) {
  if (file.named && !file.is_json_lines()) {
    throw UserError(fmt::format("'{}' is {}", skipped.place, skipped.reason));
  }
  spdlog::warn("left out: '{}' is {}", skipped.place, skipped.reason);
}

}  // namespace skipless
