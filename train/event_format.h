// The records of a TensorBoard event file ("events.out.tfevents..."), written and read without protobuf, of which it
// needs six fields:
//
//   record   length (uint64), masked CRC-32C of these 8 bytes (uint32), `length` bytes, masked CRC-32C of them
//            (uint32), all little endian; masked: ((c >> 15) | (c << 17)) + 0xa282ead8
//   bytes    one protobuf message Event: wall_time (1, double, seconds), step (2, int64), and one of
//            file_version (3, "brain.Event:2", the first record), summary (5), session_log (7)
//   summary  repeated value (1): tag (1, text), simple_value (2, float)
//   session_log  status (1): 1 is START, on which TensorBoard forgets what it read of this step and later ones
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skipless {

/// CRC-32C (Castagnoli: reflected polynomial 0x82f63b78, start and end inverted).
uint32_t crc32c(std::string_view bytes);

/// Tags and their values.
using Scalars = std::vector<std::pair<std::string, double>>;

std::string version_record(double wall_time);
std::string start_record(double wall_time, int64_t step);
std::string scalars_record(double wall_time, int64_t step, const Scalars& scalars);

/// The bytes from the start of `file` that are whole records of steps up to `step`: all before the first that is cut,
/// does not match its sums, or has a later step.
std::size_t bytes_up_to(std::string_view file, int64_t step);

}  // namespace skipless
