// skipless convert RUN OUT --to FORMAT: a run's model for another code.
#pragma once

#include <string>

namespace skipless {

/// Writes model.safetensors, config.json and, where the run has it, tokenizer.json into the folder `out`, which must
/// not exist or be empty. `to`: a name of foreign_formats(). UserError, by key, for a model that the format cannot
/// express.
void export_run(const std::string& run, const std::string& out, const std::string& to, const std::string& checkpoint);

}  // namespace skipless
