#include "models/kernels/cuda/launch.cuh"
#include "models/kernels/device/cross_entropy_body.h"

namespace skipless::kernels::SKIPLESS_PLACE {

namespace {

template <class Logit>
void launch_cross_entropy(const LogitShape& shape, int64_t rows, Logit* logits, const int64_t* targets,
                          float gradient_scale, float* losses, void* stream) {
  for_long_rows(rows, stream, [=] SKIPLESS_WORK(const OfLongRow& lanes, int64_t i) {
    const float loss = cross_entropy_row(lanes, shape, logits + i * shape.columns, targets[i], gradient_scale);
    if (lanes.lane() == 0) losses[i] = loss;
  });
}

}  // namespace

void cross_entropy(const LogitShape& shape, int64_t rows, const Rows& logits, const int64_t* targets,
                   float gradient_scale, float* losses, void* stream) {
  visit_values(logits, [&](auto* of_logits) {
    launch_cross_entropy(shape, rows, of_logits, targets, gradient_scale, losses, stream);
  });
}

}  // namespace skipless::kernels::SKIPLESS_PLACE
