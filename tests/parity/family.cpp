#include "family.h"

#include <nlohmann/json.hpp>
#include <string>

namespace skipless::parity {

namespace {

std::string family_text(const nlohmann::json& settings) {
  return settings.contains("family") && settings["family"].is_string() ? settings["family"].get<std::string>() : "";
}

std::string model_type(const nlohmann::json& settings) {
  if (!settings.contains("config") || !settings["config"].is_object()) return "";
  const auto& type = settings["config"]["model_type"];
  return type.is_string() ? type.get<std::string>() : "";
}

bool is_encoder(const nlohmann::json& settings) {
  return settings.contains("arch") || model_type(settings) == "bert" ||
         family_text(settings).find("encoder") != std::string::npos;
}

bool is_training(const nlohmann::json& settings) {
  return !is_encoder(settings) && settings.contains("adamw_hf");
}

bool is_official(const nlohmann::json& settings) {
  return !is_encoder(settings) && !is_training(settings) && settings.contains("model_cfg");
}

bool is_gpt2(const nlohmann::json& settings) {
  return model_type(settings) == "gpt2";
}

}  // namespace

std::span<const Kind> kinds() {
  static constexpr Kind kKinds[] = {
      {"gpt", "authors' GPT", is_official, run_official_gpt},
      {"gpt", "training", is_training, run_gpt_training},
      {"gpt", "Hugging Face GPT-2", is_gpt2, run_hugging_face_gpt2},
      {"encoder", "encoder", is_encoder, nullptr},
  };
  return kKinds;
}

}  // namespace skipless::parity
