// The table of what a case can be. Another kind of model is one more file with a runner, and its rows here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "comparison.h"
#include "parity_case.h"

namespace skipless::parity {

struct Kind {
  std::string_view family;  // the word of --family
  std::string_view name;
  bool (*is)(const nlohmann::json& settings);
  void (*run)(const Case& parity_case, Comparison& result);
};

std::span<const Kind> kinds();

// batch_cases.cpp: logits, loss, hidden states and gradients of one batch.
void run_official(const Case& parity_case, Comparison& result);
void run_hugging_face_gpt2(const Case& parity_case, Comparison& result);
void run_hugging_face_bert(const Case& parity_case, Comparison& result);
void run_cramming(const Case& parity_case, Comparison& result);
// gpt_training.cpp: eight optimizer steps.
void run_gpt_training(const Case& parity_case, Comparison& result);

}  // namespace skipless::parity
