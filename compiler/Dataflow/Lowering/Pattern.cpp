// SPDX-License-Identifier: Apache-2.0
///
/// The table of patterns, built from the generated list of operations of the dialect.
#include "compiler/Dataflow/Lowering/Pattern.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace heddle {
namespace {

using PatternTable = llvm::DenseMap<TypeID, Pattern>;

template <typename Op> void addPattern(PatternTable &table) {
  // Symbols are in the module, never in an entry.
  if constexpr (!Op::template hasTrait<SymbolOpInterface::Trait>()) {
    table.try_emplace(TypeID::get<Op>(), patternOf<Op>());
  }
}

template <typename... Ops> PatternTable makeTable() {
  PatternTable table;
  (addPattern<Ops>(table), ...);
  return table;
}

/// Returns the segments among the operands of `op`, in order.
SmallVector<Value> segmentsOf(Operation *op) {
  return llvm::filter_to_vector(op->getOperands(), [](Value operand) {
    return isa<transformer::SegmentsType>(operand.getType());
  });
}

} // namespace

Value Pattern::rowsOf(Operation *op) const {
  SmallVector<Value> named = segmentsOf(op);
  bool namesRows = segments == NamedSegments::Rows || segments == NamedSegments::RowsAndKeys;
  return namesRows && !named.empty() ? named.front() : Value();
}

Value Pattern::keysOf(Operation *op) const {
  SmallVector<Value> named = segmentsOf(op);
  bool namesKeys = segments == NamedSegments::Keys || segments == NamedSegments::RowsAndKeys;
  return namesKeys && !named.empty() ? named.back() : Value();
}

const Pattern *findPattern(Operation *op) {
  static const PatternTable table = makeTable<
#define GET_OP_LIST
#include "dialects/Transformer/Ops.cpp.inc"
      >();
  auto found = table.find(op->getName().getTypeID());
  return found == table.end() ? nullptr : &found->second;
}

} // namespace heddle
