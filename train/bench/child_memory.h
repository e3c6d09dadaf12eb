// The memory that a piece of work needs at most, measured in a process of its own.
#pragma once

#include <cstdint>
#include <functional>

namespace skipless {

/// Bytes of resident memory, above what the process has where it begins. The work runs in a child process (fork), which
/// is possible as long as this process has no threads; what it throws or prints is lost. RunError when the child fails.
int64_t peak_memory_of(const std::function<void()>& work);

}  // namespace skipless
