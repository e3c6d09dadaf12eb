// The tokenizer of a run.
#pragma once

#include <filesystem>
#include <string>

#include "data/bpe_tokenizer.h"
#include "train/load_run.h"

namespace skipless {

/// From `given` (what read_tokenizer takes: a file, or a folder such as that of prepared data); where that is empty,
/// from tokenizer.json in the run's own folder, else in its data folder. UserError when there is none, and when it is
/// not the one that the model was trained with, or has more tokens than the model.
BpeTokenizer run_tokenizer(const LoadedRun& run, const std::filesystem::path& folder, const std::string& given);

}  // namespace skipless
