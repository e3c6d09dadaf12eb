#include "train/checked_cards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "kernel_hash.h"
#include "models/device_kernels.h"

namespace skipless {

namespace {

std::optional<CheckedCard> parse(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  if (fields.size() != 4) return std::nullopt;
  return CheckedCard{.kernels = fields[0], .capability = fields[1], .name = fields[2], .commit = fields[3]};
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_same_card(const CheckedCard& a, const CheckedCard& b) {
  return a.kernels == b.kernels && a.capability == b.capability && a.name == b.name;
}

/// Held while the file is read and written anew. The file itself cannot be locked: it is replaced.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    int result = descriptor_;
    while (result >= 0 && (result = ::flock(descriptor_, LOCK_EX)) != 0 && errno == EINTR) result = 0;
    if (result < 0) throw UserError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  }
  ~FileLock() { ::close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace

std::string kernel_hash() {
  return has_device_kernels() ? SKIPLESS_KERNEL_HASH : "none";
}

std::optional<std::filesystem::path> checked_cards_file() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  std::filesystem::path folder;
  // A relative path is to be ignored, says the XDG Base Directory Specification.
  if (state != nullptr && state[0] == '/') {
    folder = state;
  } else if (home != nullptr && home[0] == '/') {
    folder = std::filesystem::path(home) / ".local/state";
  } else {
    return std::nullopt;
  }
  return folder / "skipless/checked_cards.tsv";
}

std::vector<CheckedCard> read_checked_cards(const std::filesystem::path& file) {
  std::vector<CheckedCard> cards;
  for (const auto& line : lines_of(file)) {
    if (auto card = parse(line)) cards.push_back(std::move(*card));
  }
  return cards;
}

bool is_checked(const std::vector<CheckedCard>& cards, const CudaDevice& card) {
  const CheckedCard wanted{.kernels = kernel_hash(),
                           .capability = fmt::format("{}.{}", card.major, card.minor),
                           .name = card.name,
                           .commit = ""};
  return std::any_of(cards.begin(), cards.end(), [&](const auto& checked) { return is_same_card(checked, wanted); });
}

void record_checked_card(const std::filesystem::path& file, const CheckedCard& card) {
  make_folder(file.parent_path());
  const FileLock lock(file.string() + ".lock");
  std::string text;
  for (const auto& line : lines_of(file)) {
    const auto known = parse(line);
    if (!known || !is_same_card(*known, card)) text += line + "\n";
  }
  write_file(file, text + fmt::format("{}\t{}\t{}\t{}\n", card.kernels, card.capability, card.name, card.commit));
}

}  // namespace skipless
