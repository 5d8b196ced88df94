// SPDX-License-Identifier: Apache-2.0
///
/// The state that a ModelBuilder shares with the values that it returns. Internal to the builder.
#ifndef HEDDLE_FRONTEND_BUILDER_MODELSTATE_H
#define HEDDLE_FRONTEND_BUILDER_MODELSTATE_H

#include "frontend/Builder/ModelBuilder.h"

#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// An entry under construction. Its function has one block. The arguments are the inputs, the
/// segments, the memory's segments if any, the caches and the states. The function's type is set
/// when the model is finished.
struct EntryState {
  struct Input {
    std::string name;
    bool optional;
    /// Entry::pad().
    std::optional<int32_t> pad = std::nullopt;
    /// Entry::limit().
    std::optional<int32_t> limit = std::nullopt;
  };
  struct Output {
    std::string name;
    mlir::Value value;
  };

  /// A cache or a state.
  struct Cache {
    std::string name;
    /// The current value: the result of the last append or accumulate, or the argument.
    mlir::Value value;
    bool appended = false;
  };

  std::string name;
  mlir::func::FuncOp function;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  /// The name of the memory; empty if there is none.
  std::string memory;
  std::vector<Cache> caches;

  mlir::Block &body() { return function.getBody().front(); }
};

struct ModelState {
  /// Null if the caller owns the context. Destroyed last.
  std::unique_ptr<mlir::MLIRContext> ownContext;
  mlir::MLIRContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The next parameter is inserted after this one: parameters come before entries, in the order of
  /// declaration.
  mlir::Operation *lastParameter = nullptr;
  struct Parameter {
    std::vector<int64_t> shape;
    /// Null for a tensor of the checkpoint.
    mlir::Attribute expression;
  };
  std::map<std::string, Parameter, std::less<>> parameters;
  /// The tensors of the checkpoint, in the order of declaration.
  std::vector<heddle::Parameter> tensors;
  std::vector<EntryState> entries;
  /// The steps being written, innermost last: each with the block around it and its own block.
  std::vector<std::pair<mlir::Block *, mlir::Block *>> steps;
  Status error;
  /// Set by build(). The operations then belong to its caller.
  bool finished = false;

  /// Keeps the first error.
  void fail(std::string_view name, std::string_view message);
  /// Returns the entry whose body a block is.
  EntryState *entryOf(mlir::Block *block);
  /// Returns whether values of `outer` are visible in `inner`: the same block, or an enclosing one.
  bool isSeenIn(mlir::Block *outer, mlir::Block *inner) const;
  /// Declares a parameter. Returns false, with an error, if a different one has that name.
  bool declare(const std::string &name, llvm::ArrayRef<int64_t> shape,
               transformer::ParameterExpressionAttr expression);
  bool works() const { return error.ok() && !finished; }
  mlir::Location nameLocation(std::string_view name) const;
};

/// The site of a new operation: its name and the block its operands belong to.
class OperationSite {
public:
  /// An operation called `name`.
  OperationSite(ModelState *state, std::string_view name,
                std::initializer_list<const ModelValue *> operands);
  /// An operation with the name of its first operand.
  explicit OperationSite(std::initializer_list<const ModelValue *> operands);

  /// Returns whether the operation can be created; it must not be after an error.
  bool ok() const { return state != nullptr && state->works(); }
  /// Keeps an error that begins with the operation's name.
  void fail(std::string_view message) { state->fail(name, message); }

  /// Inserts an operation and wraps its result.
  template <typename Value, typename Op, typename... Arguments>
  Value make(Arguments &&...arguments) {
    mlir::OpBuilder builder(state->context);
    builder.setInsertionPointToEnd(block);
    return Value(state, Op::create(builder, location(), std::forward<Arguments>(arguments)...));
  }
  /// Returns a float attribute, for factors and epsilons.
  mlir::FloatAttr f32(double value) const;
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape) const;
  ModelState *model() const { return state; }
  /// Returns the entry that the operands belong to.
  EntryState &entry() const { return *state->entryOf(block); }

private:
  void check(std::initializer_list<const ModelValue *> operands);
  mlir::Location location() const { return state->nameLocation(name); }

  ModelState *state = nullptr;
  std::string name;
  mlir::Block *block = nullptr;
};

/// Returns the type of a valid tensor.
inline mlir::RankedTensorType typeOf(const Tensor &tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.value().getType());
}

/// Returns whether the operation can be created and a tensor is [t, w]; records an error if only
/// the latter is false.
bool expectRows(OperationSite &site, const Tensor &tensor);

/// Prints a shape for messages, [?, 12, 32].
std::string printSizes(llvm::ArrayRef<int64_t> shape);

} // namespace heddle

#endif // HEDDLE_FRONTEND_BUILDER_MODELSTATE_H
