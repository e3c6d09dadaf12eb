#include "models/kernels/cuda/launch.cuh"

namespace skipless::kernels::SKIPLESS_PLACE {

namespace {

/// One chunk of one column: a thread's work.
struct Item {
  int64_t sequence, head, d;
  Chunk chunk;
  CombineShape shape;
  CombineGains gains;
  // Where the sums of this column's first chunk are, how far apart those of its chunks are, and which chunk is its own.
  int64_t sums, stride, at, chunks;

  /// The column in `values`, whose layout is that of `heads`.
  template <class T>
  SKIPLESS_DEVICE Column<T> column(const Heads& heads, T* values) const {
    return {values + sequence * heads.sequence_stride + head * heads.head_stride + d, heads.token_stride};
  }
  SKIPLESS_DEVICE float sum_over(const float* of_chunks, int64_t first, int64_t last) const {
    float sum = 0;
    for (int64_t c = first; c < last; ++c) sum += of_chunks[sums + c * stride];
    return sum;
  }
  /// What combine_chunk() begins with.
  SKIPLESS_DEVICE float sum_of(const float* of_chunks) const {
    return shape.centred ? sum_over(of_chunks, 0, shape.causal ? at : chunks) : 0;
  }
  SKIPLESS_DEVICE float gradient_sum_of(const float* of_chunks) const {
    return shape.centred ? sum_over(of_chunks, shape.causal ? at + 1 : 0, chunks) : 0;
  }
};

/// Neighbours have neighbouring d.
SKIPLESS_DEVICE Item item_of(const CombineCall& call, int64_t chunks, int64_t index) {
  const int64_t width = call.heads * call.head_size, column = index % width, chunk = index / width;
  const int64_t head = column / call.head_size, sequence = chunk / chunks, at = chunk % chunks;
  const int64_t first = at * kCombineChunk, end = first + kCombineChunk;
  const float inverse = call.inverses == nullptr ? 1 / static_cast<float>(call.length) : call.inverses[sequence];
  return {sequence,
          head,
          column % call.head_size,
          {first, end < call.length ? end : call.length},
          {call.causal, call.centred, call.counts == nullptr ? nullptr : call.counts + sequence * call.length, inverse},
          {call.alpha[head * call.alpha_stride], call.beta[head * call.beta_stride],
           call.centred ? call.gamma[head * call.gamma_stride] : 0},
          sequence * chunks * width + column,
          width,
          at,
          chunks};
}

int64_t n_items(const CombineCall& call) {
  return call.sequences * call.chunks() * call.heads * call.head_size;
}

template <class V>
void launch_sums(const CombineCall& call, const Heads& v_heads, const V* v, float* sums, void* stream) {
  const int64_t chunks = call.chunks();
  for_items(n_items(call), stream, [=] SKIPLESS_WORK(int64_t index) {
    const Item item = item_of(call, chunks, index);
    sums[index] = combine_sum(item.shape, item.chunk, item.column(v_heads, v));
  });
}

template <class V>
void launch_gradient_sums(const CombineCall& call, const Heads& grad_out_heads, const V* grad_out, float* sums,
                          void* stream) {
  const int64_t chunks = call.chunks();
  for_items(n_items(call), stream, [=] SKIPLESS_WORK(int64_t index) {
    const Item item = item_of(call, chunks, index);
    sums[index] = combine_gradient_sum(item.shape, item.chunk, item.column(grad_out_heads, grad_out));
  });
}

template <class V, class O>
void launch_combine(const CombineCall& call, const Heads& v_heads, const Heads& o_heads, const Heads& out_heads,
                    const V* v, const O* o, V* out, const float* sums, void* stream) {
  const int64_t chunks = call.chunks();
  for_items(n_items(call), stream, [=] SKIPLESS_WORK(int64_t index) {
    const Item item = item_of(call, chunks, index);
    combine_chunk(item.shape, item.gains, item.chunk, item.sum_of(sums), item.column(v_heads, v),
                  item.column(o_heads, o), item.column(out_heads, out));
  });
}

template <class V, class O>
void launch_combine_backward(const CombineCall& call, const Heads& v_heads, const Heads& o_heads,
                             const Heads& grad_out_heads, const Heads& grad_v_heads, const Heads& grad_o_heads,
                             const V* v, const O* o, const V* grad_out, V* grad_v, O* grad_o, const float* sums,
                             const float* gradient_sums, float* grad_gains, void* stream) {
  const int64_t items = n_items(call), chunks = call.chunks();
  for_items(items, stream, [=] SKIPLESS_WORK(int64_t index) {
    const Item item = item_of(call, chunks, index);
    const CombineGains of_gains = combine_backward_chunk(
        item.shape, item.gains, item.chunk, item.sum_of(sums), item.gradient_sum_of(gradient_sums),
        item.column(v_heads, v), item.column(o_heads, o), item.column(grad_out_heads, grad_out),
        item.column(grad_v_heads, grad_v), item.column(grad_o_heads, grad_o));
    grad_gains[index] = of_gains.alpha;
    grad_gains[items + index] = of_gains.beta;
    grad_gains[2 * items + index] = of_gains.gamma;
  });
}

}  // namespace

void combine_forward(const CombineCall& call, const Heads& v, const Heads& o, const Heads& out, float* sums,
                     void* stream) {
  if (call.centred) visit_values(v, [&](auto* of_v) { launch_sums(call, v, of_v, sums, stream); });
  visit_pairs(v, o, [&](auto* of_v, auto* of_o) {
    launch_combine(call, v, o, out, of_v, of_o, static_cast<decltype(of_v)>(out.data), sums, stream);
  });
}

void combine_backward(const CombineCall& call, const Heads& v, const Heads& o, const Heads& grad_out,
                      const Heads& grad_v, const Heads& grad_o, float* sums, float* grad_gains, void* stream) {
  float* const gradient_sums = call.centred ? sums + n_items(call) : nullptr;
  if (call.centred) {
    visit_values(v, [&](auto* of_v) {
      launch_sums(call, v, of_v, sums, stream);
      launch_gradient_sums(call, grad_out, static_cast<decltype(of_v)>(grad_out.data), gradient_sums, stream);
    });
  }
  visit_pairs(v, o, [&](auto* of_v, auto* of_o) {
    using V = decltype(of_v);
    launch_combine_backward(call, v, o, grad_out, grad_v, grad_o, of_v, of_o, static_cast<V>(grad_out.data),
                            static_cast<V>(grad_v.data), static_cast<decltype(of_o)>(grad_o.data), sums, gradient_sums,
                            grad_gains, stream);
  });
}

}  // namespace skipless::kernels::SKIPLESS_PLACE
