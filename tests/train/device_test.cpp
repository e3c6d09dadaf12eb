#include "train/device.h"

#include <ATen/core/Tensor.h>

#include <string>

#include "configs/error.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

TEST_CASE("only cpu, cuda and cuda:N are names of devices", "[device]") {
  for (const char* name : {"cpu", "cuda", "cuda:0", "cuda:7", "cuda:12"}) CHECK(is_device_name(name));
  for (const char* name : {"", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:01", "cuda:1x", "cuda: 1", "cuda:99999999999",
                           "cpu:0", "cuda:300"}) {
    INFO(name);
    CHECK_FALSE(is_device_name(name));
    CHECK_THROWS_AS(find_device(name), UserError);
  }
}

TEST_CASE("a device that is not there is refused by saying what is", "[device]") {
  CHECK(find_device("cpu").is_cpu());
  CHECK_THROWS_WITH(find_device("cuda:100"),
                    Catch::Contains("'cuda:100'") && Catch::Contains("the CPU") && Catch::Contains(devices_seen()));
}

TEST_CASE("a seed gives the same random numbers again", "[device]") {
  seed_generators(at::kCPU, 5);
  const auto first = generator_of(at::kCPU).get_state();
  seed_generators(at::kCPU, 6);
  CHECK_FALSE(generator_of(at::kCPU).get_state().equal(first));
  seed_generators(at::kCPU, 5);
  CHECK(generator_of(at::kCPU).get_state().equal(first));
}

}  // namespace skipless
