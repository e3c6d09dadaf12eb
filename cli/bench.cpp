// skipless bench CONFIG [--blocks a,b,...]: how fast the training step is, beside its own matrix products.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/not_empty.h"
#include "cli/openmp.h"
#include "cli/option_checks.h"
#include "cli/standard_output.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "train/bench/bench_json.h"
#include "train/bench/bench_table.h"
#include "train/device.h"
#include "train/device_setup.h"
#include "train/precision.h"
#include "train/run_setup.h"

namespace skipless {

namespace {

struct BenchArguments {
  std::vector<std::string> arguments;  // CONFIG and key=value
  std::vector<std::string> blocks;     // "sas_p" or "sas_p:none"
  std::string precision;
  std::string device;
  int64_t context = 0;  // 0: the config's
  double padding = 0;
  int64_t rounds = 7;
  int64_t steps = 3;
  bool json = false;
  bool profile = false;
  bool on_request = false;
};

void print(const std::string& text) {
  if (!write_standard_output(text)) throw RunError(standard_output_problem());
}

/// What makes a step of the config's tokens out of sequences of another length.
std::vector<std::string> with_context(const RunConfig& config, int64_t context) {
  const int64_t tokens = config.train.batch_size * config.model.context_length;
  if (tokens % context != 0) {
    throw UserError(
        fmt::format("--context {}: the config's step has {} tokens, which is no multiple of it", context, tokens));
  }
  const int64_t sequences = tokens / context;
  std::vector<std::string> overrides = {fmt::format("model.context_length={}", context),
                                        fmt::format("train.batch_size={}", sequences),
                                        fmt::format("train.micro_batch={}", sequences)};
  if (*config.model.n_positions < context) overrides.push_back(fmt::format("model.n_positions={}", context));
  return overrides;
}

std::vector<BenchCase> cases_of(const BenchArguments& given) {
  auto [file, overrides] = split_config_arguments(given.arguments);
  if (file.empty()) throw UserError("a config is needed: skipless bench CONFIG [key=value ...]");
  if (!given.device.empty()) overrides.push_back("train.device=" + given.device);
  if (!given.precision.empty()) overrides.push_back("train.precision=" + given.precision);
  const std::string text = read_config_text(file);
  const auto read = [&text, &file = file](const std::vector<std::string>& with) {
    return parse_config<RunConfig>(text, file, with);
  };
  const RunConfig config = read(overrides);
  if (given.context > 0) {
    const auto more = with_context(config, given.context);
    overrides.insert(overrides.end(), more.begin(), more.end());
  }
  std::vector<std::string> blocks = given.blocks;
  if (blocks.empty()) blocks = {"pre_ln"};
  if (given.blocks.empty() && config.model.block != "pre_ln") blocks.push_back(config.model.block);
  std::vector<BenchCase> cases;
  for (const auto& block : blocks) {
    auto of_block = overrides;
    const auto colon = block.find(':');
    of_block.push_back("model.block=" + block.substr(0, colon));
    if (colon != std::string::npos) of_block.push_back("model.norm=" + block.substr(colon + 1));
    cases.push_back({.name = block, .config = read(of_block), .padding = given.padding});
  }
  return cases;
}

std::string heading(const RunConfig& config, Precision precision, const std::string& setup) {
  const char* const policy = std::getenv("OMP_WAIT_POLICY");
  return fmt::format(
      "{} layers of {}, {} heads, vocabulary {}; a step of {} sequences of {} tokens; {} on {}, {} threads{}\n{}",
      config.model.n_layer, config.model.d_model, config.model.n_head, config.model.vocab_size, config.train.batch_size,
      config.model.context_length, name_of(precision), config.train.device, at::get_num_threads(),
      policy == nullptr ? "" : fmt::format(", OMP_WAIT_POLICY={}", policy), setup.empty() ? "" : setup + "\n");
}

/// A round for every line that is read, answered with its times.
void answer_requests(StepBench& bench) {
  for (std::string line; std::getline(std::cin, line);) {
    bench.round();
    nlohmann::ordered_json answer = nlohmann::ordered_json::array();
    for (const auto& result : bench.results()) {
      answer.push_back({{"block", result.name},
                        {"step_ms", result.step.back()},
                        {"floor_ms", result.floor.back()},
                        {"tokens_per_step", result.tokens},
                        {"peak_bytes", result.peak_bytes}});
    }
    print(answer.dump() + "\n");
  }
}

void run_bench(const BenchArguments& given) {
  const auto cases = cases_of(given);
  let_openmp_threads_sleep();
  const RunConfig& config = cases.front().config;
  const auto device = find_device(config.train.device);
  const auto precision = choose_precision(config.train.precision, traits_of(device)).precision;
  const auto setup = set_up_device(device, precision);
  StepBench bench(cases, given.steps);
  set_threads_or_warn(config.train.threads);
  if (given.on_request) return answer_requests(bench);
  if (!given.json) print(heading(config, precision, setup));
  for (int64_t i = 0; i < given.rounds; ++i) bench.round();
  const auto profiles = given.profile ? bench.profile() : std::vector<std::vector<OpTime>>();
  auto json = bench_json(bench.results());
  std::string text = bench_table(bench.results());
  for (size_t i = 0; i < profiles.size(); ++i) {
    json[i]["operations"] = profile_json(profiles[i]);
    text += "\n" + profile_table(cases[i].name, profiles[i]);
  }
  print(given.json ? json.dump(2) + "\n" : text);
}

}  // namespace

void add_bench(CLI::App& app) {
  const auto given = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench", "Time the training step of blocks, side by side and beside their matrix products");
  command->add_option("config", given->arguments, "YAML config, then key.path=value to override single keys")
      ->check(not_empty());
  command
      ->add_option("--blocks", given->blocks,
                   "Blocks, with commas between them, each with a norm if wanted: pre_ln,sas_p,sas_p:none. Default: "
                   "pre_ln and the config's")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(not_empty());
  command->add_option("--precision", given->precision, "Short for train.precision=...: fp32, fp16, bf16 or auto")
      ->check(not_empty());
  command->add_option("--device", given->device, "Short for train.device=...: cpu, cuda or cuda:N")->check(not_empty());
  command->add_option("--context", given->context, "Tokens of a sequence; the step keeps its number of tokens")
      ->check(integer_between(1, 1 << 20));
  command
      ->add_option(
          "--padding", given->padding,
          "Share of a batch's tokens that is padding, of an encoder; sequences are 1 - 2 * it to 1 times as long")
      ->check(number_between(0, 0.5));
  command->add_option("--rounds", given->rounds, "Rounds, in each of which every block has its turn")
      ->check(integer_between(1, 1000))
      ->capture_default_str();
  command->add_option("--steps", given->steps, "Steps of a turn, whose median counts")
      ->check(integer_between(1, 1000))
      ->capture_default_str();
  auto* json = command->add_flag("--json", given->json, "Print JSON, with the times of every round");
  command->add_flag("--profile", given->profile, "Also the time of every operation of one step");
  command
      ->add_flag("--on-request", given->on_request,
                 "Wait for a line on standard input before each round and answer it in JSON (scripts/bench_peers.sh)")
      ->excludes(json);
  command->footer(
      "of floor: the time of the model's own matrix products alone, by the fastest library that this process has, over "
      "the time of the step.");
  command->callback([given] { run_bench(*given); });
}

}  // namespace skipless
