// SPDX-License-Identifier: Apache-2.0
///
/// The model level of the IR: types, attributes and operations of the `transformer` dialect. The
/// .td files beside this header specify every operation; docs/reference/transformer.md is generated
/// from them.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H
#define HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H

#include "dialects/Transformer/ElementTypes.h"
#include "dialects/Transformer/Score.h"
#include "dialects/Transformer/Visibility.h"
#include "heddle/AttentionKind.h"
#include "heddle/Limits.h"
#include "heddle/RowSpace.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Transformer/Dialect.h.inc"
#include "dialects/Transformer/Enumerators.h"

#include "dialects/Transformer/EnumSupport.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Transformer/Types.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Transformer/Attrs.h.inc"

namespace heddle::transformer {

/// Counts a multiply-add as two. Work that depends on the number of rows is not counted.
struct OperationFlops {
  int64_t perRow = 0;
  int64_t perRowAndKey = 0;
};

/// Marks an operation that changes its first operand, a cache or a state, in place. Its only result
/// is the changed operand.
template <typename Op> class ChangesKept : public mlir::OpTrait::TraitBase<Op, ChangesKept> {};

/// Parses the number of pixels in a row of an image, `?` if each image has its own width.
mlir::FailureOr<int64_t> parseAcross(mlir::AsmParser &parser);
void printAcross(mlir::AsmPrinter &printer, int64_t across);
/// Parses `across` and that number; without the keyword the result is 1, for rows that are not
/// pixels.
mlir::ParseResult parseAcrossClause(mlir::OpAsmParser &parser, mlir::IntegerAttr &across);
void printAcrossClause(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::IntegerAttr across);

/// Parses `, keys` after the width of a state of this dialect or of dataflow: the state has numbers
/// for each key.
mlir::ParseResult parseStateKeys(mlir::AsmParser &parser, bool &keyed);
void printStateKeys(mlir::AsmPrinter &printer, bool keyed);

/// Limits of integer products on codes that share a scale.
using heddle::codesTogether;
using heddle::mostIntegersInSum;
/// The most elements of a vector on any target. Look-ups read this many elements of one scale.
inline constexpr int64_t mostLanes = 16;
/// Elements of a column that are stored together for bf16 products, for the same reason.
inline constexpr int64_t bf16Together = 2;

/// Returns the type of `pack` of a matrix [groups * n, k]; fails if it cannot be packed.
mlir::FailureOr<mlir::RankedTensorType> packedType(mlir::RankedTensorType matrix,
                                                   ParameterExpressionAttr pack);

/// Parses the region of an operation of this dialect or of dataflow. MLIR resolves forward
/// references only at the end of the text, so earlier operations may use values of the region. If
/// its parsing fails, these uses must be dropped.
mlir::ParseResult parseBody(mlir::OpAsmParser &parser, mlir::Region &body);
void printBody(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Region &body);

} // namespace heddle::transformer

#include "dialects/Transformer/Interfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Transformer/Ops.h.inc"

namespace heddle::transformer {

/// The largest distance D that a table of biases by distance, [heads, 2 D + 1], can have.
inline constexpr int64_t mostDistance = int64_t{1} << 20;

/// The most heads of locations, and the most numbers near a key, that scores of pairs may add.
inline constexpr int64_t mostLocationHeads = 64;
inline constexpr int64_t mostNear = int64_t{1} << 20;
/// Returns how many numbers near a key inputs with these heads and taps have, one for each head and
/// tap; nothing if taps are even or not positive, or if a limit is exceeded.
std::optional<int64_t> numbersNear(llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps);

/// Returns the entry's argument from which a cache or state originates; null if there is none.
mlir::BlockArgument cacheArgument(mlir::Value cache);

/// Returns the `transformer.name` of that argument; null if there is none.
mlir::StringAttr cacheName(mlir::Value cache);

/// Returns the operation that reads `value` from a cache, looking through splits, merges, repeats
/// and transposes of heads; null if it does not come from a cache.
CachedOp cachedSource(mlir::Value value);

/// The rows of segments: their space, derived from the rows of `rows`. Those are not derived from
/// others and count as tokens.
struct SegmentRows {
  mlir::Value rows;
  /// Empty if the operations derive an invalid space; the verifier rejects those.
  std::optional<RowSpace> space;
};
SegmentRows rowsOfSegments(mlir::Value segments);

/// Returns whether segments are of the same rows: the same value, or equal blocks or histories of
/// the same rows, of which a program may have several.
bool areSameSegments(mlir::Value left, mlir::Value right);

/// Returns the kind of attention of these probabilities; `No` if it is unknown, for example if
/// queries or keys are blocks.
AttentionKind attentionKind(SoftmaxOp softmax);

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H
