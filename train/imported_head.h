// A head that came with imported weights, as the beginning of a head that is fine-tuned.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "data/glue_tasks.h"
#include "models/sequence_head.h"

namespace skipless {

/// Adds to `tensors` what a head for `task` can begin with: the hidden layer, and the last map where its classes are
/// the task's by their names, whose order it is brought to, or both are regressions. glue_model leaves out what is of
/// another shape than the recipe's head.
void add_imported_head(const SequenceHead& head, const GlueTask& task, std::map<std::string, at::Tensor>& tensors);

}  // namespace skipless
