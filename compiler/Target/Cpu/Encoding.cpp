// SPDX-License-Identifier: Apache-2.0
///
/// How kernels of CPUs read the matrix of a product: panels of [k][panelColumns], the columns of
/// the result side by side, zero beyond the last one. Emitters/Contract.cpp reads them,
/// and Emitters/Rows.cpp single rows of the matrix, whose elements are panelColumns apart.
#include "compiler/Target/Cpu/CpuTargets.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

MatrixEncoding encodePanels(const TargetDescription &target, ParameterOp matrix, int64_t groups) {
  MLIRContext *context = matrix.getContext();
  RankedTensorType logical = matrix.getTensorType();
  const int64_t columns = target.panelColumns;
  SmallVector<int64_t, 2> numbers = {columns};
  std::string name = (matrix.getSymName() + ".packed" + Twine(columns)).str();
  // Every group has panels of its own.
  if (groups > 1) {
    numbers.push_back(groups);
    name += "x" + std::to_string(groups);
  }
  int64_t panels = groups * llvm::divideCeilSigned(logical.getDimSize(0) / groups, columns);
  return {name,
          ParameterExpressionAttr::get(context, ExpressionKind::Pack,
                                       {FlatSymbolRefAttr::get(matrix.getSymNameAttr())}, numbers),
          RankedTensorType::get({panels, logical.getDimSize(1), columns}, logical.getElementType()),
          /*hasRows=*/groups == 1};
}

} // namespace heddle
