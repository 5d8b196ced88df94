/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels by which a device orders the hypotheses of beam searches, and their operands: a step
 * begins before the host knows which hypotheses it continues. They are entries of an image beside
 * the kernels of its model, which the compiler writes and the runtime launches. No kernel of a
 * model has such a name, since "$" is followed by "$" or two hexadecimal digits in those.
 *
 * A kernel that changes gets another name: binaries of other versions have the old one.
 */
#ifndef HEDDLE_HYPOTHESISORDER_H
#define HEDDLE_HYPOTHESISORDER_H

#include <stdint.h>

/* One search, whose hypotheses are adjacent rows of the step before. Each of its `width` rows of
 * the next step continues one of them: row `first_row + i` the i-th. If fewer can go on, the others
 * continue the first hypothesis with token 0. If the logits of a hypothesis are not finite, which
 * the host reports, the rows are those of some continuations. Compiled code relies on the order of
 * the fields, eight bytes each. */
typedef struct HeddleOrderedSearch {
  const void *pairs;     /* what is selected of the first hypothesis's logits
                            (heddle/Selection.h), at a multiple of 8 */
  int64_t pitch;         /* bytes from there to the next hypothesis's, a multiple of 8 */
  int64_t chunks;        /* pairs before the best tokens */
  int64_t best;          /* best tokens of a row */
  int64_t hypotheses;    /* live ones, at least 1 */
  int64_t wanted;        /* continuations that are considered: of a hypothesis, and of all */
  int64_t width;         /* at least as many as hypotheses */
  int64_t refills;       /* 1: a continuation outside the first `width` takes the place of one that
                            ends; 0: those after it move up */
  const double *sums;    /* [hypotheses]: of log-probabilities */
  const int32_t *ends;   /* [end_count]: tokens that end a hypothesis */
  int64_t end_count;
  const int32_t *banned; /* [banned_count]: tokens that are skipped */
  int64_t banned_count;
  int64_t first_row;     /* in the step */
  int64_t first_slot;    /* in the lists of HeddleOrderedBlocks */
  int64_t whole_blocks;  /* blocks that hypotheses share with what they continue */
  int64_t has_partial;   /* 1: each has another block, whose contents change in the step */
} HeddleOrderedSearch;

/* The blocks of hypotheses in caches of one kind. Slots are the rows of all searches. Compiled code
 * relies on the order of the fields, eight bytes each. */
typedef struct HeddleOrderedBlocks {
  int32_t *blocks;        /* [rows of the step][pitch]: completed by the kernel; the block behind
                             the whole ones is an unused one that the row may take */
  int64_t pitch;
  const int32_t *parents; /* [slots][parents_pitch]: slot first_slot + i of a search has the blocks
                             of hypothesis i of the step before */
  int64_t parents_pitch;
  int32_t *copies;        /* [slots][2]: blocks that blockCopyEntry copies, from and to */
  void *memory;           /* block 0, at a multiple of 16 */
  int64_t stride;         /* bytes of a block, a multiple of 4 */
} HeddleOrderedBlocks;

#ifdef __cplusplus
namespace heddle {

/* Orders the continuations of each search as BeamSearch does, bit for bit, and completes the blocks
 * and ids of its rows. A launch has a row for each search, and one column. Operands: [rows]
 * HeddleOrderedSearch; ids of the step, i32; HeddleOrderedBlocks of the histories; and of the
 * states, whose searches have no whole blocks and a partial one. `blocks` is null if there are
 * none. */
inline constexpr const char *hypothesisOrderEntry = "hypotheses$order";
inline constexpr int64_t hypothesisOrderThreads = 128;
/* hypotheses * best of a search, and its width, at most. */
inline constexpr int64_t mostContinuations = 1024;
inline constexpr int64_t mostOrderedHypotheses = 64;
inline constexpr int64_t hypothesisOrderShared = 16384;

/* Copies blocks. A launch has a row for each slot, and a column for each blockPieceBytes of a
 * block. Operand: HeddleOrderedBlocks. */
inline constexpr const char *blockCopyEntry = "hypotheses$copy_blocks";
inline constexpr int64_t blockCopyThreads = 128;
inline constexpr int64_t blockCopyShared = 16;
inline constexpr int64_t blockPieceBytes = 16384;

} // namespace heddle
#endif

#endif /* HEDDLE_HYPOTHESISORDER_H */
