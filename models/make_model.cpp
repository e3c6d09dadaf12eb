#include "models/make_model.h"

#include "models/bert.h"
#include "models/gpt.h"

namespace skipless {

Transformer make_model(const ModelConfig& config) {
  switch (config.kind) {
    case ModelKind::gpt:
      return std::make_shared<GptImpl>(config);
    case ModelKind::bert:
      return std::make_shared<BertImpl>(config);
  }
  TORCH_CHECK(false, "a model kind outside the enum");
}

}  // namespace skipless
