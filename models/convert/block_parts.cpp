#include "models/convert/block_parts.h"

#include <fmt/format.h>

#include <string_view>

#include "configs/error.h"
#include "models/blocks/op.h"
#include "models/blocks/parallel.h"
#include "models/blocks/post_ln.h"
#include "models/blocks/pre_ln.h"
#include "models/blocks/sas.h"
#include "models/blocks/sas_p.h"
#include "models/blocks/v_skipinit.h"

namespace skipless {

namespace {

template <class Config>
BlockParts parts_of(BlockConfig& base) {
  auto& config = static_cast<Config&>(base);
  BlockParts parts{.attention = &config.attention, .beta_sa = &config.beta_sa, .beta_ff = &config.beta_ff};
  if constexpr (requires { config.alpha_sa; }) parts.alpha_sa = &config.alpha_sa;
  if constexpr (requires { config.alpha_ff; }) parts.alpha_ff = &config.alpha_ff;
  if constexpr (requires { config.alpha_comb; }) parts.alpha_comb = &config.alpha_comb;
  return parts;
}

struct Row {
  std::string_view block;
  BlockParts (*parts)(BlockConfig&);
  bool parallel;
};

constexpr Row kRows[] = {
    {"pre_ln", parts_of<PreLnBlockImpl::Config>, false},
    {"post_ln", parts_of<PostLnBlockImpl::Config>, false},
    {"op", parts_of<OpBlockImpl::Config>, false},
    {"parallel", parts_of<ParallelBlockImpl::Config>, true},
    {"v_skipinit", parts_of<VSkipInitBlockImpl::Config>, false},
    {"sas", parts_of<SasBlockImpl::Config>, false},
    {"sas_p", parts_of<SasPBlockImpl::Config>, true},
};

}  // namespace

BlockParts block_parts(ModelConfig& config) {
  for (const auto& row : kRows) {
    if (row.block != config.block) continue;
    auto parts = row.parts(config.blocks[config.block]);
    parts.parallel = row.parallel;
    return parts;
  }
  throw UserError(fmt::format("the block '{}' is not one of the authors' code", config.block));
}

}  // namespace skipless
