// SPDX-License-Identifier: Apache-2.0
///
/// Looks parameters up and compares their shapes.
#include "dialects/Transformer/ParameterChecks.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle::transformer {

std::string printShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      shape, stream,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size)) {
          stream << '?';
        } else {
          stream << size;
        }
      },
      "x");
  return text;
}

ParameterOp lookUpParameter(Operation *user, StringRef role, FlatSymbolRefAttr symbol,
                            SymbolTableCollection &symbolTable) {
  Operation *found = symbolTable.lookupNearestSymbolFrom(user, symbol);
  if (auto parameter = dyn_cast_or_null<ParameterOp>(found)) {
    return parameter;
  }
  InFlightDiagnostic error = user->emitOpError("expects ")
                             << role << " '" << symbol << "' to be a parameter, got ";
  if (found) {
    error << "'" << found->getName() << "'";
    error.attachNote(found->getLoc()) << "the symbol is defined here";
  } else {
    error << "no such symbol";
  }
  return nullptr;
}

LogicalResult verifyParameterShape(Operation *user, StringRef role, FlatSymbolRefAttr symbol,
                                   ArrayRef<int64_t> expected, SymbolTableCollection &symbolTable) {
  ParameterOp parameter = lookUpParameter(user, role, symbol, symbolTable);
  if (!parameter) {
    return failure();
  }
  if (!parameter.getTensorType().getElementType().isF32()) {
    return user->emitOpError("expects ")
           << role << " '" << symbol << "' of f32, got " << parameter.getTensorType();
  }
  ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  if (shape == expected) {
    return success();
  }
  InFlightDiagnostic error = user->emitOpError("expects ")
                             << role << " '" << symbol << "' of shape " << printShape(expected)
                             << ", got " << printShape(shape);
  error.attachNote(parameter.getLoc()) << "the parameter is defined here";
  return error;
}

LogicalResult verifyLinearMap(Operation *user, FlatSymbolRefAttr weight, FlatSymbolRefAttr bias,
                              int64_t inputs, int64_t outputs, SymbolTableCollection &symbolTable) {
  if (failed(verifyParameterShape(user, "weight", weight, {outputs, inputs}, symbolTable))) {
    return failure();
  }
  return bias ? verifyParameterShape(user, "bias", bias, {outputs}, symbolTable) : success();
}

LogicalResult verifyTable(Operation *user, FlatSymbolRefAttr symbol, int64_t width,
                          SymbolTableCollection &symbolTable) {
  ParameterOp parameter = lookUpParameter(user, "table", symbol, symbolTable);
  if (!parameter) {
    return failure();
  }
  ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  if (shape.size() == 2 && shape[1] == width) {
    return success();
  }
  InFlightDiagnostic error = user->emitOpError("expects table '")
                             << symbol << "' of rank 2 and width " << width << ", got shape "
                             << printShape(shape);
  error.attachNote(parameter.getLoc()) << "the parameter is defined here";
  return error;
}

LogicalResult verifyDistanceTable(Operation *user, FlatSymbolRefAttr symbol, int64_t heads,
                                  SymbolTableCollection &symbolTable) {
  ParameterOp parameter = lookUpParameter(user, "table", symbol, symbolTable);
  if (!parameter) {
    return failure();
  }
  ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  if (shape.size() == 2 && shape[0] == heads && shape[1] % 2 == 1) {
    if (shape[1] / 2 <= mostDistance) {
      return success();
    }
    InFlightDiagnostic error = user->emitOpError("expects table '")
                               << symbol << "' of distances up to 2^20, got " << shape[1] / 2;
    error.attachNote(parameter.getLoc()) << "the parameter is defined here";
    return error;
  }
  InFlightDiagnostic error = user->emitOpError("expects table '")
                             << symbol << "' of " << heads
                             << " heads and an odd number of distances, got shape "
                             << printShape(shape);
  error.attachNote(parameter.getLoc()) << "the parameter is defined here";
  return error;
}

} // namespace heddle::transformer
