#include "cli/version.h"

#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "git_commit.h"
#include "train/cuda_driver.h"
#include "train/device.h"

namespace skipless {

namespace {

/// "sm_75 sm_80": what LibTorch's own CUDA code was compiled for, from the flags that it reports.
std::string architectures() {
  std::string config;
  try {
    config = at::detail::getCUDAHooks().showConfig();
  } catch (const c10::Error&) {
    return "unknown: LibTorch says it only where there is a CUDA driver";
  }
  std::set<std::string> found;
  for (size_t at = config.find("sm_"); at != std::string::npos; at = config.find("sm_", at + 1)) {
    size_t end = at + 3;
    while (end < config.size() && std::isalnum(static_cast<unsigned char>(config[end])) != 0) ++end;
    found.insert(config.substr(at, end - at));
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, " "));
}

std::string cuda_version(long version) {
  return version <= 0 ? "none" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cudnn_version(long version) {
  return version <= 0 ? "none" : fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace

std::string version_text() {
  std::string text = fmt::format("skipless {}\n  commit         {}\n  LibTorch       {}\n  processor      {}\n",
                                 SKIPLESS_VERSION, SKIPLESS_GIT_COMMIT, TORCH_VERSION, at::get_cpu_capability());
  if (built_with_cuda()) {
    const auto& hooks = at::detail::getCUDAHooks();
    const bool cudnn = hooks.compiledWithCuDNN();
    text += fmt::format("  CUDA           {}\n  cuDNN          {}\n  architectures  {}\n",
                        cuda_version(hooks.hasCUDART() ? hooks.versionCUDART() : 0),
                        cudnn_version(cudnn ? hooks.versionCuDNN() : 0), architectures());
  } else {
    text += "  CUDA           none (built without)\n  cuDNN          none\n  architectures  none\n";
  }
  text += "  devices        cpu";
  for (const auto& device : cuda_driver_devices()) text += "\n                 " + describe(device);
  if (!built_with_cuda() && !cuda_driver_devices().empty()) text += "  (not usable: built without CUDA)";
  return text;
}

std::string version_json() {
  const nlohmann::ordered_json json = {
      {"skipless", SKIPLESS_VERSION}, {"commit", SKIPLESS_GIT_COMMIT}, {"libtorch", TORCH_VERSION}};
  return json.dump(2) + "\n";
}

}  // namespace skipless
