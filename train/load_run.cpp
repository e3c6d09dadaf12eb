#include "train/load_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "configs/config_file.h"
#include "configs/error.h"
#include "configs/printable.h"
#include "models/fp32_products.h"
#include "models/make_model.h"
#include "train/device.h"
#include "train/device_setup.h"
#include "train/module_state.h"
#include "train/run_folder.h"

namespace skipless {

namespace {

int64_t find_step(const CheckpointFolder& checkpoints, const std::string& folder, const std::string& which) {
  const auto steps = checkpoints.steps();
  if (steps.empty()) throw UserError(fmt::format("{}: the run has no checkpoint yet", folder));
  if (which == "last") return steps.back();
  if (which == "best") {
    if (const auto best = checkpoints.best_step()) return *best;
    throw UserError(
        fmt::format("{}: no checkpoint was saved at a step that was evaluated, so none is the best", folder));
  }
  int64_t step = 0;
  const char* end = which.data() + which.size();
  const auto [stop, error] = std::from_chars(which.data(), end, step);
  if (error != std::errc() || stop != end || std::find(steps.begin(), steps.end(), step) == steps.end()) {
    throw UserError(fmt::format("{}: no checkpoint {}; there are last, best and the steps {}", folder, in_quotes(which),
                                fmt::join(steps, ", ")));
  }
  return step;
}

/// The run's model as an `Impl`; `need` is what the message begins with.
template <typename Impl>
std::shared_ptr<Impl> model_of_kind(const LoadedRun& run, const std::filesystem::path& folder,
                                    const std::string& need) {
  auto model = std::dynamic_pointer_cast<Impl>(run.model);
  if (model == nullptr) {
    throw UserError(fmt::format("{}: {}, and this is a {}", folder.string(), need, name_of(run.config.model.kind)));
  }
  return model;
}

}  // namespace

LoadedRun load_run(const std::filesystem::path& folder, const std::string& which, const std::string& device) {
  LoadedRun run;
  run.config = parse_config<RunConfig>(run_config_text(folder), RunPaths{folder}.config().string());
  run.device = find_device(device.empty() ? run.config.train.device : device);
  run.setup = set_up_device(run.device, Precision::fp32);
  const CheckpointFolder checkpoints(RunPaths{folder}.checkpoints());
  const int64_t step = find_step(checkpoints, folder.string(), which);
  const TensorFile tensors = checkpoints.read_model(step);
  run.state = checkpoints.read_state(step);
  run.model = make_model(run.config.model);
  load_module_state(*run.model, tensors.tensors, checkpoints.path_of(step).string());
  set_fp32_products(best_fp32_products());
  run.model->to(run.device);
  run.model->eval();
  return run;
}

Gpt causal_model(const LoadedRun& run, const std::filesystem::path& folder, const std::string& what) {
  return Gpt(model_of_kind<GptImpl>(run, folder, what + " a causal model (model.kind gpt)"));
}

Bert masked_model(const LoadedRun& run, const std::filesystem::path& folder, const std::string& what) {
  return Bert(model_of_kind<BertImpl>(run, folder, what + " a masked language model (model.kind bert)"));
}

}  // namespace skipless
