// SPDX-License-Identifier: Apache-2.0
///
/// Chooses how rows are prepared by what their product multiplies.
#include "compiler/Target/Emitters/ContractRows.h"

#include "compiler/Target/Emitters/ContractBf16.h"
#include "compiler/Target/Emitters/ContractIntegers.h"

using namespace mlir;

namespace heddle {

PreparedRows::PreparedRows(dataflow::ContractAttr computes, int64_t bytesOfGroup)
    : k(computes.getK()), groups(computes.getGroups()),
      bytesOfGroup(llvm::alignTo(bytesOfGroup, kLineBytes)) {}

std::unique_ptr<PreparedRows> PreparedRows::of(const VectorCode &code, dataflow::BufferType weights,
                                               dataflow::ContractAttr computes) {
  switch (computes.getArithmetic()) {
  case dataflow::Arithmetic::F32:
    return nullptr;
  case dataflow::Arithmetic::Integers:
    return std::make_unique<QuantizedRows>(weights, computes);
  case dataflow::Arithmetic::Bf16:
    return std::make_unique<RoundedRows>(code.target, computes);
  }
  llvm_unreachable("every arithmetic is handled");
}

int64_t PreparedRows::mostBytes(dataflow::ContractAttr computes) {
  const int64_t ofGroup =
      std::max(QuantizedRows::mostBytes(computes.getK()), RoundedRows::mostBytes(computes.getK()));
  return computes.getGroups() * static_cast<int64_t>(llvm::alignTo(ofGroup, kLineBytes)) +
         kLineBytes;
}

void PreparedRows::emitRow(VectorCode &code, Value from, Value to) const {
  code.loop(code.integer(0), code.integer(groups), 1, [&](Value group) {
    emitGroup(code, code.at(from, code.multiply(group, k)),
              code.bytesAt(to, code.multiply(group, bytesOfGroup)));
  });
}

} // namespace heddle
