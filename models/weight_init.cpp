#include "models/weight_init.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <c10/util/Exception.h>
#include <torch/nn/init.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace skipless {

std::span<const EnumName<WeightInit>> enum_names(WeightInit) {
  static constexpr std::array<EnumName<WeightInit>, 3> kNames{
      {{WeightInit::identity, "identity"}, {WeightInit::orthogonal, "orthogonal"}, {WeightInit::normal, "normal"}}};
  return kNames;
}

void InitConfig::keys(Schema& s) {
  s.key("kind", kind, "normal: N(0, std^2); orthogonal: random, orthonormal rows or columns; identity");
  s.key("std", std, Range<double>::between(0, 10), "standard deviation of a normal start; empty: the part's own");
}

void InitConfig::check(Problems& problems, std::string_view section) const {
  if (!std || kind == WeightInit::normal) return;
  problems.within(section, [&](Problems& p) {
    p.add("std", std::string("is of 'kind: normal', and this kind is '") + std::string(name_of(kind)) + "'");
  });
}

at::Tensor initial_matrix(const InitConfig& init, int64_t rows, int64_t columns, double default_std, double scale) {
  switch (init.kind) {
    case WeightInit::identity:
      return at::eye(rows, columns).mul_(scale);
    case WeightInit::orthogonal:
      return torch::nn::init::orthogonal_(at::empty({rows, columns}), scale);
    case WeightInit::normal:
      return at::empty({rows, columns}).normal_(0, scale * init.std.value_or(default_std));
  }
  TORCH_CHECK(false, "an initialisation outside the enum");
}

void InitConfigs::keys(Schema& s) {
  s.section("embedding", embedding, "token and position tables, and an untied head");
  s.section("key", key, "W_K");
  s.section("feed_forward_in", feed_forward_in, "W_1");
  s.section("feed_forward_out", feed_forward_out, "W_2");
  s.key("depth_scaled", depth_scaled, "W_P and W_2 times 1/sqrt(2*n_layer), as in GPT-2");
}

void InitConfigs::check(Problems& problems) const {
  for (const auto& [name, init] :
       {std::pair{"embedding", &embedding}, std::pair{"key", &key}, std::pair{"feed_forward_in", &feed_forward_in},
        std::pair{"feed_forward_out", &feed_forward_out}}) {
    init->check(problems, name);
  }
}

double InitConfigs::output_scale(int64_t n_layer) const {
  return depth_scaled ? 1 / std::sqrt(2.0 * static_cast<double>(n_layer)) : 1;
}

}  // namespace skipless
