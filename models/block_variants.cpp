#include "models/block_variants.h"

#include "models/blocks/op.h"
#include "models/blocks/parallel.h"
#include "models/blocks/post_ln.h"
#include "models/blocks/pre_ln.h"
#include "models/blocks/sas.h"
#include "models/blocks/sas_p.h"
#include "models/blocks/v_skipinit.h"

namespace skipless {

namespace {

template <class BlockImplType>
std::unique_ptr<BlockConfig> config_of() {
  return std::make_unique<typename BlockImplType::Config>();
}

}  // namespace

std::span<const BlockVariant> block_variants() {
  static constexpr BlockVariant kVariants[] = {
      {"pre_ln", "the standard Pre-LN block, Fig. 1", config_of<PreLnBlockImpl>},
      {"post_ln", "the Post-LN block, norm-first form", config_of<PostLnBlockImpl>},
      {"op", "the OP block: no norms, qk-norm, small branches", config_of<OpBlockImpl>},
      {"parallel", "the parallel block, Fig. 1", config_of<ParallelBlockImpl>},
      {"v_skipinit", "V-SkipInit, Section 4.1, Eq. 4", config_of<VSkipInitBlockImpl>},
      {"sas", "SAS, Section 4.2", config_of<SasBlockImpl>},
      {"sas_p", "SAS-P, Section 4.3", config_of<SasPBlockImpl>},
  };
  return kVariants;
}

}  // namespace skipless
