// skipless prepare: text files -> a folder of token shards. The work is data/prepare.h.
#include "data/prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/not_empty.h"
#include "cli/standard_output.h"
#include "configs/numbers.h"
#include "configs/printable.h"
#include "train/progress.h"

namespace skipless {
namespace {

/// A bar on a terminal, elsewhere a line now and then.
class ProgressPrinter {
 public:
  void show(const PrepareProgress& progress) {
    if (!terminal_ && progress.seconds < next_line_) return;
    next_line_ = progress.seconds + kSecondsPerLine;
    const double share = progress.bytes_total == 0
                             ? 1.0
                             : static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total);
    const double seconds = std::max(progress.seconds, 1e-3);
    const std::string eta = share > 0 ? clock_text(seconds * (1 - share) / share) : "?";
    const std::string line = fmt::format(
        "{:3.0f} %  {:.1f}/{:.1f} MB  {} documents  {:.2f} M tokens  {:.2f} M tokens/s  ETA {}", 100 * share,
        static_cast<double>(progress.bytes_done) / 1e6, static_cast<double>(progress.bytes_total) / 1e6,
        progress.documents, static_cast<double>(progress.tokens) / 1e6,
        static_cast<double>(progress.tokens) / 1e6 / seconds, eta);
    if (!terminal_) {
      write_standard_error(fmt::format("prepare: {}\n", line));
      return;
    }
    constexpr int kBar = 24;
    const int filled = static_cast<int>(share * kBar);
    write_standard_error(fmt::format("\r[{}{}] {}\033[K", std::string(static_cast<std::size_t>(filled), '#'),
                                     std::string(static_cast<std::size_t>(kBar - filled), '.'), line));
    open_line_ = true;
  }

  void warn(const std::string& message) {
    end_line();
    if (++warnings_ > kMostWarnings) return;
    write_standard_error(fmt::format("warning: {}\n", printable(message, kLongestMessage)));
  }

  void note(const std::string& message) {
    end_line();
    write_standard_error(fmt::format("prepare: {}\n", message));
  }

  void finish() {
    end_line();
    if (warnings_ > kMostWarnings) {
      write_standard_error(fmt::format("warning: and {} more; prepare.json lists all\n", warnings_ - kMostWarnings));
    }
  }

  ~ProgressPrinter() { end_line(); }

 private:
  static constexpr double kSecondsPerLine = 5;
  static constexpr int kMostWarnings = 10;
  static constexpr std::size_t kLongestMessage = 5000;

  void end_line() {
    if (open_line_) write_standard_error("\n");
    open_line_ = false;
  }

  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool open_line_ = false;
  double next_line_ = kSecondsPerLine;
  int warnings_ = 0;
};

/// CLI11 would take -1 for the largest seed there is.
CLI::Validator seed_check() {
  return CLI::Validator(
      [](const std::string& text) {
        std::int64_t seed = 0;
        const std::string problem = parse_integer(text, seed);
        if (problem.empty() && seed >= 0) return std::string();
        return fmt::format("{} {}; allowed: an integer from 0 to {}", in_quotes(text),
                           problem.empty() ? "is out of range" : problem, std::numeric_limits<std::int64_t>::max());
      },
      "");
}

/// CLI11 reads a part of what is no number, and numbers that are not finite.
CLI::Validator fraction_check() {
  return CLI::Validator(
      [](const std::string& text) {
        double fraction = 0;
        const std::string problem = parse_number(text, fraction);
        if (problem.empty() && fraction > 0 && fraction < 1) return std::string();
        return fmt::format("{} {}; allowed: a number above 0 and below 1", in_quotes(text),
                           problem.empty() ? "is out of range" : problem);
      },
      "");
}

void print_result(const PrepareOptions& options, const PrepareResult& result) {
  const std::string out = options.out.string();
  if (result.already_done) {
    fmt::print("'{}' holds this preparation already; nothing to do\n", out);
  } else {
    fmt::print("prepared '{}' in {:.1f} s\n", out, result.seconds);
  }
  const auto print_split = [](const char* name, const TokenShardWriter::Summary& split) {
    fmt::print("  {:<10} {:>10} documents {:>14} tokens\n", name, split.documents, split.tokens);
  };
  print_split("train", result.train);
  print_split("validation", result.validation);
  fmt::print("  vocabulary {} tokens{}, tokenizer {} ({})\n", result.vocab_size,
             result.unused_ids > 0 ? fmt::format(" ({} ids unused)", result.unused_ids) : "", result.tokenizer_hash,
             result.tokenizer_kind);
  for (const auto& [reason, count] : result.skipped) fmt::print("  left out: {} ({})\n", count, reason);
}

}  // namespace

void add_prepare(CLI::App& app) {
  const auto options = std::make_shared<PrepareOptions>();
  CLI::App* command = app.add_subcommand("prepare", "Turn text files into token shards for training");
  command
      ->add_option(
          "paths", options->paths,
          "Text files, folders or patterns; of .jsonl files, each line is a document (--field); also as .gz and .zst")
      ->required()
      ->check(not_empty());
  command
      ->add_option(
          "--tokenizer", options->tokenizer,
          "tokenizer.json (byte-level BPE or WordPiece), a WordPiece's vocab.txt, or a folder with one of them or with "
          "vocab.json and merges.txt")
      ->required()
      ->check(not_empty());
  command->add_option("--out", options->out, "Folder to write: train.bin, validation.bin, tokenizer.json, prepare.json")
      ->required()
      ->check(not_empty());
  command->add_option("--field", options->field, "Field of a .jsonl line that holds the text");
  command
      ->add_option("--glob", options->globs,
                   "Files to take in folders, such as '*.py' (default: the extensions of text and source code); "
                   "may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--exclude", options->excludes, "Files and folders to leave out, such as 'tests'; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--validation-fraction", options->validation_fraction,
                   "Share of the documents that is held out, chosen by a hash of their text")
      ->capture_default_str()
      ->check(fraction_check());
  command->add_option("--seed", options->seed, "Seed of that hash")->capture_default_str()->check(seed_check());
  command
      ->add_option("--threads", options->threads,
                   "Threads that encode; the result does not depend on it (0: one per core)")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{64}));
  command->add_flag("--force", options->force, "Replace a preparation with other settings, whole or interrupted");
  command->callback([options] {
    ProgressPrinter printer;
    const PrepareResult result =
        prepare(*options, {.progress = [&](const PrepareProgress& progress) { printer.show(progress); },
                           .warn = [&](const std::string& message) { printer.warn(message); },
                           .note = [&](const std::string& message) { printer.note(message); }});
    printer.finish();
    print_result(*options, result);
  });
}

}  // namespace skipless
