// What this program is, and what it runs on.
#pragma once

#include <string>

namespace skipless {

/// For --version: program, git commit, LibTorch, CUDA, cuDNN, architectures, devices. Looks for CUDA devices.
std::string version_text();

/// For a run's version.json: program, git commit and LibTorch. Touches no device.
std::string version_json();

}  // namespace skipless
