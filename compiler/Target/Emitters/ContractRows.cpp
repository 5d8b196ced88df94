// SPDX-License-Identifier: Apache-2.0
///
/// Copies rows that conflict in the cache, and chooses how rows are prepared by the arithmetic of
/// their product.
#include "compiler/Target/Emitters/ContractRows.h"

#include "compiler/Target/Emitters/ContractBf16.h"
#include "compiler/Target/Emitters/ContractIntegers.h"

using namespace mlir;

namespace heddle {

// --- rows in f32 -----------------------------------------------------------------------------

// Tiles of at most this many rows are as fast when rows share sets of the first-level cache.
static constexpr int64_t kFewRows = 4;

SpreadRows SpreadRows::of(VectorCode &code, const KernelBody &body,
                          dataflow::ContractAttr computes) {
  // The frame has memory for rows of this many elements; copies pay off from this many panels on.
  constexpr int64_t mostElements = 4096, fewestPanels = 8;
  const int64_t elements = body.kernel.getOperandBuffer(0).getRowElements();
  const int64_t width = computes.getGroups() * computes.getK();
  const int64_t panels =
      computes.getGroups() * llvm::divideCeilSigned(computes.getN(), code.target.panelColumns);
  SpreadRows spread;
  if (elements * int64_t(sizeof(float)) % kSharingBytes != 0 || width % code.lanes != 0 ||
      width > mostElements || panels < fewestPanels || code.target.tileRows <= kFewRows) {
    return spread;
  }
  spread.width = width;
  spread.copies = code.frame(body.function, code.target.tileRows * spread.stride());
  return spread;
}

int64_t SpreadRows::stride() const {
  return spreadBytes(width * int64_t(sizeof(float))) / int64_t(sizeof(float));
}

OperandRows SpreadRows::rowsOf(VectorCode &code, const OperandRows &rows, Value first,
                               Value last) const {
  if (!copies) {
    return rows;
  }
  Value count = code.subtract(last, first);
  Value isCopied = code.both(code.less(code.integer(kFewRows), count),
                             code.less(count, code.integer(code.target.tileRows + 1)));
  code.when(
      isCopied,
      [&] {
        code.loop(code.integer(0), count, 1, [&](Value number) {
          Value row = code.subtract(code.add(first, number), rows.first);
          Value from = code.at(rows.memory, code.multiply(row, rows.elements));
          Value to = code.at(copies, code.multiply(number, stride()));
          code.loop(code.integer(0), code.integer(width), code.lanes, [&](Value column) {
            code.storeVector(code.loadVector(code.at(from, column)), code.at(to, column));
          });
        });
      },
      [] {});
  return {code.select(isCopied, copies, rows.memory),
          code.select(isCopied, code.integer(stride()), rows.elements),
          code.select(isCopied, first, rows.first)};
}

// --- rows that are prepared --------------------------------------------------------------------

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
