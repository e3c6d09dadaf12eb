// The TSV files that the GLUE leaderboard takes.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "data/glue_tasks.h"

namespace skipless {

/// "index\tprediction" and a line for each example: the name of the class, or of a regression the number within its
/// range, with three digits. RunError when a prediction is not finite.
std::string submission_text(const GlueTask& task, std::span<const int64_t> indices, std::span<const double> predicted);

}  // namespace skipless
