# Writes SOURCE_FILE with the text of each configs/finetune_NAME.yaml in CONFIGS, by NAME.
file(GLOB recipes "${CONFIGS}/finetune_*.yaml")
set(entries "")
foreach(recipe IN LISTS recipes)
  get_filename_component(name "${recipe}" NAME_WE)
  string(REGEX REPLACE "^finetune_" "" name "${name}")
  file(READ "${recipe}" text)
  string(APPEND entries "      {\"${name}\", R\"recipe(${text})recipe\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${SOURCE_FILE}" CONTENT [[
#include "cli/recipes.h"

namespace skipless {

const std::map<std::string, std::string>& finetune_recipes() {
  static const std::map<std::string, std::string> kRecipes{
@entries@  };
  return kRecipes;
}

}  // namespace skipless
]] @ONLY)
