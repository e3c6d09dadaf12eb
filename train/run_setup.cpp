#include "train/run_setup.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <vector>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "data/mapped_file.h"
#include "data/tokenizer_file.h"
#include "train/checkpoint.h"
#include "train/threads.h"

namespace skipless {

PreparedData open_data(const RunConfig& config) {
  PreparedData data = PreparedData::open(config.data.folder);
  if (data.vocab_size != config.model.vocab_size) {
    throw UserError(fmt::format("model.vocab_size is {}, but the tokenizer of data.folder '{}' has {} tokens",
                                config.model.vocab_size, config.data.folder, data.vocab_size));
  }
  return data;
}

std::optional<EvaluationBatches> evaluation_batches(const RunConfig& config, const PreparedData& data) {
  if (config.train.eval_every == 0) return std::nullopt;
  return EvaluationBatches(data.validation, config.model.context_length, *config.train.micro_batch,
                           config.train.eval_tokens, chunking_with(config.data.chunking, *data.tokenizer));
}

void refuse_imported(const std::filesystem::path& folder) {
  const CheckpointFolder checkpoints(RunPaths{folder}.checkpoints());
  if (checkpoints.steps() != std::vector<int64_t>{0} || !checkpoints.read_state(0).train_data.empty()) return;
  throw UserError(fmt::format("{}: imported weights, for eval only: no optimizer state", folder.string()));
}

void compare_with_run(const RunPaths& paths, const std::string& config, bool begun) {
  std::string refused;
  for (const auto& difference : compare_configs(run_config_text(paths.folder), config)) {
    const auto text = fmt::format("{} is {} in the run, {} now", difference.path, difference.left, difference.right);
    if (may_change_between_runs(difference.path)) {
      spdlog::warn("continuing with another setting: {}", text);
    } else if (!begun) {
      spdlog::warn("there is no checkpoint yet, the run starts anew with another setting: {}", text);
    } else {
      refused += "\n  " + text;
    }
  }
  if (!refused.empty()) {
    throw UserError(fmt::format("{}: a run of another config; use another folder, or the run's own config:{}",
                                paths.folder.string(), refused));
  }
}

void keep_tokenizer(const RunConfig& config, const RunPaths& paths) {
  const auto text = tokenizer_json_of(std::filesystem::path(config.data.folder) / prepared_files::kTokenizer);
  std::error_code ignored;
  if (std::filesystem::exists(paths.tokenizer(), ignored) && MappedFile(paths.tokenizer()).text() == text) return;
  try {
    write_file(paths.tokenizer(), text);
  } catch (const RunError& error) {
    spdlog::warn("the run is without a tokenizer of its own: {}", error.what());
  }
}

void set_threads_or_warn(int64_t threads) {
  if (const auto warning = set_threads(threads); !warning.empty()) spdlog::warn("{}", warning);
}

}  // namespace skipless
