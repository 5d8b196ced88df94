// SPDX-License-Identifier: Apache-2.0
///
/// Products of integers on the emulated GPU: operands, expected results, and code.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDINTEGERS_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDINTEGERS_H

#include "formats/Checkpoint/QuantizedTensor.h"
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// The parameters of a product: `rows` rows of k elements, `stride` apart, times n columns of
/// weights of a quantised type, for example "i8, row", plus a bias and a residual.
struct IntegerShape {
  int64_t n, k, rows;
  std::string type;
  int64_t stride = 0;

  int64_t rowElements() const { return stride == 0 ? k : stride; }
  int64_t panels() const {
    return (n + ProductShape::panelColumns - 1) / ProductShape::panelColumns;
  }
  /// The type of weights as IR has it.
  std::string element() const { return "!transformer.quantized<" + type + ">"; }
};

/// Random operands of a product, and its expected results as the description of #dataflow.contract
/// defines them: rows are quantised, products of codes are added without error, and the sums are
/// scaled and added in the order of groups.
struct IntegerOperands : ExpectedProduct {
  IntegerShape shape;
  /// Elements that share a scale, groups of a row, and whether codes are of 4 bits.
  int64_t shared, groups;
  bool has4Bits;
  std::vector<float> rows;
  CodeRows weights;
  /// The weights as kernels read them.
  std::vector<std::byte> panels;

  IntegerOperands(const IntegerShape &shape, uint32_t seed);

private:
  float sumOf(int64_t row, int64_t column) const override;
};

/// The code of a product for a GPU.
class CompiledIntegers {
public:
  CompiledIntegers(const IntegerShape &shape, const std::string &target = "sm_80");

  mlir::LLVM::LLVMFuncOp body() const { return kernel.body(); }
  KernelLaunch launchOfAll() const { return kernel.launchOf(shape.rows, shape.panels()); }
  KernelOutcome run(const IntegerOperands &operands, const KernelLaunch &launch) const;

private:
  IntegerShape shape;
  CompiledKernel kernel;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDINTEGERS_H
