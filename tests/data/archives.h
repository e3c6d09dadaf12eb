// Compressed texts, as gzip and zstd write them.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <stdexcept>
#include <string>

namespace skipless::test {

inline std::string gzip_of(const std::string& text) {
  constexpr int kWindowAndGzipHeader = 15 + 16;
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowAndGzipHeader, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate failed");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string zstd_of(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  if (ZSTD_isError(size) != 0) throw std::runtime_error("ZSTD_compress failed");
  out.resize(size);
  return out;
}

/// `text` written `times` times, in one frame, without holding all of it.
inline std::string zstd_of_repeated(const std::string& text, int times) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string out;
  std::string block(ZSTD_CStreamOutSize(), '\0');
  for (int i = 0; i < times; ++i) {
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    const ZSTD_EndDirective mode = i + 1 == times ? ZSTD_e_end : ZSTD_e_continue;
    std::size_t left = 1;
    while (mode == ZSTD_e_end ? left != 0 : in.pos < in.size) {
      ZSTD_outBuffer to{block.data(), block.size(), 0};
      left = ZSTD_compressStream2(context, &to, &in, mode);
      out.append(block, 0, to.pos);
    }
  }
  ZSTD_freeCCtx(context);
  return out;
}

}  // namespace skipless::test
