#include "models/dropout.h"

namespace skipless {

void DropoutConfig::keys(Schema& s) {
  const auto probability = Range<double>::from_below(0, 1);
  s.key("embedding", embedding, probability, "of the sum of token and position embedding");
  s.key("attention", attention, probability, "of A in the attention matrix alpha*I + beta*A - gamma*C");
  s.key("branch", branch, probability, "of every sub-block's output, before its gain");
}

}  // namespace skipless
