// SPDX-License-Identifier: Apache-2.0
///
/// Erases what a rewrite has replaced, and nothing else.
#ifndef HEDDLE_COMPILER_MODEL_CLEANUP_ERASEUNUSED_H
#define HEDDLE_COMPILER_MODEL_CLEANUP_ERASEUNUSED_H

namespace mlir {
class Operation;
}

namespace heddle {

/// Erases `operation` if nothing uses its results and it has no effects, then the same for what it
/// used. Dead code elsewhere stays: eliminate-dead reports that.
void eraseUnused(mlir::Operation *operation);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_CLEANUP_ERASEUNUSED_H
