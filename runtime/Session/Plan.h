// SPDX-License-Identifier: Apache-2.0
///
/// An entry prepared for one set of outputs: the dispatches that are needed for them, with their
/// functions looked up and every operand's place decided but for the sizes of the work.
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

/// One launch of a chunk, or one that all lanes share.
struct PlannedDispatch {
  /// Its number in the entry.
  uint32_t index;
  const DeviceKernel *kernel;
  /// Null: none.
  const DeviceKernel *finish;
  /// The space of the rows that are divided.
  uint8_t rows;
  int64_t rowTile;
  int64_t columns;
  /// As the manifest has them for the target.
  int64_t columnElements;
  int64_t groupElements;
  /// Its operands in Plan::operands.
  uint32_t firstOperand;
  uint32_t operandCount;
  /// The first of them are written.
  uint32_t written;
  /// The spaces that its kernel names, in Plan::spacesNamed.
  uint32_t firstSpace;
  /// Floating-point operations, of rows and keys of these spaces.
  uint8_t countedRows;
  uint8_t countedKeys;
  double flopsPerRow;
  double flopsPerRowKey;
  /// The most keys that a row sees; 0: all of its sequence.
  double mostKeys;
  /// Bytes of weights read by a call, and for each of these rows.
  double weightBytes;
  double weightBytesPerRow;
  /// How many groups of weights there are of which each row reads one, and the operand that says
  /// which; 0 groups: every row reads all weights.
  uint32_t chosenGroups;
  uint32_t chosenBy;
  /// Whether some of its rows can be computed without the others.
  bool rowByRow;

  /// The columns of the grid that compute the elements [begin, end) of a row, and the elements that
  /// a range of columns computes. Only where columnElements is not 0.
  Range columnsOver(Range elements) const;
  Range elementsOf(Range columns) const;
};

/// Where a buffer's address comes from.
struct BufferPlace {
  enum class Kind : uint8_t {
    /// No dispatch of the plan touches it.
    Unused,
    /// `offset` in the working memory.
    Memory,
    /// `address`, in the weights.
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
  /// For a cache: bytes of one position, or of the state of one sequence.
  double positionBytes = 0;
};

/// An input of the entry.
struct PlannedInput {
  /// A dispatch of the plan reads it.
  bool used = false;
  /// Bytes for each token.
  uint64_t rowBytes = 0;
};

/// An output of the entry.
struct PlannedOutput {
  /// The caller wants it; else it may still be computed, for what reads it.
  bool requested = false;
  /// A later dispatch reads it, and kernels may read past the end of what they read: it cannot lie
  /// in the caller's memory.
  bool readBack = false;
  /// A dispatch of the plan writes it.
  bool live = false;
  /// The space of its rows.
  uint8_t rows = 0;
  uint32_t buffer = 0;
  /// 0 when rows are as long as the longest sequence: then they have `heads` pieces of that length.
  uint64_t rowBytes = 0;
  uint64_t heads = 0;
  /// Its place in the working memory when it is not computed where the caller wants it.
  SymbolicSize offset;
};

/// An operand: a buffer, and where in it.
struct PlannedOperand {
  uint32_t buffer;
  uint32_t byteOffset;
};

/// An operand that is a result and no cache or state.
struct PlannedResult {
  /// Its place in Plan::operands.
  uint32_t operand;
  RowElements rowElements;
};

/// An operand that is read a step before, by its place in Plan::operands.
struct EarlierOperand {
  uint32_t operand;
  /// 1 + the buffer that is read at the first step; 0: zeros are.
  uint32_t initial;
  /// From a row to the next.
  uint64_t elementBytes;
  RowElements rowElements;
};

/// What a plan is for.
struct PlanRequest {
  /// One element per output of the entry.
  std::vector<bool> outputs;
  /// Whether what the entry leaves in caches and states is wanted.
  bool caches = false;
  /// The output whose computation, if it comes last, is left to the caller; -1: none.
  int32_t deferred = -1;
};

/// Which dispatches of an entry a request needs.
std::vector<bool> dispatchesFor(const manifest::Entry &entry, const PlanRequest &request);

/// Floating-point operations of a dispatch, spread over tokens, and over tokens and their keys.
struct TokenFlops {
  uint64_t perToken = 0;
  uint64_t perTokenKey = 0;
};
TokenFlops flopsOf(const manifest::Dispatch &dispatch, std::span<const RowSpace> spaces);

/// Dispatches that run over the rows of one step after the other.
struct PlannedLoop {
  /// In Plan::dispatches.
  uint32_t first;
  uint32_t count;
  /// The operands of all of them, in Plan::operands.
  uint32_t firstOperand;
  uint32_t operandCount;
  /// The space of their rows.
  uint8_t rows;
  /// Loops of one number follow one another and may run at the same time.
  uint32_t group;
  /// The operations of all its steps.
  TokenFlops flops;
  std::vector<EarlierOperand> earlier;
};

/// The rows that sequences have in one space, and the sum of these times those in another.
struct RowPairs {
  double rows = 0;
  double pairs = 0;
};
/// A row sees at most `mostKeys` keys, unless that is 0.
RowPairs countRows(const SequenceSizes &sequences, RowSpace rows, RowSpace keys,
                   double mostKeys = 0);

/// What of the arena the dispatches marked in `live` use.
SymbolicSize arenaOf(const manifest::Entry &entry, const std::vector<bool> &live);

/// What to run; immutable once made.
struct Plan {
  static Plan make(const Artifact &artifact, const manifest::Entry &entry,
                   const PlanRequest &request);

  /// No other plan of this process has it, nor has any 0.
  uint64_t number = 0;
  std::vector<PlannedDispatch> dispatches;
  /// In the order of their dispatches.
  std::vector<PlannedLoop> loops;
  /// The most bytes of a row that a loop reads as zeros at the first step.
  uint64_t earlierBytes = 0;
  /// What PlanRequest::deferred left out: it writes nothing else, nothing reads what it writes, and
  /// it has no finish. Its output has no place in the memory.
  std::optional<PlannedDispatch> deferred;
  /// With `deferred`: the dispatches from this one on are there for its rows alone, each of them
  /// for the row of that number. Rows that nobody wants of it need not be computed by any of them.
  size_t firstForDeferred = 0;
  std::vector<PlannedOperand> operands;
  /// The entry's row spaces, and whether kernels read its offsets and positions.
  std::vector<RowSpace> spaces;
  std::vector<bool> spacesUsed;
  /// Whether sequences have widths, which kernels read.
  bool hasWidths = false;
  /// What the kernels of all dispatches name, one after the other.
  std::vector<uint8_t> spacesNamed;
  std::vector<PlannedResult> results;
  std::vector<BufferPlace> buffers;
  std::vector<PlannedOutput> outputs;
  /// By their number.
  std::vector<PlannedInput> inputs;
  /// Whether any dispatch has a cache or a state.
  bool usesCaches = false;
  /// Whether where anything is or how far apart its rows are depends on the longest sequence, which
  /// in a decoder differs from step to step.
  bool placesFollowLongest = false;
  /// The arena, and the outputs that are kept beside it.
  SymbolicSize memory;
  /// The same and the rows of the inputs that are read.
  SymbolicSize memoryWithInputs;
  uint64_t scratch = 0;
  uint64_t scratchPerLongest = 0;
  /// The cost of a sequence, for sharing out the work.
  double flopsPerToken = 0;
  double flopsPerTokenKey = 0;
  /// The same where a token sees at most so many keys, one for each such dispatch.
  struct BoundedKeys {
    double keys;
    double flopsPerTokenKey;
  };
  std::vector<BoundedKeys> bounded;
  /// The operations per token of these if no sequence is longer.
  double boundedFlops(int64_t longest) const;

  /// How often dispatches are launched where the longest sequence has so many tokens.
  uint64_t launches(int64_t longest) const;
  /// A loop, by its number, and those after it that may run beside it.
  std::span<const PlannedLoop> loopsBeside(size_t loop) const;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PLAN_H
