#include "models/token_loss.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "models/kernel_rows.h"
#include "models/kernels/cross_entropy_kernel.h"
#include "models/parallel.h"

namespace skipless {

namespace {

/// Logits of a chunk: 16 MiB in float32, near what a cache holds. With a large vocabulary the gradient of W, which each
/// chunk reads and writes, costs more than the product itself unless a chunk has some hundred rows.
constexpr int64_t kChunkLogits = int64_t{1} << 22;
constexpr int64_t kLeastRows = 256;

/// Gradients of float16 products are computed for this many times the loss, or most probabilities would round to 0.
constexpr double kHalfScale = 16'384;

struct LossAndGradients {
  at::Tensor sum;
  at::Tensor of_hidden;  // [N, D], or undefined
  at::Tensor of_matrix;  // [V, D], or undefined
  at::Tensor of_bias;    // [V], or undefined
};

/// Products in the dtype that autocast asks for, or in the tensors' own.
class Products {
 public:
  explicit Products(const at::Tensor& hidden)
      : dtype_(at::autocast::is_autocast_enabled(hidden.device().type()) && hidden.scalar_type() != at::kDouble
                   ? at::autocast::get_autocast_dtype(hidden.device().type())
                   : hidden.scalar_type()),
        result_dtype_(hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat) {}

  at::Tensor operand(const at::Tensor& x) const { return x.to(dtype_); }
  at::ScalarType result_dtype() const { return result_dtype_; }

  /// What the gradient of the logits is multiplied with before it becomes an operand.
  double gradient_scale() const { return dtype_ == at::kHalf ? kHalfScale : 1; }

  /// a b in the result's dtype. float16 results are never formed: sums over a vocabulary leave its range.
  at::Tensor product(const at::Tensor& a, const at::Tensor& b) const {
    if (dtype_ != at::kHalf) return at::mm(a, b).to(result_dtype_);
    if (a.is_cuda()) return at::mm(a, b, result_dtype_);
    return at::mm(a.to(result_dtype_), b.to(result_dtype_));
  }

  /// sum += a b, without a temporary where no cast is needed.
  void add_product(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) const {
    if (dtype_ == result_dtype_) {
      sum.addmm_(a, b);
    } else {
      sum.add_(product(a, b));
    }
  }

 private:
  at::ScalarType dtype_;
  at::ScalarType result_dtype_;
};

/// Which gradients are wanted.
struct Wanted {
  bool of_hidden = false;
  bool of_matrix = false;
  bool of_bias = false;
  bool any() const { return of_hidden || of_matrix || of_bias; }
};

/// As one operation on a CPU (kernels/cross_entropy_kernel.h).
double fused_loss(const at::Tensor& logits, const at::Tensor& targets, int64_t vocab_size, bool wants_gradient) {
  RECORD_USER_SCOPE("fused_loss");
  const kernels::LogitShape shape{
      .vocab_size = vocab_size, .columns = logits.size(1), .wants_gradient = wants_gradient};
  const auto rows = kernel_rows(logits);
  const auto ids = targets.contiguous();
  for (int64_t i = 0; i < ids.numel(); ++i) {
    const int64_t id = ids.const_data_ptr<int64_t>()[i];
    TORCH_CHECK((id >= 0 && id < vocab_size) || id == kIgnoredTarget, "target ", id, " of a vocabulary of ",
                vocab_size);
  }
  std::vector<double> sums(static_cast<size_t>(at::get_num_threads()));
  parallel_parts(logits.size(0), rows_per_thread(shape.columns), [&](int64_t first, int64_t last) {
    sums[static_cast<size_t>(at::get_thread_num())] +=
        kernels::cross_entropy(shape, first, last, rows, ids.const_data_ptr<int64_t>());
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// As one operation on a device (device_kernels.h), whose gradient is multiplied with `scale`. Nothing is read back: a
/// target beyond the vocabulary makes the loss NaN.
at::Tensor device_loss(const at::Tensor& logits, const at::Tensor& targets, int64_t vocab_size, bool wants_gradient,
                       double scale) {
  const auto ids = targets.contiguous();
  const auto losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
  const DeviceRun run(logits);
  run->cross_entropy({vocab_size, logits.size(1), wants_gradient}, logits.size(0), kernel_rows(logits),
                     ids.const_data_ptr<int64_t>(), static_cast<float>(scale), float_data(losses), run.stream());
  return losses.sum();
}

/// Adds the loss of `logits` [R, V] to `sum` and returns its gradient over them times `scale`, softmax - onehot, 0 in
/// ignored rows. The logits are used up.
at::Tensor loss_gradient(at::Tensor logits, const at::Tensor& targets, int64_t vocab_size, bool wants_gradient,
                         double scale, at::Tensor& sum) {
  if (has_device_element(logits)) {
    sum.add_(device_loss(logits, targets, vocab_size, wants_gradient, scale));
    return logits;
  }
  if (has_kernel_element(logits)) {
    sum.add_(fused_loss(logits, targets, vocab_size, wants_gradient));
    return scale == 1 ? logits : logits.mul_(scale);
  }
  const auto ignored = targets.eq(kIgnoredTarget).unsqueeze(1);  // [R, 1]
  const auto target = targets.unsqueeze(1).masked_fill(ignored, 0);
  if (vocab_size < logits.size(1)) logits.slice(1, vocab_size).fill_(-std::numeric_limits<double>::infinity());
  logits = at::log_softmax(logits, -1);
  sum.sub_(logits.gather(1, target).masked_fill(ignored, 0).sum());
  if (!wants_gradient) return {};
  auto gradient = logits.exp_();
  gradient.scatter_add_(1, target, at::full_like(target, -1, gradient.options()));
  gradient.masked_fill_(ignored, 0);
  return scale == 1 ? gradient : gradient.mul_(scale);
}

LossAndGradients chunked_loss(const at::Tensor& hidden, const at::Tensor& matrix, const at::Tensor& bias,
                              int64_t vocab_size, const at::Tensor& targets, const Wanted& wanted) {
  const Products products(hidden);
  // The casts below are ours: autocast would cast W anew for each chunk.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const auto w = products.operand(matrix);
  const auto options = hidden.options().dtype(products.result_dtype());
  LossAndGradients result{.sum = at::zeros({}, options), .of_hidden = {}, .of_matrix = {}, .of_bias = {}};
  if (wanted.of_hidden) result.of_hidden = at::empty_like(hidden, options);
  if (wanted.of_matrix) result.of_matrix = at::zeros_like(matrix, options);
  if (wanted.of_bias) result.of_bias = at::zeros_like(bias, options);
  const int64_t n = hidden.size(0), rows = loss_chunk_rows(n, matrix.size(0));
  for (int64_t first = 0; first < n; first += rows) {
    const int64_t last = std::min(n, first + rows);
    const auto target = targets.slice(0, first, last);
    const auto h = products.operand(hidden.slice(0, first, last));  // [R, D]
    auto logits = at::mm(h, w.t());                                 // [R, V]
    if (bias.defined()) {
      logits = logits.to(options.dtype()).add_(bias);
    } else if (!has_fused_form(logits)) {
      logits = logits.to(options.dtype());
    }
    auto gradient =
        loss_gradient(std::move(logits), target, vocab_size, wanted.any(), products.gradient_scale(), result.sum);
    if (!wanted.any()) continue;
    if (wanted.of_bias) result.of_bias.add_(gradient.sum(0));
    gradient = products.operand(gradient);
    // What is ignored may be anything, NaN too.
    const auto ignored = target.eq(kIgnoredTarget).unsqueeze(1);  // [R, 1]
    if (wanted.of_hidden) {
      result.of_hidden.slice(0, first, last).copy_(products.product(gradient, w).masked_fill_(ignored, 0));
    }
    if (wanted.of_matrix) products.add_product(result.of_matrix, gradient.t(), h.masked_fill(ignored, 0));
  }
  for (auto* tensor : {&result.of_hidden, &result.of_matrix, &result.of_bias}) {
    if (tensor->defined() && products.gradient_scale() != 1) tensor->div_(products.gradient_scale());
  }
  return result;
}

/// The loss whose gradients are known as soon as it is.
class LossFunction : public torch::autograd::Function<LossFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& hidden,
                            const at::Tensor& matrix, const std::optional<at::Tensor>& of_logits, int64_t vocab_size,
                            const at::Tensor& targets) {
    const at::Tensor bias = of_logits.value_or(at::Tensor());
    auto result = chunked_loss(hidden, matrix, bias, vocab_size, targets,
                               {.of_hidden = hidden.requires_grad(),
                                .of_matrix = matrix.requires_grad(),
                                .of_bias = bias.defined() && bias.requires_grad()});
    context->saved_data["gradients"] =
        std::vector<at::Tensor>{std::move(result.of_hidden), std::move(result.of_matrix), std::move(result.of_bias)};
    return result.sum;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& of_sum) {
    TORCH_CHECK(!c10::GradMode::is_enabled(), "the token loss has no second derivative");
    TORCH_CHECK(!context->saved_data.empty(), "the token loss has given its gradients away: backward ran before");
    auto gradients = context->saved_data["gradients"].toTensorVector();
    // Taken out, so that scaling in place harms nobody, and so that the engine may keep them as .grad.
    context->saved_data.clear();
    const bool is_one = of_sum[0].is_cpu() && of_sum[0].item<double>() == 1;
    for (auto& tensor : gradients) {
      if (tensor.defined() && !is_one) tensor.mul_(of_sum[0]);
    }
    return {gradients[0], gradients[1], gradients[2], {}, {}};
  }
};

}  // namespace

int64_t loss_chunk_rows(int64_t positions, int64_t vocabulary) {
  return std::max<int64_t>(1, std::min(positions, std::max(kLeastRows, kChunkLogits / vocabulary)));
}

TokenLoss token_loss(const at::Tensor& hidden, const at::Tensor& matrix, int64_t vocab_size, const at::Tensor& targets,
                     const at::Tensor& bias) {
  const bool wants_gradient = c10::GradMode::is_enabled() && (hidden.requires_grad() || matrix.requires_grad() ||
                                                              (bias.defined() && bias.requires_grad()));
  return {.sum = wants_gradient
                     ? LossFunction::apply(hidden, matrix, bias.defined() ? std::optional(bias) : std::nullopt,
                                           vocab_size, targets)
                     : chunked_loss(hidden, matrix, bias, vocab_size, targets, /*wanted=*/{}).sum,
          .count = targets.ne(kIgnoredTarget).sum()};
}

}  // namespace skipless
