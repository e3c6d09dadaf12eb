// In the place of the CPU's kernels, where there is no Highway to build them with. Nothing calls them: are_present().
#include <c10/util/Exception.h>

#include "models/kernels/cross_entropy_kernel.h"
#include "models/kernels/gained_sum_kernel.h"
#include "models/kernels/norm_kernel.h"
#include "models/kernels/presence.h"
#include "models/kernels/shaped_attention_bf16_kernel.h"
#include "models/kernels/shaped_attention_kernel.h"

namespace skipless::kernels {

namespace {

[[noreturn]] void absent() {
  TORCH_CHECK(false, "this program has no kernels of the CPU");
}

}  // namespace

bool are_present() {
  return false;
}

void norm_forward(const NormShape&, int64_t, int64_t, const Rows&, const float*, const float*, const Rows&, float*,
                  float*) {
  absent();
}

void norm_backward(const NormShape&, int64_t, int64_t, const Rows&, const float*, const float*, const float*,
                   const Rows&, const Rows&, double*, double*) {
  absent();
}

void gained_sum_forward(const GainedSum&, int64_t, int64_t, const Rows&) {
  absent();
}

GainGradients gained_sum_backward(const GainedSum&, int64_t, int64_t, const Rows&, const Rows&, const Rows&) {
  absent();
}

double cross_entropy(const LogitShape&, int64_t, int64_t, const Rows&, const int64_t*) {
  absent();
}

void shaped_attention_forward(const HeadShape&, const HeadGains&, const Rows&, const Rows&, const Rows&, const Rows&,
                              float*) {
  absent();
}

HeadGainGradients shaped_attention_backward(const HeadShape&, const HeadGains&, const Rows&, const Rows&, const Rows&,
                                            const float*, const Rows&, const Rows&, const Rows&, const Rows&) {
  absent();
}

bool has_pairs(const Rows&, int64_t) {
  absent();
}

void shaped_attention_forward_bf16(PairProduct, const HeadShape&, const HeadGains&, const Rows&, const Rows&,
                                   const Rows&, const Rows&, float*) {
  absent();
}

HeadGainGradients shaped_attention_backward_bf16(PairProduct, const HeadShape&, const HeadGains&, const Rows&,
                                                 const Rows&, const Rows&, const float*, const Rows&, const Rows&,
                                                 const Rows&, const Rows&) {
  absent();
}

}  // namespace skipless::kernels
