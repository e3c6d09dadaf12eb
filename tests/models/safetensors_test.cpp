// The safetensors format to the letter: what is accepted, with its values, and what is refused, with the reason.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "configs/error.h"
#include "models/safetensors.h"

#include <catch2/catch.hpp>

#include "tests/shared_folder.h"

namespace skipless {
namespace {

namespace fs = std::filesystem;

/// A file that goes with the test.
class TemporaryFile {
 public:
  TemporaryFile() {
    static int count = 0;
    path_ = fs::temp_directory_path() / fmt::format("skipless_{}_{}.safetensors", ::getpid(), count++);
  }
  ~TemporaryFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string read() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  fs::path path_;
};

std::string with_length(uint64_t length, const std::string& rest) {
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + rest;
}

std::string file_of(const std::string& header, const std::string& data = "") {
  return with_length(header.size(), header + data);
}

std::string reason_for(const std::string& bytes) {
  const TemporaryFile file;
  file.write(bytes);
  try {
    read_safetensors(file.path());
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TensorFile read_bytes(const std::string& bytes) {
  const TemporaryFile file;
  file.write(bytes);
  return read_safetensors(file.path());
}

std::string eight_bytes(const std::string& rest = "") {
  return std::string("\0\0\0\0\0\0\0\0", 8) + rest;
}

TEST_CASE("Every safetensors file handed out is accepted with its values or refused with a reason", "[safetensors]") {
  const auto folder = test::shared_folder() / "cases/safetensors";
  SKIPLESS_NEEDS(folder / "EXPECTED.json");
  const auto expected = nlohmann::json::parse(std::ifstream(folder / "EXPECTED.json"));
  const auto values = nlohmann::json::parse(std::ifstream(folder / "OK_VALUES.json"));
  for (const auto& [name, verdict] : expected.items()) {
    INFO(name);
    if (verdict != "accept") {
      const auto start = std::chrono::steady_clock::now();
      CHECK_THROWS_AS(read_safetensors(folder / name), UserError);
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
      continue;
    }
    const auto tensors = read_safetensors(folder / name).tensors;
    const auto stem = fs::path(name).stem().string();
    if (!values.contains(stem)) {
      CHECK(tensors.empty());
      continue;
    }
    CHECK(tensors.size() == values[stem].size());
    for (const auto& [tensor_name, value] : values[stem].items()) {
      INFO(tensor_name);
      REQUIRE(tensors.count(tensor_name) == 1);
      const auto flat = tensors.at(tensor_name).to(at::kDouble).flatten();
      if (value.is_string()) {  // "shape [0,3], no data"
        CHECK(flat.numel() == 0);
        continue;
      }
      std::vector<double> numbers;
      for (const auto& item : value.flatten()) numbers.push_back(item.get<double>());
      if (value.is_number()) numbers = {value.get<double>()};
      CHECK(at::equal(flat, at::tensor(numbers)));
    }
  }
}

TEST_CASE("A file that is not safetensors to the letter is refused with the reason", "[safetensors]") {
  struct Bad {
    std::string bytes;
    std::string reason;
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const auto tensor = [](const std::string& fields) { return file_of("{\"a\":{" + fields + "}}", eight_bytes()); };
  const std::string offsets = R"("data_offsets":[0,8])", shape = R"("shape":[2])", dtype = R"("dtype":"F32")";
  std::string sixty_five_ones = "1";
  for (int i = 0; i < 64; ++i) sixty_five_ones += ",1";
  const std::vector<Bad> bad = {
      {"", "shorter than the 8 bytes"},
      {std::string(7, '\0'), "shorter than the 8 bytes"},
      {with_length(uint64_t{1} << 63, "{}"), "header length"},
      {with_length(100'000'001, "{}"), "above 100000000"},
      {with_length(3, "{}"), "truncated"},
      {with_length(0, ""), "does not start with {"},
      {file_of("[]"), "does not start with {"},
      {file_of(" {}"), "does not start with {"},
      {file_of("\xef\xbb\xbf{}"), "does not start with {"},
      {file_of("{"), "not JSON"},
      {file_of("{}{}"), "not JSON"},
      {file_of("{} x"), "not JSON"},
      {file_of("{\"\xff\":{}}"), "not JSON"},
      {file_of("{" + a + ",}", eight_bytes()), "not JSON"},
      {file_of("{" + a + "}" + std::string(8, '\0'), eight_bytes()), "NUL"},
      {file_of("{\"__metadata__\":{\"k\":1}}"), "must be strings"},
      {file_of("{\"__metadata__\":{\"k\":null}}"), "must be strings"},
      {file_of("{\"__metadata__\":{\"k\":{}}}"), "must be strings"},
      {file_of("{\"__metadata__\":\"x\"}"), "metadata"},
      {file_of(R"({"__metadata__":{"k":"1","k":"2"}})"), "stands twice"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})"), "stands twice"},
      {file_of("{" + a + "," + a + "}", eight_bytes()), "a: stands twice"},
      {file_of("{\"a\":1}"), "a: a number"},
      {file_of("{\"a\":[]}"), "a: a list"},
      {file_of("{\"a\":null}"), "a: null"},
      {file_of("{\"a\":{}}"), "no field 'dtype'"},
      {tensor(dtype + "," + shape), "no field 'data_offsets'"},
      {tensor(dtype + "," + offsets), "no field 'shape'"},
      {tensor(dtype + "," + shape + "," + offsets + ",\"more\":1"), "unknown field 'more'"},
      {tensor(dtype + "," + dtype + "," + shape + "," + offsets), "field 'dtype' stands twice"},
      {tensor("\"dtype\":\"F8_E4M3\"," + shape + "," + offsets), "dtype F8_E4M3 is not supported"},
      {tensor("\"dtype\":\"f32\"," + shape + "," + offsets), "dtype f32 is not supported"},
      {tensor("\"dtype\":7," + shape + "," + offsets), "dtype is a number"},
      {tensor(dtype + ",\"shape\":2," + offsets), "shape is a number"},
      {tensor(dtype + ",\"shape\":[2.0]," + offsets), "not a whole number"},
      {tensor(dtype + ",\"shape\":[-2]," + offsets), "is negative"},
      {tensor(dtype + ",\"shape\":[\"2\"]," + offsets), "shape holds a string"},
      {tensor(dtype + ",\"shape\":[[2]]," + offsets), "nested too deep"},
      {tensor(dtype + ",\"shape\":[99999999999999999999]," + offsets), "not a whole number of 64 bits"},
      {tensor(dtype + ",\"shape\":[9223372036854775808]," + offsets), "overflows"},
      {tensor(dtype + ",\"shape\":[4294967296,4294967296,4]," + offsets), "shape overflow"},
      {tensor(dtype + ",\"shape\":[0,4294967296,4294967296]," + offsets), "shape overflow"},
      {tensor(dtype + ",\"shape\":[3]," + offsets), "need 12 bytes"},
      {tensor(dtype + "," + shape + ",\"data_offsets\":[8,0]"), "run backwards"},
      {tensor(dtype + "," + shape + ",\"data_offsets\":[0]"), "not 2"},
      {tensor(dtype + "," + shape + ",\"data_offsets\":[0,8,8]"), "more than 2"},
      {tensor(dtype + "," + shape + ",\"data_offsets\":[0,8.5]"), "not a whole number"},
      {tensor(dtype + "," + shape + ",\"data_offsets\":[8,16]"), "hole or overlap"},
      {file_of("{" + a + "}", eight_bytes("x")), "cover 8 of 9"},
      {file_of("{" + a + "}", "1234567"), "cover 8 of 7"},
      {file_of("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", eight_bytes()),
       "b: begins at byte 4"},
      {file_of("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}})", eight_bytes("xy")),
       "b: begins at byte 9"},
      {file_of(R"({"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})", "\1\1\1\1\1\1\1\2"), "neither 0 nor 1"},
      {file_of(R"({"a":{"dtype":"U8","shape":[)" + sixty_five_ones + R"(],"data_offsets":[0,1]}})", "x"),
       "more than 64 dimensions"},
      {file_of("{\"a\":" + std::string(1'000'000, '[')), "a: a list"},
      {file_of("{\"a\":{\"shape\":" + std::string(1'000'000, '[')), "nested too deep"},
      {file_of(std::string(1'000'000, '{')), "not JSON"},
  };
  for (const auto& [bytes, reason] : bad) {
    INFO(bytes.substr(0, 200));
    const auto message = reason_for(bytes);
    CHECK_THAT(message, Catch::Matchers::Contains(reason));
    CHECK(message.size() < 500);
  }
}

#ifndef __SANITIZE_ADDRESS__  // whose own mappings count as this process's data
/// As long as it lives, private memory may grow by `bytes` and no more: what wants more gets std::bad_alloc.
class MemoryBar {
 public:
  explicit MemoryBar(rlim_t bytes) {
    ::getrlimit(RLIMIT_DATA, &before_);
    std::ifstream status("/proc/self/status");
    rlim_t kilobytes = 0;
    for (std::string word; status >> word;) {
      if (word == "VmData:") status >> kilobytes;
    }
    REQUIRE(kilobytes > 0);
    const rlimit bar{.rlim_cur = kilobytes * 1024 + bytes, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_DATA, &bar) == 0);
  }
  ~MemoryBar() { ::setrlimit(RLIMIT_DATA, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("A bad file costs little memory whatever its header claims", "[safetensors]") {
  constexpr rlim_t kBar = 50 << 20;
  const auto claim = [](const std::string& shape, const std::string& offsets) {
    return file_of(R"({"a":{"dtype":"F64","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", eight_bytes());
  };
  const std::vector<std::string> files = {
      claim("[1000000000]", "[0,8000000000]"),
      claim("[1000000000]", "[0,8]"),
      claim("[1]", "[0,8000000000]"),
      with_length(99'999'999, std::string(99'999'999, '\0')),
      with_length(90'000'000, "{\"a\":" + std::string(89'999'995, '[')),
  };
  const TemporaryFile file;
  for (const auto& bytes : files) {
    INFO(bytes.substr(8, 80));
    file.write(bytes);
    const MemoryBar bar(kBar);
    CHECK_THROWS_AS(read_safetensors(file.path()), UserError);
  }
}
#endif

TEST_CASE("A path that is no file is refused", "[safetensors]") {
  CHECK_THROWS_AS(read_safetensors("/no/such/file.safetensors"), UserError);
  CHECK_THROWS_AS(read_safetensors(fs::temp_directory_path()), UserError);
  CHECK_THROWS_AS(read_safetensors("/dev/null"), UserError);
}

TEST_CASE("What the format allows is accepted", "[safetensors]") {
  CHECK(read_bytes(file_of("{}")).tensors.empty());
  CHECK(read_bytes(file_of("{}" + std::string(6, ' '))).tensors.empty());
  CHECK(read_bytes(file_of(R"({"__metadata__":{"format":"pt","k":""}})")).metadata.size() == 2);

  // A header whose length is no multiple of 8 leaves the data unaligned.
  const auto unaligned = read_bytes(
      file_of(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}} )", std::string("\x05\0\0\0\0\0\0\0", 8)));
  CHECK(unaligned.tensors.at("a").item<int64_t>() == 5);

  const auto mixed = read_bytes(file_of(R"({"later":{"data_offsets":[1,3],"shape":[2],"dtype":"BOOL"},)"
                                        R"("\u00e9":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                                        R"("none":{"dtype":"F64","shape":[3,0],"data_offsets":[1,1]}})",
                                        std::string("\x07\1\0", 3)));
  CHECK(mixed.tensors.at("\xc3\xa9").dim() == 0);
  CHECK(mixed.tensors.at("\xc3\xa9").item<uint8_t>() == 7);
  CHECK(mixed.tensors.at("none").sizes() == at::IntArrayRef({3, 0}));
  CHECK(at::equal(mixed.tensors.at("later"), at::tensor({1, 0}).to(at::kBool)));
}

TensorFile sample() {
  TensorFile file;
  file.tensors["double"] = at::rand({2, 3}, at::kDouble);
  file.tensors["float"] = at::rand({5});
  file.tensors["transposed"] = at::rand({4, 3}).t();
  file.tensors["half"] = at::rand({3}).to(at::kHalf);
  file.tensors["bfloat"] = at::rand({3}).to(at::kBFloat16);
  file.tensors["long"] = at::arange(-2, 3, at::kLong);
  file.tensors["int"] = at::arange(3, at::kInt);
  file.tensors["short"] = at::arange(3, at::kShort);
  file.tensors["char"] = at::arange(-1, 2, at::kChar);
  file.tensors["byte"] = at::arange(3, at::kByte);
  file.tensors["bool"] = at::tensor({1, 0, 1}).to(at::kBool);
  file.tensors["scalar"] = at::ones({});
  file.tensors["empty"] = at::zeros({0, 3});
  file.tensors["quote \" and \xe2\x82\xac"] = at::ones({1});
  file.metadata["note"] = "two\nlines";
  return file;
}

TEST_CASE("What is written is read back, every dtype, shape and layout", "[safetensors]") {
  const TemporaryFile file;
  const auto written = sample();
  write_safetensors(file.path(), written);
  const auto read = read_safetensors(file.path());
  CHECK(read.tensors.size() == written.tensors.size());
  for (const auto& [name, tensor] : written.tensors) {
    INFO(name);
    REQUIRE(read.tensors.count(name) == 1);
    CHECK(read.tensors.at(name).scalar_type() == tensor.scalar_type());
    CHECK(at::equal(read.tensors.at(name), tensor));
  }
  CHECK(read.metadata.at("note") == "two\nlines");
  CHECK(read.metadata.at("format") == "pt");
}

TEST_CASE("A written header is padded with spaces, sorted, aligned and free of holes", "[safetensors]") {
  const TemporaryFile file;
  write_safetensors(file.path(), sample());
  const auto bytes = file.read();
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  CHECK(length % 8 == 0);
  const auto header = bytes.substr(8, length);
  CHECK(header.find('\0') == header.npos);
  CHECK(header.find_last_not_of(' ') == header.rfind('}'));
  const auto json = nlohmann::ordered_json::parse(header);
  CHECK(json.begin().key() == "__metadata__");
  CHECK(json["__metadata__"]["format"] == "pt");
  uint64_t end = 0, size = 8;
  std::string previous_dtype, previous_name;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    INFO(name);
    const uint64_t begin = entry["data_offsets"][0];
    CHECK(begin == end);
    end = entry["data_offsets"][1];
    const std::string dtype = entry["dtype"];
    const uint64_t element =
        std::map<std::string, uint64_t>{{"I64", 8}, {"F64", 8}, {"F32", 4}, {"I32", 4}, {"BF16", 2},
                                        {"F16", 2}, {"I16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}}
            .at(dtype);
    CHECK(element <= size);
    CHECK(begin % element == 0);
    if (dtype == previous_dtype) CHECK(previous_name < name);
    size = element;
    previous_dtype = dtype;
    previous_name = name;
  }
  CHECK(8 + length + end == bytes.size());
}

// Writes the file that tests/models/check_safetensors.py compares with the reference library's, byte for byte.
TEST_CASE("A sample for the reference library", "[.safetensors-sample]") {
  const char* path = std::getenv("SKIPLESS_SAFETENSORS_SAMPLE");
  REQUIRE(path != nullptr);
  TensorFile file;
  for (const auto type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort, at::kChar, at::kByte}) {
    file.tensors[std::string("b.") + c10::toString(type)] = at::arange(6).reshape({2, 3}).to(type);
    file.tensors[std::string("a.") + c10::toString(type)] = at::arange(3).to(type);
  }
  file.tensors["bool"] = at::tensor({1, 0, 1}).to(at::kBool);
  file.tensors["scalar"] = at::ones({});
  file.tensors["empty"] = at::zeros({0, 3});
  write_safetensors(path, file);
}

TEST_CASE("A dtype without a name in the format is not written", "[safetensors]") {
  const TemporaryFile file;
  TensorFile tensors;
  tensors.tensors["c"] = at::zeros({2}, at::kComplexFloat);
  CHECK_THROWS_AS(write_safetensors(file.path(), tensors), UserError);
  CHECK_FALSE(fs::exists(file.path()));
}

TEST_CASE("Mutations of a valid file are read or refused, and never anything else", "[safetensors]") {
  const TemporaryFile file;
  write_safetensors(file.path(), sample());
  const auto valid = file.read();
  uint64_t length = 0;
  std::memcpy(&length, valid.data(), sizeof(length));
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto bytes = valid;
    // Most changes in the length and the header; digits and brackets do more harm there than random bytes.
    static constexpr std::string_view kLikely = "0123456789[]{},:\"-e. ";
    for (size_t n = 1 + below(3); n > 0; --n) {
      const size_t at = below(4) == 0 ? below(bytes.size()) : below(8 + length);
      switch (below(4)) {
        case 0:
          bytes[at % bytes.size()] = kLikely[below(kLikely.size())];
          break;
        case 1:
          bytes[at % bytes.size()] = static_cast<char>(below(256));
          break;
        case 2:
          bytes.erase(at % bytes.size(), 1 + below(20));
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at % bytes.size()), kLikely[below(kLikely.size())]);
      }
      if (bytes.empty()) bytes.push_back('x');
    }
    file.write(bytes);
    try {
      read_safetensors(file.path());
    } catch (const UserError&) {
      ++refused;
    }
  }
  // A change inside the data of a tensor is a valid file.
  CHECK(refused > 1500);
  CHECK(refused < 3000);
}

}  // namespace
}  // namespace skipless
