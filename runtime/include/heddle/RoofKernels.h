/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that measure the limits of a GPU (heddle/RoofKernels.def), and their operands.
 */
#ifndef HEDDLE_ROOFKERNELS_H
#define HEDDLE_ROOFKERNELS_H

#include <stdint.h>

/* What a kernel computes with. Compiled code relies on the order of the fields. */
typedef struct HeddleRoofNumbers {
  uint32_t first;  /* the word of the first factor: f32, tf32, two bf16 numbers or four codes */
  uint32_t second; /* that of the second factor; of MultiplyF32, what a multiply-add adds */
  int64_t parts;   /* the parts that are read */
} HeddleRoofNumbers;

#ifdef __cplusplus
namespace heddle {

enum class Roof : uint8_t {
#define HEDDLE_ROOF_KERNEL(Name, entry, threads, shared, work) Name,
#include "heddle/RoofKernels.def"
};

struct RoofKernel {
  const char *entry;
  int64_t threads;
  int64_t shared;
  int64_t work;
};

/* In the order of Roof. */
inline constexpr RoofKernel roofKernels[] = {
#define HEDDLE_ROOF_KERNEL(Name, entry, threads, shared, work) {entry, threads, shared, work},
#include "heddle/RoofKernels.def"
};

constexpr const RoofKernel &infoOf(Roof roof) { return roofKernels[static_cast<int>(roof)]; }

/* The bytes of a part that a thread reads at once. */
inline constexpr int64_t roofPartBytes = 16;

} // namespace heddle
#endif

#endif /* HEDDLE_ROOFKERNELS_H */
