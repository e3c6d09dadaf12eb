#include "family.h"

#include <nlohmann/json.hpp>
#include <string>

#include "models/convert/cramming.h"

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

bool is_training(const nlohmann::json& settings) {
  return settings.contains("adamw_hf");
}

bool is_official_encoder(const nlohmann::json& settings) {
  return settings.contains("model_cfg") && family_text(settings).find("encoder") != std::string::npos;
}

bool is_official_gpt(const nlohmann::json& settings) {
  return !is_official_encoder(settings) && !is_training(settings) && settings.contains("model_cfg");
}

bool is_bert(const nlohmann::json& settings) {
  return model_type(settings) == "bert";
}

bool is_gpt2(const nlohmann::json& settings) {
  return model_type(settings) == "gpt2";
}

}  // namespace

std::span<const Kind> kinds() {
  static constexpr Kind kKinds[] = {
      {"gpt", "authors' GPT", is_official_gpt, official_case},
      {"gpt", "training", is_training, nullptr},
      {"gpt", "Hugging Face GPT-2", is_gpt2, hugging_face_gpt2_case},
      {"encoder", "authors' block as encoder", is_official_encoder, official_case},
      {"encoder", "Crammed BERT", is_cramming_config, cramming_case},
      {"encoder", "Hugging Face BERT", is_bert, hugging_face_bert_case},
  };
  return kKinds;
}

}  // namespace skipless::parity
