// skipless analyze RUN|CONFIG: what a model does to text, layer by layer, as JSON (docs/analysis.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/not_empty.h"
#include "cli/openmp.h"
#include "cli/option_checks.h"
#include "cli/run_options.h"
#include "cli/standard_output.h"
#include "cli/text_options.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "eval/analysis/analyze.h"
#include "eval/analysis/sequences.h"
#include "models/make_model.h"
#include "train/device.h"
#include "train/run_tokenizer.h"

namespace skipless {

namespace {

using Json = nlohmann::ordered_json;

struct AnalyzeOptions {
  std::vector<std::string> arguments;  // RUN, or CONFIG and key=value
  std::string checkpoint;              // empty: the last one
  TextOptions text;
  bool random_tokens = false;
  int64_t sequences = 8;
  int64_t length = 0;  // 0: context_length
};

/// What is analyzed: the model of a run, or that with which a config's training would begin.
struct Subject {
  RunConfig config;
  Transformer model;
  std::unique_ptr<const Tokenizer> tokenizer;  // only where there is text
  Json source;
};

bool is_folder(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(name, ignored);
}

Subject of_run(const AnalyzeOptions& options) {
  const std::string& folder = options.arguments.front();
  if (options.arguments.size() > 1) {
    throw UserError(
        fmt::format("'{}': a run's config is not changed; key=value is for a config", options.arguments[1]));
  }
  LoadedRun run = load_run(folder, options.checkpoint.empty() ? "last" : options.checkpoint, "cpu");
  Subject subject{.config = run.config,
                  .model = run.model,
                  .tokenizer = nullptr,
                  .source = {{"run", folder}, {"step", run.state.step}}};
  if (!options.random_tokens) subject.tokenizer = run_tokenizer(run, folder, options.text.tokenizer);
  return subject;
}

Subject of_config(const AnalyzeOptions& options) {
  const auto [file, overrides] = split_config_arguments(options.arguments);
  if (file.empty()) throw UserError("a run or a config is needed: skipless analyze RUN|CONFIG [key=value ...]");
  if (!options.checkpoint.empty()) {
    throw UserError(fmt::format("--checkpoint is for a run, and '{}' is a config", file));
  }
  Subject subject{.config = read_config_file<RunConfig>(file, overrides),
                  .model = nullptr,
                  .tokenizer = nullptr,
                  .source = {{"config", file}, {"overrides", overrides}}};
  seed_generators(at::kCPU, subject.config.train.seed);
  subject.model = make_model(subject.config.model);
  if (!options.random_tokens) {
    subject.tokenizer = config_tokenizer(subject.config, file, options.text.tokenizer);
  }
  return subject;
}

int64_t length_for(const ModelConfig& model, int64_t asked) {
  const int64_t length = asked > 0 ? asked : model.context_length;
  if (length > *model.n_positions) {
    throw UserError(fmt::format("--length is {}, and the model has {} positions", length, *model.n_positions));
  }
  if (length < 2) throw UserError("sequences of one token have nothing to compare: give --length");
  return length;
}

at::Tensor sequences_for(const Subject& subject, const AnalyzeOptions& options, int64_t length) {
  if (options.random_tokens) {
    return random_sequences(subject.config.model.vocab_size, options.sequences, length, /*seed=*/0);
  }
  return text_sequences(find_input_files(options.text.inputs), options.text.field, *subject.tokenizer,
                        options.sequences, length, leave_out);
}

void run_analyze(const AnalyzeOptions& options) {
  if (options.text.inputs.paths.empty() != options.random_tokens) {
    throw UserError("what should the model read? --text FILE or --random-tokens is needed");
  }
  let_openmp_threads_sleep();
  const Subject subject = is_folder(options.arguments.front()) ? of_run(options) : of_config(options);
  const ModelConfig& model = subject.config.model;
  const int64_t length = length_for(model, options.length);
  const auto ids = sequences_for(subject, options, length);
  subject.model->to(at::kDouble);
  Json json = {{"source", subject.source},
               {"model",
                {{"kind", name_of(model.kind)},
                 {"block", model.block},
                 {"n_layer", model.n_layer},
                 {"n_head", model.n_head},
                 {"d_model", model.d_model}}},
               {"text", options.random_tokens ? Json("random tokens") : Json(options.text.inputs.paths)},
               {"sequences", options.sequences},
               {"length", length}};
  json.update(analyze(*subject.model, ids));
  if (!write_standard_output(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n")) {
    throw RunError(standard_output_problem());
  }
}

}  // namespace

void add_analyze(CLI::App& app) {
  const auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command = app.add_subcommand(
      "analyze", "Gains, ranks, spectra and entropies of attention and the representations of every layer, as JSON");
  command
      ->add_option("model", options->arguments,
                   "Folder of a run; or a YAML config, then key.path=value to override single keys: its model at the "
                   "start of training")
      ->required()
      ->check(not_empty());
  command->add_option("--checkpoint", options->checkpoint, "Of the run: last (the default), best, or a step")
      ->check(not_empty());
  auto* text = add_text_options(*command, options->text,
                                "Raw text for the model: files, folders or patterns, as 'skipless prepare' takes them");
  command
      ->add_flag("--random-tokens", options->random_tokens,
                 "Instead of text: tokens drawn uniformly from the vocabulary, the same every time")
      ->excludes(text);
  command
      ->add_option("--sequences", options->sequences, "Sequences, the first ones of the text; averages are over them")
      ->check(integer_between(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--length", options->length, "Tokens of a sequence; default: the model's context_length")
      ->check(integer_between(2, 1 << 20));
  command->callback([options] { run_analyze(*options); });
}

}  // namespace skipless
