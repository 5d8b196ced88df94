/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers that are not good enough. OLD: the functions are all there, for an earlier CUDA. PARTIAL:
 * two are missing.
 */
#ifdef PARTIAL
#define cuMemHostAlloc other_name_of_one
#define cuEventElapsedTime other_name_of_another
#endif
#define cuDriverGetVersion other_name_of_the_version
#define DEFINE(name)                                                                               \
  int name(void) { return 0; }
#define HEDDLE_CUDA(name, ...) DEFINE(name)
#include "runtime/Device/Cuda/DriverFunctions.def"
#undef cuDriverGetVersion

int cuDriverGetVersion(int *version) {
  *version = 11040;
  return 0;
}
