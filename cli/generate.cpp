// skipless generate RUN --prompt TEXT: text that goes on from a prompt.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/not_empty.h"
#include "cli/option_checks.h"
#include "cli/run_options.h"
#include "cli/standard_output.h"
#include "configs/error.h"
#include "configs/printable.h"
#include "configs/utf8.h"
#include "data/chunking.h"
#include "eval/generate.h"
#include "eval/text_stream.h"
#include "train/run_tokenizer.h"

namespace skipless {

namespace {

constexpr const char* kStandardInput = "-";

struct GenerateOptions {
  RunOptions run;
  std::string prompt;
  std::string prompt_file;
  bool no_echo = false;
  std::vector<std::string> stops;
  int64_t max_tokens = 0;  // 0: the default
  int64_t seed = 0;
  SamplingConfig sampling;
  std::string tokenizer;
};

/// All that a file, or standard input, holds: a last end of line too.
std::string read_prompt(const std::string& name) {
  const bool standard_input = name == kStandardInput;
  errno = 0;
  std::FILE* file = standard_input ? stdin : std::fopen(name.c_str(), "rb");
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (file != nullptr) {
    const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), bytes);
    if (bytes < buffer.size()) break;
  }
  const int error = file == nullptr || std::ferror(file) != 0 ? errno : 0;
  if (file != nullptr && !standard_input) std::fclose(file);
  if (error != 0) throw UserError(fmt::format("cannot read the prompt from '{}': {}", name, std::strerror(error)));
  return text;
}

/// Ids of the prompt, which is text throughout: the name of a special token in it is only its characters. An empty one
/// is the beginning of a text, which is what follows an end.
std::vector<int32_t> prompt_ids(const std::string& prompt, const Tokenizer& tokenizer) {
  if (const auto invalid = find_invalid_utf8(prompt)) {
    throw UserError(fmt::format("the prompt is not UTF-8: byte 0x{:02X} at offset {}",
                                static_cast<unsigned char>(prompt[*invalid]), *invalid));
  }
  try {
    if (!prompt.empty()) return tokenizer.encode(prompt);
  } catch (const UserError& error) {
    throw UserError(fmt::format("the prompt: {}", error.what()));
  }
  if (const auto id = end_of_text_id(tokenizer)) return {*id};
  throw UserError("the prompt is empty, and the tokenizer has no end-of-text token to begin with");
}

/// What is generated is valid UTF-8: another text would never be met.
void require_utf8(const std::vector<std::string>& stops) {
  for (const auto& stop : stops) {
    if (const auto invalid = find_invalid_utf8(stop)) {
      throw UserError(fmt::format("--stop {} is not UTF-8: byte 0x{:02X} at offset {}", in_quotes(stop),
                                  static_cast<unsigned char>(stop[*invalid]), *invalid));
    }
  }
}

void show(const std::string& text) {
  if (!text.empty() && !write_standard_output(text)) throw RunError(standard_output_problem());
}

void run_generate(const GenerateOptions& options) {
  require_utf8(options.stops);
  const LoadedRun run = load_run(options.run);
  Gpt gpt = causal_model(run, options.run.folder, "generate needs");
  const ModelConfig& model = run.config.model;
  const auto run_tokens = run_tokenizer(run, options.run.folder, options.tokenizer);
  const Tokenizer& tokenizer = *run_tokens;
  require_lossless(tokenizer, "'skipless generate'");
  if (options.sampling.top_k > model.vocab_size) {
    spdlog::warn("--top-k {} is more than the vocabulary: all its {} tokens are taken", options.sampling.top_k,
                 model.vocab_size);
  }
  const std::string prompt = options.prompt_file.empty() ? options.prompt : read_prompt(options.prompt_file);
  const std::vector<int32_t> ids = prompt_ids(prompt, tokenizer);

  GenerationConfig config{.sampling = options.sampling, .max_tokens = {}, .seed = static_cast<uint64_t>(options.seed)};
  if (options.max_tokens > 0) config.max_tokens = options.max_tokens;
  const auto prompt_tokens = static_cast<int64_t>(ids.size());
  const int64_t end = prompt_tokens + config.max_tokens.value_or(default_max_tokens(model, prompt_tokens));
  if (prompt_tokens < *model.n_positions && end > model.context_length && end <= *model.n_positions) {
    spdlog::warn("the model was trained on {} tokens at a time (model.context_length), and may go up to {} here",
                 model.context_length, end);
  }
  TextStream stream(options.stops);
  bool echo = !options.no_echo;
  generate(gpt, run.device, ids, config, allowed_tokens(tokenizer, model.vocab_size), end_of_text_id(tokenizer),
           [&](int32_t id) {
             if (echo) show(prompt);
             echo = false;
             show(stream.push(tokenizer.decode({&id, 1})));
             return !stream.stopped();
           });
  if (echo) show(prompt);
  show(stream.finish() + "\n");
}

}  // namespace

void add_generate(CLI::App& app) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  const auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Text that a run's model writes after a prompt");
  add_run_folder(*command, options->run);
  auto* prompt = command->add_option("--prompt", options->prompt,
                                     "The text to go on from; empty: from the beginning of a text (end-of-text)");
  auto* file = command
                   ->add_option("--prompt-file", options->prompt_file,
                                "A file with that text, its last line end included; - is standard input")
                   ->check(not_empty());
  prompt->excludes(file);
  command->add_flag("--no-echo", options->no_echo, "Print what is generated, without the prompt before it");
  command->add_option("--max-tokens", options->max_tokens, "Most tokens to generate; default: 256, or what fits")
      ->check(integer_between(1, kMost));
  command->add_option("--stop", options->stops, "Stop before this text; may be repeated")
      ->allow_extra_args(false)
      ->check(not_empty());
  command
      ->add_option("--temperature", options->sampling.temperature,
                   "Logits are divided by it; 0: always the most probable token")
      ->check(number_between(0, 1e6))
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "Draw from the K most probable tokens; 0: off")
      ->check(integer_between(0, kMost))
      ->capture_default_str();
  command
      ->add_option("--top-p", options->sampling.top_p,
                   "Draw from the most probable tokens that hold this share together; 1: off")
      ->check(number_between(0, 1))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "The same seed gives the same text")
      ->check(integer_between(0, kMost))
      ->capture_default_str();
  add_run_options(*command, options->run);
  add_tokenizer_option(*command, options->tokenizer);
  command->callback([options, prompt, file] {
    if (prompt->count() == 0 && file->count() == 0) throw UserError("--prompt TEXT or --prompt-file FILE is needed");
    run_generate(*options);
  });
}

}  // namespace skipless
