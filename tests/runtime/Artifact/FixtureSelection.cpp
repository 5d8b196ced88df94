// SPDX-License-Identifier: Apache-2.0
///
/// The kernels beside selections (heddle/HypothesisOrder.h, heddle/Selection.h), as tests of the
/// runtime need them: one thread of a block orders. tests/EmulatedCompiler tests those of the
/// compiler.
#include "heddle/Abi.h"
#include "tests/runtime/Artifact/OrderReference.h"

extern "C" {
int32_t heddle_emulated_read_ptx_sreg_tid_x(void);
int32_t heddle_emulated_read_ptx_sreg_ctaid_x(void);
int32_t heddle_emulated_read_ptx_sreg_nctaid_x(void);
int32_t heddle_emulated_read_ptx_sreg_ntid_x(void);
}

using namespace heddle;

/// Completes the blocks of a row, whose slot continues a hypothesis.
static void follow(const HeddleOrderedSearch &search, const HeddleOrderedBlocks &own, bool ofStates,
                   int64_t place, const OrderedSlot &slot, bool isFirst) {
  if (own.blocks == nullptr) {
    return;
  }
  const int64_t whole = ofStates ? 0 : search.whole_blocks;
  int32_t *const row = own.blocks + (search.first_row + place) * own.pitch;
  int32_t *const copies = own.copies + (search.first_slot + place) * 2;
  const int32_t *const parent =
      own.parents + (search.first_slot + slot.hypothesis) * own.parents_pitch;
  for (int64_t i = 0; i < whole; ++i) {
    row[i] = parent[i];
  }
  copies[0] = copies[1] = 0;
  if (ofStates || search.has_partial != 0) {
    copies[0] = parent[whole];
    copies[1] = row[whole] = isFirst ? parent[whole] : row[whole];
  }
}

static void order(const HeddleOrderedSearch &search, void *const *operands) {
  const OrderedContinuations found(search);
  bool taken[mostOrderedHypotheses] = {};
  found.fill([&](int64_t place, const OrderedSlot &slot) {
    const bool isFirst = slot.isFilled && !taken[slot.hypothesis];
    taken[slot.hypothesis] = taken[slot.hypothesis] || slot.isFilled;
    static_cast<int32_t *>(operands[1])[search.first_row + place] = slot.token;
    for (int kind = 0; kind < 2; ++kind) {
      follow(search, *static_cast<const HeddleOrderedBlocks *>(operands[2 + kind]), kind == 1,
             place, slot, isFirst);
    }
  });
}

extern "C" void fixtureOrder(const HeddleDeviceLaunch *launch) __asm__("hypotheses$order");
extern "C" void
fixtureCopyBlocks(const HeddleDeviceLaunch *launch) __asm__("hypotheses$copy_blocks");

extern "C" void fixtureExclude(const HeddleDeviceLaunch *launch) __asm__("logits$exclude");

extern "C" void fixtureExclude(const HeddleDeviceLaunch *launch) {
  void *const *const operands = launch->context->operands;
  const int64_t threads = heddle_emulated_read_ptx_sreg_ntid_x();
  const int64_t callers = threads * heddle_emulated_read_ptx_sreg_nctaid_x();
  const int64_t caller =
      heddle_emulated_read_ptx_sreg_ctaid_x() * threads + heddle_emulated_read_ptx_sreg_tid_x();
  for (int64_t row = launch->row_begin + caller; row < launch->row_end; row += callers) {
    static_cast<float *>(operands[0])[static_cast<const int64_t *>(operands[1])[row]] =
        -__builtin_inff();
  }
}

extern "C" void fixtureOrder(const HeddleDeviceLaunch *launch) {
  void *const *const operands = launch->context->operands;
  if (heddle_emulated_read_ptx_sreg_tid_x() != 0) {
    return;
  }
  for (int64_t row = launch->row_begin + heddle_emulated_read_ptx_sreg_ctaid_x();
       row < launch->row_end; row += heddle_emulated_read_ptx_sreg_nctaid_x()) {
    order(static_cast<const HeddleOrderedSearch *>(operands[0])[row], operands);
  }
}

extern "C" void fixtureCopyBlocks(const HeddleDeviceLaunch *launch) {
  const auto &blocks = *static_cast<const HeddleOrderedBlocks *>(launch->context->operands[0]);
  const int64_t rows = launch->row_end - launch->row_begin;
  const int64_t pieces = rows * (launch->column_end - launch->column_begin);
  if (heddle_emulated_read_ptx_sreg_tid_x() != 0) {
    return;
  }
  for (int64_t piece = heddle_emulated_read_ptx_sreg_ctaid_x(); piece < pieces;
       piece += heddle_emulated_read_ptx_sreg_nctaid_x()) {
    const int64_t row = launch->row_begin + piece % rows;
    const int64_t begin = (launch->column_begin + piece / rows) * blockPieceBytes;
    const int64_t last = begin + blockPieceBytes;
    const int64_t end = last < blocks.stride ? last : blocks.stride;
    const int32_t from = blocks.copies[2 * row], to = blocks.copies[2 * row + 1];
    auto *const memory = static_cast<char *>(blocks.memory);
    for (int64_t i = begin; from != to && i < end; i += 4) {
      *reinterpret_cast<volatile int32_t *>(memory + to * blocks.stride + i) =
          *reinterpret_cast<const int32_t *>(memory + from * blocks.stride + i);
    }
  }
}
