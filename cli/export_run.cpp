#include "cli/export_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "data/chunking.h"
#include "data/tokenizer_file.h"
#include "models/convert/formats.h"
#include "models/safetensors.h"
#include "train/load_run.h"
#include "train/module_state.h"
#include "train/run_folder.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;

void require_free(const fs::path& out) {
  std::error_code ignored;
  if (!fs::exists(out, ignored)) return;
  if (!fs::is_directory(out, ignored)) throw UserError(fmt::format("'{}' is there already", out.string()));
  if (!fs::is_empty(out, ignored)) {
    throw UserError(fmt::format("'{}' is there already, and not empty; choose another folder", out.string()));
  }
}

}  // namespace

void export_run(const std::string& run, const std::string& out, const std::string& to, const std::string& checkpoint) {
  require_free(out);
  const LoadedRun loaded = load_run(run, checkpoint, "cpu");
  const ModelConfig& config = loaded.config.model;
  const auto state = module_state(*loaded.model);
  const fs::path tokenizer = RunPaths{run}.tokenizer();
  std::error_code ignored;
  const bool has_tokenizer = fs::exists(tokenizer, ignored);
  const auto end_of_text = has_tokenizer ? end_of_text_id(*read_tokenizer(tokenizer)) : std::nullopt;
  const auto formats = foreign_formats();
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& known) { return known.name == to; });
  const ExportedModel exported = format->export_model(config, state, end_of_text);
  const fs::path folder = out;
  make_folder(folder);
  write_safetensors(folder / "model.safetensors", {.tensors = exported.tensors, .metadata = {}});
  if (has_tokenizer) write_file(folder / "tokenizer.json", tokenizer_json_of(tokenizer));
  write_file(folder / "config.json", exported.settings);
  fmt::print("{}: {} layers, {} tensors for {}, step {}\n", out, config.n_layer, exported.tensors.size(), format->what,
             loaded.state.step);
  for (const auto& note : exported.notes) fmt::print("  differs, without effect on the logits: {}\n", note);
}

}  // namespace skipless
