// skipless convert IN OUT: the checkpoint of another code as a run of this one, at step 0.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/not_empty.h"
#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "data/prepared_data.h"
#include "models/convert/gpt2.h"
#include "models/convert/json_file.h"
#include "models/convert/official.h"
#include "models/gpt.h"
#include "models/safetensors.h"
#include "train/checkpoint.h"
#include "train/module_state.h"
#include "train/run_config.h"
#include "train/run_folder.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ConvertOptions {
  std::string in;
  std::string out;
  std::string from = "auto";
  std::string config;
  std::string data;
};

/// What stands in the run's `data.folder` until a folder is known.
constexpr const char* kNoData = "(imported weights: no data)";

fs::path weights_file(const fs::path& in) {
  if (!fs::is_directory(in)) return in;
  const auto file = in / "model.safetensors";
  if (fs::exists(in / "model.safetensors.index.json")) {
    throw UserError(fmt::format("{}: its weights are split over several files, which is not supported", in.string()));
  }
  if (!fs::exists(file)) throw UserError(fmt::format("{}: no model.safetensors in it", in.string()));
  return file;
}

/// config.json beside the weights, or X.json beside X.safetensors or X.weights.safetensors.
fs::path config_file(const ConvertOptions& options, const fs::path& weights) {
  if (!options.config.empty()) return options.config;
  const auto beside = weights.parent_path() / "config.json";
  if (fs::exists(beside)) return beside;
  const auto stem = weights.stem();
  auto named = weights.parent_path() / (stem.extension() == ".weights" ? stem.stem() : stem);
  named += ".json";
  if (fs::exists(named)) return named;
  throw UserError(fmt::format("{}: no settings: neither {} nor {} is there; give them with --config", weights.string(),
                              beside.string(), named.string()));
}

/// The settings themselves, which a parity case holds under `config`.
json read_settings(const fs::path& file) {
  const auto settings = read_json_file(file);
  return settings.contains("config") && is_gpt2_config(settings["config"]) ? settings["config"] : settings;
}

ImportedModel import(const ConvertOptions& options, const fs::path& weights) {
  const auto config = config_file(options, weights);
  const auto settings = read_settings(config);
  const bool authors = options.from == "auto" ? is_official_config(settings) : options.from == "authors";
  if (options.from == "auto" && !authors && !is_gpt2_config(settings)) {
    throw UserError(
        fmt::format("{}: neither the settings of the authors (model_cfg or overrides) nor those of a GPT-2 "
                    "(model_type gpt2); if it is one of them, say so with --from",
                    config.string()));
  }
  auto tensors = read_safetensors(weights).tensors;
  const auto source = weights.string();
  return authors ? import_official(settings, std::move(tensors), source)
                 : import_gpt2(settings, std::move(tensors), source);
}

RunConfig run_config(const ConvertOptions& options, const ModelConfig& model) {
  RunConfig config;
  config.model = model;
  config.data.folder = options.data.empty() ? kNoData : options.data;
  config.resolve();
  return config;
}

/// The hash of the tokenizer that `--data` was prepared with; empty without it.
std::string tokenizer_hash(const ConvertOptions& options, const ModelConfig& model) {
  if (options.data.empty()) return "";
  const auto data = PreparedData::open(options.data);
  if (data.vocab_size > model.vocab_size) {
    throw UserError(fmt::format("'{}' was prepared with a vocabulary of {}, but the model's has {}", options.data,
                                data.vocab_size, model.vocab_size));
  }
  return data.tokenizer_hash;
}

void run_convert(const ConvertOptions& options) {
  if (is_run(options.out)) throw UserError(fmt::format("'{}' is a run already; choose another folder", options.out));
  const auto imported = import(options, weights_file(options.in));
  Checkpoint checkpoint;
  checkpoint.state.tokenizer = tokenizer_hash(options, imported.config);
  const auto text = write_config(run_config(options, imported.config));

  Gpt model(imported.config);
  load_module_state(*model, imported.tensors, options.in);
  checkpoint.model = {.tensors = module_state(*model), .metadata = {{"config", text}}};
  const RunFolder run(options.out);
  CheckpointFolder(run.paths().checkpoints()).save(checkpoint, /*keep=*/1);
  // Last: a folder with a config is a run.
  write_file(run.paths().config(), text);

  fmt::print("{}: {} layers of {}, {} tensors\n", options.out, imported.config.n_layer, imported.config.block,
             checkpoint.model.tensors.size());
  for (const auto& note : imported.notes) fmt::print("  left out: {}\n", note);
}

}  // namespace

void add_convert(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "The weights of another code as a run that 'eval' can read");
  command->add_option("in", options->in, "A .safetensors file, or a folder with model.safetensors and config.json")
      ->required();
  command->add_option("out", options->out, "Folder of the run to write")->required();
  command->add_option("--from", options->from, "auto: by the settings; authors: the paper's code; gpt2: Hugging Face")
      ->check(CLI::IsMember({"auto", "authors", "gpt2"}))
      ->capture_default_str();
  command->add_option("--config", options->config, "Its settings, JSON; default: config.json or X.json beside X");
  command->add_option("--data", options->data, "Folder that 'skipless prepare' wrote with the model's tokenizer")
      ->check(not_empty());
  command->callback([options] { run_convert(*options); });
}

}  // namespace skipless
