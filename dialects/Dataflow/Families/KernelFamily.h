// SPDX-License-Identifier: Apache-2.0
///
/// Types with which a kernel family describes itself through the interface of KernelFamily.td.
#ifndef HEDDLE_DIALECTS_DATAFLOW_FAMILIES_KERNELFAMILY_H
#define HEDDLE_DIALECTS_DATAFLOW_FAMILIES_KERNELFAMILY_H

#include "dialects/Transformer/Visibility.h"
#include "heddle/RowSpace.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpImplementation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace heddle::transformer {
class VisibilityAttr;
} // namespace heddle::transformer

namespace heddle::dataflow {

enum class CacheLayout : uint32_t;
enum class Arithmetic : uint32_t;

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// In the shape of an input: any constant size. It cannot collide with the size in an attribute,
/// because no buffer has a size that is not positive.
inline constexpr int64_t anySize = std::numeric_limits<int64_t>::min();

/// Returns how many consecutive elements of a matrix row are stored together for an arithmetic: as
/// many as one instruction multiplies and adds per 32-bit lane.
int64_t elementsTogether(Arithmetic arithmetic);

/// The elements of the largest heads whose attention multiplies bf16: those that tensor cores have
/// registers for.
inline constexpr int64_t mostBf16HeadSize = 128;

/// count * size, or a number that is no dimension if that overflows or one is not positive.
int64_t multiplySizes(int64_t count, int64_t size);

/// Describes how a kernel uses one of its inputs.
struct KernelInput {
  enum class Role : uint8_t {
    /// Row r of the work reads row r.
    Rows,
    /// Row r of the work reads the row with the same sequence and position, which may have another
    /// index.
    Moved,
    /// A row of the work reads rows of its sequence, or positions of a cache.
    Sequence,
    /// Row r of the work reads number r, the index of a row of the table that follows.
    Ids,
    /// Each row of the work reads the row with the index in Ids.
    Table,
    /// Each row of the work reads the row at index position + `offset`.
    Positions,
    /// Every row of the work reads all of it.
    Weights,
    /// The same for a matrix [groups * n, k] that rows are multiplied with. The target chooses its
    /// memory layout.
    Matrix,
    /// Row r of the work reads one row, by an index that row r or other rows have: the row whose
    /// choice it is, or the row that an Order puts in its place.
    Routed,
    /// Number r is the group of the matrix that row r is multiplied with. It is below `limit`.
    Chosen,
    /// A permutation of all rows: the order in which the work visits them.
    Order,
    /// A cache or state that the kernel changes in place: a result aliases it.
    Changed,
    /// A cache whose elements are not read, only the number of its keys.
    Extent,
  };
  Role role = Role::Rows;
  /// The dimensions of a buffer, anySize for any constant; if absent, verifyOperands() checks them.
  std::optional<llvm::SmallVector<int64_t>> shape = std::nullopt;
  /// The elements are i32, else f32.
  bool isInteger = false;
  /// Whether the buffer may have no row stride.
  bool isDense = false;
  /// For Weights: whether the kernel's second region, which maps each pair of elements of a query
  /// and a key, uses them.
  bool weighsPairs = false;
  /// A cache of this layout, with `cacheWidth` elements per position, is allowed in place of a
  /// buffer.
  std::optional<CacheLayout> layout = std::nullopt;
  int64_t cacheWidth = anySize;
  /// A cache of any layout is allowed in place of a buffer.
  bool takesAnyCache = false;
  /// The input must be a state.
  bool isState = false;
  /// For Positions.
  int64_t offset = 0;
  /// Whether the input may be stored in a floating-point type other than f32, in which the kernel
  /// computes. Each target defines which types its code reads.
  bool isStored() const {
    return role == Role::Matrix || role == Role::Table || role == Role::Positions;
  }
  /// For Sequence: the position of the first key that a row reads; if absent, it reads from the
  /// first key on.
  std::optional<transformer::PositionBound> readsFrom = std::nullopt;
  /// For Chosen.
  int64_t limit = 0;
  /// For Matrix: the number of equal parts of its rows that are multiplied separately.
  int64_t groups = 1;
  /// For Matrix: what is multiplied; f32 unless said otherwise. For Rows and Sequence: the same
  /// where they are rounded to it. For a Table that is encoded: that of the products whose matrix
  /// it is.
  Arithmetic arithmetic = {};
  /// For Table: whether it has the layout in which the target stores a matrix of one group.
  bool isEncoded = false;
  /// Whether each row of the work reads only that row, or data that all rows share, or data that no
  /// row of this run changes. `isCache` is whether the input is a cache.
  bool isOfOneRow(bool isCache = false) const {
    return role == Role::Rows || role == Role::Weights || role == Role::Matrix ||
           (isCache && (role == Role::Sequence || role == Role::Extent));
  }
  /// Whether a parameter at this input takes an encoding of the target.
  bool takesEncoding() const { return role == Role::Matrix || isEncoded; }
};

/// One result of a kernel: a buffer of its own, or an input that it changes in place.
struct KernelResult {
  /// The index of the input of role Changed that the result aliases; if absent, the result is a
  /// buffer.
  std::optional<unsigned> changes = std::nullopt;
  /// The dimensions of a buffer; if absent, verifyOperands() checks them.
  std::optional<llvm::SmallVector<int64_t>> shape = std::nullopt;
  /// The elements are i32, else f32.
  bool isInteger = false;
};

/// Divides the work into rows, and into independent columns of each row.
struct Division {
  enum class Rows : uint8_t {
    /// The rows of the first result that is a buffer, else of the input that is added to a cache.
    OfResult,
    /// Sequences. The rows of a sequence are computed in order.
    AlongSequences,
  };
  enum class Columns : uint8_t {
    None,
    /// `count` heads of `size` elements of the first result; size 0: as many elements as there are
    /// keys.
    Heads,
    /// `count` groups of `size` elements of the first result, which a target may split anywhere.
    Elements,
  };
  Rows rows = Rows::OfResult;
  Columns columns = Columns::None;
  int64_t count = 1;
  int64_t size = 1;
  /// Whether a target should compute several rows at once because they share the data they read.
  bool rowsShareWork = false;
};

/// Counts a multiply-add as two. Only products are counted.
struct Flops {
  uint64_t perRow = 0;
  /// For each pair of a row and a key that it sees.
  uint64_t perRowAndKey = 0;
  /// An upper bound on the keys that a row sees; 0: no bound.
  uint64_t mostKeys = 0;
};

enum class EpilogueSupport : uint8_t {
  /// No epilogue: the region yields its argument.
  None,
  /// The region is the computation. It has an argument for each input that the family names. There
  /// are neither element-wise operands nor a norm.
  IsRegion,
  /// The region maps an intermediate value, the score of a key. Its arguments are the score and
  /// optionally the element of the family's weights that belongs to it. The result has no epilogue.
  MapsScores,
  /// Scalar maths with element-wise operands.
  Maths,
  /// The same, followed by a norm of the finished row.
  MathsAndNorm,
};

/// The rows of one space in a run, in the form of HeddleRows (runtime/include/heddle/Abi.h).
struct RunRows {
  int64_t count() const { return static_cast<int64_t>(sequenceOf.size()); }
  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  /// Returns the first row of the sequence of a row.
  int64_t firstRowOf(int64_t row) const { return offsets[sequenceOf[row]]; }
  /// Returns the last row of a sequence. In time order that is its last row in memory.
  int64_t lastRowOf(int64_t sequence) const {
    return count() - 1 - (llvm::find(llvm::reverse(sequenceOf), sequence) - sequenceOf.rbegin());
  }

  /// Offsets are per sequence or, in time order, per step.
  llvm::SmallVector<int32_t> offsets = {0}, sequenceOf, positions;
  /// The number of rows of each sequence that form one row of its image, if image widths vary.
  llvm::SmallVector<int32_t, 0> widths;
  int64_t longest = 0;
};

/// A run of a kernel as its reference evaluation sees it: the rows, and the elements of the inputs
/// as doubles. `column` is a linear index over all dimensions of a row, or of a position of a
/// cache.
class KernelRun {
public:
  virtual ~KernelRun() = default;

  /// Returns an element of a buffer.
  virtual double at(unsigned input, int64_t row, int64_t column = 0) const = 0;
  /// Returns how many positions a cache holds for the sequence of a row.
  virtual int64_t cachedPositions(unsigned input, int64_t row) const = 0;
  /// Returns an element of a cache position before the run. A state has one row, at position 0.
  virtual double atPosition(unsigned input, int64_t row, int64_t position,
                            int64_t column) const = 0;
  /// Applies the region of a family that is IsRegion or MapsScores.
  virtual double applyRegion(llvm::ArrayRef<double> arguments) const = 0;
  /// Returns the number of arguments of that region.
  virtual unsigned regionArguments() const = 0;
  /// Applies the region for pairs to an element of a query and one of a key.
  virtual double applyPairs(double query, double key) const = 0;

  /// The nearest number of bf16, ties to even. With `turnsTies` it is the other neighbour of a
  /// number that is near to the middle of both, as a kernel in f32 may see it on the other side.
  double roundToBf16(double value) const;

  /// The rows of a space that the kernel's type names, or of tokens.
  const RunRows &rowsOf(RowSpace space) const;
  /// Returns the rows of the result; tokens if it is a cache.
  const RunRows &resultRows() const;

  /// The type of the kernel.
  mlir::FunctionType type;
  llvm::SmallVector<std::pair<RowSpace, RunRows>> spaces;
  bool turnsTies = false;
};

/// The nearest number of bf16, ties to even.
float nearestBf16(float value);

/// What a row of the work sees of an input: the rows of its sequence, or the positions of a cache.
class VisibleKeys {
public:
  VisibleKeys(const KernelRun &run, unsigned input, int64_t row);
  double at(int64_t key, int64_t column) const;

private:
  const KernelRun &run;
  unsigned input;
  int64_t row;
  bool isCache;
  /// If keys are rows: the index of the first one.
  int64_t first;

public:
  int64_t count;
  /// The index of the row itself among the keys.
  int64_t own;
};

// Custom parsers and printers for attributes that TableGen's assembly formats cannot describe.
mlir::ParseResult parseGatherOptions(mlir::AsmParser &parser,
                                     llvm::SmallVector<int64_t> &positionOffsets,
                                     mlir::DenseF32ArrayAttr &scales,
                                     llvm::SmallVector<int64_t> &encoded, Arithmetic &arithmetic);
void printGatherOptions(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> positionOffsets,
                        mlir::DenseF32ArrayAttr scales, llvm::ArrayRef<int64_t> encoded,
                        Arithmetic arithmetic);
mlir::ParseResult parseNestOptions(mlir::AsmParser &parser, mlir::FloatAttr &hidden,
                                   transformer::VisibilityAttr &visibility, bool &relative,
                                   bool &keysFrom, bool &slides);
void printNestOptions(mlir::AsmPrinter &printer, mlir::FloatAttr hidden,
                      transformer::VisibilityAttr visibility, bool relative, bool keysFrom,
                      bool slides);

/// Parses a sequence of `, name = value` or `, name`. `parse` returns no result for an unknown
/// name, else it parses the rest of the option.
mlir::ParseResult
parseOptions(mlir::AsmParser &parser,
             llvm::function_ref<mlir::OptionalParseResult(llvm::StringRef)> parse);

} // namespace heddle::dataflow

#include "dialects/Dataflow/KernelFamily.h.inc"

namespace heddle::dataflow {

/// Returns how many arguments of a region precede those of element-wise operands: the value that
/// the kernel computed or, if the region is the computation, an element of every input.
unsigned numComputedArguments(KernelFamily family, mlir::FunctionType type);

/// Checks that every size is above 0.
llvm::LogicalResult verifyPositive(KernelFamily family, EmitError emitError,
                                   llvm::ArrayRef<int64_t> sizes);

/// Returns the first dimension of the first result if that is a buffer, else an invalid size.
int64_t rowsOf(mlir::FunctionType type);
/// Returns the row space of an input, which may differ from that of the result. Returns tokens for
/// a cache, and for an input without rows, which the verifier rejects.
RowSpace spaceOfInput(mlir::FunctionType type, unsigned input);

} // namespace heddle::dataflow

#endif // HEDDLE_DIALECTS_DATAFLOW_FAMILIES_KERNELFAMILY_H
