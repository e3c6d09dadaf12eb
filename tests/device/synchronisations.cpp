#include "synchronisations.h"

#include <c10/util/Exception.h>

#if __has_include(<cuda_runtime_api.h>) && __has_include(<c10/cuda/CUDAFunctions.h>)
#include <c10/cuda/CUDAFunctions.h>
#define SKIPLESS_SEES_SYNCHRONISATIONS
#endif

namespace skipless::device {

#ifdef SKIPLESS_SEES_SYNCHRONISATIONS

namespace {

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

}  // namespace

std::optional<std::vector<std::string>> synchronisations_of(const std::function<void()>& work) {
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const bool always = c10::WarningUtils::get_warnAlways();
  c10::WarningUtils::set_warnAlways(true);
  c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_WARN);
  work();
  c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
  c10::WarningUtils::set_warnAlways(always);
  return warnings.texts;
}

#else

std::optional<std::vector<std::string>> synchronisations_of(const std::function<void()>&) {
  return std::nullopt;
}

#endif

}  // namespace skipless::device
