// What becomes of memory that tensors give back.
#pragma once

namespace skipless {

/// Keeps freed memory in the process for the next tensors. By default the allocator returns every large block to the
/// system and fetches it again, page by page, in the next step: a tenth to a fifth of a training step on a CPU.
void keep_freed_memory();

}  // namespace skipless
