// The name of a run by what it computes.
#include <set>
#include <string>
#include <vector>

#include "configs/config_file.h"
#include "train/run_config.h"
#include "train/run_key.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

namespace {

std::string key_with(const std::vector<std::string>& overrides) {
  return run_key(parse_config<RunConfig>(
      "model: {block: sas_p, n_layer: 2, d_model: 16, n_head: 2, vocab_size: 64, context_length: 16}\n"
      "data: {folder: data}\ntrain: {steps: 20, batch_size: 8}\n",
      "small", overrides));
}

}  // namespace

TEST_CASE("What is computed decides a run's key, and where it is computed does not", "[run_key]") {
  const std::string key = key_with({});
  CHECK_THAT(key, Catch::StartsWith("sas_p-"));
  CHECK(key.size() == std::string("sas_p-0123456789abcdef").size());
  CHECK(key_with({"train.threads=2", "train.micro_batch=4", "train.device=cuda", "train.tensorboard=false",
                  "train.log_every=3", "train.save_every=7", "train.keep_checkpoints=9", "train.recompute=true"}) ==
        key);
  std::set<std::string> keys{key};
  for (const std::string setting :
       {"model.block=sas", "model.n_layer=3", "model.norm=none", "train.seed=1", "train.data_seed=1", "train.lr=1e-4",
        "train.steps=21", "train.batch_size=9", "train.precision=bf16", "train.eval_every=7", "data.folder=other"}) {
    INFO(setting);
    CHECK(keys.insert(key_with({setting})).second);
  }
}

TEST_CASE("A default that is written out does not change a run's key", "[run_key]") {
  CHECK(key_with({"train.seed=0", "model.kind=gpt"}) == key_with({}));
}
