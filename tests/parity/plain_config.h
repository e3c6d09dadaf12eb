// A Config as lines "key.path=value", for where there is no YAML. Texts in quotes have no escapes here.
#pragma once

#include <functional>
#include <string>

#include "configs/schema.h"

namespace skipless::parity {

std::string write_lines(const std::function<void(Schema&)>& keys);
/// UserError for a value that the key does not take. Keys that are not among the lines keep their value.
void read_lines(const std::string& lines, const std::function<void(Schema&)>& keys);

}  // namespace skipless::parity
