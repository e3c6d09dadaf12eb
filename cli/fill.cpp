// skipless fill RUN TEXT: what a masked language model puts in the place of every [MASK] of a text.
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/run_options.h"
#include "cli/standard_output.h"
#include "configs/error.h"
#include "configs/printable.h"
#include "data/masking.h"
#include "eval/sampler.h"
#include "models/bert.h"
#include "train/run_tokenizer.h"

namespace skipless {

namespace {

struct FillOptions {
  RunOptions run;
  std::string text;
  int64_t top = 5;
  std::string tokenizer;
};

struct MaskedText {
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;  // of the mask tokens
};

/// The text as it stands, without tokens at its ends; only the name of the mask token is not text.
MaskedText masked_text(const std::string& text, const Tokenizer& tokenizer) {
  const MaskToken mask = mask_token(tokenizer);
  MaskedText result;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(mask.name, start), text.size());
    const auto ids = tokenizer.encode(std::string_view(text).substr(start, end - start));
    result.ids.insert(result.ids.end(), ids.begin(), ids.end());
    if (end == text.size()) break;
    result.positions.push_back(static_cast<int64_t>(result.ids.size()));
    result.ids.push_back(mask.id);
    start = end + mask.name.size();
  }
  if (result.positions.empty()) throw UserError(fmt::format("the text has no {}: nothing to fill in", mask.name));
  return result;
}

at::Tensor row_of(const std::vector<int64_t>& values) {
  auto row = at::empty({1, static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), row.data_ptr<int64_t>());
  return row;
}

void run_fill(const FillOptions& options) {
  const LoadedRun run = load_run(options.run);
  Bert bert = masked_model(run, options.run.folder, "fill needs");
  const auto tokenizer = run_tokenizer(run, options.run.folder, options.tokenizer);
  const MaskedText text = masked_text(options.text, *tokenizer);
  if (static_cast<int64_t>(text.ids.size()) > *run.config.model.n_positions) {
    throw UserError(fmt::format("the text has {} tokens, more than the model's {} positions", text.ids.size(),
                                *run.config.model.n_positions));
  }
  const c10::NoGradGuard no_grad;
  const Batch batch{.ids = row_of(text.ids), .positions = row_of(text.positions)};
  const auto logits = bert->forward(batch.to(run.device)).to(at::kCPU, at::kDouble)[0].contiguous();
  for (int64_t mask = 0; mask < logits.size(0); ++mask) {
    require_probabilities({logits[mask].data_ptr<double>(), static_cast<size_t>(logits.size(1))});
  }
  const auto [probabilities, ids] = at::softmax(logits, -1).sort(-1, /*descending=*/true);
  for (int64_t mask = 0; mask < ids.size(0); ++mask) {
    std::string line = fmt::format("{}:", mask + 1);
    int64_t shown = 0;
    for (int64_t i = 0; i < ids.size(1) && shown < options.top; ++i) {
      const auto id = static_cast<int32_t>(ids[mask][i].item<int64_t>());
      if (!tokenizer->has_id(id)) continue;
      ++shown;
      line += fmt::format("  {} {:.4f}", printable(tokenizer->decode({&id, 1})), probabilities[mask][i].item<double>());
    }
    if (!write_standard_output(line + "\n")) throw RunError(standard_output_problem());
  }
}

}  // namespace

void add_fill(CLI::App& app) {
  const auto options = std::make_shared<FillOptions>();
  CLI::App* command =
      app.add_subcommand("fill", "What a run's masked language model puts in the place of each [MASK] of a text");
  add_run_folder(*command, options->run);
  command->add_option("text", options->text, "Text with one [MASK] or more")->required();
  command->add_option("--top", options->top, "Most probable tokens that are shown, with their probabilities")
      ->check(integer_between(1, 1'000'000))
      ->capture_default_str();
  add_run_options(*command, options->run);
  add_tokenizer_option(*command, options->tokenizer);
  command->callback([options] { run_fill(*options); });
}

}  // namespace skipless
