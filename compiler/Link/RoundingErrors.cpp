// SPDX-License-Identifier: Apache-2.0
///
/// Compares stored parameters with those that they were converted from.
#include "compiler/Link/RoundingErrors.h"

#include "compiler/Link/ParameterValues.h"
#include "compiler/Parameters/LayerPrecisions.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

using namespace mlir;

namespace heddle {

static std::string describe(Type element) {
  auto quantized = dyn_cast<transformer::QuantizedType>(element);
  return quantized ? quantized.describe() : std::string(infoOf(elementTypeOf(element)).name);
}

static unsigned bitsOf(Type element) {
  auto quantized = dyn_cast<transformer::QuantizedType>(element);
  return quantized ? quantized.getCodes().getIntOrFloatBitWidth() : element.getIntOrFloatBitWidth();
}

/// Returns the element type of a matrix with twice the bits: codes of 8 with a scale per row, bf16
/// or f32.
static Type finerElement(Type element) {
  MLIRContext *context = element.getContext();
  Type f32 = Float32Type::get(context);
  switch (bitsOf(element)) {
  case 4:
    return transformer::QuantizedType::get(context, IntegerType::get(context, 8), /*group=*/0, f32);
  case 8:
    return BFloat16Type::get(context);
  default:
    return f32;
  }
}

/// Returns the error of a parameter relative to the one that it was converted from.
static Result<double> relativeError(ParameterEvaluator &evaluator, transformer::ParameterOp origin,
                                    transformer::ParameterOp parameter) {
  double difference = 0, size = 0;
  const int64_t rows = origin.getTensorType().getDimSize(0);
  const int64_t slice = evaluator.rowsOfSlice(parameter);
  for (int64_t first = 0; first < rows; first += slice) {
    const int64_t count = std::min(slice, rows - first);
    HEDDLE_ASSIGN(const std::vector<float> exact, evaluator.evaluateRows(origin, first, count));
    HEDDLE_ASSIGN(const std::vector<float> rounded,
                  evaluator.evaluateRows(parameter, first, count));
    for (size_t i = 0; i < exact.size(); ++i) {
      const double lost = static_cast<double>(exact[i]) - rounded[i];
      difference += lost * lost;
      size += static_cast<double>(exact[i]) * exact[i];
    }
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

Result<std::vector<RoundingError>> roundingErrors(ModuleOp module, const ParameterSource &source) {
  std::vector<RoundingError> errors;
  SymbolTable symbols(module);
  ParameterEvaluator evaluator(module, source);
  for (auto parameter : module.getOps<transformer::ParameterOp>()) {
    transformer::ParameterExpressionAttr expression = parameter.getExpressionAttr();
    RankedTensorType type = parameter.getTensorType();
    const bool isRounded =
        expression && (expression.getKind() == transformer::ExpressionKind::Convert ||
                       expression.getKind() == transformer::ExpressionKind::Compensate);
    if (!isRounded || type.getElementType().isF32()) {
      continue;
    }
    auto origin = symbols.lookup<transformer::ParameterOp>(expression.getOperands()[0].getAttr());
    HEDDLE_ASSIGN(const double relative, relativeError(evaluator, origin, parameter));
    constexpr int64_t bf16Bytes = 2;
    RoundingError &error = errors.emplace_back();
    error.where = checkpointName(parameter.getLoc());
    error.stored = describe(type.getElementType());
    error.relative = relative;
    error.bits = bitsOf(type.getElementType());
    error.bytes = storedAs(type.getElementType(), type.getShape()).bytes();
    error.bytesInBf16 = type.getNumElements() * bf16Bytes;
    error.bytesInFiner = storedAs(finerElement(type.getElementType()), type.getShape()).bytes();
    for (transformer::ParameterOp tensor : matricesOf(symbols, origin)) {
      error.tensors.push_back(tensor.getSource()->str());
    }
  }
  // NaN sorts first; equal errors by name.
  const auto key = [](const RoundingError &error) {
    const double relative =
        std::isnan(error.relative) ? std::numeric_limits<double>::infinity() : error.relative;
    return std::pair(-relative, llvm::StringRef(error.where));
  };
  llvm::sort(errors,
             [&](const RoundingError &a, const RoundingError &b) { return key(a) < key(b); });
  return errors;
}

} // namespace heddle
