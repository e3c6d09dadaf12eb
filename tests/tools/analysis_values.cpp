// What eval/analysis makes of matrices that stand on standard input, one JSON object a line, for
// tests/eval/compare_analysis.py:
//   {"matrix": [[...], ...]}     -> {"singular_values": [...], "stable_rank": S, "effective_rank": E, and, of a square
//                                    one, "distance_from_identity": D and "eigenvalues": [[re, im], ...]}
//   {"tokens": [[...], ...]}     -> {"token_similarity": S, "token_covariance": C, "outlier_kurtosis": K}
//   {"attention": [[...], ...], "visible": [...]}  -> {"row_entropy": [...], "entropy_share": H}
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/analysis/attention_entropy.h"
#include "eval/analysis/distance.h"
#include "eval/analysis/outlier_kurtosis.h"
#include "eval/analysis/ranks.h"
#include "eval/analysis/spectra.h"
#include "eval/analysis/token_similarity.h"

namespace {

using nlohmann::json;

at::Tensor vector_of(const json& values) {
  auto tensor = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  for (size_t i = 0; i < values.size(); ++i) tensor.data_ptr<double>()[i] = values[i].get<double>();
  return tensor;
}

at::Tensor matrix_of(const json& rows) {
  auto tensor = at::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}, at::kDouble);
  for (size_t i = 0; i < rows.size(); ++i) tensor[static_cast<int64_t>(i)].copy_(vector_of(rows[i]));
  return tensor;
}

std::vector<double> list_of(const at::Tensor& values) {
  const auto flat = values.contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

json values_of_matrix(const at::Tensor& m) {
  using namespace skipless;
  const auto s = singular_values(m);
  json values = {{"singular_values", list_of(s)},
                 {"stable_rank", stable_rank(s).item<double>()},
                 {"effective_rank", effective_rank(s).item<double>()}};
  if (m.size(0) != m.size(1)) return values;
  values["distance_from_identity"] = relative_distance(m, at::eye(m.size(0), m.options())).item<double>();
  const auto eigen = eigenvalues(m);
  const auto real = list_of(at::real(eigen)), imaginary = list_of(at::imag(eigen));
  for (size_t i = 0; i < real.size(); ++i) values["eigenvalues"].push_back({real[i], imaginary[i]});
  return values;
}

json values_of(const json& given) {
  using namespace skipless;
  if (given.contains("matrix")) return values_of_matrix(matrix_of(given["matrix"]));
  if (given.contains("tokens")) {
    const auto x = matrix_of(given["tokens"]);
    return {{"token_similarity", token_similarity(x).item<double>()},
            {"token_covariance", token_covariance(x).item<double>()},
            {"outlier_kurtosis", outlier_kurtosis(x).item<double>()}};
  }
  const auto entropy = row_entropy(matrix_of(given["attention"]));
  return {{"row_entropy", list_of(entropy)},
          {"entropy_share", entropy_share(entropy, vector_of(given["visible"])).item<double>()}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << values_of(json::parse(line)).dump() << '\n';
}
