// The table of what the device program does. Each section writes into the report what it found.
#pragma once

#include <span>
#include <string_view>

#include "options.h"
#include "report.h"

namespace skipless::device {

enum class Outcome { done, skipped };

struct Section {
  std::string_view name;
  std::string_view help;
  Outcome (*run)(const Options& options, Report& report);
};

std::span<const Section> sections();

Outcome check_parity(const Options& options, Report& report);     // parity_section.cpp
Outcome check_gradients(const Options& options, Report& report);  // gradient_sections.cpp
Outcome check_kernels(const Options& options, Report& report);
Outcome check_training(const Options& options, Report& report);  // training_section.cpp
Outcome check_host(const Options& options, Report& report);      // host_section.cpp
Outcome run_bench(const Options& options, Report& report);       // bench_sections.cpp
Outcome run_fits(const Options& options, Report& report);
Outcome describe(const Options& options, Report& report);  // card_sections.cpp
Outcome record(const Options& options, Report& report);

}  // namespace skipless::device
