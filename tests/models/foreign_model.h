// What tests of imports and exports share.
#pragma once

#include <ATen/ops/equal.h>
#include <ATen/ops/rand_like.h>
#include <c10/core/GradMode.h>

#include <string>

#include "configs/error.h"
#include "models/convert/tensor_map.h"
#include "models/make_model.h"

namespace skipless::test {

inline const ImportSource kTest{"test", "test"};

/// A model's parameters and buffers, parameters random.
inline Tensors random_state(const ModelConfig& config) {
  const c10::NoGradGuard no_grad;
  const auto model = make_model(config);
  Tensors state;
  for (const auto& item : model->named_parameters()) state.emplace(item.key(), at::rand_like(item.value()));
  for (const auto& item : model->named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

inline bool same(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (b.count(name) == 0 || !at::equal(tensor, b.at(name))) return false;
  }
  return true;
}

template <class Action>
std::string reason(const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace skipless::test
