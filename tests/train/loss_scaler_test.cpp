#include "train/loss_scaler.h"

#include <ATen/ops/full.h>

#include <cmath>

#include "configs/error.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

void update(LossScaler& scaler, bool is_bad) {
  scaler.update(at::full({}, is_bad, at::kBool));
}

double scale_of(const LossScaler& scaler) {
  return scaler.scale().item<double>();
}

bool has_collapsed(const LossScaler& scaler) {
  return scaler.collapsed().item<bool>();
}

}  // namespace

TEST_CASE("the scale halves on a bad step and doubles after 2,000 good ones in a row", "[scaler]") {
  LossScaler scaler(at::kCPU);
  CHECK(scale_of(scaler) == 65'536);
  update(scaler, true);
  CHECK(scale_of(scaler) == 32'768);
  for (int i = 0; i < 1'999; ++i) update(scaler, false);
  CHECK(scale_of(scaler) == 32'768);
  update(scaler, true);  // the count begins anew
  for (int i = 0; i < 1'999; ++i) update(scaler, false);
  CHECK(scale_of(scaler) == 16'384);
  update(scaler, false);
  CHECK(scale_of(scaler) == 32'768);
  CHECK(scaler.skipped() == 2);
  CHECK_FALSE(has_collapsed(scaler));
}

TEST_CASE("a scale below 1, or 50 skips in a row, is a collapse", "[scaler]") {
  LossScaler scaler(at::kCPU);
  SECTION("below 1") {
    for (int i = 0; i < 16; ++i) update(scaler, true);
    CHECK(scale_of(scaler) == 1);
    CHECK_FALSE(has_collapsed(scaler));
    update(scaler, true);
    CHECK(has_collapsed(scaler));
  }
  SECTION("50 in a row") {
    scaler.state().at("loss_scale.scale").fill_(std::pow(2, 100));
    for (int i = 0; i < 49; ++i) update(scaler, true);
    update(scaler, false);
    for (int i = 0; i < 49; ++i) update(scaler, true);
    CHECK_FALSE(has_collapsed(scaler));
    update(scaler, true);
    CHECK(has_collapsed(scaler));
    CHECK(scaler.skipped() == 99);
  }
}

TEST_CASE("a scaler goes on where the saved one was", "[scaler][resume]") {
  LossScaler scaler(at::kCPU), other(at::kCPU);
  update(scaler, true);
  for (int i = 0; i < 1'000; ++i) update(scaler, false);
  auto saved = scaler.state();
  saved.emplace("rng.cpu", at::full({}, 1));
  auto taken = extract_loss_scale(saved);
  CHECK(saved.size() == 1);
  other.load(taken, "file");
  for (int i = 0; i < 1'000; ++i) update(other, false);
  CHECK(scale_of(other) == 65'536);
  CHECK(other.skipped() == 1);
  taken.erase("loss_scale.good_steps");
  CHECK_THROWS_WITH(other.load(taken, "file"), Catch::Contains("no tensor 'loss_scale.good_steps'"));
}

}  // namespace skipless
