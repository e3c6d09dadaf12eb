#include "cli/eval_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>

#include "cli/option_checks.h"
#include "configs/error.h"
#include "data/chunking.h"
#include "data/document_reader.h"
#include "data/tokenizer.h"
#include "eval/text_loss.h"
#include "train/non_finite.h"
#include "train/run_tokenizer.h"

namespace skipless {

namespace {

struct TextResult {
  LossResult loss;
  int64_t documents = 0;
  int64_t bytes = 0;            // of the documents
  int64_t predicted_bytes = 0;  // of the predicted tokens

  double bits_per_byte() const { return loss.sum / std::numbers::ln2 / static_cast<double>(predicted_bytes); }
};

TextWindows windows_for(const RunConfig& config, int64_t stride) {
  const int64_t length = config.model.context_length;
  if (stride >= length) {
    throw UserError(
        fmt::format("--stride is {}; allowed: 1 to {}, one less than model.context_length", stride, length - 1));
  }
  return {.length = length, .stride = stride > 0 ? stride : length - 1, .batch_size = *config.train.micro_batch};
}

TextResult evaluate(const LoadedRun& run, Gpt& gpt, const Tokenizer& tokenizer, const EvalTextOptions& options) {
  const InputFiles inputs = find_input_files(options.inputs);
  TextLoss loss(gpt, run.device, windows_for(run.config, options.stride));
  const auto encoder = tokenizer.make_encoder();
  // A model of packed chunks has seen texts begin behind an end-of-text token, which so predicts the first token.
  const Chunking chunking = chunking_with(run.config.data.chunking, tokenizer);
  const bool packed = chunking.kind == ChunkKind::packed;
  TextResult result;
  const auto add = [&](const Document& document) {
    std::optional<int32_t> first;
    if (packed) loss.append({&chunking.end_of_text, 1});
    try {
      encoder->encode(document.text, [&](std::span<const int32_t> ids, std::size_t) {
        if (!first && !ids.empty()) first = ids.front();
        loss.append(ids);
      });
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {}", document.place, error.what()));
    }
    loss.end_document();
    const auto bytes = static_cast<int64_t>(document.text.size());
    ++result.documents;
    result.bytes += bytes;
    result.predicted_bytes += bytes;
    if (!packed) result.predicted_bytes -= static_cast<int64_t>(tokenizer.decode({&*first, 1}).size());
  };
  for (const InputFile& file : inputs.files) {
    read_documents(file, options.field, add, [&](const SkippedDocument& skipped) { leave_out(file, skipped); });
  }
  result.loss = loss.result();
  if (result.loss.tokens == 0) {
    throw UserError(fmt::format("'{}' holds no text of two tokens or more: nothing predicts the first token of a text",
                                fmt::join(options.inputs.paths, "', '")));
  }
  return result;
}

}  // namespace

void add_eval_text_options(CLI::App& command, EvalTextOptions& options, const std::vector<CLI::Option*>& of_shards) {
  auto* text = add_text_options(command, options,
                                "Raw text instead: files, folders or patterns, as 'skipless prepare' takes them");
  for (auto* option : of_shards) text->excludes(option);
  command
      .add_option("--stride", options.stride,
                  "Tokens from one window of text to the next, 1 to context_length - 1 (the default)")
      ->check(integer_between(1, std::numeric_limits<int64_t>::max()))
      ->needs(text);
}

void eval_text(const LoadedRun& run, const std::string& folder, const EvalTextOptions& options, bool json) {
  Gpt gpt = causal_model(run, folder, "eval --text needs");
  const auto tokenizer = run_tokenizer(run, folder, options.tokenizer);
  require_lossless(*tokenizer, "'skipless eval --text'");
  const TextResult result = evaluate(run, gpt, *tokenizer, options);
  require_finite_loss(result.loss.loss(), *run.model);
  if (!json) {
    fmt::print(
        "text loss {:.6f}  perplexity {:.4f}  bits per byte {:.4f}  ({} predicted tokens and {} bytes of {} documents, "
        "step {})\n",
        result.loss.loss(), result.loss.perplexity(), result.bits_per_byte(), result.loss.tokens,
        result.predicted_bytes, result.documents, run.state.step);
    return;
  }
  const nlohmann::ordered_json object = {{"run", folder},
                                         {"step", run.state.step},
                                         {"text", options.inputs.paths},
                                         {"loss", result.loss.loss()},
                                         {"perplexity", result.loss.perplexity()},
                                         {"bits_per_byte", result.bits_per_byte()},
                                         {"predicted_tokens", result.loss.tokens},
                                         {"predicted_bytes", result.predicted_bytes},
                                         {"bytes", result.bytes},
                                         {"documents", result.documents},
                                         {"stride", windows_for(run.config, options.stride).stride}};
  fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace skipless
