// One batch forward and backward, in float64 and, where the case has it, in float32: GPT models, encoders, and
// encoders with a head for sequences.
#pragma once

#include "batch_run.h"
#include "comparison.h"
#include "models/convert/tensor_map.h"
#include "parity_case.h"
#include "plain_case.h"

namespace skipless::parity {

/// A case in this project's own terms.
struct BatchCase {
  const Case& parity_case;
  ImportedModel imported;
  int64_t count = 0;  // their parameters, by our formulas
  BatchForm form{};
};

BatchCase official_case(const Case& parity_case);
BatchCase hugging_face_gpt2_case(const Case& parity_case);
BatchCase hugging_face_bert_case(const Case& parity_case);
BatchCase cramming_case(const Case& parity_case);

void compare(const BatchCase& of, Comparison& result);
/// The same case without a word of the other code.
PlainCase plain_case(const BatchCase& of);

}  // namespace skipless::parity
