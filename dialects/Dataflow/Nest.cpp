// SPDX-License-Identifier: Apache-2.0
///
/// The axes of a loop nest: reading them and checking them against the buffers.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::dataflow {

unsigned NestAttr::getNumInputs() const {
  StringRef inputs = getAxes().getValue().split("->").first;
  return inputs.empty() ? 0 : inputs.count(',') + 1;
}

StringRef NestAttr::getInputAxes(unsigned i) const {
  StringRef rest = getAxes().getValue().split("->").first;
  for (unsigned skipped = 0; skipped < i; ++skipped) {
    rest = rest.split(',').second;
  }
  return rest.split(',').first;
}

/// The axes of one operand: distinct lower-case letters, one for each dimension, of which t and k
/// are run-time sizes and all others have the size of `sizes`.
static LogicalResult verifyAxes(function_ref<InFlightDiagnostic()> emitError, const Twine &name,
                                StringRef axes, BufferType buffer,
                                llvm::SmallDenseMap<char, int64_t> &sizes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!llvm::isLower(axes[i]) || axes.find(axes[i], i + 1) != StringRef::npos) {
      return emitError() << "expects axes that are distinct lower-case letters, got '" << axes
                         << "'";
    }
  }
  if (!buffer.getElementType().isF32() || axes.size() != buffer.getShape().size()) {
    return emitError() << "expects " << name << " of f32 with axes '" << axes << "', got "
                       << buffer;
  }
  for (auto [axis, size] : llvm::zip_equal(axes, buffer.getShape())) {
    bool isRow = axis == 't' || axis == 'k';
    if (isRow != (size < 0)) {
      return emitError() << "expects axis '" << axis << "' to be a "
                         << (isRow ? "run-time" : "constant") << " size, got " << buffer;
    }
    int64_t known = sizes.try_emplace(axis, size).first->second;
    if (!isRow && known != size) {
      return emitError() << "expects axis '" << axis << "' to have one size, got " << known
                         << " and " << size;
    }
  }
  return success();
}

LogicalResult NestAttr::verifyBuffers(function_ref<InFlightDiagnostic()> emitError,
                                      ArrayRef<BufferType> inputs, BufferType result) const {
  StringRef axes = getAxes().getValue();
  if (axes.count("->") != 1) {
    return emitError() << "expects axes 'axes,...->axes', got '" << axes << "'";
  }
  llvm::SmallDenseMap<char, int64_t> sizes;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (failed(
            verifyAxes(emitError, "input #" + Twine(index), getInputAxes(index), input, sizes))) {
      return failure();
    }
  }
  if (failed(verifyAxes(emitError, "a result", getResultAxes(), result, sizes))) {
    return failure();
  }
  char rowAxis = sizes.contains('t') ? 't' : 'k';
  size_t row = getResultAxes().find(rowAxis);
  if (row == StringRef::npos || result.getShape()[row] == BufferType::kLongest) {
    return emitError() << "expects the row axis '" << rowAxis
                       << "' in the result, of tokens or sequences, got '" << axes << "' and "
                       << result;
  }
  // Tokens and keys of sequences mean nothing to a row that is a sequence.
  auto uses = [&](int64_t symbol) {
    auto has = [symbol](BufferType buffer) { return buffer.hasSymbol(symbol); };
    return has(result) || llvm::any_of(inputs, has);
  };
  if (uses(BufferType::kSequences) && (uses(BufferType::kTokens) || uses(BufferType::kLongest) ||
                                       (sizes.contains('t') && sizes.contains('k')))) {
    return emitError() << "expects sequences as the only run-time size, of one axis, got '" << axes
                       << "' and " << result;
  }
  if (getReduction() == ReductionKind::Softmax &&
      (getResultAxes().size() < 2 || getResultAxes().back() == rowAxis)) {
    return emitError() << "expects a softmax over the last axis of several, not '" << rowAxis
                       << "', got '" << axes << "'";
  }
  if (getHidden() && !(sizes.contains('t') && sizes.contains('k'))) {
    return emitError() << "expects axes 't' and 'k' with 'hidden', got '" << axes << "'";
  }
  return success();
}

} // namespace heddle::dataflow
