#include "tests/models/host_calls.h"

#include "models/kernels/cuda/activation.cu"
#include "models/kernels/cuda/cross_entropy.cu"
#include "models/kernels/cuda/gained_sum.cu"
#include "models/kernels/cuda/norm.cu"
#include "models/kernels/cuda/shaped_combine.cu"
