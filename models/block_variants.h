// The table of block variants: the one place where a variant's name meets its class.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/block.h"

namespace skipless {

struct BlockVariant {
  std::string_view name;    // the word of `model.block`, and of its own section `model.<name>`
  std::string_view source;  // where the paper has it
  std::unique_ptr<BlockConfig> (*make_config)();
};

std::span<const BlockVariant> block_variants();

}  // namespace skipless
