#include "train/run_tokenizer.h"

#include <catch2/catch.hpp>

#include "configs/error.h"
#include "data/tokenizer_file.h"

using namespace skipless;

TEST_CASE("what needs its text back refuses a tokenizer that changes it", "[tokenizer]") {
  const auto bpe = read_tokenizer(SKIPLESS_SOURCE_DIR "/data/tokenizers/python_4096");
  require_lossless(*bpe, "'skipless generate'");
  const auto wordpiece = read_tokenizer(SKIPLESS_SOURCE_DIR "/data/tokenizers/english_8192");
  CHECK_THROWS_WITH(require_lossless(*wordpiece, "'skipless generate'"),
                    Catch::Contains("'skipless generate' needs a tokenizer that gives back the text") &&
                        Catch::Contains("WordPiece, uncased"));
  CHECK_THROWS_AS(require_lossless(*wordpiece, "it"), UserError);
}
