#include "models/convert/formats.h"

#include <nlohmann/json.hpp>

#include "models/convert/bert.h"
#include "models/convert/cramming.h"
#include "models/convert/gpt2.h"
#include "models/convert/official.h"

namespace skipless {

namespace {

template <ExportedModel (*Export)(const ModelConfig&, const Tensors&)>
ExportedModel without_end_of_text(const ModelConfig& config, const Tensors& ours, std::optional<int64_t>) {
  return Export(config, ours);
}

}  // namespace

std::span<const ForeignFormat> foreign_formats() {
  static constexpr ForeignFormat kFormats[] = {
      {"authors", "the paper's code", "model_cfg or overrides", is_official_config, import_official,
       without_end_of_text<export_official>},
      {"gpt2", "Hugging Face GPT-2", "model_type gpt2", is_gpt2_config, import_gpt2, export_gpt2},
      {"bert", "Hugging Face BERT", "model_type bert", is_bert_config, import_bert, without_end_of_text<export_bert>},
      {"cramming", "Crammed BERT", "arch", is_cramming_config, import_cramming, without_end_of_text<export_cramming>},
  };
  return kFormats;
}

}  // namespace skipless
