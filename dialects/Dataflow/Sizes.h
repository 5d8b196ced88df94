// SPDX-License-Identifier: Apache-2.0
///
/// Sizes that depend on the batch, for types and attributes of the dataflow dialect: dimensions of
/// buffers, and sums of products of such dimensions.
#ifndef HEDDLE_DIALECTS_DATAFLOW_SIZES_H
#define HEDDLE_DIALECTS_DATAFLOW_SIZES_H

#include "heddle/RowSpace.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <tuple>

namespace heddle::dataflow {

/// `bytes` for each row of a space, times the dimension `longest` unless that is 0.
struct SizeTerm {
  int64_t rows;
  int64_t longest;
  uint64_t bytes;

  bool operator==(const SizeTerm &) const = default;
  /// Orders terms without a second dimension first, and tokens before all other spaces.
  bool operator<(const SizeTerm &other) const {
    return std::tuple(longest != 0, -rows, -longest) <
           std::tuple(other.longest != 0, -other.rows, -other.longest);
  }
  friend llvm::hash_code hash_value(const SizeTerm &term) {
    return llvm::hash_combine(term.rows, term.longest, term.bytes);
  }
};

/// Parses a dimension that depends on the batch: `tokens`, `longest(blocks(tokens, 2))`.
mlir::FailureOr<RowDimension> parseRowDimension(mlir::AsmParser &parser);

mlir::ParseResult parseSizeTerms(mlir::AsmParser &parser, llvm::SmallVector<SizeTerm> &terms);
void printSizeTerms(mlir::AsmPrinter &printer, llvm::ArrayRef<SizeTerm> terms);

/// Returns the row spaces that a kernel's type names, in its result and then in its inputs, without
/// duplicates. The kernel receives them in this order.
llvm::SmallVector<RowSpace> namedSpaces(mlir::FunctionType type);

} // namespace heddle::dataflow

#endif // HEDDLE_DIALECTS_DATAFLOW_SIZES_H
