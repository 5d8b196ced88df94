// SPDX-License-Identifier: Apache-2.0
///
/// An MLIR context for fuzz targets that create programs.
#ifndef HEDDLE_TESTS_FUZZING_FRESHCONTEXT_H
#define HEDDLE_TESTS_FUZZING_FRESHCONTEXT_H

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace heddle::fuzzing {

/// Returns the context. A context never frees attributes, so it is replaced occasionally to bound
/// the memory.
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
