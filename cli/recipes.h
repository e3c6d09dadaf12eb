// The recipes of configs/finetune_*.yaml, which the program carries with it.
#pragma once

#include <map>
#include <string>

namespace skipless {

/// "paper" -> the text of configs/finetune_paper.yaml.
const std::map<std::string, std::string>& finetune_recipes();

}  // namespace skipless
