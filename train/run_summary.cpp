#include "train/run_summary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "configs/config_file.h"
#include "configs/error.h"
#include "models/model_info.h"
#include "train/checkpoint.h"
#include "train/quartiles.h"
#include "train/run_config.h"
#include "train/run_folder.h"

namespace skipless {

namespace fs = std::filesystem;

namespace {

/// Whether a process holds the lock of the run.
bool is_locked(const RunPaths& paths) {
  const int lock = ::open(paths.lock().c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0) return false;
  const bool is_free = ::flock(lock, LOCK_SH | LOCK_NB) == 0;
  ::close(lock);
  return !is_free;
}

RunState state_of(const RunPaths& paths) {
  if (is_locked(paths)) return RunState::running;
  const CheckpointFolder checkpoints(paths.checkpoints());
  const auto steps = checkpoints.steps();
  if (steps.empty()) return RunState::begun;
  const auto state = checkpoints.read_state(steps.back());
  if (state.train_data.empty()) return RunState::imported;
  return state.done ? RunState::done : RunState::stopped;
}

bool has_integer(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer();
}

double number(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void read_metrics(const fs::path& file, RunSummary& run) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<double> speeds;
  for (std::string text; std::getline(stream, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("kind") || !has_integer(line, "step") || !has_integer(line, "tokens"))
      continue;
    const RunEvaluation at{.step = line["step"].get<int64_t>(),
                           .tokens = line["tokens"].get<int64_t>(),
                           .seconds = number(line, "seconds"),
                           .loss = number(line, "loss")};
    run.step = at.step;
    run.tokens = at.tokens;
    run.seconds = at.seconds;
    if (line["kind"] == "eval") run.evaluations.push_back(at);
    if (line["kind"] == "train") speeds.push_back(number(line, "tokens_per_second"));
  }
  if (speeds.size() > 1) speeds.erase(speeds.begin());
  if (!speeds.empty()) run.tokens_per_second = quartiles_of(speeds).median;
}

/// Fine-tuning has folders of its own form.
bool is_of_fine_tuning(const fs::path& folder) {
  const std::string text = run_config_text(folder);
  return text.starts_with("glue:") || text.find("\nglue:") != std::string::npos;
}

void collect(const fs::path& folder, std::vector<fs::path>& runs) {
  if (is_run(folder)) {
    if (!is_of_fine_tuning(folder)) runs.push_back(folder);
    return;
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored)) {
    const bool is_hidden = entry.path().filename().string().starts_with(".");
    if (!is_hidden && entry.is_directory(ignored) && !entry.is_symlink(ignored)) collect(entry.path(), runs);
  }
}

}  // namespace

const char* name_of(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::done:
      return "done";
    case RunState::stopped:
      return "stopped";
    case RunState::begun:
      return "begun";
    case RunState::imported:
      return "imported";
    default:
      return "unreadable";
  }
}

std::vector<fs::path> find_runs(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw UserError(fmt::format("{}: no such folder", folder.string()));
  std::vector<fs::path> runs;
  collect(folder, runs);
  std::sort(runs.begin(), runs.end());
  return runs;
}

RunSummary summarize_run(const fs::path& folder) {
  RunSummary run{.folder = folder};
  const RunPaths paths{folder};
  try {
    const auto config = parse_config<RunConfig>(run_config_text(folder), paths.config().string());
    const auto& model = config.model;
    run.kind = name_of(model.kind);
    run.block = model.block;
    run.norm = name_of(model.block_config().settings(model).norm);
    run.n_layer = model.n_layer;
    run.d_model = model.d_model;
    run.parameters = n_parameters(model);
    read_metrics(paths.metrics(), run);
    run.state = state_of(paths);
  } catch (const UserError& error) {
    run.problem = error.what();
  }
  return run;
}

}  // namespace skipless
