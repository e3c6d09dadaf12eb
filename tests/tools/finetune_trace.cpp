// The first steps of a fine-tuning run in float64, without dropout, for a comparison with other code:
//   finetune_trace RUN GLUE TASK RECIPE.yaml STEPS OUT
// OUT/model.safetensors: the model before the first step, by the names of models/classifier.h. OUT/trace.json: of each
// step the batch (ids, token types, kept, labels), the learning rate, and the mean loss and gradient norm before it.
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "data/glue.h"
#include "data/sequence_builder.h"
#include "eval/glue_prediction.h"
#include "models/safetensors.h"
#include "train/budget.h"
#include "train/device.h"
#include "train/finetune_run.h"
#include "train/learner.h"
#include "train/load_run.h"
#include "train/module_state.h"
#include "train/run_tokenizer.h"

namespace {

using namespace skipless;
using nlohmann::json;

/// Rows of a matrix, or a vector, of whole numbers or of others.
json json_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  if (tensor.dim() > 1) {
    json rows = json::array();
    for (int64_t i = 0; i < tensor.size(0); ++i) rows.push_back(json_of(tensor[i]));
    return rows;
  }
  const auto values = tensor.to(tensor.is_floating_point() ? at::kDouble : at::kLong).contiguous();
  json list = json::array();
  for (int64_t i = 0; i < values.size(0); ++i) {
    if (tensor.is_floating_point()) {
      list.push_back(values.data_ptr<double>()[i]);
    } else {
      list.push_back(values.data_ptr<int64_t>()[i]);
    }
  }
  return list;
}

void trace(const std::vector<std::string>& arguments) {
  const std::filesystem::path run_folder = arguments[0], glue = arguments[1], out = arguments[5];
  const GlueTask& task = glue_task(arguments[2]);
  const auto recipe =
      read_config_file<FinetuneConfig>(arguments[3], {"train.dropout=0", "head.dropout=0", "train.precision=fp32"});
  const int64_t steps = std::stoll(arguments[4]);
  LoadedRun run = load_run(run_folder, "last", "cpu");
  const auto tokenizer = run_tokenizer(run, run_folder, "");
  const auto config = finetuned_config(run.config.model, 0);
  SequenceBuilder builder(*tokenizer, std::min(recipe.data.max_length, *config.n_positions));
  const GlueSequences train(read_glue(glue_folder(glue, task) / task.train[0].name, task, GlueSplit::train), task,
                            builder);
  seed_generators(at::kCPU, recipe.train.seed);
  const Classifier model = glue_model(config, recipe.head, task, module_state(*run.model), run_folder.string());
  model->to(at::kDouble);
  make_folder(out);
  write_safetensors(out / "model.safetensors", {.tensors = module_state(*model), .metadata = {}});

  const int64_t of_epoch = (train.size() + recipe.train.batch_size - 1) / recipe.train.batch_size;
  const TrainConfig settings =
      recipe.train.train_config(static_cast<int64_t>(recipe.train.epochs * static_cast<double>(of_epoch)));
  const BudgetPlan plan(settings, settings, settings.schedule, recipe.data.max_length, train.size());
  Learner learner(model, settings, Precision::fp32);
  json list = json::array();
  for (int64_t step = 0; step < steps; ++step) {
    const auto rows = glue_rows(train.size(), recipe.train.batch_size, recipe.train.seed, step);
    const Batch batch = glue_batch(*model, train, rows, tokenizer->special_token_id("[PAD]").value_or(0));
    const double lr = plan.learning_rate({.steps = step});
    const auto done = learner.step(step, lr, batch);
    list.push_back({{"ids", json_of(batch.ids)},
                    {"token_types", json_of(batch.token_types)},
                    {"kept", json_of(batch.kept)},
                    {"labels", json_of(batch.labels)},
                    {"lr", lr},
                    {"loss", done.loss.sum.item<double>() / static_cast<double>(done.loss.count.item<int64_t>())},
                    {"gradient_norm", done.gradient_norm.item<double>()}});
  }
  write_file(out / "trace.json", json{{"task", task.name}, {"steps", list}}.dump() + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 6) {
    std::cerr << "finetune_trace RUN GLUE TASK RECIPE.yaml STEPS OUT\n";
    return 2;
  }
  try {
    trace(arguments);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
