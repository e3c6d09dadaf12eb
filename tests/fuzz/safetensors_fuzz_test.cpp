// Broken safetensors files.
#include <ATen/core/Tensor.h>

#include <cstring>

#include "models/safetensors.h"

#include <catch2/catch.hpp>

#include "tests/fuzz/mutation.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

namespace skipless::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kWords = {"0",
                                         "-1",
                                         "1e3",
                                         "18446744073709551615",
                                         "9223372036854775807",
                                         "4294967296",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ",",
                                         ":",
                                         "\"",
                                         "\"a\":",
                                         "\"dtype\"",
                                         "\"shape\"",
                                         "\"data_offsets\"",
                                         "\"__metadata__\":{",
                                         "BF16",
                                         "U8",
                                         "BOOL",
                                         "F64",
                                         "null",
                                         "true",
                                         "\\u0000",
                                         "\\ud800",
                                         " ",
                                         "[0,8]",
                                         "[0]",
                                         "[]"};

struct Parts {
  std::string header, data;
};

/// Taken apart where the length allows it.
Parts parts_of(const std::string& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof(length)) return {.header = "{}", .data = ""};
  std::memcpy(&length, file.data(), sizeof(length));
  length = std::min<std::uint64_t>(length, file.size() - sizeof(length));
  return {.header = file.substr(sizeof(length), length), .data = file.substr(sizeof(length) + length)};
}

std::string sealed(const Parts& parts) {
  const std::uint64_t length = parts.header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + parts.header + parts.data;
}

std::vector<std::string> seeds() {
  std::vector<std::string> files = {
      sealed({.header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", .data = "12345678"}),
      sealed({.header = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BOOL","shape":[],"data_offsets":[2,3]},)"
                        R"("none":{"dtype":"F64","shape":[3,0],"data_offsets":[2,2]},)"
                        R"("a":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}}  )",
              .data = std::string("xy\1", 3)}),
      read_all(fs::path(SKIPLESS_SOURCE_DIR) / "tests/reference/parity/hf_gpt2.weights.safetensors")};
  const auto cases = shared_folder() / "cases/safetensors";
  if (!fs::is_directory(cases)) return files;
  std::vector<fs::path> more;
  for (const auto& entry : fs::directory_iterator(cases)) {
    if (entry.path().extension() == ".safetensors" && entry.file_size() < 10'000) more.push_back(entry.path());
  }
  std::sort(more.begin(), more.end());
  for (const auto& file : more) files.push_back(read_all(file));
  return files;
}

/// Looks at every byte that was read.
std::size_t sum_of(const TensorFile& file) {
  std::size_t sum = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const auto* bytes = static_cast<const unsigned char*>(tensor.data_ptr());
    for (std::size_t i = 0; i < tensor.nbytes(); ++i) sum += bytes[i];
  }
  return sum;
}

}  // namespace

TEST_CASE("broken safetensors files are read or refused", "[fuzz][safetensors]") {
  const TemporaryFolder folder;
  const auto files = seeds();
  Mutation mutation(3);
  Verdicts verdicts;
  for (int i = 0; i < 4000; ++i) {
    const auto& valid = files[mutation.below(files.size())];
    std::string mutant;
    if (mutation.one_in(3)) {
      mutant = mutation.of(valid, kWords);
    } else {  // a header that is as long as the file says
      auto parts = parts_of(valid);
      parts.header = mutation.of(parts.header, kWords);
      mutant = sealed(parts);
    }
    const auto file = folder.write("mutant.safetensors", mutant);
    read_or_refuse(verdicts, [&] { sum_of(read_safetensors(file)); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 500);
}

}  // namespace skipless::test
