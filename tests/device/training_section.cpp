// Short training in fp16 and bf16 beside fp32 from one seed, and steps that the loss scaler skips.
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/device_kernels.h"
#include "sections.h"
#include "train/device.h"
#include "train/learner.h"
#include "train/module_state.h"

namespace skipless::device {

namespace {

// Of the loss in fp32, at every step. Half precision rounds the operands of products at random: on the CPU the curves
// are never further apart than 0.2 % in fp16 and 0.6 % in bf16 here. A wrong gradient, or a scale that is not taken
// out, shows in tens of percents after a few steps.
constexpr double kCurve = 0.02;
// Float32 on the device against float32 on the CPU: the order of sums alone, which the first steps hardly enlarge.
constexpr double kSameCurve = 1e-3;

RunConfig config_of(const std::string& block, bool small) {
  RunConfig config;
  config.model.block = block;
  config.model.n_layer = 2;
  config.model.d_model = small ? 32 : 128;
  config.model.n_head = small ? 2 : 4;
  config.model.vocab_size = 64;
  config.model.context_length = small ? 32 : 64;
  config.train.batch_size = small ? 8 : 16;
  config.train.steps = small ? 20 : 60;
  config.train.schedule.lr = 3e-3;
  config.resolve();
  return config;
}

/// Texts of a random grammar: after each token one of four others may stand.
at::Tensor text_of(const RunConfig& config, int64_t step) {
  constexpr int64_t kChoices = 4;
  const int64_t v = config.model.vocab_size;
  std::minstd_rand draws(static_cast<uint32_t>(step) + 1);
  auto ids = at::empty({config.train.batch_size, config.model.context_length}, at::kLong);
  auto rows = ids.accessor<int64_t, 2>();
  for (int64_t b = 0; b < rows.size(0); ++b) {
    int64_t token = static_cast<int64_t>(draws()) % v;
    for (int64_t t = 0; t < rows.size(1); ++t) {
      rows[b][t] = token;
      token = (token * 5 + 7 * (static_cast<int64_t>(draws()) % kChoices)) % v;
    }
  }
  return ids;
}

struct Curve {
  std::vector<double> losses;
  double first_norm = 0;  // of the gradient, which clipping and AdamW hide a wrong size of
};

Curve curve_of(const RunConfig& config, at::Device device, Precision precision) {
  Learner learner(config, device, precision);
  std::vector<at::Tensor> losses;
  at::Tensor first_norm;
  for (int64_t i = 0; i < *config.train.steps; ++i) {
    const auto step = learner.step(i, *config.train.schedule.lr, Batch{.ids = text_of(config, i)}.to(device));
    losses.push_back(step.loss.sum / step.loss.count);
    if (i == 0) first_norm = step.gradient_norm;
  }
  Curve curve{.losses = {}, .first_norm = first_norm.item<double>()};
  for (const auto& loss : losses) curve.losses.push_back(loss.item<double>());
  return curve;
}

/// The largest difference of two curves, as a share of the second.
double distance(const std::vector<double>& a, const std::vector<double>& b, size_t steps) {
  double largest = 0;
  for (size_t i = 0; i < std::min(steps, b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]) / b[i];
    if (!(difference <= largest)) largest = difference;  // takes a NaN too
  }
  return largest;
}

void check_curves(const std::string& block, const std::string& kernels, const Options& options, Report& report) {
  const auto config = config_of(block, options.small);
  const auto exact = curve_of(config, options.device, Precision::fp32);
  report.line(fmt::format("{}, {} kernels: loss in fp32 {:.3f} at first, {:.3f} after {} steps", block, kernels,
                          exact.losses.front(), exact.losses.back(), exact.losses.size()));
  report.require(exact.losses.back() < 0.95 * exact.losses.front(), fmt::format("{} learns in fp32", block));
  if (!options.device.is_cpu()) {
    constexpr size_t kSteps = 5;
    auto few = config;
    few.train.steps = kSteps;
    const double apart = distance(exact.losses, curve_of(few, at::kCPU, Precision::fp32).losses, kSteps);
    report.require(apart <= kSameCurve,
                   fmt::format("{}: fp32 on the CPU is {:.1e} of the loss away in {} steps, at most "
                               "{:.0e}",
                               block, apart, kSteps, kSameCurve));
  }
  const auto traits = traits_of(options.device);
  for (const auto precision : {Precision::fp16, Precision::bf16}) {
    if (precision == Precision::bf16 && traits.is_cuda && traits.major < 8) {
      report.line("- not run: bf16, which this card only emulates");
      continue;
    }
    const auto half = curve_of(config, options.device, precision);
    const double apart = distance(half.losses, exact.losses, exact.losses.size());
    report.require(apart <= kCurve, fmt::format("{}: {} is at most {:.2f} % of the loss away from fp32, of {:.0f} %",
                                                block, name_of(precision), 100 * apart, 100 * kCurve));
    const double of_norm = std::abs(half.first_norm - exact.first_norm) / exact.first_norm;
    report.require(of_norm <= kCurve,
                   fmt::format("{}: the first gradient's norm in {} is {:.2f} % away, at most {:.0f} %", block,
                               name_of(precision), 100 * of_norm, 100 * kCurve));
  }
}

/// A scale at which the first gradients overflow: those steps change nothing, and the ones after them learn.
void check_skipping(const Options& options, Report& report) {
  constexpr double kTooLarge = 1e12;
  auto config = config_of("sas_p", options.small);
  Learner learner(config, options.device, Precision::fp16);
  auto state = learner.scaler()->state();
  state.at("loss_scale.scale") = at::full({}, kTooLarge, at::kFloat);
  learner.scaler()->load(state, "device_check");
  int64_t skipped = 0, changed_by_skipping = 0, unchanged_by_others = 0;
  double last = 0;
  for (int64_t i = 0; i < *config.train.steps + 30; ++i) {
    std::map<std::string, at::Tensor> before, moments;
    for (const auto& [name, tensor] : module_state(learner.model())) before[name] = tensor.clone();
    for (const auto& [name, tensor] : learner.optimizer().state()) moments[name] = tensor.clone();
    const auto loss =
        learner.step(i, *config.train.schedule.lr, Batch{.ids = text_of(config, i)}.to(options.device)).loss;
    const auto same = [](const auto& now, const auto& then) {
      return std::all_of(now.begin(), now.end(),
                         [&](const auto& item) { return item.second.equal(then.at(item.first)); });
    };
    const bool is_same = same(module_state(learner.model()), before) && same(learner.optimizer().state(), moments);
    const bool is_skipped = learner.scaler()->skipped() > skipped;
    skipped = learner.scaler()->skipped();
    if (is_skipped && !is_same) ++changed_by_skipping;
    if (!is_skipped && is_same) ++unchanged_by_others;
    if (!is_skipped) last = (loss.sum / loss.count).item<double>();
  }
  report.require(skipped > 0 && skipped < 30,
                 fmt::format("fp16 under a scale of {:.0e}: {} steps skipped", kTooLarge, skipped));
  report.require(changed_by_skipping == 0, "a skipped step changes neither weights nor moments nor their count");
  report.require(unchanged_by_others == 0 && learner.failed_step() < 0, "every other step changes them");
  report.require(last < std::log(config.model.vocab_size), fmt::format("and it learns: loss {:.3f}", last));
}

}  // namespace

Outcome check_training(const Options& options, Report& report) {
  for (const char* block : {"pre_ln", "sas_p"}) check_curves(block, "LibTorch's", options, report);
  if (has_device_kernels() && options.device.is_cuda()) {
    use_device_kernels(true);
    for (const char* block : {"pre_ln", "sas_p"}) check_curves(block, "skipless's", options, report);
    use_device_kernels(false);
  }
  check_skipping(options, report);
  return Outcome::done;
}

}  // namespace skipless::device
