// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products on the emulated GPU: operands, what they must give, and the code.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H

#include "compiler/Parameters/Precision.h"
#include "tests/EmulatedCompiler/LaunchedKernel.h"

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

/// The code of a product for a GPU.
class CompiledProduct {
public:
  CompiledProduct(const ProductShape &shape, const std::string &target = "sm_80");

  mlir::LLVM::LLVMFuncOp body() const { return kernel.body(); }
  KernelLaunch launchOfAll() const { return kernel.launchOf(shape.rows, shape.panels()); }
  KernelOutcome run(const ProductOperands &operands, const KernelLaunch &launch) const;

private:
  ProductShape shape;
  CompiledKernel kernel;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H
