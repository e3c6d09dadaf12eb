// The bytes of a file in order, read in bounded memory: as they stand there, or what a gzip or zstd file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace skipless {

enum class Compression { none, gzip, zstd };

/// By the name: .gz and .zst.
Compression compression_of(const std::filesystem::path& file);
/// "data.jsonl" of "data.jsonl.gz".
std::filesystem::path without_compression(const std::filesystem::path& file);

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills `out`; less of it at the end alone. UserError, with the file and its byte, for what cannot be read, is
  /// truncated or corrupt.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Leaves out the next `bytes`; false when there are not as many.
  virtual bool skip(std::uint64_t bytes);
  /// Bytes of the file that were read so far.
  virtual std::uint64_t file_bytes() const = 0;
};

/// Gzip files of several members and zstd files of several frames are read to their ends; a zstd file whose window is
/// larger than 128 MiB (zstd --long=28 and more) is refused. UserError for what is no ordinary file.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& file);

}  // namespace skipless
