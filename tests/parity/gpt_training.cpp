// The training recipe of the paper in float64: eight optimizer steps of two micro-batches, by both AdamW rules, with
// this project's own schedule, parameter groups, accumulation, clipping and optimizer.
#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "configs/error.h"
#include "family.h"
#include "models/convert/official.h"
#include "models/gpt.h"
#include "train/accumulation.h"
#include "train/adamw.h"
#include "train/budget.h"
#include "train/clip.h"
#include "train/module_state.h"
#include "train/parameter_groups.h"
#include "train/schedule.h"

namespace skipless::parity {

namespace {

/// Float64 through eight steps: of the value itself, or of the tensor's largest.
constexpr double kTrajectory = 1e-9;

/// The last rate of the schedule that the authors' trainer uses (PAPER.md, section 2).
constexpr double kLastRate = 1e-7;

struct Recipe {
  int64_t steps, accumulation;
  double clip_norm;
  ScheduleConfig schedule;
  OptimizerConfig optimizer;
};

Recipe read_recipe(const nlohmann::json& settings, OptimizerKind kind) {
  Recipe recipe;
  recipe.steps = settings.at("steps").get<int64_t>();
  recipe.accumulation = settings.at("accumulation").get<int64_t>();
  recipe.clip_norm = settings.at("max_grad_norm").get<double>();
  recipe.schedule = {.lr = settings.at("lr").get<double>(),
                     .lr_end = kLastRate,
                     .schedule = ScheduleKind::linear,
                     .warmup_steps = settings.at("warmup").get<int64_t>(),
                     .warmup_fraction = std::nullopt,
                     .warmup_rule = WarmupRule::from_zero};
  recipe.optimizer = {.optimizer = kind,
                      .beta1 = settings.at("betas").at(0).get<double>(),
                      .beta2 = settings.at("betas").at(1).get<double>(),
                      .eps = settings.at("eps").get<double>(),
                      .weight_decay = settings.at("weight_decay").get<double>()};
  return recipe;
}

/// Trains `model`, comparing each step with `expected`.
void train(Gpt model, const Recipe& recipe, const Tensors& data, const nlohmann::json& expected,
           const std::string& rule, Comparison& result) {
  AdamW optimizer(parameter_groups(*model, recipe.optimizer.weight_decay), recipe.optimizer);
  const auto parameters = model->parameters();
  BudgetConfig budget;
  budget.steps = recipe.steps;
  const BudgetPlan plan(budget, {}, recipe.schedule, /*context_length=*/1, /*chunks=*/1);
  const auto add = [&](const std::string& what, int64_t step, const at::Tensor& ours) {
    const auto theirs = at::scalar_tensor(expected.at(step).at(what).get<double>(), at::kDouble);
    result.add(rule + " " + what, fmt::format("step {}", step), ours, theirs, largest(theirs), kTrajectory);
  };
  for (int64_t step = 0; step < recipe.steps; ++step) {
    const auto loss = accumulate_gradients(parameters, recipe.accumulation, [&](int64_t micro) {
      return model->loss({.ids = data.at(fmt::format("ids.{}", step * recipe.accumulation + micro))});
    });
    const auto norm =
        scale_and_clip(gradients_of(parameters), loss.count.to(at::kDouble).reciprocal(), recipe.clip_norm);
    const double lr = plan.learning_rate({.steps = step});
    optimizer.step(lr);
    add("loss", step, loss.sum / loss.count);
    add("grad_norm", step, norm);
    add("lr", step, at::scalar_tensor(lr, at::kDouble));
  }
}

/// The groups by name: decayed there is decayed here, and the reverse.
void compare_groups(Gpt& model, const ImportedModel& imported, const nlohmann::json& settings, Comparison& result) {
  const auto theirs = settings.at("groups").at("decay").get<std::vector<std::string>>();
  std::set<std::string> decayed_there, decayed_here;
  for (const auto& entry : imported.map) {
    if (std::find(theirs.begin(), theirs.end(), entry.name) == theirs.end()) continue;
    for (const auto& piece : entry.pieces) decayed_there.insert(piece.ours);
  }
  for (const auto& group : parameter_groups(*model, 1)) {
    for (const auto& parameter : group.parameters) {
      if (group.weight_decay != 0) decayed_here.insert(parameter.name);
    }
  }
  if (decayed_here != decayed_there) result.fail("weight decay reaches other tensors here than there");
}

void compare_final_weights(const Gpt& model, const ImportedModel& imported, const Tensors& start, const Tensors& data,
                           Comparison& result) {
  constexpr std::string_view kFinal = "final.";
  const auto state = module_state(*model);
  size_t in_map = 0;
  for (const auto& entry : imported.map) {
    const auto found = data.find(std::string(kFinal) + entry.name);
    if (found == data.end()) continue;
    ++in_map;
    // What only they have is never used: training must have left it alone.
    const auto ours = entry.pieces.empty() ? start.at(entry.name).to(at::kDouble) : their_tensor(entry, state);
    result.add("final weights", entry.name, ours, found->second, largest(found->second), kTrajectory);
  }
  const auto in_file =
      std::count_if(data.begin(), data.end(), [&](const auto& item) { return item.first.rfind(kFinal, 0) == 0; });
  if (static_cast<size_t>(in_file) != in_map) {
    result.fail(fmt::format("the case has {} final weights, of which {} have a place here", in_file, in_map));
  }
}

}  // namespace

void run_gpt_training(const Case& parity_case, Comparison& result) {
  const auto start = parity_case.weights();
  const auto data = parity_case.reference();
  const auto imported =
      import_official(parity_case.settings, start, {parity_case.stem.string(), parity_case.stem.string()});
  struct Rule {
    const char* name;
    OptimizerKind kind;
  };
  for (const auto& rule : {Rule{"adamw_hf", OptimizerKind::adamw_hf}, Rule{"adamw_torch", OptimizerKind::adamw}}) {
    Gpt model(imported.config);
    model->to(at::kDouble);
    load_module_state(*model, imported.tensors, parity_case.weights_file());
    compare_groups(model, imported, parity_case.settings, result);
    train(model, read_recipe(parity_case.settings, rule.kind), data, parity_case.settings.at(rule.name), rule.name,
          result);
    if (rule.kind == OptimizerKind::adamw_hf) compare_final_weights(model, imported, start, data, result);
  }
}

}  // namespace skipless::parity
