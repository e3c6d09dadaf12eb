#include "train/layer_statistics.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "eval/analysis/attention_entropy.h"
#include "eval/analysis/gains.h"
#include "eval/evaluation_mode.h"

namespace skipless {

namespace {

using nlohmann::json;

/// As a line of text should have it.
json short_number(double value) {
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

json short_numbers(const at::Tensor& values) {
  const auto flat = values.detach().to(at::kCPU, at::kDouble).flatten();
  json list = json::array();
  for (int64_t i = 0; i < flat.numel(); ++i) list.push_back(short_number(flat[i].item<double>()));
  return list;
}

std::string block_name(size_t layer) {
  return fmt::format("block_{}", layer);
}

/// `kept` [B, T]: the real tokens; undefined: all.
void add_moments(const at::Tensor& activations, const at::Tensor& kept, const std::string& name, json& line) {
  const auto x = (kept.defined() ? activations.index({kept}) : activations).to(at::kDouble);
  const auto centred = x - x.mean();
  const double variance = centred.square().mean().item<double>();
  line["rms"][name] = short_number(std::sqrt(x.square().mean().item<double>()));
  line["kurtosis"][name] = short_number(centred.square().square().mean().item<double>() / (variance * variance));
}

/// [H]: the mean of the entropy of A over sequences and the rows of their real tokens.
at::Tensor mean_entropy(const ShapedAttentionImpl& attention, const at::Tensor& q, const at::Tensor& k,
                        const AttentionMask& mask) {
  at::Tensor sum;
  int64_t sequences = 0;
  // One sequence at a time: these are T x T matrices.
  for (int64_t i = 0; i < q.size(0); ++i) {
    const auto kept = mask.kept.defined() ? mask.kept.narrow(0, i, 1) : at::Tensor();  // [1, T]
    if (kept.defined() && !kept.any().item<bool>()) continue;
    const auto a =
        attention.softmax_matrix(q.narrow(0, i, 1), k.narrow(0, i, 1), {.causal = mask.causal, .kept = kept});
    auto rows = row_entropy(a).squeeze(0);  // [H, T]
    if (kept.defined()) rows = rows.index({at::indexing::Slice(), kept.squeeze(0)});
    const auto heads = rows.to(at::kDouble).mean(-1);
    sum = sum.defined() ? sum + heads : heads;
    ++sequences;
  }
  return sum / static_cast<double>(sequences);
}

}  // namespace

json activation_statistics(TransformerImpl& model, const Batch& batch) {
  const c10::NoGradGuard no_grad;
  const EvaluationMode evaluation(model);
  json line;
  at::Tensor entropy;
  AttentionMask mask = model.attention_mask(batch);
  const AttentionObserver observer = [&](ShapedAttentionImpl& attention, const at::Tensor& q, const at::Tensor& k) {
    entropy = mean_entropy(attention, q, k, mask);
  };
  mask.observer = &observer;
  // Those of the blocks' inputs; the last block's output is seen by no one but the final norm.
  const auto states = model.hidden_states(batch);
  add_moments(states.front(), batch.kept, "embedding", line);
  for (size_t layer = 0; layer < model.blocks().size(); ++layer) {
    const auto output = model.blocks()[layer]->forward(states[layer], mask);
    add_moments(output, batch.kept, block_name(layer), line);
    line["entropy"][block_name(layer)] = short_numbers(entropy);
  }
  return line;
}

json gradient_norms(const TransformerImpl& model, double factor) {
  std::map<std::string, double> squares;
  for (const auto& parameter : model.named_parameters()) {
    const auto& gradient = parameter.value().grad();
    if (!gradient.defined()) continue;
    const double norm = at::linalg_vector_norm(gradient.to(at::kDouble)).item<double>() / factor;
    const std::string& name = parameter.key();
    const size_t first = name.find('.');
    const size_t second = first == name.npos ? name.npos : name.find('.', first + 1);
    squares[name.substr(0, first)] += norm * norm;
    if (second != name.npos) squares[name.substr(0, second)] += norm * norm;
  }
  json norms;
  for (const auto& [name, square] : squares) norms[name] = short_number(std::sqrt(square));
  return norms;
}

json gains(const TransformerImpl& model) {
  json values;
  for (const auto& [name, value] : gains_of(model)) {
    const auto numbers = short_numbers(value);
    values[name] = numbers.size() == 1 ? numbers[0] : numbers;
  }
  return values;
}

json followed(const TransformerImpl& model) {
  constexpr std::string_view kLambda = ".lambda", kSum = ".feedback_sum";
  json line = json::object();
  const auto buffers = model.named_buffers();
  for (const auto& buffer : buffers) {
    const std::string& name = buffer.key();
    if (name.ends_with(kLambda)) {
      line["lambda"][name.substr(0, name.find('.'))] = short_number(buffer.value().item<double>());
    } else if (name.ends_with(kSum)) {
      const std::string gain = name.substr(0, name.size() - kSum.size());
      const auto count = buffers[gain + ".feedback_count"];
      line["branch_rms"][gain] = short_number((buffer.value() / count).sqrt().item<double>());
    }
  }
  return line;
}

}  // namespace skipless
