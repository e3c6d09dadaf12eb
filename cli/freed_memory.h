// What becomes of memory that is given back.
#pragma once

namespace skipless {

/// Keeps freed memory in the process for the next tensors. By default the allocator returns every large block to the
/// system and fetches it again, page by page, in the next step: a tenth to a fifth of a training step on a CPU.
void keep_freed_memory();

/// Returns every block of a MiB or more to the system at once. By default the allocator keeps up to 32 MiB blocks with
/// the thread that freed them: a line's worth of text, several times over, for each thread that encodes.
void return_freed_memory();

}  // namespace skipless
