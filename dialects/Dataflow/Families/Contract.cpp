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

} // namespace heddle::dataflow
