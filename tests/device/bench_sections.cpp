// The training step of every block at one shape, and the largest batch that fits in memory. One block at a time: a card
// of 11 GB does not hold two at the paper's shapes.
#include <ATen/ops/randint.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <fmt/format.h>

#include "models/block_variants.h"
#include "models/device_kernels.h"
#include "sections.h"
#include "train/attention_backend.h"
#include "train/bench/bench_table.h"
#include "train/bench/step_bench.h"
#include "train/device.h"
#include "train/learner.h"
#include "train/out_of_memory.h"
#include "train/stopwatch.h"

namespace skipless::device {

namespace {

NormKind norm_of(const std::string& name) {
  for (const auto& [value, known] : enum_names(NormKind{})) {
    if (known == name) return value;
  }
  return NormKind::none;
}

RunConfig config_of(const std::string& block, int64_t batch, const Options& options, Precision precision) {
  RunConfig config;
  const auto colon = block.find(':');
  config.model.block = block.substr(0, colon);
  if (colon != std::string::npos) config.model.norm = norm_of(block.substr(colon + 1));
  config.model.n_layer = options.layers;
  config.model.d_model = options.width;
  config.model.n_head = options.heads;
  config.model.vocab_size = options.vocabulary;
  config.model.context_length = options.context;
  config.train.batch_size = batch;
  config.train.device = options.device_name;
  config.train.precision = precision;
  config.resolve();
  return config;
}

std::vector<std::string> blocks_of(const Options& options) {
  if (!options.blocks.empty()) return options.blocks;
  std::vector<std::string> blocks;
  for (const auto& variant : block_variants()) blocks.emplace_back(variant.name);
  blocks.emplace_back("sas_p:none");
  return blocks;
}

Precision set_up(const Options& options, Report& report) {
  const auto traits = traits_of(options.device);
  const auto precision = choose_precision(options.precision, traits).precision;
  std::string attention;
  if (options.device.is_cuda()) {
    const auto backend = attention_backend(traits, precision);
    use_attention_backend(backend);
    attention = fmt::format("; {} SDPA", name_of(backend));
  }
  report.line(fmt::format("{} layers of {}, {} heads, vocabulary {}, T {}; {}{}", options.layers, options.width,
                          options.heads, options.vocabulary, options.context, name_of(precision), attention));
  return precision;
}

/// What a model that is gone has left in LibTorch's cache.
void free_memory(at::Device device) {
  if (device.is_cuda()) c10::getDeviceAllocator(device.type())->emptyCache();
}

/// On a card one block after the other; on a CPU all at once, for a process that has computed cannot measure memory any
/// more (train/bench/child_memory.h).
std::vector<std::vector<std::string>> turns_of(const Options& options) {
  const auto blocks = blocks_of(options);
  if (options.device.is_cpu()) return {blocks};
  std::vector<std::vector<std::string>> turns;
  for (const auto& block : blocks) turns.push_back({block});
  return turns;
}

void time_blocks(const Options& options, Precision precision, Report& report) {
  const double begin = steady_seconds();
  std::vector<BenchResult> results;
  for (const auto& turn : turns_of(options)) {
    if (steady_seconds() - begin > options.seconds) {
      report.line(fmt::format("- {}: not run, for want of time", turn.front()));
      continue;
    }
    std::vector<BenchCase> cases;
    for (const auto& block : turn) {
      cases.push_back({.name = block, .config = config_of(block, options.batch, options, precision)});
    }
    try {
      StepBench bench(cases, options.steps);
      for (int64_t i = 0; i < options.rounds; ++i) bench.round();
      for (auto& result : bench.results()) results.push_back(std::move(result));
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      report.line(fmt::format("- {}: out of memory at batch {}", turn.front(), options.batch));
    }
    free_memory(options.device);
  }
  report.line(fmt::format("Batch {}, kernels: {}\n\n```\n{}```", options.batch,
                          device_kernels_in_use() ? "skipless's" : "LibTorch's", bench_table(results)));
}

bool fits(const std::string& block, int64_t batch, const Options& options, Precision precision) {
  constexpr int kSteps = 2;  // the second one with the optimizer's memory in place
  bool does = true;
  try {
    const auto config = config_of(block, batch, options, precision);
    Learner learner(config, options.device, precision);
    const auto integers = at::TensorOptions(at::kLong).device(options.device);
    const Batch random{.ids = at::randint(options.vocabulary, {batch, options.context}, integers)};
    for (int i = 0; i < kSteps; ++i) learner.step(i, 1e-5, random);
    synchronize(options.device);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    does = false;
  }
  free_memory(options.device);
  return does;
}

}  // namespace

Outcome run_bench(const Options& options, Report& report) {
  const auto precision = set_up(options, report);
  time_blocks(options, precision, report);
  if (has_device_kernels() && options.device.is_cuda()) {
    use_device_kernels(true);
    time_blocks(options, precision, report);
    use_device_kernels(false);
  }
  return Outcome::done;
}

Outcome run_fits(const Options& options, Report& report) {
  const auto precision = set_up(options, report);
  const double begin = steady_seconds();
  report.line("\n| block | largest batch that fits, of 1, 2, 4, ... |\n|---|---:|");
  for (const auto& block : blocks_of(options)) {
    if (steady_seconds() - begin > options.seconds) {
      report.line(fmt::format("| {} | not run, for want of time |", block));
      continue;
    }
    int64_t batch = std::min(options.batch, options.most);
    if (fits(block, batch, options, precision)) {
      while (2 * batch <= options.most && fits(block, 2 * batch, options, precision)) batch *= 2;
    } else {
      do batch /= 2;
      while (batch > 0 && !fits(block, batch, options, precision));
    }
    report.line(fmt::format("| {} | {}{} |", block, batch, 2 * batch > options.most ? " (no larger one tried)" : ""));
  }
  return Outcome::done;
}

}  // namespace skipless::device
