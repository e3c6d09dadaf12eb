// parity [DIR] [--family all|gpt|encoder] [--markdown]: runs every case of a folder of reference values that other code
// wrote, and says how far this project's models are from them. Exits with 1 if anything is outside its bound.
// --plain OUT writes the cases of one batch for programs without JSON (plain_case.h) instead.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "configs/error.h"
#include "family.h"

namespace skipless::parity {
namespace {

std::filesystem::path default_folder() {
  const std::filesystem::path source = SKIPLESS_SOURCE_DIR;
  const char* setting = std::getenv("SKIPLESS_SHARED");
  const auto shared =
      (setting != nullptr ? std::filesystem::path(setting) : source.parent_path() / "shared") / "parity";
  return std::filesystem::is_directory(shared) ? shared : source / "tests/reference/parity";
}

const Kind* kind_of(const Case& parity_case) {
  for (const auto& kind : kinds()) {
    if (kind.is(parity_case.settings)) return &kind;
  }
  return nullptr;
}

Comparison run(const Case& parity_case, const Kind* kind) {
  Comparison result;
  if (kind == nullptr) {
    result.fail("its JSON describes no kind of model that is known here");
  } else {
    try {
      if (kind->batch == nullptr) {
        run_gpt_training(parity_case, result);
      } else {
        compare(kind->batch(parity_case), result);
      }
    } catch (const std::exception& error) {
      // The first line: LibTorch's messages go on with a backtrace.
      const std::string text = error.what();
      result.fail(text.substr(0, text.find('\n')));
    }
  }
  return result;
}

void print_text(const Case& parity_case, const Comparison& result) {
  fmt::print("{:<24} {}\n", parity_case.name, result.passed() ? "pass" : "FAIL");
  for (const auto& m : result.measures()) {
    fmt::print("    {:<20} {:4} compared, largest {:8.1e} of {:.0e}{}  {}\n", m.kind, m.compared, m.difference, m.bound,
               m.within() ? "" : "  OUTSIDE", m.worst);
  }
  for (const auto& problem : result.problems()) fmt::print("    {}\n", problem);
}

/// One row: the largest difference of each group of measures.
void print_markdown(const Case& parity_case, const Kind* kind, const Comparison& result) {
  const auto cell = [&](const std::vector<std::string>& endings, bool float32) -> std::string {
    double worst = -1;
    for (const auto& m : result.measures()) {
      if ((m.kind.rfind("f32", 0) == 0) != float32) continue;
      for (const auto& ending : endings) {
        if (m.kind.ends_with(ending)) worst = std::max(worst, m.difference);
      }
    }
    return worst < 0 ? "" : fmt::format("{:.1e}", worst);
  };
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", parity_case.name, kind == nullptr ? "?" : kind->name,
             cell({"logits"}, false), cell({"loss"}, false), cell({"hidden"}, false),
             cell({"gradients", "grad_norm"}, false), cell({"final weights"}, false),
             cell({"logits", "loss", "matrices", "gains", "norms, biases"}, true), result.passed() ? "pass" : "FAIL");
}

struct Options {
  std::string folder = default_folder().string();
  std::string family = "all";
  bool markdown = false;
  std::string plain;  // "": compare
};

int write_plain(const Options& options) {
  for (const auto& parity_case : find_cases(options.folder)) {
    const auto* kind = kind_of(parity_case);
    if (kind == nullptr || kind->batch == nullptr) continue;
    const auto file = std::filesystem::path(options.plain) / (parity_case.name + ".pt");
    write_plain_case(file, plain_case(kind->batch(parity_case)));
    fmt::print("{}\n", file.string());
  }
  return 0;
}

int run_all(const Options& options) {
  int passed = 0, failed = 0, of_other_families = 0;
  const auto cases = find_cases(options.folder);
  if (options.markdown) {
    fmt::print(
        "| case | kind | logits | loss | hidden states | gradients | final weights | float32 | |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
  }
  for (const auto& parity_case : cases) {
    const auto* kind = kind_of(parity_case);
    if (kind != nullptr && options.family != "all" && kind->family != options.family) {
      ++of_other_families;
      continue;
    }
    const auto result = run(parity_case, kind);
    ++(result.passed() ? passed : failed);
    if (options.markdown) {
      print_markdown(parity_case, kind, result);
    } else {
      print_text(parity_case, result);
    }
  }
  fmt::print("{}{}: {} of {} cases pass, {} fail; {} not of family '{}'\n", options.markdown ? "\n" : "",
             options.folder, passed, passed + failed, failed, of_other_families, options.family);
  if (passed + failed == 0) fmt::print("no case of family '{}'\n", options.family);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace skipless::parity

int main(int argc, char** argv) {
  CLI::App app("How far this project's models are from reference values that other code wrote");
  skipless::parity::Options options;
  app.add_option("dir", options.folder, "Folder of the cases, or one with a folder 'cases'")->capture_default_str();
  app.add_option("--family", options.family, "Which models")
      ->check(CLI::IsMember({"gpt", "encoder", "all"}))
      ->capture_default_str();
  app.add_flag("--markdown", options.markdown, "Print a Markdown table");
  app.add_option("--plain", options.plain,
                 "Write the cases of one batch into this folder for tests/device, and compare nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!options.plain.empty()) return skipless::parity::write_plain(options);
    return skipless::parity::run_all(options);
  } catch (const skipless::UserError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
