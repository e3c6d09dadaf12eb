// What a training step reads back on the host, and which of LibTorch's attentions runs.
#include <ATen/SDPBackend.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <atomic>
#include <functional>

#include "models/block_variants.h"
#include "sections.h"
#include "synchronisations.h"
#include "train/attention_backend.h"
#include "train/device.h"
#include "train/learner.h"

namespace skipless::device {

namespace {

std::atomic<int64_t> n_read = 0;

std::unique_ptr<at::ObserverContext> count_reading(const at::RecordFunction& function) {
  if (std::string_view(function.name()) == "aten::_local_scalar_dense") ++n_read;
  return nullptr;
}

/// How often `work` takes a tensor's number to the host, in any thread.
int64_t numbers_read(const std::function<void()>& work) {
  n_read = 0;
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(count_reading));
  work();
  at::removeCallback(handle);
  return n_read;
}

RunConfig config_of(std::string_view block, Precision precision) {
  RunConfig config;
  config.model.block = block;
  config.model.n_layer = 2;
  config.model.d_model = 64;
  config.model.n_head = 2;
  config.model.vocab_size = 128;
  config.model.context_length = 32;
  config.train.batch_size = 8;
  config.train.micro_batch = 4;
  config.train.precision = precision;
  config.resolve();
  return config;
}

void check_step(std::string_view block, Precision precision, const Options& options, Report& report) {
  const auto config = config_of(block, precision);
  Learner learner(config, options.device, precision);
  const Batch batch{
      .ids = at::randint(config.model.vocab_size, {8, 32}, at::TensorOptions(at::kLong).device(options.device))};
  int64_t index = 0;
  const auto step = [&] { learner.step(index++, 1e-3, batch); };
  step();
  synchronize(options.device);
  const int64_t read = numbers_read(step);
  const auto what = fmt::format("{} in {}: a step takes {} numbers to the host", block, name_of(precision), read);
  if (options.device.is_cpu()) {
    report.line(fmt::format("- {} (on a CPU that is no waiting)", what));
    return;
  }
  report.require(read == 0, what);
  // LibTorch's own operations may wait: told, and not judged.
  if (const auto waits = synchronisations_of(step)) {
    report.line(fmt::format("  - LibTorch warns of {} synchronisations{}", waits->size(),
                            waits->empty() ? "" : ": " + waits->front().substr(0, waits->front().find('\n'))));
  }
}

std::string_view name_of_backend(int64_t backend) {
  switch (static_cast<at::SDPBackend>(backend)) {
    case at::SDPBackend::flash_attention:
      return "flash";
    case at::SDPBackend::efficient_attention:
      return "memory-efficient";
    case at::SDPBackend::cudnn_attention:
      return "cuDNN";
    default:
      return "plain";
  }
}

void check_attention(const Options& options, Report& report) {
  struct Form {
    Precision precision;
    at::ScalarType type;
  };
  const auto traits = traits_of(options.device);
  for (const auto& [precision, type] :
       {Form{Precision::fp32, at::kFloat}, Form{Precision::fp16, at::kHalf}, Form{Precision::bf16, at::kBFloat16}}) {
    if (precision == Precision::bf16 && traits.major < 8) continue;
    const auto backend = attention_backend(traits, precision);
    use_attention_backend(backend);
    const auto q = at::randn({2, 12, 128, 64}, at::TensorOptions(type).device(options.device)).requires_grad_();
    const auto ran = name_of_backend(at::_fused_sdp_choice(q, q, q, {}, 0, /*is_causal=*/true));
    report.require(ran == name_of(backend),
                   fmt::format("attention in {}: {} SDPA, meant to be {}", name_of(precision), ran, name_of(backend)));
  }
}

}  // namespace

Outcome check_host(const Options& options, Report& report) {
  const auto number = at::ones({}, at::TensorOptions(at::kFloat).device(options.device));
  report.require(numbers_read([&] { number.item<float>(); }) == 1, "a number that is read is seen");
  for (const auto& variant : block_variants()) {
    check_step(variant.name, Precision::fp32, options, report);
    check_step(variant.name, Precision::fp16, options, report);
  }
  if (options.device.is_cuda()) check_attention(options, report);
  return Outcome::done;
}

}  // namespace skipless::device
