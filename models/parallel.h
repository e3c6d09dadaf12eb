// Work of our own on LibTorch's threads.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace skipless {

/// work(begin, end) for parts of 0..n-1, which together are all of it, side by side on as many threads as LibTorch has,
/// each part at least `least` long unless n is shorter. at::get_thread_num() tells threads apart.
///
/// at::parallel_for would do, but it is a template whose threads come from the compiler's OpenMP: Clang's is not the
/// one that LibTorch waits in, and without any it runs serially and says nothing. Here LibTorch's own compiled loop is
/// used.
void parallel_parts(int64_t n, int64_t least, c10::function_ref<void(int64_t begin, int64_t end)> work);

}  // namespace skipless
