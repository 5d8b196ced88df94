// SPDX-License-Identifier: Apache-2.0
///
/// A program of the model level with everything that is needed to run it: its weights, and the
/// sequences to run it on. It is stored in two files that heddlec accepts unchanged, FILE.mlir and
/// FILE.safetensors; comments at the top of the first contain the sequences.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TESTPROGRAM_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TESTPROGRAM_H

#include "heddle/Status.h"
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One sequence: the ids of its tokens, those of the second input if the program has one, and the
/// target to decode if the program decodes.
struct Sequence {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;
  std::vector<int32_t> target;
};

struct TestProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Tensors tensors;
  std::vector<Sequence> sequences;
  /// The comments above the program: the seed that made it, and its failure.
  std::vector<std::string> notes;

  /// Returns a copy in the same context.
  TestProgram clone() const;
  /// Returns the entry of that name; null if there is none.
  mlir::func::FuncOp entry(llvm::StringRef name) const;
  /// Returns whether its entries are "encode" and "decode", which a decoder runs.
  bool decodes() const;
  /// Returns the number of operations of all entries that compute something, without weights and
  /// terminators.
  int64_t operations() const;
  /// Returns the program as text, sequences first.
  std::string text() const;
  /// Writes PATH.mlir and PATH.safetensors.
  Status write(const std::string &path) const;
};

/// Returns the registry and context of a test: no threads, all dialects of a compilation.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Parses a program and its sequences. InvalidArgument with MLIR's message.
Result<TestProgram> parseProgram(mlir::MLIRContext &context, std::string_view text,
                                 Tensors tensors);
/// Reads PATH.mlir and PATH.safetensors.
Result<TestProgram> readProgram(mlir::MLIRContext &context, const std::string &path);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TESTPROGRAM_H
