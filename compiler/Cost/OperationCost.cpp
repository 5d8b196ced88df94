// SPDX-License-Identifier: Apache-2.0
///
/// Operations that compute something say what it costs.
#include "compiler/Cost/OperationCost.h"

#include "dialects/Transformer/Transformer.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

static OperationFlops flopsOf(Operation *operation) {
  auto costs = llvm::dyn_cast<CostInterface>(operation);
  return costs ? costs.getFlops() : OperationFlops();
}

int64_t flopsPerToken(Operation *operation) { return flopsOf(operation).perRow; }

int64_t flopsPerTokenAndKey(Operation *operation) { return flopsOf(operation).perRowAndKey; }

} // namespace heddle
