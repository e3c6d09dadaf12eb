#include "train/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "configs/error.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.", kSuffix = ".skipless";

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The seconds in the name of an event file of this program.
std::optional<int64_t> seconds_in(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const char* const digits = name.data() + kPrefix.size();
  const char* const end = name.data() + name.size() - kSuffix.size();
  int64_t seconds = 0;
  const auto [stop, error] = std::from_chars(digits, end, seconds);
  return error == std::errc() && stop == end ? std::optional(seconds) : std::nullopt;
}

struct EventFile {
  fs::path path;
  int64_t seconds = 0;
};

std::vector<EventFile> event_files(const fs::path& folder) {
  std::vector<EventFile> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto seconds = seconds_in(entry.path().filename().string());
    if (seconds && entry.is_regular_file()) files.push_back({entry.path(), *seconds});
  }
  return files;
}

void cut_back(const fs::path& file, int64_t step) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  // In place: a TensorBoard that reads the file goes on with the next one.
  if (const auto good = bytes_up_to(bytes, step); good < bytes.size()) fs::resize_file(file, good);
}

void add_numbers(const nlohmann::json& value, const std::string& tag, Scalars& scalars) {
  if (value.is_number()) {
    scalars.emplace_back(tag, value.get<double>());
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_numbers(value[i], fmt::format("{}[{}]", tag, i), scalars);
  }
}

}  // namespace

Scalars scalars_of(const nlohmann::json& line) {
  Scalars scalars;
  const std::string kind = line.at("kind").get<std::string>();
  if (kind == "start") return scalars;
  for (const auto& [key, value] : line.items()) {
    if (key == "step" || key == "kind") continue;
    if (value.is_object()) {
      for (const auto& [inner, number] : value.items()) {
        add_numbers(number, fmt::format("{}/{}", key, inner), scalars);
      }
    } else {
      add_numbers(value, fmt::format("{}/{}", kind, key), scalars);
    }
  }
  return scalars;
}

bool is_event_file(std::string_view name) {
  return seconds_in(name).has_value();
}

void cut_back_events(const fs::path& folder, int64_t step, const std::function<void(const std::string&)>& warn) {
  try {
    for (const auto& file : event_files(folder)) cut_back(file.path, step);
  } catch (const std::exception& error) {
    warn(fmt::format("TensorBoard events of later steps are still there: {}", error.what()));
  }
}

EventLog::EventLog(const fs::path& folder, int64_t step, std::function<void(const std::string&)> warn)
    : warn_(std::move(warn)) {
  const double time = now();
  try {
    auto seconds = static_cast<int64_t>(time);
    for (const auto& file : event_files(folder)) {
      cut_back(file.path, step);
      seconds = std::max(seconds, file.seconds + 1);
    }
    // Ten digits, so that the order of names is that of times.
    file_ = std::make_unique<AppendFile>(folder / fmt::format("{}{:010}{}", kPrefix, seconds, kSuffix));
  } catch (const std::exception& error) {
    warn_(fmt::format("no TensorBoard events are written: {}", error.what()));
    return;
  }
  write(version_record(time) + start_record(time, step + 1));
}

void EventLog::add(const nlohmann::json& line) {
  if (!file_) return;
  const auto scalars = scalars_of(line);
  if (!scalars.empty()) write(scalars_record(now(), line.at("step").get<int64_t>(), scalars));
}

void EventLog::write(const std::string& record) {
  if (const std::string problem = file_->add(record); !problem.empty()) {
    warn_(fmt::format("cannot write {}: {}; tried again with the next line", file_->path().string(), problem));
  }
}

}  // namespace skipless
