// How OpenMP threads wait for work.
#pragma once

namespace skipless {

/// Makes idle OpenMP threads sleep instead of spin, unless the user has chosen (OMP_WAIT_POLICY, GOMP_SPINCOUNT): where
/// cores are shared, spinning threads keep each other from working, and a step takes many times as long. The OpenMP
/// library reads its environment when it is loaded, before main, so the program is started anew with the same
/// arguments, and this function does not return. Commands that compute call it before they write or print anything.
void let_openmp_threads_sleep();

}  // namespace skipless
