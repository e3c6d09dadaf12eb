#include "train/event_format.h"

#include <array>
#include <bit>
#include <cstring>

namespace skipless {

static_assert(std::endian::native == std::endian::little, "records are written as numbers stand in memory");

namespace {

enum WireType : uint32_t { kVarint = 0, kEightBytes = 1, kLengthPrefixed = 2, kFourBytes = 5 };

enum EventField : uint32_t { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

constexpr auto kCrcTable = make_crc_table();

uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

template <class Number>
void add_raw(std::string& bytes, Number value) {
  std::array<char, sizeof(value)> raw{};
  std::memcpy(raw.data(), &value, sizeof(value));
  bytes.append(raw.data(), raw.size());
}

template <class Number>
Number raw_at(std::string_view bytes, std::size_t at) {
  Number value{};
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

void add_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void add_tag(std::string& bytes, uint32_t field, WireType type) {
  add_varint(bytes, (field << 3) | type);
}

void add_bytes(std::string& bytes, uint32_t field, std::string_view content) {
  add_tag(bytes, field, kLengthPrefixed);
  add_varint(bytes, content.size());
  bytes += content;
}

std::string event(double wall_time, int64_t step, EventField field, std::string_view content) {
  std::string bytes;
  add_tag(bytes, kWallTime, kEightBytes);
  add_raw(bytes, wall_time);
  add_tag(bytes, kStep, kVarint);
  add_varint(bytes, static_cast<uint64_t>(step));
  add_bytes(bytes, field, content);
  return bytes;
}

std::string record(std::string_view content) {
  std::string bytes;
  add_raw(bytes, uint64_t{content.size()});
  add_raw(bytes, masked_crc(bytes));
  bytes += content;
  add_raw(bytes, masked_crc(content));
  return bytes;
}

/// The step of an event of this program, in which it stands behind wall_time; nothing for another message.
std::optional<int64_t> step_of(std::string_view message) {
  constexpr std::size_t kStepAt = 1 + sizeof(double);
  constexpr char kWallTimeTag = (kWallTime << 3) | kEightBytes, kStepTag = (kStep << 3) | kVarint;
  if (message.size() <= kStepAt || message[0] != kWallTimeTag || message[kStepAt] != kStepTag) return std::nullopt;
  uint64_t step = 0;
  for (std::size_t i = kStepAt + 1, shift = 0; i < message.size() && shift < 64; ++i, shift += 7) {
    const auto byte = static_cast<unsigned char>(message[i]);
    step |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return static_cast<int64_t>(step);
  }
  return std::nullopt;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

std::string version_record(double wall_time) {
  return record(event(wall_time, 0, kFileVersion, "brain.Event:2"));
}

std::string start_record(double wall_time, int64_t step) {
  std::string log;
  add_tag(log, 1, kVarint);
  add_varint(log, 1);
  return record(event(wall_time, step, kSessionLog, log));
}

std::string scalars_record(double wall_time, int64_t step, const Scalars& scalars) {
  std::string summary, value;
  for (const auto& [tag, number] : scalars) {
    value.clear();
    add_bytes(value, 1, tag);
    add_tag(value, 2, kFourBytes);
    add_raw(value, static_cast<float>(number));
    add_bytes(summary, 1, value);
  }
  return record(event(wall_time, step, kSummary, summary));
}

std::size_t bytes_up_to(std::string_view file, int64_t step) {
  constexpr std::size_t kHead = sizeof(uint64_t) + sizeof(uint32_t), kTail = sizeof(uint32_t);
  std::size_t good = 0;
  while (file.size() - good >= kHead + kTail) {
    const auto rest = file.substr(good);
    const auto length = raw_at<uint64_t>(rest, 0);
    if (raw_at<uint32_t>(rest, sizeof(length)) != masked_crc(rest.substr(0, sizeof(length)))) break;
    if (length > rest.size() - kHead - kTail) break;
    const auto message = rest.substr(kHead, length);
    if (raw_at<uint32_t>(rest, kHead + length) != masked_crc(message)) break;
    const auto its_step = step_of(message);
    if (!its_step || *its_step > step) break;
    good += kHead + length + kTail;
  }
  return good;
}

}  // namespace skipless
