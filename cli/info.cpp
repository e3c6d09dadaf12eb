// skipless info CONFIG: what a config costs, before anything is built. The figures are models/model_info.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/not_empty.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "models/convert/official.h"
#include "models/model_info.h"
#include "train/run_config.h"

namespace skipless {

namespace {

void print_info(const RunConfig& config) {
  const ModelConfig& model = config.model;
  fmt::print("{}, block {}, norm {}: {} layers of {}, {} heads, d_ff {}, vocabulary {}, {} positions\n\n",
             name_of(model.kind), model.block, name_of(model.block_config().settings(model).norm), model.n_layer,
             model.d_model, model.n_head, *model.d_ff, model.vocab_size, *model.n_positions);
  const auto parameters = n_parameters(model);
  for (const auto& part : parameter_table(model)) fmt::print("{:<32}{:>14}\n", part.part, part.parameters);
  fmt::print("{:<32}{:>14}  {:.1f} M\n", "trained parameters", parameters, static_cast<double>(parameters) / 1e6);
  if (model.kind == ModelKind::gpt) {
    const auto theirs = official_parameter_count(model);
    fmt::print("{:<32}{:>14}  {:.1f} M  (with frozen gains, zero biases and unused norms)\n",
               "in the authors' counting", theirs, static_cast<double>(theirs) / 1e6);
  }
  fmt::print("\n");

  const auto flops = flops_per_token(model, config.predicted_share());
  fmt::print("{:<32}{:>14.3f} M\n{:<32}{:>14.3f} M\n\n", "FLOPs per token, forward", flops.forward / 1e6,
             "FLOPs per token, training", flops.training / 1e6);

  const int64_t sequences = *config.train.micro_batch;
  const auto memory = training_memory(model, sequences, config.train.recompute);
  fmt::print("Training memory, fp32, {} sequences of {} tokens a micro-batch (estimate)\n", sequences,
             model.context_length);
  const std::pair<const char*, double> rows[] = {
      {"weights", memory.weights},         {"gradients", memory.gradients},    {"optimizer", memory.optimizer},
      {"activations", memory.activations}, {"logits and loss", memory.logits}, {"total", memory.total()}};
  for (const auto& [name, bytes] : rows) fmt::print("{:<32}{:>14.1f} MiB\n", name, bytes / (1 << 20));
}

}  // namespace

void add_info(CLI::App& app) {
  const auto arguments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("info", "Parameters, FLOPs and memory of a config");
  command->add_option("config", *arguments, "YAML config, then key.path=value to override single keys")
      ->required()
      ->check(not_empty());
  command->callback([arguments] {
    const auto [file, overrides] = split_config_arguments(*arguments);
    if (file.empty()) throw UserError("a config is needed: skipless info CONFIG [key=value ...]");
    print_info(read_config_file<RunConfig>(file, overrides));
  });
}

}  // namespace skipless
