// The tokenizer of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizer.h"
#include "train/load_run.h"

namespace skipless {

/// From `given` (what read_tokenizer takes: a file, or a folder such as that of prepared data); where that is empty,
/// from tokenizer.json in the run's own folder, else in its data folder. UserError when there is none, and when it is
/// not the one that the model was trained with, or has more tokens than the model.
std::unique_ptr<const Tokenizer> run_tokenizer(const LoadedRun& run, const std::filesystem::path& folder,
                                               const std::string& given);

/// For a new model of `config`, which stands in `file`: from `given`, else from tokenizer.json in the data folder.
/// UserError when there is none, and when it has more tokens than the model.
std::unique_ptr<const Tokenizer> config_tokenizer(const RunConfig& config, const std::string& file,
                                                  const std::string& given);

/// UserError where `what` ("'skipless generate'") needs a tokenizer that gives back the text it is given, and this one
/// does not.
void require_lossless(const Tokenizer& tokenizer, std::string_view what);

}  // namespace skipless
