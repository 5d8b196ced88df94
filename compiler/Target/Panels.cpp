// SPDX-License-Identifier: Apache-2.0
///
/// How kernels read the matrix of a product: panels of [k][panelColumns], the columns of
/// the result side by side, zero beyond the last one; of a quantised matrix every group of k that
/// shares scales begins with them and, where codes are multiplied as integers, with their sums.
/// Elements of a column that one instruction multiplies lie together: [k / t][panelColumns][t].
/// Emitters/Contract.cpp reads them, and Emitters/Rows.cpp single
/// rows of the matrix, whose elements are panelColumns apart.
#include "compiler/Target/Panels.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

MatrixEncoding encodePanels(const TargetDescription &target, ParameterOp matrix,
                            const dataflow::KernelInput &input) {
  const int64_t columns = target.panelColumns;
  const int64_t together = dataflow::elementsTogether(input.arithmetic);
  SmallVector<int64_t, 3> numbers = {columns};
  std::string name = (matrix.getSymName() + ".packed" + Twine(columns)).str();
  // Every group has panels of its own.
  if (input.groups > 1 || together > 1) {
    numbers.push_back(input.groups);
  }
  if (input.groups > 1) {
    name += "x" + std::to_string(input.groups);
  }
  if (together > 1) {
    numbers.push_back(together);
    name += "by" + std::to_string(together);
  }
  auto pack =
      ParameterExpressionAttr::get(matrix.getContext(), ExpressionKind::Pack,
                                   {FlatSymbolRefAttr::get(matrix.getSymNameAttr())}, numbers);
  auto quantized = dyn_cast<QuantizedType>(matrix.getTensorType().getElementType());
  // Of codes only those of 8 bits with one scale in f32 are looked up in panels.
  const bool hasRows =
      !quantized || (quantized.isBytesWithScales() &&
                     quantized.getScalesOf(matrix.getTensorType().getShape().back()) == 1);
  return {name, pack, *packedType(matrix.getTensorType(), pack),
          /*hasRows=*/input.groups == 1 && hasRows};
}

} // namespace heddle
