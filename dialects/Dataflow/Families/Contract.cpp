// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products with weights.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::dataflow {

int64_t elementsTogether(Arithmetic arithmetic) {
  switch (arithmetic) {
  case Arithmetic::F32:
    return 1;
  case Arithmetic::Integers:
    return transformer::codesTogether;
  case Arithmetic::Bf16:
    return transformer::bf16Together;
  }
  llvm_unreachable("every arithmetic is handled");
}

StringRef ContractAttr::getNoun() const { return "a product"; }

std::string ContractAttr::getSizes(FunctionType) const {
  std::string groups = getGroups() > 1 ? std::to_string(getGroups()) + "x" : "";
  std::string arithmetic =
      getArithmetic() == Arithmetic::F32 ? "" : ("_" + stringifyArithmetic(getArithmetic())).str();
  return groups + llvm::formatv("{0}x{1}{2}", getN(), getK(), arithmetic).str();
}

LogicalResult ContractAttr::verifyNumbers(EmitError emitError) const {
  return verifyPositive(*this, emitError, {getN(), getK(), getGroups()});
}

int64_t ContractAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> ContractAttr::getInputs(FunctionType type) const {
  KernelInput rows, weights;
  rows.shape = {rowsOf(type), multiplySizes(getGroups(), getK())};
  weights.role = KernelInput::Role::Matrix;
  weights.shape = {multiplySizes(getGroups(), getN()), getK()};
  weights.isDense = true;
  weights.groups = getGroups();
  weights.arithmetic = rows.arithmetic = getArithmetic();
  return {rows, weights};
}

SmallVector<KernelResult> ContractAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getGroups(), getN())}}};
}

LogicalResult ContractAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  auto weights = cast<BufferType>(type.getInput(1));
  if (getArithmetic() == Arithmetic::F32) {
    return success();
  }
  if (getArithmetic() == Arithmetic::Bf16) {
    return weights.getElementType().isBF16()
               ? success()
               : emitError() << "expects weights in bf16 for products of bf16, got " << weights;
  }
  auto quantized = dyn_cast<transformer::QuantizedType>(weights.getElementType());
  if (quantized && quantized.isForIntegers(getK())) {
    return success();
  }
  return emitError() << "expects weights whose rows, or every so many elements of them, a multiple "
                        "of 4, share a scale and no minimum, at most "
                     << transformer::mostIntegersInSum << " of them, for products of integers, got "
                     << weights;
}

Division ContractAttr::getDivision(FunctionType) const {
  return {.columns = Division::Columns::Elements,
          .count = getGroups(),
          .size = getN(),
          .rowsShareWork = true};
}

Flops ContractAttr::getFlops(FunctionType) const {
  uint64_t inGroup = uint64_t{2} * getN() * getK();
  return {.perRow = inGroup * getGroups()};
}

EpilogueSupport ContractAttr::getEpilogueSupport() const { return EpilogueSupport::MathsAndNorm; }

std::optional<unsigned> ContractAttr::getEpilogueResult() const { return 0; }

bool ContractAttr::hidesLaterKeys() const { return false; }

std::optional<double> ContractAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                             int64_t column) const {
  switch (getArithmetic()) {
  case Arithmetic::Integers:
    return multiplyIntegers(run, row, column);
  case Arithmetic::Bf16:
    return multiplyBf16(run, row, column);
  case Arithmetic::F32:
    break;
  }
  int64_t first = column / getN() * getK();
  double sum = 0;
  for (int64_t k = 0; k < getK(); ++k) {
    sum += run.at(0, row, first + k) * run.at(1, column, k);
  }
  return sum;
}

namespace {
/// The parameters with which the elements of a row are quantised, in f32 as kernels compute them.
struct RowScale {
  float scale = 0, inverse = 0, zero = 0;

  /// The range of codes.
  float lowest = 0, highest = 255;

  static RowScale of(float least, float largest, bool isSigned) {
    RowScale scale;
    if (isSigned) {
      scale.highest = 127;
      scale.lowest = -scale.highest;
      scale.scale = std::max(-least, largest) / scale.highest;
    } else {
      scale.scale = largest / scale.highest - least / scale.highest;
    }
    if (scale.scale < std::numeric_limits<float>::min()) {
      return {};
    }
    scale.inverse = 1 / scale.scale;
    scale.zero = isSigned ? 0 : std::nearbyint(-least * scale.inverse);
    return scale;
  }
  /// Returns the code of a number minus the code of zero.
  float codeOf(float value) const {
    return std::clamp(std::nearbyint(value * inverse) + zero, lowest, highest) - zero;
  }
};
} // namespace

double ContractAttr::multiplyIntegers(const KernelRun &run, int64_t row, int64_t column) const {
  auto weights = cast<BufferType>(run.type.getInput(1));
  auto quantized = cast<transformer::QuantizedType>(weights.getElementType());
  const int64_t group = quantized.getGroupOf(getK());
  const int64_t first = column / getN() * getK();
  auto element = [&](int64_t k) { return static_cast<float>(run.at(0, row, first + k)); };
  double sum = 0;
  for (int64_t begin = 0; begin < getK(); begin += group) {
    const int64_t end = std::min(begin + group, getK());
    float least = 0, largest = 0;
    for (int64_t k = begin; k < end; ++k) {
      if (!std::isfinite(element(k))) {
        return std::numeric_limits<double>::quiet_NaN();
      }
      least = std::min(least, element(k));
      largest = std::max(largest, element(k));
    }
    const RowScale scale = RowScale::of(least, largest, quantized.hasZeros());
    double codes = 0;
    for (int64_t k = begin; k < end; ++k) {
      codes += scale.codeOf(element(k)) * run.at(1, column, k);
    }
    sum += codes * scale.scale;
  }
  return sum;
}

double ContractAttr::multiplyBf16(const KernelRun &run, int64_t row, int64_t column) const {
  const int64_t first = column / getN() * getK();
  double sum = 0;
  for (int64_t k = 0; k < getK(); ++k) {
    sum += nearestBf16(static_cast<float>(run.at(0, row, first + k))) * run.at(1, column, k);
  }
  return sum;
}

// --- contract_chosen -------------------------------------------------------------------------

StringRef ContractChosenAttr::getNoun() const { return "a product with chosen weights"; }

std::string ContractChosenAttr::getSizes(FunctionType type) const {
  std::optional<RowSpace> rows = rowSpaceOf(rowsOf(type));
  bool isOfChoices = rows && rows->isSplit() && spaceOfInput(type, 0) != *rows;
  return llvm::formatv("{0}of{1}x{2}{3}{4}", getGroups(), getN(), getK(),
                       isOfChoices ? "_by" + std::to_string(rows->parts()) : "",
                       getBiased() ? "_biased" : "")
      .str();
}

LogicalResult ContractChosenAttr::verifyNumbers(EmitError emitError) const {
  return verifyPositive(*this, emitError, {getN(), getK(), getGroups()});
}

int64_t ContractChosenAttr::getNumInputs() const { return getBiased() ? 5 : 4; }

SmallVector<KernelInput> ContractChosenAttr::getInputs(FunctionType type) const {
  int64_t read = RowDimension{spaceOfInput(type, 0)}.number();
  SmallVector<KernelInput> inputs = {
      {.role = KernelInput::Role::Routed, .shape = SmallVector<int64_t>{read, getK()}},
      {.role = KernelInput::Role::Matrix,
       .shape = SmallVector<int64_t>{multiplySizes(getGroups(), getN()), getK()},
       .isDense = true,
       .groups = getGroups()},
      {.role = KernelInput::Role::Chosen,
       .shape = SmallVector<int64_t>{rowsOf(type)},
       .isInteger = true,
       .isDense = true,
       .limit = getGroups()},
      {.role = KernelInput::Role::Order,
       .shape = SmallVector<int64_t>{rowsOf(type)},
       .isInteger = true,
       .isDense = true}};
  if (getBiased()) {
    inputs.push_back({.role = KernelInput::Role::Weights,
                      .shape = SmallVector<int64_t>{multiplySizes(getGroups(), getN())},
                      .isDense = true});
  }
  return inputs;
}

SmallVector<KernelResult> ContractChosenAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), getN()}}};
}

LogicalResult ContractChosenAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  RowSpace read = spaceOfInput(type, 0);
  std::optional<RowSpace> rows = rowSpaceOf(rowsOf(type));
  if (rows && *rows != read && rows->base() != read) {
    return emitError() << "expects rows of the result, or those whose choices they are, got "
                       << read.text() << " for " << rows->text();
  }
  return success();
}

Division ContractChosenAttr::getDivision(FunctionType) const {
  return {
      .columns = Division::Columns::Elements, .count = 1, .size = getN(), .rowsShareWork = true};
}

Flops ContractChosenAttr::getFlops(FunctionType) const {
  return {.perRow = uint64_t{2} * getN() * getK()};
}

// A norm would read rows of the result while other work items still write parts of them.
EpilogueSupport ContractChosenAttr::getEpilogueSupport() const { return EpilogueSupport::Maths; }

std::optional<unsigned> ContractChosenAttr::getEpilogueResult() const { return 0; }

bool ContractChosenAttr::hidesLaterKeys() const { return false; }

std::optional<double> ContractChosenAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                                   int64_t column) const {
  RowSpace rows = *rowSpaceOf(rowsOf(run.type));
  int64_t from = rows == spaceOfInput(run.type, 0) ? row : row / rows.parts();
  auto group = static_cast<int64_t>(run.at(2, row));
  double sum = getBiased() ? run.at(4, group * getN() + column) : 0;
  for (int64_t k = 0; k < getK(); ++k) {
    sum += run.at(0, from, k) * run.at(1, group * getN() + column, k);
  }
  return sum;
}

} // namespace heddle::dataflow
