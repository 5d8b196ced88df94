// SPDX-License-Identifier: Apache-2.0
///
/// A program of the model level with everything that is needed to run it: its weights, and the
/// sequences to run it on. It is kept as two files that heddlec takes as they are, FILE.mlir and
/// FILE.safetensors; comments at the top of the first have the sequences.
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

/// One sequence: the ids of its tokens, those of the second input if the program has one, and what
/// is decoded from it if the program decodes.
struct Sequence {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;
  std::vector<int32_t> target;
};

struct TestProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Tensors tensors;
  std::vector<Sequence> sequences;
  /// What is written above the program: which seed made it, what fails.
  std::vector<std::string> notes;

  /// In the same context.
  TestProgram clone() const;
  /// The entry of that name; null if there is none.
  mlir::func::FuncOp entry(llvm::StringRef name) const;
  /// Whether its entries are "encode" and "decode": then they are run by a decoder.
  bool decodes() const;
  /// Operations of all entries that compute something, without weights and what returns.
  int64_t operations() const;
  /// The program as text, sequences first.
  std::string text() const;
  /// Writes PATH.mlir and PATH.safetensors.
  Status write(const std::string &path) const;
};

/// The registry and context of a test: no threads, all dialects of a compilation.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Parses a program and its sequences. InvalidArgument with what MLIR says.
Result<TestProgram> parseProgram(mlir::MLIRContext &context, std::string_view text,
                                 Tensors tensors);
/// Reads PATH.mlir and PATH.safetensors.
Result<TestProgram> readProgram(mlir::MLIRContext &context, const std::string &path);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_TESTPROGRAM_H
