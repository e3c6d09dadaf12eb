// The safetensors file format, read and written to the letter: 8 bytes of header length (little endian), a JSON header
// that gives every tensor's dtype, shape and byte range, then the bytes, without gap, overlap or rest.
// A file is never trusted: it is mapped, every claim of its header is checked against the file's real size before
// anything is allocated, and what is wrong is refused with the reason.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace skipless {

/// Named tensors (on the CPU, contiguous) and the header's `__metadata__`.
struct TensorFile {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads a whole file; the tensors own their memory. Dtypes F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL; any other is
/// refused by name. UserError, "FILE: not a usable safetensors file: REASON", on anything else than a valid file.
TensorFile read_safetensors(const std::filesystem::path& path);

/// Writes the tensors (any device and strides) atomically (AtomicFile): metadata with `format: pt` added, header padded
/// with spaces to a multiple of 8, tensors sorted by element size, largest first, then by name, so that every tensor is
/// aligned without a hole. Throws what AtomicFile throws, and UserError for a dtype that the format has no name for.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace skipless
