#include "train/run_tokenizer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <system_error>

#include "configs/error.h"
#include "data/prepared_data.h"
#include "data/tokenizer_file.h"
#include "train/run_folder.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;

fs::path data_tokenizer(const RunConfig& config) {
  return fs::path(config.data.folder) / prepared_files::kTokenizer;
}

void require_room(const RunConfig& config, const Tokenizer& tokenizer, const fs::path& file) {
  if (tokenizer.vocab_size() > config.model.vocab_size) {
    throw UserError(fmt::format("'{}' has {} tokens, but the model's vocabulary has {}", file.string(),
                                tokenizer.vocab_size(), config.model.vocab_size));
  }
}

fs::path find_tokenizer(const LoadedRun& run, const fs::path& folder, const std::string& given) {
  if (!given.empty()) return given;
  const fs::path own = RunPaths{folder}.tokenizer();
  const fs::path of_data = data_tokenizer(run.config);
  std::error_code ignored;
  for (const auto& file : {own, of_data}) {
    if (fs::exists(file, ignored)) return file;
  }
  if (run.config.data.folder == kNoData) {
    throw UserError(fmt::format("'{}' has imported weights and no tokenizer: give --tokenizer", folder.string()));
  }
  throw UserError(fmt::format("{}: the run's tokenizer is not here: neither {} nor {}; give it with --tokenizer",
                              folder.string(), own.string(), of_data.string()));
}

}  // namespace

std::unique_ptr<const Tokenizer> run_tokenizer(const LoadedRun& run, const fs::path& folder, const std::string& given) {
  const fs::path file = find_tokenizer(run, folder, given);
  auto tokenizer = read_tokenizer(file);
  if (run.state.tokenizer.empty()) {
    spdlog::warn("imported weights do not say which tokenizer they were trained with; '{}' has {}", file.string(),
                 tokenizer->hash());
  } else if (tokenizer->hash() != run.state.tokenizer) {
    throw UserError(fmt::format("'{}' is another tokenizer ({}) than the model was trained with ({})", file.string(),
                                tokenizer->hash(), run.state.tokenizer));
  }
  require_room(run.config, *tokenizer, file);
  return tokenizer;
}

std::unique_ptr<const Tokenizer> config_tokenizer(const RunConfig& config, const std::string& file,
                                                  const std::string& given) {
  const fs::path path = given.empty() ? data_tokenizer(config) : fs::path(given);
  std::error_code ignored;
  if (given.empty() && !fs::exists(path, ignored)) {
    throw UserError(fmt::format("{}: the tokenizer of the config's data is not here: no {}; give it with --tokenizer",
                                file, path.string()));
  }
  auto tokenizer = read_tokenizer(path);
  require_room(config, *tokenizer, path);
  return tokenizer;
}

void require_lossless(const Tokenizer& tokenizer, std::string_view what) {
  if (tokenizer.is_lossless()) return;
  throw UserError(
      fmt::format("{} needs a tokenizer that gives back the text it is given, such as byte-level BPE; this "
                  "run's is {}, which changes it",
                  what, tokenizer.kind()));
}

}  // namespace skipless
