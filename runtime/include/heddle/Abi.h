/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between compiled code and the runtime: the one definition that both the code
 * generator and the executor include. Plain C; any change here increments HEDDLE_ABI.
 */
#ifndef HEDDLE_ABI_H
#define HEDDLE_ABI_H

#include <stdint.h>

/* The version in a binary's manifest; the runtime rejects any other. */
#define HEDDLE_ABI 11

/* Sections of a compiled model. No section is loaded as a program: the runtime maps the file. The
 * device section holds the device images one after another, each at a multiple of HEDDLE_ALIGNMENT;
 * it exists if the manifest names any. */
#define HEDDLE_MANIFEST_SECTION ".heddle.manifest"
#define HEDDLE_WEIGHTS_SECTION ".heddle.weights"
#define HEDDLE_DEVICE_SECTION ".heddle.device"

/* Alignments in bytes. Every buffer, parameter, arena and scratch starts at a multiple of
 * HEDDLE_ALIGNMENT; the weights section starts at a multiple of HEDDLE_WEIGHTS_ALIGNMENT in the
 * file. Arena buffers, scratch and inputs may be read (never written) up to HEDDLE_ALIGNMENT bytes
 * past their end. */
#define HEDDLE_ALIGNMENT 64
#define HEDDLE_WEIGHTS_ALIGNMENT 4096

/* The positions in one block of a paged cache: one register of 16 lanes or two of 8. */
#define HEDDLE_BLOCK 16

/* A cache as the rows of a run see it; a cache operand points to one of these. Position p of
 * segment s is position p % HEDDLE_BLOCK of block blocks[s * blocks_pitch + p / HEDDLE_BLOCK]. A
 * block holds width * HEDDLE_BLOCK elements of the type in the manifest: keys are stored as
 * [width][HEDDLE_BLOCK], so that a vector of scores accumulates over the head size lane by lane;
 * everything else is stored as [HEDDLE_BLOCK][width]. Elements of i8 are the bytes of codes from
 * -127 to 127 and of their f32 scales, one for each group of codes: keys are stored as their
 * scales, [groups][HEDDLE_BLOCK], followed by their codes; everything else position by position,
 * scales first, in whole words. A state has one row of width elements for each sequence of the run,
 * in block blocks[s * blocks_pitch]; before a sequence's first position it counts as zero, whatever
 * the memory holds, unless another entry has set it. Compiled code relies on the order of the
 * fields, eight bytes each. */
typedef struct HeddleCache {
  void *memory;              /* the part of block 0 that belongs to this cache */
  int64_t block_stride;      /* bytes from one block to the next */
  const int32_t *offsets;    /* [segments + 1]: rows offsets[s] .. offsets[s+1] see the same keys */
  const int32_t *segment_of; /* [tokens] */
  const int32_t *lengths;    /* [segments]: the positions, including those of this run */
  const int32_t *blocks;     /* [segments][blocks_pitch] */
  int64_t blocks_pitch;
  int64_t segments;
} HeddleCache;

/* A result of a dispatch that is no cache or state: a buffer, or the part of it that is held in
 * some memory. A row is everything that one index of the first dimension has, contiguous; element
 * `column` of row `row` is memory[(row - first_row) * row_stride + column - first_column]. Compiled
 * code relies on the order of the fields, eight bytes each. */
typedef struct HeddleResult {
  void *memory;
  int64_t first_row;
  int64_t first_column;
  int64_t row_stride; /* elements from one row to the next */
} HeddleResult;

/* The rows of one row space (heddle/RowSpaces.def) in a run. In an ordered space, whose rows are
 * sorted by time step, `offsets` is indexed by step and `ranks` and `lengths` are set; in other
 * spaces these are null. Compiled code relies on the order of the fields, eight bytes each. */
typedef struct HeddleRows {
  int64_t count;
  int64_t longest; /* the maximum rows of a sequence; for tokens, at least the maximum positions
                      that a sequence has in a cache */
  const int32_t *offsets;     /* [sequences + 1]: rows offsets[s] .. offsets[s+1] are sequence s;
                                 [longest + 1]: rows offsets[t] .. offsets[t+1] are step t */
  const int32_t *sequence_of; /* [count]: the sequence of a row */
  const int32_t *positions;   /* [count]: the position of a row in its sequence; for the space of
                                 sequences, the position of a sequence's first token in this run;
                                 in an ordered space, counted from that token */
  const int32_t *ranks;   /* [sequences]: the row of a sequence in step t is offsets[t] + rank */
  const int32_t *lengths; /* [sequences]: the tokens of a sequence */
  const int32_t *widths; /* [sequences]: the width in rows of a sequence that is an image, if images
                            have any width; for tokens, in pixels; else null */
} HeddleRows;

/* How a launch on a device divides the keys of its rows among blocks, if the manifest gives its
 * kernel sections; context->scratch then points to one of these. If count is 1, a block computes
 * all sections of its rows. Otherwise column c of the launch is section c / columns of column
 * c % columns, where columns are those of the dispatch, and its result is stored at
 * partials + ((row * columns + column) * count + section) * partial_bytes. When all of them are
 * there, the entry NAME HEDDLE_MERGE_SUFFIX merges them, in blocks of HEDDLE_MERGE_THREADS threads.
 * Compiled code relies on the order of the fields, eight bytes each. */
typedef struct HeddleSections {
  int64_t count;
  void *partials;
} HeddleSections;
#define HEDDLE_MERGE_SUFFIX "$$merge"
#define HEDDLE_MERGE_THREADS 128

/* Where a launch on a device finds its rows in the type that it multiplies, if the manifest says
 * that large launches round them before; context->scratch then points to one of these. The entry
 * NAME HEDDLE_ROUND_SUFFIX stores them, in blocks of HEDDLE_ROUND_THREADS threads: the rows of the
 * launch, and zeros up to a multiple of HEDDLE_ROUNDED_ROWS, in a layout of the target's. If `rows`
 * is null, the kernel rounds them itself, with the same result. */
typedef struct HeddleRoundedRows {
  void *rows;
} HeddleRoundedRows;
#define HEDDLE_ROUND_SUFFIX "$$round"
#define HEDDLE_ROUND_THREADS 256
#define HEDDLE_ROUNDED_ROWS 64

/* The arguments that all kernel calls of one dispatch share. Compiled code relies on the order of
 * the fields, eight bytes each. */
typedef struct HeddleKernelContext {
  void *const *operands;           /* of the dispatch: first its results, each a HeddleResult or,
                                      if updated in place, a HeddleCache; then its read-only
                                      inputs: elements, or a HeddleCache */
  const HeddleRows *const *spaces; /* the row spaces of the dispatch, in the order in which its
                                      results and then its inputs name them */
  void *scratch;                   /* private to the calling thread */
} HeddleKernelContext;

/* Computes rows [row_begin, row_end) and columns [column_begin, column_end) of a dispatch; any
 * partition of the work gives the same bits. The result has room for the rows and columns of the
 * call, and for whole rows if the grid has one column. */
typedef void HeddleKernel(const HeddleKernelContext *context, int64_t row_begin, int64_t row_end,
                          int64_t column_begin, int64_t column_end);

/* The only parameter of a kernel's entry point in an image is the address of one of these. All that
 * changes between launches is in the device's memory, so that a recorded launch can be repeated for
 * other rows. Each of n callers, in a grid of any number of blocks, takes every n-th piece of the
 * work; rows vary fastest. A caller is a thread, c = block * threads + thread; its context is a
 * copy of `context` with scratch at context->scratch + c * scratch_stride, and a piece is up to
 * row_step rows of one column. If blocks have shared memory, each block is a caller, and its kernel
 * defines the pieces. Compiled code relies on the order of the fields, eight bytes each. */
typedef struct HeddleDeviceLaunch {
  const HeddleKernelContext *context; /* its scratch belongs to caller 0 */
  int64_t row_begin;
  int64_t row_end;
  int64_t column_begin;
  int64_t column_end;
  int64_t row_step;       /* at least 1 */
  int64_t scratch_stride; /* bytes from a caller's scratch to the next one's */
} HeddleDeviceLaunch;

#endif /* HEDDLE_ABI_H */
