#include "train/paper_numbers.h"

namespace skipless {

std::span<const PaperNumber> paper_numbers() {
  static constexpr std::array<PaperNumber, 9> kNumbers{{{"mnli", "accuracy_m", "MNLI-m"},
                                                        {"mnli", "accuracy_mm", "MNLI-mm"},
                                                        {"sst2", "accuracy", "SST-2"},
                                                        {"stsb", "Pearson", "STS-B"},
                                                        {"rte", "accuracy", "RTE"},
                                                        {"qnli", "accuracy", "QNLI"},
                                                        {"qqp", "F1", "QQP"},
                                                        {"mrpc", "F1", "MRPC"},
                                                        {"cola", "MCC", "CoLA"}}};
  return kNumbers;
}

std::span<const PaperRow> paper_rows() {
  static constexpr std::array<PaperRow, 5> kRows{{
      {"Pre-LN (Crammed)", {81.2, 81.6, 89.9, 87.6, 56.3, 88.9, 87.1, 88.3, 49.4}, 78.9, 0.7},
      {"Parallel", {80.8, 80.9, 91.0, 87.5, 54.9, 88.0, 87.0, 87.3, 49.0}, 78.5, 0.6},
      {"V-SkipInit", {79.7, 80.4, 90.4, 85.1, 54.4, 87.0, 86.2, 87.9, 51.5}, 78.0, 0.3},
      {"SAS", {79.7, 80.1, 90.3, 84.7, 58.4, 87.5, 86.8, 87.5, 50.6}, 78.4, 0.8},
      {"SAS-P", {79.5, 79.4, 90.8, 85.2, 59.1, 87.5, 86.5, 86.0, 50.5}, 78.3, 0.4},
  }};
  return kRows;
}

}  // namespace skipless
