// SPDX-License-Identifier: Apache-2.0
///
/// Where everything is that one chunk of a run reads and writes: the place of each buffer, the
/// operands of each dispatch, and one block of working memory with all that has no other place.
#ifndef HEDDLE_RUNTIME_SESSION_CHUNKMEMORY_H
#define HEDDLE_RUNTIME_SESSION_CHUNKMEMORY_H

#include "runtime/Session/CacheLists.h"
#include "runtime/Session/Run.h"
#include "runtime/Session/Scheduler.h"
#include "runtime/Session/StepOrder.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// Used for one chunk after the other; keeps its memory. Between two steps of a decoder hardly any
/// place changes: what the last chunk left is kept where it holds for the next.
class ChunkMemory {
public:
  /// Decides how the working memory of a chunk is divided, with scratch memory for so many lanes of
  /// the stream, and answers its bytes.
  Result<uint64_t> layOut(const Run &run, const Chunk &chunk, int lanes,
                          const DeviceStream &stream);

  /// After this bind() cannot fail for chunks of the run that need no more bytes.
  Status reserve(const Run &run, Device &device, uint64_t bytes);

  /// Decides every place and sends what kernels read beside the weights. Answers what all of the
  /// chunk's launches have in common: the operands and spaces are of none, the scratch memory is
  /// that of the first lane. Nothing when the device has failed.
  std::optional<HeddleKernelContext> bind(const Run &run, const Chunk &chunk, int lanes,
                                          const Device &device, DeviceStream &stream, int lane);

  // After bind():

  void *const *operandsOf(const PlannedDispatch &dispatch) const {
    return operands.data() + dispatch.firstOperand;
  }
  const HeddleRows *const *spacesOf(const PlannedDispatch &dispatch) const {
    return named.data() + dispatch.firstSpace;
  }
  /// The steps of the chunk's loops; none if there are no loops.
  const StepOrder &steps() const { return stepOrder; }
  /// The operands of a loop's dispatches, one after the other.
  std::span<void *const> operandsOf(const PlannedLoop &loop) const {
    return std::span(operands).subspan(loop.firstOperand, loop.operandCount);
  }
  /// What a loop reads at the first step as that of the step before.
  std::byte *beforeFirst(const Plan &plan, const EarlierOperand &earlier) const {
    return earlier.initial == 0 ? memory.data() + layout.zeros
                                : static_cast<std::byte *>(bases[earlier.initial - 1]) +
                                      plan.operands[earlier.operand].byteOffset;
  }
  /// From a row of it to the next.
  uint64_t rowBytes(const EarlierOperand &earlier) const {
    return earlier.elementBytes * static_cast<uint64_t>(earlier.rowElements.evaluate(laidOut.work));
  }
  /// The rows that a dispatch divides.
  int64_t rowsOf(const PlannedDispatch &dispatch) const { return rowsIn(dispatch.rows); }
  std::byte *scratchOf(int lane) const {
    return memory.data() + layout.scratch + layout.scratchStride * static_cast<uint64_t>(lane);
  }
  /// The bytes that each caller of a kernel needs.
  uint64_t scratchOfCaller() const { return layout.scratchOfCaller; }
  std::span<void *const> places() const { return bases; }
  /// Brings what was not computed where the caller wants it there, unless the device fails.
  void copyOutputs(const Run &run, const Chunk &chunk, const Device &device, DeviceStream &stream,
                   int lane) const;

private:
  /// Where the lists of a row space begin.
  struct SpaceLayout {
    uint64_t offsets;
    uint64_t sequenceOf;
    uint64_t positions;
    /// What only spaces in the order of time have.
    uint64_t ranks;
    uint64_t lengths;
    /// What only spaces of pixels have, and tokens, where images have any width.
    uint64_t widths;
  };
  /// What decides places: a plan, by its number, and the rows of a chunk.
  struct Basis {
    uint64_t plan = 0;
    WorkSize work = {};
  };
  /// Where the parts of the working memory begin.
  struct Layout {
    uint64_t inputs = 0;
    /// Those that are used.
    std::vector<SpaceLayout> spaces = {};
    /// Rows that loops read before the first step.
    uint64_t zeros = 0;
    uint64_t zeroBytes = 0;
    uint64_t scratch = 0;
    uint64_t scratchOfCaller = 0;
    uint64_t scratchStride = 0;
    uint64_t total = 0;
    int lanes = 0;
  };

  int64_t rowsIn(uint8_t space) const { return laidOut.work.spaces[space].rows; }
  /// Bytes for the rows of an input, with room to read on.
  static uint64_t inputBytes(const PlannedInput &input, const Chunk &chunk);
  Status place(const Run &run, const Chunk &chunk, int lanes, const DeviceStream &stream);
  bool sendRows(const Run &run, const Chunk &chunk, DeviceStream &stream, int lane);
  void fillRows(const Run &run, const Chunk &chunk, size_t space, std::byte *staged);
  void fillSteps(const Run &run, const Chunk &chunk, size_t space, std::byte *staged);
  void bindCaches(const Run &run, const Chunk &chunk, const Device &device);
  void bindBuffers(const Run &run, const Chunk &chunk, const Device &device);
  void bindOperands(const Plan &plan);
  bool isBound(const Run &run, const Chunk &chunk, const Device &device) const;
  std::byte *directAddress(const Run &run, const Chunk &chunk, uint32_t port,
                           const Device &device) const;
  std::byte *outputAddress(const Run &run, const Chunk &chunk, uint32_t port,
                           const Device &device) const;

  DeviceMemory memory;
  /// The chunk at hand; its plan is 0 while there is no layout.
  Basis laidOut;
  Layout layout;
  /// The rows of the next chunk, until they are compared.
  WorkSize counted;
  /// What the lists below have room for.
  uint64_t reserved = 0;
  /// What the bases, operands and results are for, and the memory that they are in.
  Basis bound;
  const std::byte *boundMemory = nullptr;
  StepOrder stepOrder;
  /// Where each input begins in the working memory.
  std::vector<uint64_t> inputPlaces;
  /// By the number of the space, and as the dispatches name them.
  std::vector<HeddleRows> rows;
  std::vector<const HeddleRows *> named;
  std::vector<void *> bases;
  std::vector<void *> operands;
  std::vector<HeddleCache> caches;
  CacheLists cacheLists;
  std::vector<HeddleResult> results;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CHUNKMEMORY_H
