#include "plain_case.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "bounds.h"
#include "configs/atomic_file.h"
#include "configs/error.h"
#include "plain_config.h"

namespace skipless::parity {

namespace {

constexpr std::string_view kGradient = "grad.";

using Texts = c10::Dict<std::string, std::string>;
using NamedTensors = c10::Dict<std::string, at::Tensor>;

void put(NamedTensors& all, const std::string& prefix, const Tensors& tensors) {
  for (const auto& [name, tensor] : tensors) all.insert(prefix + name, tensor.detach().contiguous());
}

Tensors take(const NamedTensors& all, std::string_view prefix) {
  Tensors tensors;
  for (const auto& item : all) {
    if (item.key().starts_with(prefix)) tensors.emplace(item.key().substr(prefix.size()), item.value());
  }
  return tensors;
}

void compare_hidden(const PlainCase& plain, const BatchResult& ours, Comparison& result) {
  const auto add = [&](const std::string& name, const at::Tensor& state) {
    const auto found = plain.float64.find(name);
    if (found != plain.float64.end()) {
      result.add("hidden", name, state, found->second, largest(found->second), kFloat64);
    } else if (plain.form.every_hidden_state) {
      result.fail("the case has no " + name);
    }
  };
  if (!plain.form.every_hidden_state) return add("final_hidden", ours.hidden.back());
  for (size_t i = 0; i < ours.hidden.size(); ++i) add(fmt::format("hidden.{}", i), ours.hidden[i]);
}

/// Calls `bound(name, ours, theirs)` for every gradient; one that only one side has is a failure.
template <class Bound>
void compare_gradients(const Tensors& gradients, const Tensors& reference, Comparison& result, const Bound& bound) {
  for (const auto& [name, ours] : gradients) {
    const auto found = reference.find(std::string(kGradient) + name);
    if (ours.defined() != (found != reference.end())) {
      result.fail(fmt::format("{} has a gradient on one side alone", name));
    } else if (ours.defined()) {
      bound(name, ours, found->second);
    }
  }
}

void compare_float64(const PlainCase& plain, at::Device device, Comparison& result) {
  const auto& theirs = plain.float64;
  const auto ours = run_batch(plain.model, theirs, plain.form, at::kDouble, device);
  const auto& logits = theirs.at("logits");
  result.add("logits", "logits", in_shape_of(logits, ours.logits), logits, largest(logits), kFloat64);
  result.add("loss", "loss", ours.loss.reshape({1}), theirs.at("loss"), largest(theirs.at("loss")), kFloat64);
  compare_hidden(plain, ours, result);
  const double floor = kSmallestGradientScale * largest_gradient(theirs);
  compare_gradients(ours.gradients, theirs, result,
                    [&](const std::string& name, const at::Tensor& a, const at::Tensor& b) {
                      result.add("gradients", name, a, b, std::max(largest(b), floor), kFloat64);
                    });
}

void compare_float32(const PlainCase& plain, at::Device device, Comparison& result) {
  const auto& theirs = plain.float32;
  if (theirs.empty()) return;
  const auto ours = run_batch(plain.model, theirs, plain.form, at::kFloat, device);
  const auto& logits = theirs.at("logits");
  result.add("f32 logits", "logits", in_shape_of(logits, ours.logits), logits, 1, kFloat32Logits);
  result.add("f32 loss", "loss", ours.loss.reshape({1}), theirs.at("loss"), 1, kFloat32Loss);
  const double scale = largest_gradient(theirs);
  compare_gradients(ours.gradients, theirs, result,
                    [&](const std::string& name, const at::Tensor& a, const at::Tensor& b) {
                      if (b.dim() == 2) {
                        result.add("f32 matrices", name, a, b, euclidean(b), kFloat32Matrix, euclidean);
                      } else if (b.dim() == 1) {
                        result.add("f32 norms, biases", name, a, b, scale, kFloat32NormOrBias);
                      } else {
                        result.add("f32 gains", name, a, b, scale, kFloat32Gain);
                      }
                    });
}

}  // namespace

void write_plain_case(const std::filesystem::path& file, const PlainCase& plain) {
  Texts texts;
  auto config = plain.model.config;
  texts.insert("config", write_lines([&](Schema& s) { config.keys(s); }));
  if (auto head = plain.model.head) {
    texts.insert("head", write_lines([&](Schema& s) { head->keys(s); }));
    texts.insert("n_labels", std::to_string(head->n_labels));
  }
  texts.insert("every_hidden_state", plain.form.every_hidden_state ? "1" : "0");
  texts.insert("layers_end_with_norms", plain.form.layers_end_with_norms ? "1" : "0");
  texts.insert("sparse", plain.form.sparse ? "1" : "0");
  texts.insert("query_factor", fmt::format("{}", plain.form.query_factor));
  NamedTensors tensors;
  put(tensors, "weights.", plain.model.tensors);
  put(tensors, "f64.", plain.float64);
  put(tensors, "f32.", plain.float32);
  const auto bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create({texts, tensors}));
  write_file(file, {bytes.data(), bytes.size()});
}

PlainCase read_plain_case(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  PlainCase plain;
  try {
    const auto value = torch::jit::pickle_load(bytes);
    const auto& parts = value.toTupleRef().elements();
    const auto texts = c10::impl::toTypedDict<std::string, std::string>(parts.at(0).toGenericDict());
    const auto tensors = c10::impl::toTypedDict<std::string, at::Tensor>(parts.at(1).toGenericDict());
    plain.name = file.stem().string();
    plain.model.source = file.string();
    auto& config = plain.model.config;
    read_lines(texts.at("config"), [&](Schema& s) { config.keys(s); });
    config.resolve();
    if (texts.contains("head")) {
      auto& head = plain.model.head.emplace();
      read_lines(texts.at("head"), [&](Schema& s) { head.keys(s); });
      head.n_labels = std::stoll(texts.at("n_labels"));
    }
    plain.form = {.every_hidden_state = texts.at("every_hidden_state") == "1",
                  .layers_end_with_norms = texts.at("layers_end_with_norms") == "1",
                  .sparse = texts.at("sparse") == "1",
                  .query_factor = std::stod(texts.at("query_factor"))};
    plain.model.tensors = take(tensors, "weights.");
    plain.float64 = take(tensors, "f64.");
    plain.float32 = take(tensors, "f32.");
  } catch (const c10::Error&) {
    throw UserError(file.string() + ": not a plain parity case");
  }
  return plain;
}

std::vector<PlainCase> read_plain_cases(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) throw UserError(folder.string() + ": no such folder");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pt") files.push_back(entry.path());
  }
  if (files.empty()) throw UserError(folder.string() + ": no plain parity case (X.pt) in it");
  std::sort(files.begin(), files.end());
  std::vector<PlainCase> cases;
  for (const auto& file : files) cases.push_back(read_plain_case(file));
  return cases;
}

void compare(const PlainCase& plain, at::Device device, Comparison& result) {
  compare_float64(plain, device, result);
  compare_float32(plain, device, result);
}

}  // namespace skipless::parity
