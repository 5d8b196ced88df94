// SPDX-License-Identifier: Apache-2.0
///
/// Parsers, printers, verifiers and sizes of the memory types: buffers, caches and states.
#include "dialects/Dataflow/Dataflow.h"
#include "heddle/Limits.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

namespace heddle::dataflow {

/// Returns the product of the constant dimensions, or nothing if it exceeds mostElements.
static std::optional<int64_t> multiplyConstants(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape) {
    if (size > 0 && (llvm::MulOverflow(product, size, product) || product > mostElements)) {
      return std::nullopt;
    }
  }
  return product;
}

/// Parses a positive number or a run-time size.
static ParseResult parseDimension(AsmParser &parser, SmallVectorImpl<int64_t> &shape) {
  llvm::SMLoc location = parser.getCurrentLocation();
  int64_t size = 0;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(size); parsed.has_value()) {
    if (failed(*parsed)) {
      return failure();
    }
    if (size <= 0) {
      return parser.emitError(location, "expects a dimension above 0, got ") << size;
    }
  } else {
    FailureOr<RowDimension> dimension = parseRowDimension(parser);
    if (failed(dimension)) {
      return failure();
    }
    size = dimension->number();
  }
  shape.push_back(size);
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  llvm::SMLoc location = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t rowStride = 0;
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseDimension(parser, shape);
      })) {
    return {};
  }
  if (succeeded(parser.parseOptionalKeyword("in"))) {
    llvm::SMLoc strideLocation = parser.getCurrentLocation();
    if (parser.parseInteger(rowStride)) {
      return {};
    }
    // Zero is the C++ value for "no row stride".
    if (rowStride <= 0) {
      parser.emitError(strideLocation, "expects a row stride above 0, got ") << rowStride;
      return {};
    }
  }
  if (parser.parseComma() || parser.parseType(elementType) || parser.parseGreater()) {
    return {};
  }
  auto emitError = [&] { return parser.emitError(location); };
  return getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                    ArrayRef<int64_t>(shape), elementType, rowStride);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShape(), printer.getStream(),
                        [&](int64_t size) { printer << dimensionText(size); });
  printer << ']';
  if (getRowStride() != 0) {
    printer << " in " << getRowStride();
  }
  printer << ", " << getElementType() << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType, int64_t rowStride) {
  // C1
  if (shape.empty() || shape.size() > 4) {
    return emitError() << "expects a buffer of rank 1 to 4, got " << shape.size();
  }
  for (int64_t size : shape) {
    if (size <= 0 && !RowDimension::of(size)) {
      return emitError() << "expects a dimension above 0 or a run-time size, got " << size;
    }
  }
  if (!multiplyConstants(shape)) {
    return emitError() << "expects a product of constant dimensions of at most 2^40, got more";
  }
  // C2
  if (!findElementType(elementType)) {
    return emitError() << "expects elements of " << elementTypeChoices(elementType.getContext())
                       << ", got " << elementType;
  }
  // C3
  if (rowStride != 0) {
    ArrayRef<int64_t> row = shape.drop_front();
    if (row.empty() || llvm::any_of(row, [](int64_t size) { return size < 0; })) {
      return emitError() << "expects a row stride only for rows of constant size, got "
                         << rowStride;
    }
    if (rowStride <= *multiplyConstants(row) || rowStride > mostElements) {
      return emitError() << "expects a row stride above " << *multiplyConstants(row)
                         << " elements, and at most 2^40, got " << rowStride;
    }
  }
  // C4
  const bool isConstant = llvm::all_of(shape, [](int64_t size) { return size > 0; });
  if (isa<transformer::QuantizedType>(elementType) && (!isConstant || rowStride != 0)) {
    return emitError() << "expects constant dimensions and no row stride of quantised elements";
  }
  return success();
}

int64_t BufferType::getConstantElements() const { return *multiplyConstants(getShape()); }

bool BufferType::broadcastsTo(BufferType rows) const {
  ArrayRef<int64_t> shape = getShape();
  return getElementType().isF32() &&
         (shape == rows.getShape() || shape == ArrayRef<int64_t>(rows.getWidth()) ||
          shape == ArrayRef<int64_t>({rows.getShape().front(), 1}) ||
          shape == ArrayRef<int64_t>(1));
}

int64_t BufferType::getRowElements() const {
  return getRowStride() != 0 ? getRowStride() : *multiplyConstants(getShape().drop_front());
}

// --- cache -----------------------------------------------------------------------------------

/// Checks C1 and C2 of caches and states: the shape of one position, or of one sequence's state.
static LogicalResult verifyKept(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                ArrayRef<int64_t> shape, Type elementType) {
  if (shape.empty() || shape.size() > 3) {
    return emitError() << "expects a " << what << " of rank 1 to 3, got " << shape.size();
  }
  for (int64_t size : shape) {
    if (size <= 0) {
      return emitError() << "expects a dimension above 0, got " << size;
    }
  }
  if (!multiplyConstants(shape)) {
    return emitError() << "expects a " << what << " of at most 2^40 elements, got more";
  }
  // C2
  std::optional<ElementType> element = findElementType(elementType);
  if (!element || infoOf(*element).bits % 8 != 0) {
    return emitError() << "expects elements of whole bytes of "
                       << elementTypeChoices(elementType.getContext()) << ", got " << elementType;
  }
  return success();
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> shape, Type elementType, CacheLayout) {
  if (failed(verifyKept(emitError, "position", shape, elementType))) {
    return failure();
  }
  // C3
  auto codes = dyn_cast<transformer::QuantizedType>(elementType);
  const int64_t width = *multiplyConstants(shape);
  if (codes && (!codes.isBytesWithScales() || width % codes.getGroupOf(width) != 0)) {
    return emitError() << "expects codes of i8 with a scale in f32 for as many elements as divide "
                       << "the width " << width << ", got " << elementType;
  }
  return success();
}

int64_t CacheType::getWidth() const { return *multiplyConstants(getShape()); }

int64_t CacheType::getPositionBytes() const {
  return storedAs(getElementType(), getWidth()).bytes();
}

std::string CacheType::getElementText() const {
  return getElementType().isF32() ? "" : "_" + std::string(infoOf(getElement()).name);
}

// --- state -----------------------------------------------------------------------------------

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> shape, Type elementType, bool) {
  // C2
  if (isa<transformer::QuantizedType>(elementType)) {
    return emitError() << "expects a state of numbers, got " << elementType;
  }
  return verifyKept(emitError, "state", shape, elementType);
}

int64_t StateType::getWidth() const { return *multiplyConstants(getShape()); }

} // namespace heddle::dataflow
