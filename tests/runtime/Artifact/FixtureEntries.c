/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test models' kernels as entries of an image for the emulated GPU (tests/Emulator): each of
 * its threads is a caller of a kernel. What heddlec makes for a GPU does the same. Two entries are
 * mistakes, for tests of what a kernel may do wrong.
 */
#include "heddle/Abi.h"

int32_t heddle_emulated_read_ptx_sreg_tid_x(void);
int32_t heddle_emulated_read_ptx_sreg_ntid_x(void);
int32_t heddle_emulated_read_ptx_sreg_ctaid_x(void);
int32_t heddle_emulated_read_ptx_sreg_nctaid_x(void);

static void call(const HeddleDeviceLaunch *launch, HeddleKernel *kernel) {
  const int64_t threads = heddle_emulated_read_ptx_sreg_ntid_x();
  const int64_t callers = threads * heddle_emulated_read_ptx_sreg_nctaid_x();
  const int64_t caller =
      heddle_emulated_read_ptx_sreg_ctaid_x() * threads + heddle_emulated_read_ptx_sreg_tid_x();
  const int64_t rows = launch->row_end - launch->row_begin;
  const int64_t parts = (rows + launch->row_step - 1) / launch->row_step;
  const int64_t pieces = parts * (launch->column_end - launch->column_begin);
  HeddleKernelContext context = *launch->context;
  context.scratch = (char *)context.scratch + caller * launch->scratch_stride;
  for (int64_t piece = caller; piece < pieces; piece += callers) {
    const int64_t row = launch->row_begin + piece % parts * launch->row_step;
    const int64_t end = row + launch->row_step;
    const int64_t column = launch->column_begin + piece / parts;
    kernel(&context, row, end < launch->row_end ? end : launch->row_end, column, column + 1);
  }
}

#define ENTRY(name)                                                                                \
  HeddleKernel name##_caller;                                                                      \
  void name(const HeddleDeviceLaunch *launch) { call(launch, name##_caller); }

ENTRY(gather)
ENTRY(linear)
ENTRY(center)
ENTRY(mix)
ENTRY(mean)
ENTRY(embed)
ENTRY(append_keys)
ENTRY(append_rows)
ENTRY(prefix_mean)
ENTRY(accumulate)
ENTRY(running_mean)
ENTRY(attend_history)
ENTRY(attend_memory)
ENTRY(weights)
ENTRY(project)
ENTRY(project_groups)
ENTRY(peaks)
ENTRY(select)

/* Writes where no memory is. */
void wrong_address(const HeddleDeviceLaunch *launch) {
  *(volatile int64_t *)64 = launch->row_begin;
}
