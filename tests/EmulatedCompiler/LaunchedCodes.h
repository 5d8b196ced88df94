// SPDX-License-Identifier: Apache-2.0
///
/// Products with quantised weights on the emulated GPU: operands, expected results, and code.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDCODES_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDCODES_H

#include "formats/Checkpoint/QuantizedTensor.h"
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Random codes of a matrix [rows, k] of a quantised type, for example "i8, row".
class RandomCodes {
public:
  RandomCodes(const std::string &type, int64_t rows, int64_t k, std::mt19937 &random);

  /// Elements that share a scale, and groups of a row.
  int64_t shared = 0, groups = 0;
  /// Whether codes have 4 bits and a code of zero.
  bool hasZeros = false;
  CodeRows own;

  /// Returns an element in f32.
  float number(int64_t row, int64_t step) const;
  /// Returns panels as kernels read them; the rows are divided into as many groups of columns.
  std::vector<std::byte> panels(int64_t groupsOfColumns, int64_t together) const;
  /// Returns a type as IR has it.
  static std::string nameOf(const std::string &type) {
    return "!transformer.quantized<" + type + ">";
  }

private:
  std::string type;
  int64_t k;
};

/// The parameters of a product: `rows` rows of k elements, `stride` apart, times n columns of
/// weights of a quantised type, plus a bias and a residual. Each of several groups has so many
/// elements and columns.
struct CodesShape {
  int64_t n, k, rows;
  std::string type;
  int64_t stride = 0;
  /// Whether rows are multiplied in f32 with dequantised weights; integers otherwise.
  bool dequantises = false;
  int64_t groups = 1;

  int64_t columns() const { return n * groups; }
  int64_t rowElements() const { return stride == 0 ? k * groups : stride; }
  int64_t panels() const {
    return groups * ((n + ProductShape::panelColumns - 1) / ProductShape::panelColumns);
  }
  int64_t together() const { return dequantises ? 1 : 4; }
};

/// Random operands of a product, and its expected results as the description of #dataflow.contract
/// defines them. In f32, an FMA for each step of k; with integers, rows are quantised, products of
/// codes are added without error, and the sums are scaled and added in the order of groups.
struct CodesOperands : ExpectedProduct {
  CodesShape shape;
  std::vector<float> rows;
  RandomCodes weights;
  /// The weights as kernels read them.
  std::vector<std::byte> panels;

  CodesOperands(const CodesShape &shape, uint32_t seed);

private:
  CodesOperands(const CodesShape &shape, std::mt19937 random);
  float sumOf(int64_t row, int64_t column) const override;
  float sumOfIntegers(int64_t row, int64_t column) const;
};

/// The code of a product for a GPU.
class CompiledCodes {
public:
  CompiledCodes(const CodesShape &shape, const std::string &target = "sm_80");

  mlir::LLVM::LLVMFuncOp body() const { return kernel.body(); }
  KernelLaunch launchOfAll() const { return kernel.launchOf(shape.rows, shape.panels()); }
  KernelOutcome run(const CodesOperands &operands, const KernelLaunch &launch) const;

private:
  CodesShape shape;
  CompiledKernel kernel;
};

/// Expects all elements of a product to be right, and blocks to compute it.
void expectRight(const CodesShape &shape, uint32_t seed, const std::string &target = "sm_80");
/// Expects the same for any order of threads.
void expectRightInAnyOrder(const CodesShape &shape);

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDCODES_H
