// SPDX-License-Identifier: Apache-2.0
///
/// An entry prepared for one set of outputs: the dispatches that these need, with their kernels
/// looked up and every operand's place determined except for the sizes of the batch.
#ifndef HEDDLE_RUNTIME_SESSION_PLAN_H
#define HEDDLE_RUNTIME_SESSION_PLAN_H

#include "formats/Binary/SymbolicSize.h"
#include "heddle/Abi.h"
#include "runtime/Artifact/Artifact.h"
#include "runtime/Device/Device.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// One launch of a chunk, or one launch that all lanes share.
struct PlannedDispatch {
  /// The index in the entry.
  uint32_t index;
  const DeviceKernel *kernel;
  /// Null: none.
  const DeviceKernel *finish;
  /// The space of the rows that are divided.
  uint8_t rows;
  int64_t rowTile;
  int64_t columns;
  /// As in the manifest for the target.
  int64_t columnElements;
  int64_t groupElements;
  /// The index of its first operand in Plan::operands.
  uint32_t firstOperand;
  uint32_t operandCount;
  /// The number of leading operands that are written.
  uint32_t written;
  /// The index in Plan::spacesNamed of the first space that its kernel names.
  uint32_t firstSpace;
  /// The number of floating-point operations, for the rows and keys of these spaces.
  uint8_t countedRows;
  uint8_t countedKeys;
  double flopsPerRow;
  double flopsPerRowKey;
  /// The maximum number of keys that a row attends to; 0: all keys of its sequence.
  double mostKeys;
  /// The bytes of weights read by a call, and for each of these rows.
  double weightBytes;
  double weightBytesPerRow;
  /// The number of groups of weights of which each row reads one, and the operand with the choices;
  /// 0 groups: every row reads all weights.
  uint32_t chosenGroups;
  uint32_t chosenBy;
  /// Whether a subset of its rows can be computed alone.
  bool rowByRow;

  /// Return the columns of the grid that compute the elements [begin, end) of a row, and the
  /// elements that a range of columns computes. Only if columnElements is not 0.
  Range columnsOver(Range elements) const;
  Range elementsOf(Range columns) const;
};

/// The origin of a buffer's address.
struct BufferPlace {
  enum class Kind : uint8_t {
    /// Not accessed by any dispatch of the plan.
    Unused,
    /// At `offset` in the working memory.
    Memory,
    /// At `address`, in the weights.
    Weights,
    /// The input, output or cache number `port`. States are numbered after the caches.
    Input,
    Output,
    Cache,
    State
  };
  Kind kind = Kind::Unused;
  uint32_t port = 0;
  SymbolicSize offset;
  const std::byte *address = nullptr;
  /// For a cache: the bytes of one position, or of the state of one sequence.
  double positionBytes = 0;
};

/// An input of the entry.
struct PlannedInput {
  /// Whether a dispatch of the plan reads it.
  bool used = false;
  /// Bytes for each token.
  uint64_t rowBytes = 0;
};

/// An output of the entry.
struct PlannedOutput {
  /// Whether the caller requests it; otherwise it may still be computed for its readers.
  bool requested = false;
  /// Whether a later dispatch reads it. Kernels may read past the end of their inputs, so it cannot
  /// be placed in the caller's memory.
  bool readBack = false;
  /// Whether a dispatch of the plan writes it.
  bool live = false;
  /// The space of its rows.
  uint8_t rows = 0;
  uint32_t buffer = 0;
  /// 0 if the length of rows is that of the longest sequence: each row has `heads` pieces of that
  /// length.
  uint64_t rowBytes = 0;
  uint64_t heads = 0;
  /// Its offset in the working memory if it is not computed in the caller's memory.
  SymbolicSize offset;
};

/// An operand: a buffer, and the offset in it.
struct PlannedOperand {
  uint32_t buffer;
  uint32_t byteOffset;
};

/// An operand that is a result but neither a cache nor a state.
struct PlannedResult {
  /// The index in Plan::operands.
  uint32_t operand;
  RowElements rowElements;
};

/// An operand that is read from the previous step, by its index in Plan::operands.
struct EarlierOperand {
  uint32_t operand;
  /// 1 + the buffer that is read at the first step; 0: zeros.
  uint32_t initial;
  /// The stride between rows.
  uint64_t elementBytes;
  RowElements rowElements;
};

/// The purpose of a plan.
struct PlanRequest {
  /// One element per output of the entry.
  std::vector<bool> outputs;
  /// Whether the contents of caches and states are needed after the run.
  bool caches = false;
  /// The output whose final dispatch is left to the caller; -1: none.
  int32_t deferred = -1;
  /// The output that selects from the deferred one, whose dispatches are left to the caller as
  /// well; -1: none.
  int32_t selection = -1;
};

/// Returns which dispatches of an entry a request needs.
std::vector<bool> dispatchesFor(const manifest::Entry &entry, const PlanRequest &request);

/// Floating-point operations of dispatches, as coefficients of tokens and of pairs of token and
/// key.
struct TokenFlops {
  uint64_t perToken = 0;
  uint64_t perTokenKey = 0;
};
TokenFlops flopsOf(const manifest::Dispatch &dispatch, std::span<const RowSpace> spaces);

/// Dispatches that run over the rows of one step after another.
struct PlannedLoop {
  /// The index in Plan::dispatches.
  uint32_t first;
  uint32_t count;
  /// The index in Plan::operands of the operands of all its dispatches.
  uint32_t firstOperand;
  uint32_t operandCount;
  /// The space of its rows.
  uint8_t rows;
  /// Consecutive loops with the same group may run at the same time.
  uint32_t group;
  /// The operations of all steps.
  TokenFlops flops;
  std::vector<EarlierOperand> earlier;
};

/// The dispatches that select from logits: `peaks` finds what each piece of a row has, and `best`
/// also reads that (heddle/Selection.h). Each has one result, and reads nothing else.
struct PlannedSelection {
  PlannedDispatch peaks;
  PlannedDispatch best;
};

/// The number of rows in one space, and the sum over sequences of its product with that in another.
struct RowPairs {
  double rows = 0;
  double pairs = 0;
};
/// Counts rows and pairs. A row attends to at most `mostKeys` keys, unless that is 0.
RowPairs countRows(const SequenceSizes &sequences, RowSpace rows, RowSpace keys,
                   double mostKeys = 0);

/// Returns the part of the arena that the dispatches marked in `live` use.
SymbolicSize arenaOf(const manifest::Entry &entry, const std::vector<bool> &live);

/// An executable plan. Immutable once made.
struct Plan {
  static Plan make(const Artifact &artifact, const manifest::Entry &entry,
                   const PlanRequest &request);

  /// Unique among the plans of this process, and never 0.
  uint64_t number = 0;
  std::vector<PlannedDispatch> dispatches;
  /// In the order of their dispatches.
  std::vector<PlannedLoop> loops;
  /// The maximum bytes of a row that a loop reads as zeros at the first step.
  uint64_t earlierBytes = 0;
  /// The dispatch that PlanRequest::deferred leaves out: it has one result, which nothing reads,
  /// and no finish. Its output has no place in the memory.
  std::optional<PlannedDispatch> deferred;
  /// The dispatches of PlanRequest::selection, only with `deferred`: they read the result of that
  /// dispatch, row by row.
  std::optional<PlannedSelection> selection;
  /// With `deferred`: the dispatches from this index on exist only for its rows, and each computes
  /// the row of the same number. They need not compute rows that are not wanted.
  size_t firstForDeferred = 0;
  std::vector<PlannedOperand> operands;
  /// The entry's row spaces, and whether kernels read their offsets and positions.
  std::vector<RowSpace> spaces;
  std::vector<bool> spacesUsed;
  /// Whether sequences have widths, which kernels read.
  bool hasWidths = false;
  /// The spaces that the kernels of all dispatches name, one dispatch after another.
  std::vector<uint8_t> spacesNamed;
  std::vector<PlannedResult> results;
  std::vector<BufferPlace> buffers;
  std::vector<PlannedOutput> outputs;
  /// By their numbers.
  std::vector<PlannedInput> inputs;
  /// Whether any dispatch has a cache or a state operand.
  bool usesCaches = false;
  /// Whether any offset or stride depends on the longest sequence, which in a decoder differs from
  /// step to step.
  bool placesFollowLongest = false;
  /// The arena, and the outputs that are kept outside of it.
  SymbolicSize memory;
  /// `memory`, and the rows of the inputs that are read.
  SymbolicSize memoryWithInputs;
  uint64_t scratch = 0;
  uint64_t scratchPerLongest = 0;
  /// The cost of a sequence, for dividing the work.
  double flopsPerToken = 0;
  double flopsPerTokenKey = 0;
  /// The cost of a dispatch where a token attends to at most `keys` keys, for each such dispatch.
  struct BoundedKeys {
    double keys;
    double flopsPerTokenKey;
  };
  std::vector<BoundedKeys> bounded;
  /// Returns the operations per token of these if no sequence is longer than `longest`.
  double boundedFlops(int64_t longest) const;

  /// Returns the number of launches if the longest sequence has `longest` tokens.
  uint64_t launches(int64_t longest) const;
  /// Returns the loop at an index and the loops after it that may run at the same time.
  std::span<const PlannedLoop> loopsBeside(size_t loop) const;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PLAN_H
