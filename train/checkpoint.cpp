#include "train/checkpoint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "configs/atomic_file.h"
#include "configs/error.h"

namespace skipless {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::string_view kPrefix = "step_";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "state.json";

std::string checksum_of_text(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string checksum_of_file(const fs::path& file) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(hash.get());
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> buffer(size_t{1} << 20);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    XXH3_64bits_update(hash.get(), buffer.data(), static_cast<size_t>(stream.gcount()));
  }
  return fmt::format("{:016x}", XXH3_64bits_digest(hash.get()));
}

json json_of(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

std::optional<double> optional_number(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// What `read` makes of the content of `file`, which is sealed but need not be what this program writes.
template <class Read>
auto read_content(const fs::path& file, const Read& read) {
  const auto refused = [&](std::string_view reason) {
    return UserError(fmt::format("{}: written by another version of this program: {}", file.string(), reason));
  };
  try {
    return read();
  } catch (const json::exception& error) {
    const std::string_view text = error.what();  // "[json.exception.type_error.302] type must be string, ..."
    const auto end = text.find("] ");
    throw refused(end == text.npos ? text : text.substr(end + 2));
  } catch (const std::invalid_argument& error) {
    throw refused(error.what());
  }
}

/// A count, which is never negative nor broken.
int64_t count_of(const json& in, const char* key) {
  const json& value = in.at(key);
  const bool integer = value.is_number_integer();
  if (const auto count = integer ? value.get<int64_t>() : -1; count >= 0) return count;
  throw std::invalid_argument(fmt::format("{} is {}, no count", key, value.dump()));
}

/// Opened or asked for its size, a pipe would wait and a folder fail in the library's own words.
void require_ordinary_file(const fs::path& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    throw UserError(fmt::format("{}: missing, the checkpoint is incomplete", file.string()));
  }
  if (!fs::is_regular_file(status)) {
    throw UserError(
        fmt::format("{}: {}", file.string(), fs::status_known(status) ? "not an ordinary file" : error.message()));
  }
}

json json_of(const TrainingState& state) {
  json out = {{"step", state.step},
              {"sequences", state.sequences},
              {"tokens", state.tokens},
              {"seconds", state.seconds},
              {"done", state.done},
              {"on_cuda", state.on_cuda},
              {"precision", state.precision},
              {"train_data", state.train_data},
              {"tokenizer", state.tokenizer},
              {"validation_loss", json_of(state.validation_loss)},
              {"best", nullptr},
              {"window_loss", state.window_loss},
              {"window_tokens", state.window_tokens}};
  if (state.best) out["best"] = {{"step", state.best->step}, {"loss", state.best->loss}};
  return out;
}

TrainingState state_of(const json& in) {
  TrainingState state;
  state.step = count_of(in, "step");
  state.sequences = count_of(in, "sequences");
  state.tokens = count_of(in, "tokens");
  in.at("seconds").get_to(state.seconds);
  in.at("done").get_to(state.done);
  in.at("on_cuda").get_to(state.on_cuda);
  in.at("precision").get_to(state.precision);
  in.at("train_data").get_to(state.train_data);
  in.at("tokenizer").get_to(state.tokenizer);
  state.validation_loss = optional_number(in.at("validation_loss"));
  if (const auto& best = in.at("best"); !best.is_null()) {
    state.best = BestLoss{.step = count_of(best, "step"), .loss = best.at("loss").get<double>()};
  }
  in.at("window_loss").get_to(state.window_loss);
  state.window_tokens = count_of(in, "window_tokens");
  return state;
}

/// The text of state.json: `content` with its own checksum added.
std::string sealed(json content) {
  content["checksum"] = checksum_of_text(content.dump());
  return content.dump(2) + "\n";
}

/// The content of a state.json, checked. UserError in one line.
json unsealed(const fs::path& file) {
  require_ordinary_file(file);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UserError(fmt::format("{}: cannot be read", file.string()));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto corrupt = [&] {
    return UserError(fmt::format("{}: {} bytes, truncated or corrupt", file.string(), text.size()));
  };
  json content = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!content.is_object() || !content.contains("checksum")) throw corrupt();
  const json checksum = content["checksum"];
  content.erase("checksum");
  if (checksum != checksum_of_text(content.dump(-1, ' ', false, json::error_handler_t::replace))) throw corrupt();
  return content;
}

json fingerprint(const fs::path& file) {
  return {{"bytes", fs::file_size(file)}, {"xxh3", checksum_of_file(file)}};
}

/// "step_000020" -> 20
std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  return error == std::errc() && stop == end && step >= 0 ? std::optional(step) : std::nullopt;
}

}  // namespace

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> steps;
  std::error_code error, ignored;
  const fs::directory_iterator entries(folder_, error);
  // Only a folder that is not there has no checkpoints; a file in its place or a broken link is a mistake.
  if (error && fs::symlink_status(folder_, ignored).type() != fs::file_type::not_found) {
    throw UserError(
        fmt::format("{}: cannot be read as a folder of checkpoints: {}", folder_.string(), error.message()));
  }
  for (const auto& entry : entries) {
    const auto name = entry.path().filename();
    // "step_20" is not the folder of step 20, "step_000020" is.
    if (const auto step = step_of(name.string());
        step && name == path_of(*step).filename() && entry.is_directory(ignored)) {
      steps.push_back(*step);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

fs::path CheckpointFolder::path_of(int64_t step) const {
  return folder_ / fmt::format("{}{:06}", kPrefix, step);
}

fs::path CheckpointFolder::optimizer_file(int64_t step) const {
  return path_of(step) / kOptimizer;
}

void CheckpointFolder::save(const Checkpoint& checkpoint, int64_t keep) const {
  const fs::path final_path = path_of(checkpoint.state.step);
  fs::path temporary = final_path;
  temporary += ".tmp";
  std::error_code error;
  fs::remove_all(temporary, error);
  try {
    make_folder(temporary);
    write_safetensors(temporary / kModel, checkpoint.model);
    write_safetensors(temporary / kOptimizer, checkpoint.optimizer);
    json content = {
        {"state", json_of(checkpoint.state)},
        {"files", {{kModel, fingerprint(temporary / kModel)}, {kOptimizer, fingerprint(temporary / kOptimizer)}}}};
    write_file(temporary / kState, sealed(std::move(content)));
    sync_folder(temporary);
    fs::rename(temporary, final_path, error);
    if (error) {
      throw RunError(
          fmt::format("cannot rename {} to {}: {}", temporary.string(), final_path.string(), error.message()));
    }
    sync_folder(folder_);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
  remove_older(keep);
}

void CheckpointFolder::remove_older(int64_t keep) const {
  const auto all = steps();
  const auto best = best_step();
  for (size_t i = 0; i + static_cast<size_t>(keep) < all.size(); ++i) {
    if (best == all[i]) continue;
    // Renamed first: a folder that is being removed must not look like a checkpoint that lost a file.
    fs::path doomed = path_of(all[i]);
    doomed += ".tmp";
    std::error_code ignored;
    fs::rename(path_of(all[i]), doomed, ignored);
    fs::remove_all(doomed, ignored);
  }
}

void CheckpointFolder::remove_leftovers() const {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".tmp") && step_of(name.substr(0, name.size() - 4))) leftovers.push_back(entry.path());
  }
  for (const auto& path : leftovers) fs::remove_all(path, ignored);
}

void CheckpointFolder::check_files(int64_t step) const {
  read_state(step);
  const fs::path state_file = path_of(step) / kState;
  const json content = unsealed(state_file);
  for (const char* name : {kModel, kOptimizer}) {
    const fs::path file = path_of(step) / name;
    require_ordinary_file(file);
    const auto [expected, checksum] = read_content(state_file, [&] {
      const json& written = content.at("files").at(name);
      return std::pair(written.at("bytes").get<uint64_t>(), written.at("xxh3").get<std::string>());
    });
    if (const auto bytes = fs::file_size(file); bytes != expected) {
      throw UserError(fmt::format("{}: {} bytes, but {} were written: {}", file.string(), bytes, expected,
                                  bytes < expected ? "truncated" : "corrupt"));
    }
    if (checksum != checksum_of_file(file)) {
      throw UserError(
          fmt::format("{}: {} bytes, corrupt: not those that were written (checksum)", file.string(), expected));
    }
  }
}

std::string CheckpointFolder::instead_of(int64_t step) const {
  auto all = steps();
  std::reverse(all.begin(), all.end());
  for (const int64_t other : all) {
    if (other >= step) continue;
    try {
      check_files(other);
    } catch (const std::exception&) {
      continue;
    }
    return fmt::format("; {} can be used", path_of(other).string());
  }
  return "; there is no older one that can be used";
}

Checkpoint CheckpointFolder::read_checked(int64_t step) const {
  check_files(step);
  return {.state = read_state(step),
          .model = read_safetensors(path_of(step) / kModel),
          .optimizer = read_safetensors(path_of(step) / kOptimizer)};
}

Checkpoint CheckpointFolder::read(int64_t step) const {
  try {
    return read_checked(step);
  } catch (const UserError& error) {
    throw UserError(error.what() + instead_of(step));
  }
}

TensorFile CheckpointFolder::read_model(int64_t step) const {
  try {
    check_files(step);
    return read_safetensors(path_of(step) / kModel);
  } catch (const UserError& error) {
    throw UserError(error.what() + instead_of(step));
  }
}

TrainingState CheckpointFolder::read_state(int64_t step) const {
  const fs::path file = path_of(step) / kState;
  const json content = unsealed(file);
  TrainingState state = read_content(file, [&] { return state_of(content.at("state")); });
  if (state.step != step) {
    throw UserError(fmt::format("{}: of step {}, in the folder of step {}", file.string(), state.step, step));
  }
  return state;
}

std::optional<Checkpoint> CheckpointFolder::read_newest(const std::function<void(const std::string&)>& warn) const {
  auto all = steps();
  std::reverse(all.begin(), all.end());
  std::vector<int64_t> bad;
  for (const int64_t step : all) {
    Checkpoint checkpoint;
    try {
      checkpoint = read_checked(step);
    } catch (const UserError& error) {
      warn(error.what());
      bad.push_back(step);
      continue;
    }
    for (const int64_t aside : bad) {
      fs::path target = path_of(aside);
      target += ".corrupt";
      std::error_code ignored;
      fs::remove_all(target, ignored);
      fs::rename(path_of(aside), target, ignored);
    }
    return checkpoint;
  }
  if (all.empty()) return std::nullopt;
  throw UserError(fmt::format("{}: none of its {} checkpoints can be used", folder_.string(), all.size()));
}

std::optional<int64_t> CheckpointFolder::best_step() const {
  std::optional<int64_t> best;
  double lowest = std::numeric_limits<double>::infinity();
  for (const int64_t step : steps()) {
    try {
      const auto loss = read_state(step).validation_loss;
      if (!loss || !(*loss < lowest)) continue;
      lowest = *loss;
      best = step;
    } catch (const UserError&) {
      // A checkpoint that cannot be read is not the best one.
    }
  }
  return best;
}

}  // namespace skipless
