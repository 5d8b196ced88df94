// SPDX-License-Identifier: Apache-2.0
///
/// The memory of one chunk of a run: the address of each buffer, the operands of each dispatch, and
/// one block of working memory for everything without an address of its own.
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

/// Used for one chunk after another; keeps its memory. Between two steps of a decoder hardly any
/// address changes, so the results for the last chunk are kept where they are valid for the next.
class ChunkMemory {
public:
  /// Computes the layout of a chunk's working memory, with scratch memory for `lanes` lanes of the
  /// stream, and returns its size in bytes.
  Result<uint64_t> layOut(const Run &run, const Chunk &chunk, int lanes,
                          const DeviceStream &stream);

  /// Reserves memory: after this, bind() cannot fail for chunks of the run that need at most
  /// `bytes`.
  Status reserve(const Run &run, const Device &device, DeviceStream &stream, uint64_t bytes);

  /// Determines all addresses and sends the data that kernels read besides the weights. Returns the
  /// context that all launches of the chunk share, with null operands and spaces and the scratch
  /// memory of the first lane. Nullopt if the device has failed.
  std::optional<HeddleKernelContext> bind(const Run &run, const Chunk &chunk, int lanes,
                                          const Device &device, DeviceStream &stream, int lane);

  // After bind():

  void *const *operandsOf(const PlannedDispatch &dispatch) const {
    return operands.data() + dispatch.firstOperand;
  }
  const HeddleRows *const *spacesOf(const PlannedDispatch &dispatch) const {
    return named.data() + dispatch.firstSpace;
  }
  /// Returns the steps of the chunk's loops; none if there are no loops.
  const StepOrder &steps() const { return stepOrder; }
  /// Returns the operands of a loop's dispatches, one dispatch after another.
  std::span<void *const> operandsOf(const PlannedLoop &loop) const {
    return std::span(operands).subspan(loop.firstOperand, loop.operandCount);
  }
  /// Returns what a loop reads at the first step in place of the previous step.
  std::byte *beforeFirst(const Plan &plan, const EarlierOperand &earlier) const {
    return earlier.initial == 0 ? memory.data() + layout.zeros
                                : static_cast<std::byte *>(bases[earlier.initial - 1]) +
                                      plan.operands[earlier.operand].byteOffset;
  }
  /// Returns the stride between its rows in bytes.
  uint64_t rowBytes(const EarlierOperand &earlier) const {
    return earlier.elementBytes * static_cast<uint64_t>(earlier.rowElements.evaluate(laidOut.work));
  }
  /// Returns the number of rows that a dispatch divides.
  int64_t rowsOf(const PlannedDispatch &dispatch) const { return rowsIn(dispatch.rows); }
  std::byte *scratchOf(int lane) const {
    return memory.data() + layout.scratch + layout.scratchStride * static_cast<uint64_t>(lane);
  }
  /// Returns the bytes that each caller of a kernel needs.
  uint64_t scratchOfCaller() const { return layout.scratchOfCaller; }
  std::span<void *const> places() const { return bases; }
  /// Returns the address of an input that is used.
  std::byte *inputAddress(size_t input) const { return memory.data() + inputPlaces[input]; }
  /// Returns the lists of a cache of the run as kernels read them, on a device that does not share
  /// the host's memory.
  const CacheRows &sentRows(const CacheRows &rows) const { return cacheLists.sent(rows); }
  /// Copies outputs that were not computed in place to the caller's memory, unless the device
  /// fails.
  void copyOutputs(const Run &run, const Chunk &chunk, const Device &device, DeviceStream &stream,
                   int lane) const;

private:
  /// The offsets of the lists of a row space.
  struct SpaceLayout {
    uint64_t offsets;
    uint64_t sequenceOf;
    uint64_t positions;
    /// Only for ordered spaces.
    uint64_t ranks;
    uint64_t lengths;
    /// Only for spaces of pixels and for tokens, if images have any width.
    uint64_t widths;
  };
  /// The inputs of a layout: the number of a plan, and the rows of a chunk.
  struct Basis {
    uint64_t plan = 0;
    WorkSize work = {};
  };
  /// The offsets of the parts of the working memory.
  struct Layout {
    uint64_t inputs = 0;
    /// The spaces that are used.
    std::vector<SpaceLayout> spaces = {};
    /// The rows that loops read before the first step.
    uint64_t zeros = 0;
    uint64_t zeroBytes = 0;
    uint64_t scratch = 0;
    uint64_t scratchOfCaller = 0;
    uint64_t scratchStride = 0;
    uint64_t total = 0;
    int lanes = 0;
  };

  int64_t rowsIn(uint8_t space) const { return laidOut.work.spaces[space].rows; }
  /// Returns the bytes for the rows of an input, including the padding that kernels may read.
  static uint64_t inputBytes(const PlannedInput &input, const Chunk &chunk);
  Status place(const Run &run, const Chunk &chunk, int lanes, const DeviceStream &stream);
  bool sendRows(const Run &run, const Chunk &chunk, DeviceStream &stream, int lane);
  void copyIds(const Run &run, DeviceStream &stream);
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
  /// The current chunk; its plan is 0 if there is no layout.
  Basis laidOut;
  Layout layout;
  /// The rows of the next chunk, before they are compared.
  WorkSize counted;
  /// The capacity of the lists below.
  uint64_t reserved = 0;
  /// The basis of the bases, operands and results, and the memory that they point to.
  Basis bound;
  const std::byte *boundMemory = nullptr;
  StepOrder stepOrder;
  /// The offset of each input in the working memory.
  std::vector<uint64_t> inputPlaces;
  /// By the number of the space, and in the order in which the dispatches name them.
  std::vector<HeddleRows> rows;
  std::vector<const HeddleRows *> named;
  std::vector<void *> bases;
  std::vector<void *> operands;
  std::vector<HeddleCache> caches;
  CacheLists cacheLists;
  std::vector<CopiedRows> copiedIds;
  std::vector<HeddleResult> results;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CHUNKMEMORY_H
