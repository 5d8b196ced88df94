/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that measure a GPU (heddle/RoofKernels.def), as tests of the runtime need them: each
 * thread does something in every round, and stores a number. tests/EmulatedCompiler tests those of
 * the compiler.
 */
#include "heddle/Abi.h"
#include "heddle/RoofKernels.h"

int32_t heddle_emulated_read_ptx_sreg_tid_x(void);
int32_t heddle_emulated_read_ptx_sreg_ntid_x(void);
int32_t heddle_emulated_read_ptx_sreg_ctaid_x(void);

static void work(const HeddleDeviceLaunch *launch) {
  const int64_t caller =
      (int64_t)heddle_emulated_read_ptx_sreg_ctaid_x() * heddle_emulated_read_ptx_sreg_ntid_x() +
      heddle_emulated_read_ptx_sreg_tid_x();
  void *const *const operands = launch->context->operands;
  const HeddleRoofNumbers *const numbers = (const HeddleRoofNumbers *)operands[1];
  const volatile uint32_t *const words = (const volatile uint32_t *)operands[2];
  uint32_t number = numbers->first;
  for (int64_t round = launch->column_begin; round < launch->column_end; ++round) {
    for (int i = 0; i < 32; ++i) {
      number = number * 1664525 + numbers->second;
    }
    if (numbers->parts != 0) {
      number ^= words[(caller + round) % numbers->parts * 4];
    }
  }
  ((uint32_t *)operands[0])[caller] = number;
}

#define HEDDLE_ROOF_KERNEL(Name, entry, threads, shared, work_of_block)                            \
  void roof_##Name(const HeddleDeviceLaunch *launch) __asm__(entry);                               \
  void roof_##Name(const HeddleDeviceLaunch *launch) { work(launch); }
#include "heddle/RoofKernels.def"
