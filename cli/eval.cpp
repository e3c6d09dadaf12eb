// skipless eval RUN: loss and perplexity on prepared shards, or with bits per byte on raw text (cli/eval_text.h).
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/eval_text.h"
#include "cli/not_empty.h"
#include "cli/run_options.h"
#include "configs/error.h"
#include "data/chunk_batches.h"
#include "data/prepared_data.h"
#include "eval/loss.h"
#include "train/device.h"
#include "train/non_finite.h"
#include "train/training_rows.h"

namespace skipless {

namespace {

struct EvalOptions {
  RunOptions run;
  std::string data;
  std::string split = "validation";
  int64_t tokens = 0;
  bool json = false;
  EvalTextOptions text;
};

PreparedData open_data(const std::string& folder, const LoadedRun& run) {
  PreparedData data = PreparedData::open(folder);
  if (run.state.tokenizer.empty()) {
    spdlog::warn("imported weights do not say which tokenizer they were trained with; '{}' has {}", folder,
                 data.tokenizer_hash);
  } else if (data.tokenizer_hash != run.state.tokenizer) {
    throw UserError(fmt::format("'{}' was prepared with another tokenizer ({}) than the model was trained on ({})",
                                folder, data.tokenizer_hash, run.state.tokenizer));
  }
  if (data.vocab_size > run.config.model.vocab_size) {
    throw UserError(fmt::format("'{}' was prepared with a vocabulary of {}, but the model's has {}", folder,
                                data.vocab_size, run.config.model.vocab_size));
  }
  return data;
}

void run_eval(const EvalOptions& options) {
  const LoadedRun run = load_run(options.run);
  if (!run.setup.empty()) fmt::print(stderr, "{}\n", run.setup);
  if (!options.text.inputs.paths.empty()) {
    eval_text(run, options.run.folder, options.text, options.json);
    return;
  }
  const std::string folder = options.data.empty() ? run.config.data.folder : options.data;
  if (folder == kNoData) {
    throw UserError(fmt::format("'{}' has imported weights: give --data or --text", options.run.folder));
  }
  const PreparedData data = open_data(folder, run);
  const TokenShard& shard = options.split == "train" ? data.train : data.validation;
  const EvaluationBatches batches(shard, run.config.model.context_length, *run.config.train.micro_batch,
                                  options.tokens > 0 ? options.tokens : INT64_MAX,
                                  chunking_with(run.config.data.chunking, *data.tokenizer));
  const auto masker = evaluation_masker(run.config, *data.tokenizer);
  const LossResult result = evaluate_loss(*run.model, batches, run.device, masker ? &*masker : nullptr);
  if (result.tokens == 0) throw UserError(fmt::format("no token of '{}' is masked: give it more --tokens", folder));
  require_finite_loss(result.loss(), *run.model);
  if (options.json) {
    const nlohmann::ordered_json json = {{"run", options.run.folder},
                                         {"step", run.state.step},
                                         {"data", folder},
                                         {"split", options.split},
                                         {"loss", result.loss()},
                                         {masker ? "masked_perplexity" : "perplexity", result.perplexity()},
                                         {"predicted_tokens", result.tokens}};
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{} loss {:.6f}  perplexity {:.4f}  ({} {} tokens, step {})\n", options.split, result.loss(),
               result.perplexity(), result.tokens, masker ? "masked" : "predicted", run.state.step);
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval", "Loss and perplexity of a run's model on prepared data or raw text");
  add_run_folder(*command, options->run);
  auto* data =
      command->add_option("--data", options->data, "Folder that 'skipless prepare' wrote; default: the run's own")
          ->check(not_empty());
  auto* split = command->add_option("--split", options->split, "Which shard")
                    ->check(CLI::IsMember({"validation", "train"}))
                    ->capture_default_str();
  auto* tokens =
      command->add_option("--tokens", options->tokens, "Only so many tokens, evenly over the shard; default: all")
          ->check(CLI::Range(int64_t{1}, int64_t{1} << 60));
  add_run_options(*command, options->run);
  command->add_flag("--json", options->json, "Print one JSON object");
  add_eval_text_options(*command, options->text, {data, split, tokens});
  command->callback([options] { run_eval(*options); });
}

}  // namespace skipless
