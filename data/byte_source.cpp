#include "data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {
namespace {

constexpr std::size_t kBlock = 1 << 17;
constexpr std::size_t kLongestPath = 4096;

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(const std::filesystem::path& file) : name_(printable(file.string(), kLongestPath)) {
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) throw UserError(fmt::format("cannot read '{}': {}", name_, std::strerror(errno)));
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      throw UserError(fmt::format("'{}' is not an ordinary file", name_));
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~PlainSource() override { ::close(descriptor_); }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;

  std::size_t read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t bytes = ::read(descriptor_, out.data() + filled, out.size() - filled);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0) throw UserError(fmt::format("cannot read '{}' at byte {}: {}", name_, at_, std::strerror(errno)));
      if (bytes == 0) break;
      filled += static_cast<std::size_t>(bytes);
      at_ += static_cast<std::uint64_t>(bytes);
    }
    return filled;
  }

  bool skip(std::uint64_t bytes) override {
    if (bytes > size_ - std::min(at_, size_)) return false;
    at_ += bytes;
    return ::lseek(descriptor_, static_cast<off_t>(at_), SEEK_SET) >= 0;
  }

  std::uint64_t file_bytes() const override { return at_; }

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;
};

/// What the two kinds of compressed files share: a block of the file, and its faults.
class CompressedSource : public ByteSource {
 public:
  CompressedSource(const std::filesystem::path& file, const char* kind)
      : file_(file), name_(printable(file.string(), kLongestPath)), kind_(kind), block_(kBlock) {}
  std::uint64_t file_bytes() const override { return file_.file_bytes() - left_; }

 protected:
  /// Whether there is a byte to decompress.
  bool refill() {
    if (left_ == 0) {
      next_ = 0;
      left_ = file_.read(block_);
    }
    return left_ > 0;
  }
  void take(std::size_t bytes) {
    next_ += bytes;
    left_ -= bytes;
  }
  const char* next() const { return block_.data() + next_; }
  std::size_t left() const { return left_; }
  const std::string& name() const { return name_; }

  [[noreturn]] void fail_truncated() const {
    throw UserError(
        fmt::format("'{}' is truncated: its {} data stop at byte {} without their end", name_, kind_, file_bytes()));
  }
  [[noreturn]] void fail_corrupt(const char* reason) const {
    constexpr std::uint64_t kLongestHeader = 18;
    throw UserError(fmt::format("'{}' is {} at byte {}: {}", name_,
                                file_bytes() < kLongestHeader ? fmt::format("no {} file", kind_) : "corrupt",
                                file_bytes(), reason));
  }

 private:
  PlainSource file_;
  std::string name_;
  const char* kind_;
  std::vector<char> block_;
  std::size_t next_ = 0;
  std::size_t left_ = 0;
};

class GzipSource : public CompressedSource {
 public:
  explicit GzipSource(const std::filesystem::path& file) : CompressedSource(file, "gzip") {
    constexpr int kWindowAndGzipHeader = 15 + 16;
    if (inflateInit2(&stream_, kWindowAndGzipHeader) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size() && begin_member()) {
      if (!refill()) fail_truncated();
      const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - filled, 1U << 30));
      const auto given = static_cast<uInt>(left());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next()));
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
      stream_.avail_out = room;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      take(given - stream_.avail_in);
      filled += room - stream_.avail_out;
      if (result == Z_STREAM_END) {
        in_member_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        fail_corrupt(stream_.msg != nullptr ? stream_.msg : zError(result));
      }
    }
    return filled;
  }

 private:
  /// False at the end of the file. Zeros behind a member are padding, as of tapes.
  bool begin_member() {
    if (in_member_) return true;
    if (!begun_) {
      begun_ = true;
      in_member_ = true;
      return true;
    }
    while (refill() && *next() == '\0') take(1);
    if (!refill()) return false;
    inflateReset(&stream_);
    in_member_ = true;
    return true;
  }

  z_stream stream_{};
  bool begun_ = false;
  bool in_member_ = false;
};

class ZstdSource : public CompressedSource {
 public:
  explicit ZstdSource(const std::filesystem::path& file) : CompressedSource(file, "zstd"), stream_(ZSTD_createDCtx()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMostWindowLog);
  }
  ~ZstdSource() override { ZSTD_freeDCtx(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos < to.size) {
      // What the decoder still holds comes out without further input.
      if (!refill() && !holds_output_) {
        if (in_frame_) fail_truncated();
        break;
      }
      ZSTD_inBuffer from{next(), left(), 0};
      const std::size_t result = ZSTD_decompressStream(stream_, &to, &from);
      if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) fail_window(window_of_frame());
      if (ZSTD_isError(result) != 0) fail_corrupt(ZSTD_getErrorName(result));
      take(from.pos);
      in_frame_ = result != 0;
      holds_output_ = in_frame_ && to.pos == to.size;
    }
    return to.pos;
  }

 private:
  static constexpr int kMostWindowLog = 27;

  /// What the header of the frame that begins here asks for (RFC 8878, 3.1.1.1.2); 0 where it cannot be told.
  std::uint64_t window_of_frame() const {
    constexpr std::size_t kDescriptor = 4, kWindow = 5;  // behind the magic number
    constexpr int kSingleSegment = 0x20;
    if (left() <= kWindow || (next()[kDescriptor] & kSingleSegment) != 0) return 0;
    const auto byte = static_cast<std::uint8_t>(next()[kWindow]);
    const std::uint64_t base = std::uint64_t{1} << (10 + (byte >> 3));
    return base + base / 8 * (byte & 7);
  }
  [[noreturn]] void fail_window(std::uint64_t bytes) const {
    const std::string asked = bytes > 0 ? fmt::format("of {} MiB", bytes >> 20) : "that is larger";
    throw UserError(
        fmt::format("'{}' needs a zstd window {} at byte {}; allowed are {} MiB: compress it anew, without "
                    "--long or with --long={}",
                    name(), asked, file_bytes(), 1 << (kMostWindowLog - 20), kMostWindowLog));
  }

  ZSTD_DCtx* stream_;
  bool in_frame_ = true;  // an empty file is a truncated one
  bool holds_output_ = false;
};

}  // namespace

Compression compression_of(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".gz") return Compression::gzip;
  return extension == ".zst" ? Compression::zstd : Compression::none;
}

std::filesystem::path without_compression(const std::filesystem::path& file) {
  return compression_of(file) == Compression::none ? file : file.parent_path() / file.stem();
}

bool ByteSource::skip(std::uint64_t bytes) {
  std::vector<char> ignored(kBlock);
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, ignored.size()));
    if (read(std::span(ignored).first(wanted)) < wanted) return false;
    bytes -= wanted;
  }
  return true;
}

std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& file) {
  switch (compression_of(file)) {
    case Compression::gzip:
      return std::make_unique<GzipSource>(file);
    case Compression::zstd:
      return std::make_unique<ZstdSource>(file);
    case Compression::none:
      break;
  }
  return std::make_unique<PlainSource>(file);
}

}  // namespace skipless
