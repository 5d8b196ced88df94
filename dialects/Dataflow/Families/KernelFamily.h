// SPDX-License-Identifier: Apache-2.0
///
/// What a kernel family says about itself, through the interface KernelFamily of KernelFamily.td.
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

/// In the shape that an input has: any constant size. No attribute can ask for it: a size that is
/// not positive fits no buffer.
inline constexpr int64_t anySize = std::numeric_limits<int64_t>::min();

/// Elements of a row of a matrix that lie together where products of an arithmetic read it: as many
/// as one instruction multiplies and adds for each lane of 32 bits.
int64_t elementsTogether(Arithmetic arithmetic);

/// The elements of the largest heads whose attention multiplies bf16: those that tensor cores have
/// registers for.
inline constexpr int64_t mostBf16HeadSize = 128;

/// count * size, or a number that is no dimension if that overflows or one is not positive.
int64_t multiplySizes(int64_t count, int64_t size);

/// What a kernel does with one of its inputs.
struct KernelInput {
  enum class Role : uint8_t {
    /// Row r of the work reads row r.
    Rows,
    /// Row r of the work reads the row of the same sequence and position, which may have another
    /// number.
    Moved,
    /// A row of the work reads rows of its sequence, or positions of a cache.
    Sequence,
    /// Row r of the work reads number r: a row of the table that follows.
    Ids,
    /// Each row of the work reads the row that its id names.
    Table,
    /// Each row of the work reads the row numbered by its position plus `offset`.
    Positions,
    /// Every row of the work reads all of it.
    Weights,
    /// The same for a matrix [groups * n, k] that rows are multiplied with: a target chooses how it
    /// lies in memory.
    Matrix,
    /// Row r of the work reads one row, by a number that it has itself or that others have of it:
    /// the row whose choice it is, or the one that an Order puts in its place.
    Routed,
    /// Number r says which group of a matrix row r is multiplied with. It is below `limit`.
    Chosen,
    /// All rows once, in the order in which the work goes over them.
    Order,
    /// A cache or state that the kernel changes in place: a result is the same memory.
    Changed,
    /// A cache whose elements are not read: it says how many keys there are.
    Extent,
  };
  Role role = Role::Rows;
  /// The dimensions of a buffer, anySize for any constant; none: verifyOperands() checks them.
  std::optional<llvm::SmallVector<int64_t>> shape = std::nullopt;
  /// i32, else f32.
  bool isInteger = false;
  /// Whether it has no row stride.
  bool isDense = false;
  /// For Weights: they belong to the maths of each pair of elements of a query and a key, which the
  /// kernel's second region says.
  bool weighsPairs = false;
  /// A cache of this layout is allowed in place of a buffer, of `cacheWidth` elements a position.
  std::optional<CacheLayout> layout = std::nullopt;
  int64_t cacheWidth = anySize;
  /// A cache of any layout is allowed in place of a buffer.
  bool takesAnyCache = false;
  /// It is a state; nothing else is allowed.
  bool isState = false;
  /// For Positions.
  int64_t offset = 0;
  /// Whether it may be stored in another floating-point type than f32, in which it is computed
  /// with. Each target says which of them its code reads.
  bool isStored() const {
    return role == Role::Matrix || role == Role::Table || role == Role::Positions;
  }
  /// For Sequence: the first key that a row reads, by its position; none: it reads those from the
  /// first on.
  std::optional<transformer::PositionBound> readsFrom = std::nullopt;
  /// For Chosen.
  int64_t limit = 0;
  /// For Matrix: the number of equal parts of its rows that are multiplied separately.
  int64_t groups = 1;
  /// For Matrix: what is multiplied; f32 unless said otherwise. For Rows and Sequence: the same
  /// where they are rounded to it. For a Table that is encoded: that of the products whose matrix
  /// it is.
  Arithmetic arithmetic = {};
  /// For Table: whether it lies as the target stores a matrix of one group.
  bool isEncoded = false;
  /// Whether each row of the work reads that row alone, or the same of all, or what no row of this
  /// run changes: `isCache` says that it is a cache.
  bool isOfOneRow(bool isCache = false) const {
    return role == Role::Rows || role == Role::Weights || role == Role::Matrix ||
           (isCache && (role == Role::Sequence || role == Role::Extent));
  }
  /// Whether a parameter has an encoding of the target's here.
  bool takesEncoding() const { return role == Role::Matrix || isEncoded; }
};

/// One of the things that a kernel writes: a buffer of its own, or an input that it changes in
/// place.
struct KernelResult {
  /// The input that is the same memory, of role Changed; none: a buffer.
  std::optional<unsigned> changes = std::nullopt;
  /// The dimensions of a buffer; none: verifyOperands() checks them.
  std::optional<llvm::SmallVector<int64_t>> shape = std::nullopt;
  /// i32, else f32.
  bool isInteger = false;
};

/// How work is divided: into rows, and into independent columns of each row.
struct Division {
  enum class Rows : uint8_t {
    /// The rows of the first result that is a buffer or, without one, of what is added to a cache.
    OfResult,
    /// Sequences: the rows of one are computed in order.
    AlongSequences,
  };
  enum class Columns : uint8_t {
    None,
    /// `count` heads, each of `size` elements of the first result; 0: as many as there are keys.
    Heads,
    /// `count` groups of `size` elements of the first result, which a target cuts where it likes.
    Elements,
  };
  Rows rows = Rows::OfResult;
  Columns columns = Columns::None;
  int64_t count = 1;
  int64_t size = 1;
  /// Whether a target computes several rows at once because they share what is read.
  bool rowsShareWork = false;
};

/// A multiplication and the addition of its result are two. What is not a product counts nothing.
struct Flops {
  uint64_t perRow = 0;
  /// For each row and key that it sees.
  uint64_t perRowAndKey = 0;
  /// The most keys that a row sees, however many there are; 0: all of them.
  uint64_t mostKeys = 0;
};

enum class EpilogueSupport : uint8_t {
  /// Nothing may follow: the region yields its argument.
  None,
  /// The region is what is computed: it has an argument for each input that the family names, and
  /// there are neither element-wise operands nor a norm.
  IsRegion,
  /// The region maps a number in the midst of what is computed, the score of a key. Its arguments
  /// are that and, if it takes a second, the element of the family's weights that goes with it.
  /// Nothing may follow what is computed.
  MapsScores,
  /// Scalar maths with element-wise operands.
  Maths,
  /// The same, then a norm of the finished row.
  MathsAndNorm,
};

/// The rows of one space in a run, as HeddleRows has them (runtime/include/heddle/Abi.h).
struct RunRows {
  int64_t count() const { return static_cast<int64_t>(sequenceOf.size()); }
  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  /// The first row of the sequence of a row.
  int64_t firstRowOf(int64_t row) const { return offsets[sequenceOf[row]]; }
  /// Where a sequence ends: of rows in the order of time the last in memory.
  int64_t lastRowOf(int64_t sequence) const {
    return count() - 1 - (llvm::find(llvm::reverse(sequenceOf), sequence) - sequenceOf.rbegin());
  }

  /// Offsets are of sequences; of rows in the order of time they are of steps.
  llvm::SmallVector<int32_t> offsets = {0}, sequenceOf, positions;
  /// How many rows of each sequence lie side by side, where these are images of any width.
  llvm::SmallVector<int32_t, 0> widths;
  int64_t longest = 0;
};

/// A run of a kernel as its naive twin sees it: the rows, and the elements of the inputs as
/// doubles. `column` counts the elements of a row, or of a position of a cache, over all its
/// dimensions.
class KernelRun {
public:
  virtual ~KernelRun() = default;

  /// An element of a buffer.
  virtual double at(unsigned input, int64_t row, int64_t column = 0) const = 0;
  /// The positions that the sequence of a row has in a cache.
  virtual int64_t cachedPositions(unsigned input, int64_t row) const = 0;
  /// An element of one of them, before the run; the one row of a state is position 0.
  virtual double atPosition(unsigned input, int64_t row, int64_t position,
                            int64_t column) const = 0;
  /// The region of a family that computes what its region says, or whose scores it maps.
  virtual double applyRegion(llvm::ArrayRef<double> arguments) const = 0;
  /// How many arguments it has.
  virtual unsigned regionArguments() const = 0;
  /// The maths of an element of a query and one of a key, of a family that sums pairs.
  virtual double applyPairs(double query, double key) const = 0;

  /// The nearest number of bf16, ties to even. With `turnsTies` it is the other neighbour of a
  /// number that is near to the middle of both, as a kernel in f32 may see it on the other side.
  double roundToBf16(double value) const;

  /// The rows of a space that the kernel's type names, or of tokens.
  const RunRows &rowsOf(RowSpace space) const;
  /// Those of the result; tokens, if it is a cache.
  const RunRows &resultRows() const;

  /// The kernel's.
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
  /// The first of the sequence, where they are rows.
  int64_t first;

public:
  int64_t count;
  /// The number of the row itself among them.
  int64_t own;
};

// Parts of the text of attributes that TableGen's formats cannot describe.
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

/// Parses `, name = value` or `, name` as long as there are some; `parse` says whether it knows the
/// name, and reads the rest.
mlir::ParseResult
parseOptions(mlir::AsmParser &parser,
             llvm::function_ref<mlir::OptionalParseResult(llvm::StringRef)> parse);

} // namespace heddle::dataflow

#include "dialects/Dataflow/KernelFamily.h.inc"

namespace heddle::dataflow {

/// The arguments that a region has before those of element-wise operands: the value that the kernel
/// computed or, where the region is what is computed, the elements of every input that it reads.
unsigned numComputedArguments(KernelFamily family, mlir::FunctionType type);

/// Checks that every size is above 0.
llvm::LogicalResult verifyPositive(KernelFamily family, EmitError emitError,
                                   llvm::ArrayRef<int64_t> sizes);

/// The first dimension of the first result of a kernel: of a buffer, else no size.
int64_t rowsOf(mlir::FunctionType type);
/// The row space of an input whose rows need not be those of the result; tokens, if it is a cache
/// or has no rows, which the verifier refuses.
RowSpace spaceOfInput(mlir::FunctionType type, unsigned input);

} // namespace heddle::dataflow

#endif // HEDDLE_DIALECTS_DATAFLOW_FAMILIES_KERNELFAMILY_H
