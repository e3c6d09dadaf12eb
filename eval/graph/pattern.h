// One computation found within another.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "eval/graph/computation.h"

namespace skipless {

/// What stands in `whole` for the `n_inputs` inputs of `pattern`, where all that `pattern` does is found there, on the
/// same leaves, ending with operation `last`; nothing where it is not.
std::optional<std::vector<Source>> find_pattern(const Computation& pattern, size_t n_inputs, const Computation& whole,
                                                size_t last);

}  // namespace skipless
