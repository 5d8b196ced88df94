// SPDX-License-Identifier: Apache-2.0
///
/// One matrix product, compiled for the emulated GPU and launched by the functions of its driver.
/// Between both steps a test may change the code.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H

#include "compiler/Parameters/Precision.h"
#include "compiler/Target/Target.h"
#include "heddle/Abi.h"
#include "tests/Emulator/Emulator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// What is multiplied: `rows` rows of k elements, `stride` apart, and n columns of weights. Then a
/// bias and a residual are added.
struct ProductShape {
  int64_t n, k, rows;
  int64_t stride = 0;
  /// Weights of bf16; then rows may be rounded to bf16 too.
  bool isBf16 = false;
  bool roundsRows = false;
  /// What products with weights of f32 may be.
  FloatProducts products = FloatProducts::Exact;

  int64_t rowElements() const { return stride == 0 ? k : stride; }
  int64_t panels() const { return (n + panelColumns - 1) / panelColumns; }
  static constexpr int64_t panelColumns = 48;
};

/// Random operands of a product, and what it must give: the sum goes over k step by step, each an
/// FMA, and where tensor cores add over as many steps at a time as the emulated ones do; then bias
/// and residual.
struct ProductOperands {
  ProductShape shape;
  std::vector<float> rows, weights, bias, residual;

  ProductOperands(const ProductShape &shape, uint32_t seed);
  float expected(int64_t row, int64_t column) const;
  /// The sum without loss, and that of the magnitudes of its products.
  double exactSum(int64_t row, int64_t column) const;
  double sumOfMagnitudes(int64_t row, int64_t column) const;
  /// The weights as they lie in panels.
  std::vector<std::byte> panels() const;

private:
  float sumOf(int64_t row, int64_t column) const;
};

/// The work of a launch, and its shape.
struct ProductLaunch {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
  unsigned blocks = 2;
  unsigned threads = 128;
  unsigned shared = 0;
};

/// A result, or what the emulated GPU says of the kernel; and how it has used banks.
struct ProductResult {
  std::vector<float> values;
  std::string report;
  HeddleBankUses banks;
};

/// The code of a product for a GPU, in the llvm dialect.
class CompiledProduct {
public:
  CompiledProduct(const ProductShape &shape, const std::string &target = "sm_80");

  /// The function that all threads of a block call.
  mlir::LLVM::LLVMFuncOp body() const;
  /// How the manifest has it launched, over all of its work.
  ProductLaunch launchOfAll() const;
  /// Compiles what the code is now, and launches it.
  ProductResult run(const ProductOperands &operands, const ProductLaunch &launch);

private:
  ProductShape shape;
  std::string target;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H
