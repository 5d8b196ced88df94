// SPDX-License-Identifier: Apache-2.0
///
/// A context of MLIR for fuzz targets that make programs.
#ifndef HEDDLE_TESTS_FUZZING_FRESHCONTEXT_H
#define HEDDLE_TESTS_FUZZING_FRESHCONTEXT_H

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace heddle::fuzzing {

/// Attributes are never given back by a context: a new one now and then keeps memory bounded.
inline mlir::MLIRContext &freshContext() {
  constexpr size_t runs = 500;
  static std::unique_ptr<mlir::MLIRContext> context;
  static size_t count = 0;
  if (count++ % runs == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  }
  return *context;
}

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_FRESHCONTEXT_H
