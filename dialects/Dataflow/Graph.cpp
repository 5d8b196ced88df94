// SPDX-License-Identifier: Apache-2.0
///
/// Graphs and what stands in them: text and verification.
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Interfaces/FunctionImplementation.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace heddle::dataflow {

// --- graph -----------------------------------------------------------------------------------

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void GraphOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(printer, *this, getArgumentTypes(),
                                                  /*isVariadic=*/false, getResultTypes());
  SmallVector<StringRef> elided{getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                getResAttrsAttrName()};
  if (getMaxLength() == 0) {
    elided.push_back(getMaxLengthAttrName());
  }
  function_interface_impl::printFunctionAttributes(printer, *this, elided);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

/// C1: dense rows of tokens or sequences.
static LogicalResult verifyPortType(GraphOp graph, StringRef kind, unsigned index, Type type) {
  auto buffer = dyn_cast<BufferType>(type);
  if (!buffer || buffer.getRowStride() != 0 ||
      (buffer.getShape().front() != BufferType::kTokens &&
       buffer.getShape().front() != BufferType::kSequences)) {
    return graph.emitOpError("expects ")
           << kind << " #" << index << " to be a dense buffer of tokens or sequences, got " << type;
  }
  return success();
}

/// C3: a name that is not in `names` yet.
static LogicalResult verifyPortName(GraphOp graph, StringRef kind, unsigned index, Attribute name,
                                    llvm::StringSet<> &names) {
  auto text = dyn_cast_or_null<StringAttr>(name);
  if (!text || text.empty()) {
    return graph.emitOpError("expects a 'dataflow.name' of ")
           << kind << " #" << index << ", got none";
  }
  if (!names.insert(text.getValue()).second) {
    return graph.emitOpError("expects distinct names, got '")
           << text.getValue() << "' again at " << kind << " #" << index;
  }
  return success();
}

LogicalResult GraphOp::verify() {
  llvm::StringSet<> argumentNames;
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (failed(verifyPortType(*this, "argument", index, type)) ||
        failed(verifyPortName(*this, "argument", index, getArgAttr(index, "dataflow.name"),
                              argumentNames))) {
      return failure();
    }
    // C4
    auto limit = getArgAttrOfType<IntegerAttr>(index, "dataflow.limit");
    if (cast<BufferType>(type).getElementType().isInteger(32) &&
        (!limit || !limit.getValue().isStrictlyPositive())) {
      InFlightDiagnostic error = emitOpError("expects a 'dataflow.limit' above 0 of argument #")
                                 << index << ", got ";
      return limit ? error << limit : error << "none";
    }
  }
  llvm::StringSet<> resultNames;
  for (auto [index, type] : llvm::enumerate(getResultTypes())) {
    if (failed(verifyPortType(*this, "result", index, type)) ||
        failed(verifyPortName(*this, "result", index, getResultAttr(index, "dataflow.name"),
                              resultNames))) {
      return failure();
    }
  }
  // C2
  auto output = cast<OutputOp>(getBody().front().getTerminator());
  if (output.getOperandTypes() != TypeRange(getResultTypes())) {
    return output.emitOpError("expects operands of the graph's result types (")
           << getResultTypes() << "), got (" << output.getOperandTypes() << ")";
  }
  return success();
}

// --- what stands in a graph ------------------------------------------------------------------

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  Operation *found = symbolTable.lookupNearestSymbolFrom(*this, getParameterAttr());
  auto parameter = dyn_cast_or_null<transformer::ParameterOp>(found);
  if (!parameter) {
    InFlightDiagnostic error = emitOpError("expects '")
                               << getParameterAttr() << "' to be a 'transformer.parameter', got ";
    return found ? error << "'" << found->getName() << "'" : error << "no such symbol";
  }
  RankedTensorType tensor = parameter.getTensorType();
  if (getType() != BufferType::get(getContext(), tensor.getShape(), tensor.getElementType(), 0)) {
    InFlightDiagnostic error = emitOpError("expects the type of parameter '")
                               << getParameterAttr() << "', " << tensor << ", got " << getType();
    error.attachNote(parameter.getLoc()) << "the parameter is defined here";
    return error;
  }
  return success();
}

LogicalResult ColumnsOp::verify() {
  BufferType source = getSource().getType();
  BufferType result = getType();
  // C1
  int64_t first = getFirstAttr().getInt();
  if (source.getShape().size() != 2 || source.getWidth() < 0 || result.getShape().size() != 2 ||
      result.getWidth() < 0) {
    return emitOpError("expects buffers of rows [rows, width], got ")
           << source << " and " << result;
  }
  if (first < 0 || result.getWidth() > source.getWidth() ||
      first > source.getWidth() - result.getWidth()) {
    return emitOpError("expects columns within the source's ")
           << source.getWidth() << ", got " << result.getWidth() << " from " << first;
  }
  // C2
  if (source.getShape().front() != result.getShape().front() ||
      source.getElementType() != result.getElementType() ||
      source.getRowElements() != result.getRowElements()) {
    return emitOpError("expects the source's rows, element type and row stride ")
           << source.getRowElements() << ", got " << result << " from " << source;
  }
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  Operation *found = symbolTable.lookupNearestSymbolFrom(*this, getKernelAttr());
  auto kernel = dyn_cast_or_null<KernelOp>(found);
  if (!kernel) {
    InFlightDiagnostic error = emitOpError("expects '")
                               << getKernelAttr() << "' to be a 'dataflow.kernel', got ";
    return found ? error << "'" << found->getName() << "'" : error << "no such symbol";
  }
  // C2
  auto type = FunctionType::get(getContext(), getOperandTypes(), getType());
  if (type != kernel.getKernelType()) {
    InFlightDiagnostic error = emitOpError("expects the type of kernel '")
                               << getKernelAttr() << "', " << kernel.getKernelType() << ", got "
                               << type;
    error.attachNote(kernel.getLoc()) << "the kernel is defined here";
    return error;
  }
  return success();
}

} // namespace heddle::dataflow
