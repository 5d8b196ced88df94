// SPDX-License-Identifier: Apache-2.0
///
/// The model level of the IR: types, attributes and operations of the `transformer` dialect.
/// The specification of every operation is in the .td files beside this header and, generated, in
/// docs/reference/transformer.md.
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

/// A multiplication and the addition of its result are two. What depends on the number of rows
/// counts nothing.
struct OperationFlops {
  int64_t perRow = 0;
  int64_t perRowAndKey = 0;
};

/// An operation that changes its first operand in place, a cache or a state: its only result is
/// what that is from then on.
template <typename Op> class ChangesKept : public mlir::OpTrait::TraitBase<Op, ChangesKept> {};

/// The pixels in a row of images, `?` where each image has a width of its own.
mlir::FailureOr<int64_t> parseAcross(mlir::AsmParser &parser);
void printAcross(mlir::AsmPrinter &printer, int64_t across);
/// The same after the word, or 1 without it: rows that are no pixels.
mlir::ParseResult parseAcrossClause(mlir::OpAsmParser &parser, mlir::IntegerAttr &across);
void printAcrossClause(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::IntegerAttr across);

/// `, keys` after the width of a state, of this dialect or of dataflow, that has numbers for each
/// key.
mlir::ParseResult parseStateKeys(mlir::AsmParser &parser, bool &keyed);
void printStateKeys(mlir::AsmPrinter &printer, bool keyed);

/// What products of integers need of codes that share a scale.
using heddle::codesTogether;
using heddle::mostIntegersInSum;
/// The elements that a vector of any target has at most: look-ups read so many of one scale.
inline constexpr int64_t mostLanes = 16;
/// Elements of a column that lie together where they are multiplied in bf16, for the same reason.
inline constexpr int64_t bf16Together = 2;

/// The type of `pack` of a matrix [groups * n, k]; fails if it cannot be packed so.
mlir::FailureOr<mlir::RankedTensorType> packedType(mlir::RankedTensorType matrix,
                                                   ParameterExpressionAttr pack);

/// The region of an operation of this dialect or of dataflow. MLIR lets earlier operations use what
/// a later region defines until it has read all of the text: where a region is given up halfway,
/// they must let go of it.
mlir::ParseResult parseBody(mlir::OpAsmParser &parser, mlir::Region &body);
void printBody(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Region &body);

} // namespace heddle::transformer

#include "dialects/Transformer/Interfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Transformer/Ops.h.inc"

namespace heddle::transformer {

/// The largest distance D that a table of biases by distance, [heads, 2 D + 1], can have.
inline constexpr int64_t mostDistance = int64_t{1} << 20;

/// The most heads of numbers of keys that scores of pairs add, and the most of these near a key.
inline constexpr int64_t mostLocationHeads = 64;
inline constexpr int64_t mostNear = int64_t{1} << 20;
/// How many numbers near a key inputs of so many heads and taps have, one for each head and tap;
/// nothing if taps are even or not positive, or there are more than these limits.
std::optional<int64_t> numbersNear(llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps);

/// The entry's argument that a cache or state started from, before it was changed; null if there is
/// none.
mlir::BlockArgument cacheArgument(mlir::Value cache);

/// The `transformer.name` of that argument; null if there is none.
mlir::StringAttr cacheName(mlir::Value cache);

/// The operation that reads `value` from a cache, looking through splits, merges and transposes of
/// heads; null if it does not come from a cache.
CachedOp cachedSource(mlir::Value value);

/// What the rows of segments are: the space that derives from the rows of `rows`, which derive from
/// no others; these rows themselves are tokens.
struct SegmentRows {
  mlir::Value rows;
  /// Nothing if operations derive what is no space; the verifier refuses those.
  std::optional<RowSpace> space;
};
SegmentRows rowsOfSegments(mlir::Value segments);

/// Whether segments are of the same rows: one value, or as many blocks or histories of the same
/// rows, of which a program may have several.
bool areSameSegments(mlir::Value left, mlir::Value right);

/// What the attention of these probabilities is; `No` where nothing says it, as where its queries
/// or keys are blocks.
AttentionKind attentionKind(SoftmaxOp softmax);

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_TRANSFORMER_H
