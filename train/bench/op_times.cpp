#include "train/bench/op_times.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "train/stopwatch.h"

namespace skipless {

namespace {

/// "torch::autograd::CppNode<skipless::(anonymous namespace)::FusedNorm>" -> "FusedNorm backward"
std::string short_name(const std::string& name) {
  constexpr std::string_view kNode = "torch::autograd::CppNode<";
  if (!name.starts_with(kNode)) return name;
  const auto begin = name.rfind(':') + 1;
  return name.substr(begin, name.rfind('>') - begin) + " backward";
}

struct OpenOp {
  std::string name;
  double begun = 0;
  double inside = 0;  // seconds of what it called
};

struct Recording {
  std::vector<OpenOp> open;
  std::string section;
  std::map<std::pair<std::string, std::string>, OpTime> times;
};

thread_local Recording* recording = nullptr;

std::unique_ptr<at::ObserverContext> begin_op(const at::RecordFunction& function) {
  const bool is_section = function.scope() == at::RecordScope::USER_SCOPE;
  if (is_section && recording->section.empty()) recording->section = function.name();
  recording->open.push_back({.name = short_name(function.name()), .begun = steady_seconds()});
  return nullptr;
}

void end_op(const at::RecordFunction&, at::ObserverContext*) {
  const OpenOp op = std::move(recording->open.back());
  recording->open.pop_back();
  const double seconds = steady_seconds() - op.begun;
  if (!recording->open.empty()) recording->open.back().inside += seconds;
  auto& time = recording->times[{recording->section, op.name}];
  time.milliseconds += 1000 * (seconds - op.inside);
  ++time.calls;
  if (op.name == recording->section) recording->section.clear();
}

}  // namespace

OpTimes::OpTimes() {
  TORCH_CHECK(recording == nullptr, "operations of this thread are being recorded already");
  recording = new Recording();
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(begin_op, end_op));
}

OpTimes::~OpTimes() {
  at::removeCallback(handle_);
  delete std::exchange(recording, nullptr);
}

std::vector<OpTime> OpTimes::times() const {
  std::vector<OpTime> times;
  for (const auto& [key, time] : recording->times) {
    times.push_back(time);
    std::tie(times.back().section, times.back().name) = key;
  }
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.milliseconds > b.milliseconds; });
  return times;
}

}  // namespace skipless
