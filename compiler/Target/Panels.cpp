// SPDX-License-Identifier: Apache-2.0
///
/// The matrix layout of products: panels of [k][panelColumns], with the result's columns adjacent,
/// and zeros beyond the last one. In a quantised matrix, every group of k that shares scales begins
/// with its scales and, for integer products, with the sums of its codes. Elements of a column that
/// one instruction multiplies are adjacent: [k / t][panelColumns][t]. Emitters/Contract.cpp reads
/// panels, and Emitters/Rows.cpp single rows of the matrix, whose elements are panelColumns apart.
#include "compiler/Target/Panels.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

MatrixEncoding encodePanels(const TargetDescription &target, ParameterOp matrix,
                            const dataflow::KernelInput &input) {
  return encodePanels(target, matrix, input, dataflow::elementsTogether(input.arithmetic));
}

MatrixEncoding encodePanels(const TargetDescription &target, ParameterOp matrix,
                            const dataflow::KernelInput &input, int64_t together) {
  const int64_t columns = target.panelColumns;
  SmallVector<int64_t, 3> numbers = {columns};
  std::string name = (matrix.getSymName() + ".packed" + Twine(columns)).str();
  // Each group has its own panels.
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
  // Look-ups in panels support only 8-bit codes with one f32 scale.
  const bool hasRows =
      !quantized || (quantized.isBytesWithScales() &&
                     quantized.getScalesOf(matrix.getTensorType().getShape().back()) == 1);
  return {name, pack, *packedType(matrix.getTensorType(), pack),
          /*hasRows=*/input.groups == 1 && hasRows &&
              together == dataflow::elementsTogether(input.arithmetic)};
}

} // namespace heddle
