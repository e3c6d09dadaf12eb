#include "eval/analysis/sequences.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "configs/error.h"

namespace skipless {

at::Tensor text_sequences(const InputFiles& inputs, const std::string& field, const Tokenizer& tokenizer, int64_t n,
                          int64_t length, const VisitSkippedOf& skip) {
  auto sequences = at::empty({n, length}, at::kLong);
  int64_t found = 0;
  const auto encoder = tokenizer.make_encoder();
  std::vector<std::int32_t> ids;
  const auto add = [&](const Document& document) {
    if (found == n) return;
    ids.clear();
    try {
      encoder->encode(document.text, ids);
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {}", document.place, error.what()));
    }
    const auto chunks = std::min(n - found, static_cast<int64_t>(ids.size()) / length);
    std::copy_n(ids.begin(), chunks * length, sequences.data_ptr<int64_t>() + found * length);
    found += chunks;
  };
  for (const InputFile& file : inputs.files) {
    if (found == n) break;
    read_documents(file, field, add, [&](const SkippedDocument& skipped) { skip(file, skipped); });
  }
  if (found < n) {
    throw UserError(fmt::format("the text holds {} sequences of {} tokens within its documents, and {} are wanted",
                                found, length, n));
  }
  return sequences;
}

at::Tensor random_sequences(int64_t vocab_size, int64_t n, int64_t length, uint64_t seed) {
  return at::randint(vocab_size, {n, length}, at::make_generator<at::CPUGeneratorImpl>(seed), at::kLong);
}

}  // namespace skipless
