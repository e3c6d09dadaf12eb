// The table of what a case can be. Another kind of model is one more file with a runner, and its rows here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "batch_cases.h"

namespace skipless::parity {

struct Kind {
  std::string_view family;  // the word of --family
  std::string_view name;
  bool (*is)(const nlohmann::json& settings);
  BatchCase (*batch)(const Case& parity_case);  // null: not one batch, but training
};

std::span<const Kind> kinds();

// gpt_training.cpp: eight optimizer steps.
void run_gpt_training(const Case& parity_case, Comparison& result);

}  // namespace skipless::parity
