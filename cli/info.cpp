// skipless info CONFIG: what a config costs, before anything is built. The figures are models/model_info.h. With
// --graph instead: how its block is wired.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/not_empty.h"
#include "cli/option_checks.h"
#include "cli/standard_output.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "eval/graph/dot.h"
#include "models/convert/official.h"
#include "models/model_info.h"
#include "train/run_config.h"

namespace skipless {

namespace {

struct InfoOptions {
  std::vector<std::string> arguments;  // CONFIG and key=value
  bool graph = false;
  std::optional<int64_t> layer;  // empty: the middle one
};

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

void print_graph(const ModelConfig& model, int64_t layer) {
  if (layer >= model.n_layer) {
    throw UserError(fmt::format("--layer is {}, and the model has layers 0 to {}", layer, model.n_layer - 1));
  }
  const Block block = model.block_config().build(model, layer);
  block->to(at::kDouble);
  const auto graph = block_graph(*block, model.d_model, AttentionMask{.causal = model.kind == ModelKind::gpt});
  const std::string name = model.block + (model.norm == NormKind::none ? "_nonorm" : "");
  if (!write_standard_output(dot_of(graph, name))) throw RunError(standard_output_problem());
}

}  // namespace

void add_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand("info", "Parameters, FLOPs and memory of a config; or how its block is wired");
  command->add_option("config", options->arguments, "YAML config, then key.path=value to override single keys")
      ->required()
      ->check(not_empty());
  auto* graph = command->add_flag("--graph", options->graph,
                                  "Instead: one block as a graph of parts, gains and skips, for Graphviz (dot -Tpng)");
  command->add_option("--layer", options->layer, "Of --graph: which block, from 0; default: the middle one")
      ->check(integer_between(0, 1 << 20))
      ->needs(graph);
  command->callback([options] {
    const auto [file, overrides] = split_config_arguments(options->arguments);
    if (file.empty()) throw UserError("a config is needed: skipless info CONFIG [key=value ...]");
    const auto config = read_config_file<RunConfig>(file, overrides);
    if (options->graph) {
      print_graph(config.model, options->layer.value_or(config.model.n_layer / 2));
    } else {
      print_info(config);
    }
  });
}

}  // namespace skipless
