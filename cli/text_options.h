// The options of commands that read raw text.
#pragma once

#include <string>

#include "data/document_reader.h"
#include "data/input_files.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace skipless {

struct TextOptions {
  InputSelection inputs;  // no paths: no text was given
  std::string field;      // of .jsonl files
  std::string tokenizer;
};

/// --text, with `help`, and the options that go with it: --field, --glob, --exclude, --tokenizer. Returns --text.
CLI::Option* add_text_options(CLI::App& command, TextOptions& options, const std::string& help);

/// A named file that cannot be used is a mistake (UserError); one found in a folder is left out, with a warning.
void leave_out(const InputFile& file, const SkippedDocument& skipped);

}  // namespace skipless
