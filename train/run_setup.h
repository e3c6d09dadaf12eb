// What a run checks and opens before its first step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/chunk_batches.h"
#include "data/prepared_data.h"
#include "train/run_config.h"
#include "train/run_folder.h"

namespace skipless {

/// The data of the config. UserError when their tokenizer does not fit the model.
PreparedData open_data(const RunConfig& config);

/// What the config's evaluations run on; nothing when it asks for none.
std::optional<EvaluationBatches> evaluation_batches(const RunConfig& config, const PreparedData& data);

/// UserError for the weights of another code (skipless convert): no data, no optimizer, no way to go on.
void refuse_imported(const std::filesystem::path& folder);

/// Refuses a run of another config, by key (UserError); says what is allowed to differ. `begun`: there is a checkpoint,
/// before which nothing is lost with the old config.
void compare_with_run(const RunPaths& paths, const std::string& config, bool begun);

/// Copies the data's tokenizer.json into the run's folder, so that the run can be used where the data are not. Without
/// room for it there is a warning: training does not need it.
void keep_tokenizer(const RunConfig& config, const RunPaths& paths);

/// train.threads (threads.h); says where they are more than there can be.
void set_threads_or_warn(int64_t threads);

}  // namespace skipless
