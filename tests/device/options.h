// What the device program was asked for.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/precision.h"

namespace skipless::device {

struct Options {
  std::string section;
  std::string device_name = "cuda";
  at::Device device = at::kCPU;  // of that name; not yet looked up by parse()
  bool small = false;            // tiny models and few steps: whether the section itself works
  std::string cases = "tests/reference/device";
  std::string commit = "unknown";  // what is recorded beside the card
  // bench and fits
  std::vector<std::string> blocks;  // "sas_p" or "sas_p:none"; empty: all
  Precision precision = Precision::automatic;
  int64_t layers = 18, width = 768, heads = 12, vocabulary = 50'000, context = 128, batch = 32;
  int64_t rounds = 3, steps = 5;
  int64_t most = 512;    // the largest batch that fits tries
  double seconds = 120;  // after which bench and fits begin no further block
};

/// UserError naming the argument that cannot be used.
Options parse(int argc, char** argv);

}  // namespace skipless::device
