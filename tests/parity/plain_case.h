// A case that needs neither JSON nor an import: its config in lines, its tensors by our names, in one file of
// LibTorch's own format. scripts/parity.sh --plain writes them, the device program (tests/device) reads them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "batch_run.h"
#include "comparison.h"

namespace skipless::parity {

struct PlainCase {
  std::string name;
  BatchModel model;
  BatchForm form;
  /// Their inputs and values in each precision: input_ids, labels, logits, loss, hidden.N or final_hidden, and the
  /// gradients as grad.OUR_NAME. float32 is empty where the case has none.
  Tensors float64, float32;
};

void write_plain_case(const std::filesystem::path& file, const PlainCase& plain);
/// UserError for a file that is none.
PlainCase read_plain_case(const std::filesystem::path& file);
/// All files *.pt of a folder, by name; UserError when there is none.
std::vector<PlainCase> read_plain_cases(const std::filesystem::path& folder);

/// Our values on `device` against theirs, within bounds.h.
void compare(const PlainCase& plain, at::Device device, Comparison& result);

}  // namespace skipless::parity
