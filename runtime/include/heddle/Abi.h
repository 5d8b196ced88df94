/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compiled code and the runtime agree on: the one definition that both the code generator and
 * the executor include. Plain C; a change of anything here increments HEDDLE_ABI.
 */
#ifndef HEDDLE_ABI_H
#define HEDDLE_ABI_H

#include <stdint.h>

/* The number a binary's manifest carries; the runtime refuses any other. */
#define HEDDLE_ABI 9

/* Sections of a compiled model. None is loaded as program: the runtime maps the file. The last one
 * has the images of devices, one after the other, each at a multiple of HEDDLE_ALIGNMENT; it is
 * there if the manifest names some. */
#define HEDDLE_MANIFEST_SECTION ".heddle.manifest"
#define HEDDLE_WEIGHTS_SECTION ".heddle.weights"
#define HEDDLE_DEVICE_SECTION ".heddle.device"

/* Bytes. Every buffer, parameter, arena and scratch starts at a multiple of HEDDLE_ALIGNMENT; the
 * weights section starts at a multiple of HEDDLE_WEIGHTS_ALIGNMENT in the file. Arena buffers,
 * scratch and inputs may be read (never written) up to HEDDLE_ALIGNMENT bytes past their end. */
#define HEDDLE_ALIGNMENT 64
#define HEDDLE_WEIGHTS_ALIGNMENT 4096

/* Positions of one block of a paged cache: one register of 16 lanes or two of 8. */
#define HEDDLE_BLOCK 16

/* One cache as the rows of a run see it; an operand that is a cache points to one of these.
 * Position p of segment s is number p % HEDDLE_BLOCK of the block
 * blocks[s * blocks_pitch + p / HEDDLE_BLOCK].
 * A block holds width * HEDDLE_BLOCK elements of the type that the manifest says: keys lie
 * [width][HEDDLE_BLOCK], so that a vector of scores is a sum over the head size lane by lane;
 * everything else lies [HEDDLE_BLOCK][width]. Elements of i8 are the bytes of codes from -127 to
 * 127 and of the scales of groups of these, in f32: keys lie as their scales,
 * [groups][HEDDLE_BLOCK], and then their codes; everything else position by position, scales
 * first, in whole words. A state has one row of width elements for each sequence of the run, in
 * block blocks[s * blocks_pitch]; before a sequence's first position it is zero, whatever is there,
 * unless another entry has given it. Field order is the layout compiled code reads: eight bytes
 * each. */
typedef struct HeddleCache {
  void *memory;              /* this cache's part of block 0 */
  int64_t block_stride;      /* bytes from a block to the next */
  const int32_t *offsets;    /* [segments + 1]: rows offsets[s] .. offsets[s+1] see the same keys */
  const int32_t *segment_of; /* [tokens] */
  const int32_t *lengths;    /* [segments]: positions there are, those of this run included */
  const int32_t *blocks;     /* [segments][blocks_pitch] */
  int64_t blocks_pitch;
  int64_t segments;
} HeddleCache;

/* One of the things that a dispatch writes, where that is no cache or state: a buffer, or the part
 * of it that lies in some memory. A row is all that one index of the first dimension has, laid end
 * to end; element `column` of row `row` is memory[(row - first_row) * row_stride + column -
 * first_column]. Field order is the layout compiled code reads: eight bytes each. */
typedef struct HeddleResult {
  void *memory;
  int64_t first_row;
  int64_t first_column;
  int64_t row_stride; /* elements from a row to the next */
} HeddleResult;

/* The rows of one row space (heddle/RowSpaces.def) in a run. In an ordered space, whose rows are in
 * the order of time, `offsets` is of steps and the last two lists are there; elsewhere these are
 * null. Field order is the layout compiled code reads: eight bytes each. */
typedef struct HeddleRows {
  int64_t count;
  int64_t longest; /* the most rows of a sequence; of tokens: or its positions in a cache if those
                      are more */
  const int32_t *offsets;     /* [sequences + 1]: rows offsets[s] .. offsets[s+1] are sequence s;
                                 [longest + 1]: rows offsets[t] .. offsets[t+1] are step t */
  const int32_t *sequence_of; /* [count]: the sequence of a row */
  const int32_t *positions;   /* [count]: the position of a row in its sequence; of sequences, the
                                 position of the first of its tokens in this run; in the order of
                                 time it counts from there */
  const int32_t *ranks;   /* [sequences]: the row of a sequence in a step is offsets[t] + this */
  const int32_t *lengths; /* [sequences]: the tokens of a sequence */
  const int32_t *widths; /* [sequences]: the rows side by side of a sequence that is an image, where
                            images have any width; of tokens, its pixels in a row; else null */
} HeddleRows;

/* What every kernel call of one dispatch shares. Field order is the layout compiled code reads:
 * eight bytes each. */
typedef struct HeddleKernelContext {
  void *const *operands;           /* of the dispatch: first its results, a HeddleResult each, or
                                      the HeddleCache of what is changed in place; then what is
                                      only read: elements, or a HeddleCache */
  const HeddleRows *const *spaces; /* the row spaces that the dispatch names, in the order in which
                                      its results and then its inputs name them */
  void *scratch;                   /* of the calling thread alone */
} HeddleKernelContext;

/* Computes rows [row_begin, row_end) and columns [column_begin, column_end) of a dispatch; any
 * division of the work gives the same bits. The result has room for the rows and columns of the
 * call, and for whole rows where the grid has one column. */
typedef void HeddleKernel(const HeddleKernelContext *context, int64_t row_begin, int64_t row_end,
                          int64_t column_begin, int64_t column_end);

/* The only parameter of a kernel's entry in an image is the address of one of these, and all that
 * changes from one launch to the next lies in the device's memory, so that a recorded launch can be
 * repeated for other rows. Callers take every n-th piece of the work, n of them in a grid of any
 * number of blocks; rows vary fastest. A caller is a thread, c = block * threads + thread; its
 * context is a copy of `context` with scratch at context->scratch + c * scratch_stride, a piece up
 * to row_step rows of one column. Where blocks have shared memory each is a caller, and its kernel
 * says what a piece is. Field order is the layout compiled code reads: eight bytes each. */
typedef struct HeddleDeviceLaunch {
  const HeddleKernelContext *context; /* its scratch is that of caller 0 */
  int64_t row_begin;
  int64_t row_end;
  int64_t column_begin;
  int64_t column_end;
  int64_t row_step;       /* at least 1 */
  int64_t scratch_stride; /* bytes from a caller's scratch to the next one's */
} HeddleDeviceLaunch;

#endif /* HEDDLE_ABI_H */
