// A config made from another code's settings, checked before anything is built from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "configs/schema.h"
#include "models/classifier.h"
#include "models/model_config.h"

namespace skipless {

/// The setting of theirs that one of our keys was read from.
struct KeyOrigin {
  std::string_view ours;  // "model.dropout.branch"
  std::string_view theirs;
};
using KeyOrigins = std::span<const KeyOrigin>;

/// UserError, `source` (the file of the settings) first, naming each problem by our key and, where it is known, by
/// theirs.
void require_none(const Problems& problems, KeyOrigins origins, const std::string& source);

/// Resolves `config`. UserError for values that a config file could not have, and for contradictions.
void finish_config(ModelConfig& config, KeyOrigins origins, const std::string& source);

/// The same for the settings of a head, whose keys are called "head.dropout".
void check_head(ClassifierConfig head, KeyOrigins origins, const std::string& source);

}  // namespace skipless
