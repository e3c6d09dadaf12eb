// A Config with a key of every type, two levels of sections, and one section that is written only when it is chosen.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "configs/config_file.h"

namespace skipless::test {

enum class Shape { round, square, free_form };

inline std::span<const EnumName<Shape>> enum_names(Shape) {
  static constexpr std::array<EnumName<Shape>, 3> kNames = {
      {{Shape::round, "round"}, {Shape::square, "square"}, {Shape::free_form, "free_form"}}};
  return kNames;
}

struct FormSample {
  double bend = 0.25;

  void keys(Schema& s) { s.key("bend", bend, Range<double>::any(), "how far a free form bends"); }
};

struct ModelSample {
  int64_t n_layer = 4;
  int64_t n_head = 2;
  double gain = 1.5;
  bool tied = true;
  Shape shape = Shape::round;
  std::string norm = "rms";
  FormSample form;

  void keys(Schema& s) {
    s.key("n_layer", n_layer, Range<int64_t>::between(1, 100), "number of layers");
    s.key("n_head", n_head, Range<int64_t>::at_least(1), "number of heads");
    s.key("gain", gain, Range<double>::any(), "a gain");
    s.key("tied", tied, "whether it is tied");
    s.key("shape", shape, "which shape");
    s.key("norm", norm, {"rms", "layer", "none"}, "which norm");
    s.section("form", form, "a free form's settings", shape == Shape::free_form);
  }
};

struct TrainSample {
  double learning_rate = 1e-3;
  std::optional<double> decay;
  std::optional<int64_t> warmup;
  std::optional<bool> fused;
  std::optional<std::string> note;
  int64_t seed = 0;

  void keys(Schema& s) {
    s.key("learning_rate", learning_rate, Range<double>::above(0), "step size");
    s.key("decay", decay, Range<double>::from_below(0, 1), "weight decay");
    s.key("warmup", warmup, Range<int64_t>::at_least(0), "steps of warm-up");
    s.key("fused", fused, "one kernel for all");
    s.key("note", note, "remark");
    s.key("seed", seed, Range<int64_t>::any(), "seed of everything");
  }
};

struct SampleConfig {
  std::string name = "sample";
  std::vector<std::string> files;
  ModelSample model;
  TrainSample train;

  void keys(Schema& s) {
    s.key("name", name, "what the run is called");
    s.key("files", files, "what it reads");
    s.section("model", model, "the model");
    s.section("train", train, "the training");
  }
  void resolve() {
    if (!train.warmup) train.warmup = 10 * model.n_layer;
  }
  void check(Problems& problems) const {
    problems.within("model", [&](Problems& p) {
      if (model.n_layer % model.n_head != 0) {
        p.add("n_head", std::to_string(model.n_head) + " does not divide " + std::to_string(model.n_layer));
      }
      if (model.form.bend < 0) p.add("form.bend", "a form cannot bend backwards");
    });
  }
};

inline SampleConfig parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_config<SampleConfig>(text, "sample.yaml", overrides);
}

/// The message of the UserError that parsing throws; "" when it throws none.
inline std::string mistake(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace skipless::test
