// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products on the emulated GPU: operands, expected results, and code.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H

#include "compiler/Parameters/Precision.h"
#include "tests/EmulatedCompiler/LaunchedKernel.h"

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// The parameters of a product: `rows` rows of k elements, `stride` apart, times n columns of
/// weights, plus a bias and a residual. Each of several groups has so many elements and columns.
struct ProductShape {
  int64_t n, k, rows;
  int64_t stride = 0;
  /// Whether weights are bf16; then rows may be rounded to bf16 too.
  bool isBf16 = false;
  bool roundsRows = false;
  /// The precision of products with f32 weights.
  FloatProducts products = FloatProducts::Exact;
  int64_t groups = 1;

  int64_t columns() const { return n * groups; }
  int64_t rowElements() const { return stride == 0 ? k * groups : stride; }
  int64_t panels() const { return groups * ((n + panelColumns - 1) / panelColumns); }
  static constexpr int64_t panelColumns = 48;
};

/// The expected results of a product [rowCount, n], to which a bias and a residual are added, and
/// whose columns are in groups.
class ExpectedProduct {
public:
  ExpectedProduct(int64_t rowCount, int64_t n, int64_t groups = 1)
      : rowCount(rowCount), n(n), ofGroup(n / groups) {}
  virtual ~ExpectedProduct() = default;

  const int64_t rowCount, n, ofGroup;
  std::vector<float> bias, residual;

  float expected(int64_t row, int64_t column) const;
  /// Returns how many elements of a result differ from the expected ones.
  int64_t countDifferent(std::span<const float> values) const;
  /// Expects all results of a launch to be right, and all other memory to be unchanged.
  void expectRight(const KernelLaunch &launch, const KernelOutcome &result) const;

protected:
  /// Returns the panel of a column.
  int64_t panelOf(int64_t column) const;
  /// Fills `values` with `count` random numbers from -1 to 1.
  static void fill(std::vector<float> &values, int64_t count, std::mt19937 &random);

private:
  virtual float sumOf(int64_t row, int64_t column) const = 0;
};

/// Random operands of a product, and its expected results: sums over k step by step, with an FMA
/// each, or on tensor cores over as many steps at a time as the emulated instructions.
struct ProductOperands : ExpectedProduct {
  ProductShape shape;
  std::vector<float> rows, weights;

  ProductOperands(const ProductShape &shape, uint32_t seed);
  /// Return the exact sum, and the sum of the magnitudes of its products.
  double exactSum(int64_t row, int64_t column) const;
  double sumOfMagnitudes(int64_t row, int64_t column) const;
  /// Returns the weights in panels of [k / together][columns][together].
  std::vector<std::byte> panels(int64_t together) const;

private:
  float sumOf(int64_t row, int64_t column) const override;
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
  bool isByWarpgroups;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDPRODUCT_H
