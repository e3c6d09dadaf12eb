// The cards on which scripts/gpu_check.sh has passed, as this user's state folder remembers them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/cuda_driver.h"

namespace skipless {

/// One line of the file: fields with a tab between them, in this order.
struct CheckedCard {
  std::string kernels;     // kernel_hash() of the program that passed
  std::string capability;  // "7.5"
  std::string name;        // "NVIDIA GeForce RTX 2080 Ti", as the driver has it
  std::string commit;      // of the checkout, for the reader alone
};

/// Of the sources in models/kernels/device and models/kernels/cuda that this program was built from
/// (scripts/write_kernel_hash.sh); "none" where it has no kernels.
std::string kernel_hash();

/// $XDG_STATE_HOME/skipless/checked_cards.tsv, by default in ~/.local/state; nothing where there is no home either.
std::optional<std::filesystem::path> checked_cards_file();

/// Lines of another form are passed over; a file that is not there or cannot be read has no card.
std::vector<CheckedCard> read_checked_cards(const std::filesystem::path& file);

/// Whether the check has passed on a card of this name and compute capability with the kernels of this program.
bool is_checked(const std::vector<CheckedCard>& cards, const CudaDevice& card);

/// Adds the card, or replaces the line of the same kernels, capability and name. All other lines stay as they are, also
/// those that another process adds at the same time. UserError where the folder cannot be made or written.
void record_checked_card(const std::filesystem::path& file, const CheckedCard& card);

}  // namespace skipless
