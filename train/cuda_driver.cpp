#include "train/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace skipless {

namespace {

// The few functions of the driver's C interface, which is stable and needs no header of a toolkit. 0 is success.
struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*count)(int* count) = nullptr;
  int (*get)(int* device, int index) = nullptr;
  int (*name)(char* name, int size, int device) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
  int (*memory)(std::size_t* bytes, int device) = nullptr;
};

constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::vector<CudaDevice> cuda_driver_devices() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  Driver driver;
  if (library == nullptr || !find(library, "cuInit", driver.init) || !find(library, "cuDeviceGetCount", driver.count) ||
      !find(library, "cuDeviceGet", driver.get) || !find(library, "cuDeviceGetName", driver.name) ||
      !find(library, "cuDeviceGetAttribute", driver.attribute) ||
      !find(library, "cuDeviceTotalMem_v2", driver.memory)) {
    return {};
  }
  int count = 0;
  if (driver.init(0) != 0 || driver.count(&count) != 0) return {};
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    int device = 0;
    std::array<char, 256> name{};
    if (driver.get(&device, index) != 0) continue;
    CudaDevice& found = devices.emplace_back();
    driver.name(name.data(), static_cast<int>(name.size()) - 1, device);
    found.index = index;
    found.name = name.data();
    driver.attribute(&found.major, kCapabilityMajor, device);
    driver.attribute(&found.minor, kCapabilityMinor, device);
    driver.memory(&found.bytes, device);
  }
  return devices;
}

std::string cuda_device_name(c10::Device device) {
  if (!device.is_cuda()) return "";
  for (const auto& found : cuda_driver_devices()) {
    if (found.index == device.index()) return found.name;
  }
  return "";
}

std::string describe(const CudaDevice& device) {
  return fmt::format("cuda:{} {}, compute capability {}.{}, {:.1f} GB", device.index, device.name, device.major,
                     device.minor, static_cast<double>(device.bytes) / 1e9);
}

}  // namespace skipless
