// What a fine-tuned model says of the examples of a task.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/glue_sequences.h"
#include "models/classifier.h"

namespace skipless {

/// The examples `rows` as `model` reads them, padded with `padding_id` to the longest of them, on the CPU (`pinned`:
/// for a copy to a GPU beside other work). labels [B]: int64 classes, or of a regression float32. `kept` is undefined
/// where nothing is padded, `token_types` where the model has no two of them.
Batch glue_batch(const ClassifierImpl& model, const GlueSequences& sequences, std::span<const int64_t> rows,
                 int64_t padding_id, bool pinned = false);

/// Of every example, in their order: the most probable class, or of a regression the number; NaN where an output is not
/// finite. At most `batch_size` examples at once, the last batch counted like the others; `model` lies on `device`, and
/// is put into evaluation mode for the time of the call.
std::vector<double> predict_glue(ClassifierImpl& model, const GlueSequences& sequences, int64_t batch_size,
                                 int64_t padding_id, at::Device device);

}  // namespace skipless
