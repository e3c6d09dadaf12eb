// How OpenMP threads wait for work.
#pragma once

namespace skipless {

/// Makes idle OpenMP threads sleep instead of spin, unless the user has chosen (OMP_WAIT_POLICY, GOMP_SPINCOUNT): where
/// cores are shared, spinning threads keep each other from working, and a step takes many times as long. The OpenMP
/// library reads its environment when it is loaded, before main, so the program has to be started anew: this function
/// then does not return. Call it first, with main's argument.
void let_openmp_threads_sleep(char** argv);

}  // namespace skipless
