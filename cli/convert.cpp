// skipless convert IN OUT: the checkpoint of another code as a run of this one, at step 0; with --to the reverse
// (cli/export_run.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/export_run.h"
#include "cli/not_empty.h"
#include "configs/atomic_file.h"
#include "configs/config_check.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "configs/printable.h"
#include "data/prepared_data.h"
#include "data/tokenizer_file.h"
#include "models/convert/checked_config.h"
#include "models/convert/formats.h"
#include "models/convert/json_file.h"
#include "models/make_model.h"
#include "models/safetensors.h"
#include "models/sequence_head.h"
#include "train/checkpoint.h"
#include "train/load_run.h"
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
  std::string to;
  std::string checkpoint = "last";
  std::string config;
  std::string data;
};

fs::path weights_file(const fs::path& in) {
  if (!fs::exists(in)) throw UserError(fmt::format("{}: no such file or folder", in.string()));
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

const ForeignFormat* format_of(const json& settings) {
  for (const auto& format : foreign_formats()) {
    if (format.is(settings)) return &format;
  }
  return nullptr;
}

/// The settings themselves, which a parity case of Hugging Face's models holds under `config`.
json read_settings(const fs::path& file) {
  auto settings = read_json_file(file);
  const bool inside = settings.is_object() && settings.contains("config") && format_of(settings["config"]) != nullptr;
  return inside ? settings["config"] : settings;
}

/// A run's weights are float32. That is said of the file's own tensors: behind the import they have our names.
void require_float32(const std::map<std::string, at::Tensor>& tensors, const fs::path& weights) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.scalar_type() != at::kDouble || tensor.to(at::kFloat).to(at::kDouble).equal(tensor)) continue;
    throw UserError(fmt::format(
        "{}: tensor {} is float64, and holds values that float32, in which a run keeps its weights, cannot hold; save "
        "it as float32",
        weights.string(), in_quotes(name)));
  }
}

struct Import {
  std::string settings;  // the file that they are from
  ImportedModel model;
};

Import import(const ConvertOptions& options, const fs::path& weights) {
  const auto config = config_file(options, weights);
  const auto settings = read_settings(config);
  const ForeignFormat* format = options.from == "auto" ? format_of(settings) : nullptr;
  std::string marks;
  for (const auto& known : foreign_formats()) {
    if (options.from == known.name) format = &known;
    marks += fmt::format("{}{} ({})", marks.empty() ? "" : ", ", known.what, known.marks);
  }
  if (format == nullptr) {
    throw UserError(
        fmt::format("{}: not the settings of {}; if it is one of them, say so with --from", config.string(), marks));
  }
  auto tensors = read_safetensors(weights).tensors;
  require_float32(tensors, weights);
  return {.settings = config.string(),
          .model =
              format->import(settings, std::move(tensors), {.weights = weights.string(), .settings = config.string()})};
}

/// `settings`: the file that a problem is the fault of.
RunConfig run_config(const ConvertOptions& options, const ModelConfig& model, const std::string& settings) {
  RunConfig config;
  config.model = model;
  config.data.folder = options.data.empty() ? kNoData : options.data;
  config.train.eval_tokens = std::max(config.train.eval_tokens, model.context_length);
  require_none(problems_of(config), {}, settings);
  return config;
}

struct FoundTokenizer {
  std::string hash;
  std::string json;
};

FoundTokenizer tokenizer_in(const fs::path& folder, const ModelConfig& model) {
  const auto tokenizer = read_tokenizer(folder);
  if (tokenizer->vocab_size() > model.vocab_size) {
    throw UserError(fmt::format("'{}' has a tokenizer of {} tokens, but the model's vocabulary has {}", folder.string(),
                                tokenizer->vocab_size(), model.vocab_size));
  }
  return {.hash = tokenizer->hash(), .json = tokenizer_json_of(folder)};
}

/// That of `--data`, else the one beside the weights in their folder. One that cannot be used is noted: the weights
/// can.
std::optional<FoundTokenizer> find_tokenizer(const ConvertOptions& options, ImportedModel& imported) {
  if (!options.data.empty()) {
    PreparedData::open(options.data);
    return tokenizer_in(options.data, imported.config);
  }
  const fs::path folder = options.in;
  if (!fs::is_directory(folder)) return std::nullopt;
  const auto is_there = [&](const char* name) { return fs::exists(folder / name); };
  if (!is_there("tokenizer.json") && !is_there("merges.txt") && !is_there("vocab.txt")) return std::nullopt;
  try {
    return tokenizer_in(folder, imported.config);
  } catch (const UserError& error) {
    imported.notes.push_back(fmt::format("the tokenizer: {}", error.what()));
    return std::nullopt;
  }
}

void import_run(const ConvertOptions& options) {
  if (is_run(options.out)) throw UserError(fmt::format("'{}' is a run already; choose another folder", options.out));
  auto [settings, imported] = import(options, weights_file(options.in));
  const auto tokenizer = find_tokenizer(options, imported);
  Checkpoint checkpoint;
  if (tokenizer) checkpoint.state.tokenizer = tokenizer->hash;
  const auto text = write_config(run_config(options, imported.config, settings));

  const auto model = make_model(imported.config);
  load_module_state(*model, imported.tensors, options.in);
  checkpoint.model = {.tensors = module_state(*model), .metadata = {{"config", text}}};
  const RunFolder run(options.out);
  CheckpointFolder(run.paths().checkpoints()).save(checkpoint, /*keep=*/1);
  if (tokenizer) write_file(run.paths().tokenizer(), tokenizer->json);
  if (imported.head) write_sequence_head(run.paths().head(), *imported.head);
  // Last: a folder with a config is a run.
  write_file(run.paths().config(), text);

  fmt::print("{}: {} layers of {}, {} tensors\n", options.out, imported.config.n_layer, imported.config.block,
             checkpoint.model.tensors.size());
  for (const auto& note : imported.notes) fmt::print("  left out: {}\n", note);
  if (imported.head) {
    const bool classifies = imported.head->tensors.count("head_w_2") > 0;
    fmt::print("  {} in {}, for fine-tuning\n", classifies ? "its head for sequences is" : "its pooler is",
               run.paths().head().filename().string());
  }
  const auto& head = imported.config.mlm_head;
  if (imported.config.kind == ModelKind::bert && imported.config.block == "post_ln" && !head.transform) {
    fmt::print("  it has no head of a masked language model: the token embedding stands in for one, untrained\n");
  }
}

}  // namespace

void add_convert(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  std::vector<std::string> sources{"auto"}, targets;
  std::string meanings;
  for (const auto& format : foreign_formats()) {
    sources.emplace_back(format.name);
    targets.emplace_back(format.name);
    meanings += fmt::format("{}{}: {}", meanings.empty() ? "" : "; ", format.name, format.what);
  }
  CLI::App* command = app.add_subcommand(
      "convert", "The weights of another code as a run, or with --to those of a run for another code");
  command
      ->add_option("in", options->in,
                   "A .safetensors file, or a folder with model.safetensors and config.json; with --to, a run")
      ->required()
      ->check(not_empty());
  command->add_option("out", options->out, "Folder to write")->required()->check(not_empty());
  auto* from = command->add_option("--from", options->from, fmt::format("auto: by the settings; {}", meanings))
                   ->check(CLI::IsMember(sources))
                   ->capture_default_str();
  auto* config =
      command->add_option("--config", options->config, "Its settings, JSON; default: config.json or X.json beside X")
          ->check(not_empty());
  auto* data =
      command->add_option("--data", options->data, "Folder that 'skipless prepare' wrote with the model's tokenizer")
          ->check(not_empty());
  auto* to =
      command->add_option("--to", options->to, fmt::format("Write model.safetensors and config.json for {}", meanings))
          ->check(CLI::IsMember(targets));
  for (auto* option : {from, config, data}) to->excludes(option);
  command->add_option("--checkpoint", options->checkpoint, "With --to: last, best (lowest validation loss), or a step")
      ->capture_default_str()
      ->needs(to);
  command->callback([options] {
    if (options->to.empty()) {
      import_run(*options);
    } else {
      export_run(options->in, options->out, options->to, options->checkpoint);
    }
  });
}

}  // namespace skipless
