// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products with weights.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle::dataflow {

StringRef ContractAttr::getNoun() const { return "a product"; }

std::string ContractAttr::getSizes(FunctionType) const {
  std::string groups = getGroups() > 1 ? std::to_string(getGroups()) + "x" : "";
  return groups + llvm::formatv("{0}x{1}", getN(), getK()).str();
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
  return {rows, weights};
}

SmallVector<KernelResult> ContractAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getGroups(), getN())}}};
}

LogicalResult ContractAttr::verifyOperands(EmitError, FunctionType) const { return success(); }

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
  int64_t first = column / getN() * getK();
  double sum = 0;
  for (int64_t k = 0; k < getK(); ++k) {
    sum += run.at(0, row, first + k) * run.at(1, column, k);
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

// A norm would run over rows of the result while others of them are still written elsewhere.
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
