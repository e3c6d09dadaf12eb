// skipless eval RUN --text FILE...: loss, perplexity and bits per byte on raw text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/text_options.h"
#include "train/load_run.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace skipless {

/// Without paths, prepared data are evaluated.
struct EvalTextOptions : TextOptions {
  int64_t stride = 0;  // 0: the default
};

/// `of_shards`: options of the command that go with prepared data alone.
void add_eval_text_options(CLI::App& command, EvalTextOptions& options, const std::vector<CLI::Option*>& of_shards);

/// Prints one line, or one JSON object.
void eval_text(const LoadedRun& run, const std::string& folder, const EvalTextOptions& options, bool json);

}  // namespace skipless
