// SPDX-License-Identifier: Apache-2.0
///
/// Erases the operations that a rewrite has replaced, but no other dead code.
#ifndef HEDDLE_COMPILER_MODEL_CLEANUP_ERASEUNUSED_H
#define HEDDLE_COMPILER_MODEL_CLEANUP_ERASEUNUSED_H

namespace mlir {
class Operation;
}

namespace heddle {

/// Erases `operation` if its results are unused and it has no effects, then likewise the producers
/// of its operands. Other dead code remains: eliminate-dead reports that.
void eraseUnused(mlir::Operation *operation);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_CLEANUP_ERASEUNUSED_H
