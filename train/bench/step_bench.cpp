#include "train/bench/step_bench.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/sort.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "configs/error.h"
#include "models/fp32_products.h"
#include "models/model_info.h"
#include "models/token_loss.h"
#include "train/bench/child_memory.h"
#include "train/bench/product_floor.h"
#include "train/device.h"
#include "train/learner.h"
#include "train/peak_memory.h"
#include "train/precision.h"
#include "train/quartiles.h"
#include "train/step_times.h"
#include "train/stopwatch.h"
#include "train/threads.h"

namespace skipless {

namespace {

constexpr double kLearningRate = 1e-5;
constexpr int64_t kStepsForMemory = 3;

/// [B, T] bool: sequences from T down to (1 - 2*padding) T tokens, at least one.
at::Tensor random_kept(int64_t b, int64_t t, double padding) {
  const auto share = 1 - 2 * padding * at::linspace(0, 1, b, at::kDouble);
  const auto lengths = (share * static_cast<double>(t)).round().clamp_min(1);
  return at::arange(t).unsqueeze(0).lt(lengths.unsqueeze(1));
}

Batch random_batch(const BenchCase& of) {
  const auto& config = of.config;
  const int64_t b = config.train.batch_size, t = config.model.context_length, v = config.model.vocab_size;
  Batch batch{.ids = at::randint(v, {b, t}, at::kLong)};
  if (!config.is_masked()) return batch;
  auto chance = at::rand({b, t});
  if (of.padding > 0) {
    batch.kept = random_kept(b, t, of.padding);
    chance = chance + batch.kept.logical_not();
  }
  const auto m = static_cast<int64_t>(std::nearbyint(config.data.masking.rate * static_cast<double>(t)));
  batch.positions = std::get<0>(at::sort(chance.argsort().slice(1, 0, m), -1));
  batch.labels = at::randint(v, {b, m}, at::kLong);
  if (of.padding > 0) batch.labels.masked_fill_(batch.kept.gather(1, batch.positions).logical_not(), kIgnoredTarget);
  return batch;
}

void require_padding_is_read(const BenchCase& of) {
  if (of.padding == 0 || of.config.is_masked()) return;
  throw UserError("--padding is for model.kind: bert; a causal model's sequences are full");
}

at::ScalarType product_type(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return at::kBFloat16;
    case Precision::fp16:
      return at::kHalf;
    default:
      return at::kFloat;
  }
}

void require_whole_micro_batches(const RunConfig& config) {
  if (config.train.batch_size % *config.train.micro_batch == 0) return;
  throw UserError(fmt::format("train.batch_size {} is not a multiple of train.micro_batch {}, as 'bench' needs it",
                              config.train.batch_size, *config.train.micro_batch));
}

}  // namespace

class StepBench::Contender {
 public:
  Contender(const BenchCase& of, at::Device device, Precision precision)
      : device_(device),
        learner_(of.config, device, precision),
        batch_(random_batch(of).to(device)),
        n_micro_batches_(of.config.train.batch_size / *of.config.train.micro_batch),
        shapes_(linear_shapes(learner_.model(), batch_.split(*of.config.train.micro_batch).front())) {
    result_.name = of.name;
    result_.parameters = n_parameters(of.config.model);
    result_.tokens = batch_.ids.numel();
    for (const auto& shape : shapes_) result_.floor_flops += static_cast<double>(n_micro_batches_) * shape.flops();
  }

  void warm_up() {
    for (int64_t i = 0; i < kStepsForMemory; ++i) step();
  }
  void set_peak(int64_t bytes) { result_.peak_bytes = bytes; }
  /// After the memory was measured, in which it has no part.
  void make_floor() {
    const auto options = at::TensorOptions().device(device_).dtype(product_type(learner_.precision()));
    floor_ = std::make_unique<ProductFloor>(shapes_, options);
    floors_ = {{.by = best_fp32_products(), .milliseconds = {}}};
    if (!device_.is_cuda() && learner_.precision() == Precision::fp32) {
      const bool other = best_fp32_products() == Fp32Products::mkl;
      floors_.push_back({.by = other ? Fp32Products::onednn : Fp32Products::mkl, .milliseconds = {}});
    }
    for (const auto& floor : floors_) floor_median(floor.by, 1);
  }

  void round(int64_t steps) {
    result_.step.push_back(median_of(steps, [&] { step(); }));
    for (auto& floor : floors_) floor.milliseconds.push_back(floor_median(floor.by, steps));
  }

  BenchResult result() const {
    BenchResult result = result_;
    const Floor* best = &floors_.front();
    for (const auto& floor : floors_) {
      if (quartiles_of(floor.milliseconds).median < quartiles_of(best->milliseconds).median) best = &floor;
    }
    result.floor = best->milliseconds;
    result.floor_by = device_.is_cuda()                         ? "cuBLAS"
                      : learner_.precision() == Precision::fp32 ? std::string(name_of(best->by))
                                                                : "oneDNN";
    return result;
  }

  std::vector<OpTime> profile() {
    const OpTimes times;
    step();
    return times.times();
  }

 private:
  struct Floor {
    Fp32Products by;
    std::vector<double> milliseconds;
  };

  void step() { learner_.step(index_++, kLearningRate, batch_); }
  double floor_median(Fp32Products by, int64_t times) {
    set_fp32_products(by);
    const double median = median_of(times, [&] {
      for (int64_t i = 0; i < n_micro_batches_; ++i) floor_->run();
    });
    set_fp32_products(best_fp32_products());
    return median;
  }
  /// Milliseconds.
  double median_of(int64_t times, const std::function<void()>& work) const {
    StepTimes step_times(device_);
    for (int64_t i = 0; i < times; ++i) {
      step_times.begin();
      const double begin = steady_seconds();
      work();
      step_times.end(steady_seconds() - begin);
    }
    return step_times.take_median();
  }

  at::Device device_;
  Learner learner_;
  Batch batch_;
  int64_t n_micro_batches_;
  std::vector<LinearShape> shapes_;
  std::unique_ptr<ProductFloor> floor_;
  std::vector<Floor> floors_;
  BenchResult result_;
  int64_t index_ = 0;
};

StepBench::StepBench(const std::vector<BenchCase>& cases, int64_t steps) : steps_(steps) {
  const auto& train = cases.front().config.train;
  const auto device = find_device(train.device);
  const auto precision = choose_precision(train.precision, traits_of(device)).precision;
  for (const auto& of : cases) {
    require_whole_micro_batches(of.config);
    require_padding_is_read(of);
  }
  const auto make = [&](const BenchCase& of) {
    set_threads(train.threads);
    auto contender = std::make_unique<Contender>(of, device, precision);
    contender->warm_up();
    return contender;
  };
  std::vector<int64_t> peaks;
  if (!device.is_cuda()) {
    // Children first: a process that has computed has threads.
    for (const auto& of : cases) peaks.push_back(peak_memory_of([&] { make(of); }));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const int64_t before = device.is_cuda() ? restart_peak_memory(device) : 0;
    contenders_.push_back(make(cases[i]));
    contenders_.back()->set_peak(device.is_cuda() ? peak_memory(device) - before : peaks[i]);
  }
  for (auto& contender : contenders_) contender->make_floor();
}

StepBench::~StepBench() = default;

void StepBench::round() {
  for (auto& contender : contenders_) contender->round(steps_);
}

std::vector<BenchResult> StepBench::results() const {
  std::vector<BenchResult> results;
  for (const auto& contender : contenders_) results.push_back(contender->result());
  return results;
}

std::vector<std::vector<OpTime>> StepBench::profile() {
  std::vector<std::vector<OpTime>> profiles;
  for (auto& contender : contenders_) profiles.push_back(contender->profile());
  return profiles;
}

}  // namespace skipless
