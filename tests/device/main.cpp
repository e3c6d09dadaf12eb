// device_check SECTION [--device cpu|cuda|cuda:N] [--small] [...]: checks this project on a device and times it there
// (scripts/gpu_check.sh). Prints Markdown. Exit codes: 0 passed, 1 failed, 2 a mistake in the arguments or no such
// device, 77 skipped.
//
// It needs LibTorch and nothing else, so that it can be built where there is a card and little more
// (scripts/build_device_check.sh).
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>

#include "configs/error.h"
#include "sections.h"
#include "train/device.h"

namespace skipless::device {

std::span<const Section> sections() {
  static constexpr std::array<Section, 9> kSections{{
      {"card", "the device, its driver's and LibTorch's versions", describe},
      {"parity", "reference values of other code, in float64 and float32", check_parity},
      {"gradients", "losses and gradients of every block against float64 on the CPU, in every precision",
       check_gradients},
      {"kernels", "the same with this project's kernels", check_kernels},
      {"training", "fp16 and bf16 training against fp32, and steps that are skipped", check_training},
      {"host", "what a step reads back on the host, and which attention runs", check_host},
      {"bench", "the training step of every block", run_bench},
      {"fits", "the largest batch of every block that fits in memory", run_fits},
      {"record", "remembers that this card has passed", record},
  }};
  return kSections;
}

namespace {

constexpr int kSkipped = 77;

int usage() {
  fmt::print(stderr, "usage: device_check SECTION [--device cpu|cuda|cuda:N] [--small] [--option VALUE ...]\n");
  for (const auto& section : sections()) fmt::print(stderr, "  {:<10} {}\n", section.name, section.help);
  return 2;
}

int run(Options options) {
  for (const auto& section : sections()) {
    if (section.name != options.section) continue;
    options.device = find_device(options.device_name);
    Report report;
    if (section.run(options, report) == Outcome::skipped) return kSkipped;
    return report.passed() ? 0 : 1;
  }
  return usage();
}

}  // namespace
}  // namespace skipless::device

int main(int argc, char** argv) {
  try {
    return skipless::device::run(skipless::device::parse(argc, argv));
  } catch (const skipless::UserError& error) {
    fmt::print(stderr, "device_check: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print("\n**FAILED**: {}\n", error.what());
    return 1;
  }
}
