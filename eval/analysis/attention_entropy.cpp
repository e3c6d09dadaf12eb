#include "eval/analysis/attention_entropy.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/special_entr.h>

namespace skipless {

at::Tensor row_entropy(const at::Tensor& a) {
  return at::special_entr(a).sum(-1);
}

at::Tensor entropy_share(const at::Tensor& entropy, const at::Tensor& visible) {
  const auto share = entropy / visible.to(entropy.options()).log();
  return share.index({at::indexing::Ellipsis, visible.gt(1)}).mean(-1);
}

}  // namespace skipless
