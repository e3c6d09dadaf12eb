#include "data/byte_source.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/data/archives.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using namespace std::string_literals;
using Catch::Contains;
using test::gzip_of;
using test::TemporaryFolder;
using test::user_error_of;
using test::zstd_of;

namespace {

std::string all_of(const std::filesystem::path& file, std::size_t block) {
  const auto source = open_bytes(file);
  std::string text;
  std::string part(block, '\0');
  while (true) {
    const std::size_t got = source->read(part);
    text.append(part, 0, got);
    if (got < block) break;
  }
  CHECK(source->read(part) == 0);  // the end stays the end
  CHECK(source->file_bytes() == std::filesystem::file_size(file));
  return text;
}

/// Text that compresses badly, of several blocks of the reader.
std::string long_text() {
  std::string text;
  test::Numbers numbers(7);
  for (int i = 0; i < 60000; ++i) text += std::to_string(numbers.next());
  return text;
}

}  // namespace

TEST_CASE("files are read as they stand or decompressed, in blocks of any size", "[byte_source]") {
  const TemporaryFolder folder;
  for (const std::string& text : {""s, "x"s, long_text()}) {
    for (const std::size_t block : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 17, std::size_t{1} << 23}) {
      if (block == 1 && text.size() > 1) continue;
      CHECK(all_of(folder.write("a.txt", text), block) == text);
      CHECK(all_of(folder.write("a.txt.gz", gzip_of(text)), block) == text);
      CHECK(all_of(folder.write("a.txt.zst", zstd_of(text)), block) == text);
    }
  }
}

TEST_CASE("archives of several members are read to their ends", "[byte_source]") {
  const TemporaryFolder folder;
  const std::string text = long_text();
  CHECK(all_of(folder.write("a.gz", gzip_of("one ") + gzip_of("") + gzip_of(text)), 4096) == "one " + text);
  CHECK(all_of(folder.write("a.gz", gzip_of("one") + std::string(1000, '\0')), 4096) == "one");  // a tape's padding
  const std::string skippable = "\x50\x2A\x4D\x18\x03\0\0\0abc"s;
  CHECK(all_of(folder.write("a.zst", zstd_of("one ") + skippable + zstd_of("") + zstd_of(text)), 4096) ==
        "one " + text);
}

TEST_CASE("skipping is reading without keeping", "[byte_source]") {
  const TemporaryFolder folder;
  const std::string text = long_text();
  for (const auto& file :
       {folder.write("a", text), folder.write("a.gz", gzip_of(text)), folder.write("a.zst", zstd_of(text))}) {
    const auto source = open_bytes(file);
    REQUIRE(source->skip(500000));
    std::string part(10, '\0');
    REQUIRE(source->read(part) == 10);
    CHECK(part == text.substr(500000, 10));
    CHECK(source->skip(text.size() - 500010));
    CHECK_FALSE(source->skip(1));
  }
}

TEST_CASE("truncated and corrupt archives are refused with file and byte", "[byte_source]") {
  const TemporaryFolder folder;
  const std::string text = long_text();
  const auto refusal = [&](const char* name, const std::string& bytes) {
    return user_error_of([&] { all_of(folder.write(name, bytes), 4096); });
  };
  const std::string gzip = gzip_of(text);
  const std::string zstd = zstd_of(text);
  for (const double share : {0.0, 0.00001, 0.01, 0.5, 0.99}) {
    const auto most = [&](const std::string& bytes) {
      return bytes.substr(0, static_cast<std::size_t>(share * static_cast<double>(bytes.size())));
    };
    CHECK_THAT(refusal("a.gz", most(gzip)), Contains("a.gz' is truncated: its gzip data stop at byte " +
                                                     std::to_string(most(gzip).size()) + " without their end"));
    CHECK_THAT(refusal("a.zst", most(zstd)), Contains("a.zst' is truncated: its zstd data stop at byte " +
                                                      std::to_string(most(zstd).size()) + " without their end"));
  }
  CHECK_THAT(refusal("a.gz", gzip + gzip.substr(0, gzip.size() - 4)), Contains("truncated"));
  CHECK_THAT(refusal("a.gz", "plain text"), Contains("a.gz' is no gzip file at byte"));
  CHECK_THAT(refusal("a.zst", "plain text"), Contains("a.zst' is no zstd file at byte"));
  CHECK_THAT(refusal("a.gz", gzip + "garbage"), Contains("corrupt at byte " + std::to_string(gzip.size() + 2)));
  for (const std::size_t at : {gzip.size() / 2, gzip.size() - 6}) {  // in the data, in the checksum
    std::string bad = gzip;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    CHECK_THAT(refusal("a.gz", bad), Contains("corrupt at byte"));
  }
  std::string bad = zstd;
  bad[4] = static_cast<char>(bad[4] ^ 0x08);  // a reserved bit of the frame's header
  CHECK_THAT(refusal("a.zst", bad), Contains("at byte"));
  CHECK_THAT(user_error_of([&] { open_bytes(folder.path()); }), Contains("not an ordinary file"));
  CHECK_THAT(user_error_of([&] { open_bytes(folder.path() / "none.gz"); }), Contains("No such file"));
}

TEST_CASE("a zstd window that would take more than 128 MiB is refused", "[byte_source]") {
  const TemporaryFolder folder;
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 28);
  ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
  std::string out(1000, '\0');
  ZSTD_inBuffer in{"text", 4, 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_compressStream2(context, &to, &in, ZSTD_e_flush);  // the size is not known yet, so the whole window is asked for
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  CHECK_THAT(user_error_of([&] { all_of(folder.write("a.zst", out), 4096); }),
             Contains("a.zst' needs a zstd window of 256 MiB at byte 0; allowed are 128 MiB"));
}
