// SPDX-License-Identifier: Apache-2.0
///
/// Kernels: their operands, and the checks of a kernel against its family.
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::dataflow {

BufferType KernelOp::getResultBuffer() {
  for (Type type : getKernelType().getResults()) {
    if (auto buffer = dyn_cast<BufferType>(type)) {
      return buffer;
    }
  }
  return {};
}

BufferType KernelOp::getMappedBuffer() {
  std::optional<unsigned> mapped = getComputes().getEpilogueResult();
  return mapped ? cast<BufferType>(getKernelType().getResult(*mapped)) : BufferType();
}

SmallVector<int64_t> KernelOp::getChanges() {
  SmallVector<int64_t> changes;
  for (const KernelResult &result : getComputes().getResults(getKernelType())) {
    if (result.changes) {
      changes.push_back(*result.changes);
    }
  }
  return changes;
}

unsigned KernelOp::getCallOperand(unsigned operand) {
  unsigned before = 0;
  SmallVector<KernelResult> results = getComputes().getResults(getKernelType());
  for (auto [number, result] : llvm::enumerate(results)) {
    if (result.changes == operand) {
      return number;
    }
    before += result.changes && *result.changes < operand ? 1 : 0;
  }
  return results.size() + operand - before;
}

RowSpace KernelOp::getRows() {
  FunctionType type = getKernelType();
  for (Type each : llvm::concat<const Type>(type.getResults(), type.getInputs())) {
    auto buffer = dyn_cast<BufferType>(each);
    for (int64_t dimension : buffer ? buffer.getShape() : ArrayRef<int64_t>()) {
      if (std::optional<RowSpace> space = rowSpaceOf(dimension)) {
        return *space;
      }
    }
  }
  llvm_unreachable("every kernel has rows");
}

bool KernelOp::isRowByRow() {
  FunctionType type = getKernelType();
  KernelFamily family = getComputes();
  if (family.getDivision(type).rows != Division::Rows::OfResult) {
    return false;
  }
  // An input changed in place is shared by rows, and a state is one row for a whole sequence.
  return llvm::all_of(llvm::enumerate(family.getInputs(type)), [&](auto each) {
    const KernelInput &input = each.value();
    return !input.isState && input.isOfOneRow(isa<CacheType>(type.getInput(each.index())));
  });
}

bool KernelOp::hasFinish() {
  return getNorm() && getComputes().getDivision(getKernelType()).columns != Division::Columns::None;
}

unsigned KernelOp::getNumElementwise() {
  EpilogueSupport support = getComputes().getEpilogueSupport();
  bool hasElementwise =
      support != EpilogueSupport::IsRegion && support != EpilogueSupport::MapsScores;
  return hasElementwise ? getEpilogue().front().getNumArguments() - 1 : 0;
}

unsigned KernelOp::getNumNormOperands() {
  if (!getNorm()) {
    return 0;
  }
  switch (getNorm()->getKind()) {
  case NormKind::LayerNorm:
    return 2;
  case NormKind::RmsNorm:
    return 1;
  case NormKind::Normalize:
  case NormKind::Softmax:
    return 0;
  }
  llvm_unreachable("every norm has a number of operands");
}

bool KernelOp::hasTrivialEpilogue() {
  Block &block = getEpilogue().front();
  return cast<YieldOp>(block.getTerminator()).getValue() == block.getArgument(0);
}

// --- regions and operand counts
// --------------------------------------------------------------------

/// Returns whether an operation is element-wise maths. Targets decide which of these they have code
/// for.
static bool isMaths(Operation &op) {
  return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) && op.getNumResults() == 1 &&
         (isa<arith::ConstantOp>(op) || OpTrait::hasElementwiseMappableTraits(&op));
}

/// C3, for one of the regions.
static LogicalResult verifyMaths(KernelOp kernel, Block &block) {
  if (block.empty() || !isa<YieldOp>(block.back())) {
    return kernel.emitOpError("expects a region that ends with 'dataflow.yield', got ")
           << (block.empty() ? StringRef("none") : block.back().getName().getStringRef());
  }
  for (BlockArgument argument : block.getArguments()) {
    if (!argument.getType().isF32()) {
      return kernel.emitOpError("expects a region with arguments of f32, got ")
             << argument.getType();
    }
  }
  auto isScalar = [](Type type) { return type.isF32() || type.isInteger(1); };
  for (Operation &op : block.without_terminator()) {
    if (!isMaths(op)) {
      return op.emitOpError("in a kernel's region: expects element-wise maths, got '")
             << op.getName() << "'";
    }
    if (!llvm::all_of(op.getOperandTypes(), isScalar) ||
        !llvm::all_of(op.getResultTypes(), isScalar)) {
      return op.emitOpError("in a kernel's region: expects f32, and i1 for conditions, got (")
             << op.getOperandTypes() << ") -> (" << op.getResultTypes() << ")";
    }
  }
  return success();
}

/// C3
static LogicalResult verifyRegion(KernelOp kernel) {
  Block &block = kernel.getEpilogue().front();
  // A region that is the computation may read nothing and yield a constant.
  if (!block.empty() && block.getNumArguments() == 0 &&
      kernel.getComputes().getEpilogueSupport() != EpilogueSupport::IsRegion) {
    return kernel.emitOpError("expects a region with the computed value as argument, got none");
  }
  return verifyMaths(kernel, block);
}

/// C14, and C3 for the region of pairs.
static LogicalResult verifyPairs(KernelOp kernel) {
  Region &pairs = kernel.getPairs();
  bool areSummed = llvm::any_of(kernel.getComputes().getInputs(kernel.getKernelType()),
                                [](const KernelInput &input) { return input.weighsPairs; });
  if (pairs.empty() == areSummed) {
    return kernel.emitOpError("expects ")
           << (areSummed ? "a region" : "no region") << " of pairs for " << kernel.getComputes()
           << ", got " << (areSummed ? "none" : "one");
  }
  if (pairs.empty()) {
    return success();
  }
  if (!pairs.hasOneBlock() || pairs.getNumArguments() != 2) {
    return kernel.emitOpError("expects a region of pairs of one block that takes an element of a "
                              "query and one of a key, got ")
           << pairs.getBlocks().size() << " blocks and " << pairs.getNumArguments() << " arguments";
  }
  return verifyMaths(kernel, pairs.front());
}

/// C2 and C11: checks whether input `index` may be a buffer, a cache or a state.
static LogicalResult verifyMemory(KernelOp kernel, unsigned index, const KernelInput &input) {
  Type type = kernel.getKernelType().getInput(index);
  bool isState = isa<StateType>(type);
  if (input.isState != isState) {
    return kernel.emitOpError("expects ")
           << (isState ? "no state" : "a state") << " as operand #" << index << " of "
           << kernel.getComputes().getFamilyName() << ", got " << type;
  }
  bool takesCache = input.takesAnyCache || input.layout;
  if (!isState && !isa<BufferType>(type) && !(isa<CacheType>(type) && takesCache)) {
    return kernel.emitOpError("expects a buffer as operand #") << index << ", got " << type;
  }
  return success();
}

/// C2: checks that result `index` is a buffer, or aliases the input that the family changes in
/// place.
static LogicalResult verifyResult(KernelOp kernel, unsigned index, const KernelResult &result) {
  FunctionType type = kernel.getKernelType();
  if (!result.changes) {
    return isa<BufferType>(type.getResult(index))
               ? success()
               : kernel.emitOpError("expects a buffer as result #")
                     << index << ", got " << type.getResult(index);
  }
  Type changed = type.getInput(*result.changes);
  if (isa<BufferType>(changed) || type.getResult(index) != changed) {
    bool isState = kernel.getComputes().getInputs(type)[*result.changes].isState;
    return kernel.emitOpError("expects a ")
           << (isState ? "state" : "cache") << " as input #" << *result.changes << " and result #"
           << index << " of " << kernel.getComputes().getFamilyName() << ", got " << type;
  }
  return success();
}

/// C2
static LogicalResult verifyOperandCount(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  KernelFamily family = kernel.getComputes();
  unsigned arguments = kernel.getEpilogue().front().getNumArguments();
  unsigned computed = numComputedArguments(family, type);
  if (family.getEpilogueSupport() == EpilogueSupport::IsRegion && arguments != computed) {
    return kernel.emitOpError("expects one argument of the region for each of ")
           << computed << " inputs, got " << arguments;
  }
  int64_t expected =
      family.getNumInputs() + kernel.getNumElementwise() + kernel.getNumNormOperands();
  if (type.getNumInputs() != expected) {
    return kernel.emitOpError("expects ")
           << expected << " operands (" << family.getNumInputs() << " inputs, "
           << kernel.getNumElementwise() << " element-wise, " << kernel.getNumNormOperands()
           << " of the norm), got " << type.getNumInputs();
  }
  size_t results = family.getResults(type).size();
  if (type.getNumResults() != results) {
    return kernel.emitOpError("expects ")
           << results << (results == 1 ? " result, got " : " results, got ")
           << type.getNumResults();
  }
  return success();
}

/// C2, for operands and results.
static LogicalResult verifyMemory(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(type);
  assert(static_cast<int64_t>(inputs.size()) == kernel.getComputes().getNumInputs());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (failed(verifyMemory(kernel, index, input))) {
      return failure();
    }
  }
  for (unsigned index = inputs.size(); index < type.getNumInputs(); ++index) {
    if (!isa<BufferType>(type.getInput(index))) {
      return kernel.emitOpError("expects a buffer as operand #")
             << index << ", got " << type.getInput(index);
    }
  }
  for (auto [index, result] : llvm::enumerate(kernel.getComputes().getResults(type))) {
    if (failed(verifyResult(kernel, index, result))) {
      return failure();
    }
  }
  return success();
}

// --- shapes ----------------------------------------------------------------------------------

/// C5: checks that `buffer` has the shape `expected`, in which anySize stands for any constant.
static LogicalResult verifyShape(KernelOp kernel, const Twine &name, BufferType buffer,
                                 ArrayRef<int64_t> expected, Type elementType) {
  ArrayRef<int64_t> shape = buffer.getShape();
  bool equal = buffer.getElementType() == elementType && shape.size() == expected.size() &&
               llvm::all_of(llvm::zip_equal(shape, expected), [](auto pair) {
                 auto [size, wanted] = pair;
                 return size == wanted || (wanted == anySize && size > 0);
               });
  if (equal) {
    return success();
  }
  InFlightDiagnostic error = kernel.emitOpError("expects ") << name << " of shape [";
  llvm::interleaveComma(expected, error, [&](int64_t size) {
    error << (size == anySize ? "any" : dimensionText(size));
  });
  return error << "] and element type " << elementType << ", got " << buffer;
}

/// C5, C8 and C10 for one input of the family.
static LogicalResult verifyInput(KernelOp kernel, unsigned index, const KernelInput &input) {
  if (input.isState) {
    return success();
  }
  if (CacheType cache = kernel.getOperandCache(index)) {
    bool fits =
        !input.layout || (cache.getLayout() == *input.layout &&
                          (input.cacheWidth == anySize || cache.getWidth() == input.cacheWidth));
    return fits ? success()
                : kernel.emitOpError("expects input #")
                      << index << " to be a cache of " << input.cacheWidth
                      << " elements and layout '" << stringifyCacheLayout(*input.layout)
                      << "', got " << cache;
  }
  BufferType buffer = kernel.getOperandBuffer(index);
  MLIRContext *context = kernel.getContext();
  Type element =
      input.isInteger ? Type(IntegerType::get(context, 32)) : Type(Float32Type::get(context));
  if (input.isStored() && (infoOf(buffer.getElement()).isFloat() ||
                           isa<transformer::QuantizedType>(buffer.getElementType()))) {
    element = buffer.getElementType();
  }
  if (input.shape &&
      failed(verifyShape(kernel, "input #" + Twine(index), buffer, *input.shape, element))) {
    return failure();
  }
  if (input.isDense && buffer.getRowStride() != 0) {
    return kernel.emitOpError("expects input #") << index << " to be dense, got " << buffer;
  }
  return success();
}

/// C5 and C8 for all results and inputs.
static LogicalResult verifyComputes(KernelOp kernel) {
  KernelFamily family = kernel.getComputes();
  FunctionType type = kernel.getKernelType();
  if (failed(family.verifyOperands([&] { return kernel.emitOpError(); }, type))) {
    return failure();
  }
  for (auto [index, result] : llvm::enumerate(family.getResults(type))) {
    auto buffer = dyn_cast<BufferType>(type.getResult(index));
    if (!buffer) {
      continue;
    }
    Type element = result.isInteger ? Type(IntegerType::get(kernel.getContext(), 32))
                                    : Type(Float32Type::get(kernel.getContext()));
    if (result.shape &&
        failed(verifyShape(kernel, "result #" + Twine(index), buffer, *result.shape, element))) {
      return failure();
    }
    if (buffer.getRowStride() != 0) {
      return kernel.emitOpError("expects result #") << index << " to be dense, got " << buffer;
    }
  }
  for (auto [index, input] : llvm::enumerate(family.getInputs(type))) {
    if (failed(verifyInput(kernel, index, input))) {
      return failure();
    }
  }
  return success();
}

/// C7
static LogicalResult verifyName(KernelOp kernel) {
  StringRef name = kernel.getSymName();
  auto isAllowed = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-'; };
  if (name.empty() || !llvm::all_of(name, isAllowed)) {
    return kernel.emitOpError("expects a name of letters, digits, '_', '.' and '-', got ")
           << kernel.getSymNameAttr();
  }
  return success();
}

/// C4, and C5 for the operands of the norm.
static LogicalResult verifyElementwise(KernelOp kernel) {
  BufferType result = kernel.getMappedBuffer();
  unsigned next = kernel.getNumInputs();
  for (unsigned end = next + kernel.getNumElementwise(); next < end; ++next) {
    BufferType operand = kernel.getOperandBuffer(next);
    if (!operand.broadcastsTo(result)) {
      return kernel.emitOpError("expects element-wise operand #")
             << next << " to have the shape of the result, " << result
             << ", its width, its rows of one number, or one number, got " << operand;
    }
  }
  Type f32 = Float32Type::get(kernel.getContext());
  for (unsigned end = next + kernel.getNumNormOperands(); next < end; ++next) {
    if (failed(verifyShape(kernel, "norm operand #" + Twine(next), kernel.getOperandBuffer(next),
                           {result.getWidth()}, f32))) {
      return failure();
    }
  }
  return success();
}

/// C6 for a region that maps scores: it may also take the bias, if there is one.
static LogicalResult verifyScore(KernelOp kernel) {
  auto isBias = [](const KernelInput &input) {
    return input.role == KernelInput::Role::Weights && !input.weighsPairs;
  };
  bool hasBias = llvm::any_of(kernel.getComputes().getInputs(kernel.getKernelType()), isBias);
  unsigned arguments = kernel.getEpilogue().front().getNumArguments();
  if (arguments > (hasBias ? 2 : 1)) {
    return kernel.emitOpError("expects a region that takes the score")
           << (hasBias ? " and the bias" : "") << " for " << kernel.getComputes() << ", got "
           << arguments << " arguments";
  }
  return success();
}

/// C6
static LogicalResult verifyEpilogue(KernelOp kernel) {
  EpilogueSupport support = kernel.getComputes().getEpilogueSupport();
  if (support == EpilogueSupport::MapsScores && failed(verifyScore(kernel))) {
    return failure();
  }
  if (support == EpilogueSupport::None) {
    if (kernel.getNumElementwise() > 0) {
      return kernel.emitOpError("expects no element-wise operands of ")
             << kernel.getComputes().getFamilyName() << ", got " << kernel.getNumElementwise();
    }
    if (!kernel.hasTrivialEpilogue()) {
      return kernel.emitOpError("expects a region that yields its argument for ")
             << kernel.getComputes() << ", got another";
    }
  }
  if (!kernel.getNorm()) {
    return success();
  }
  if (support != EpilogueSupport::MathsAndNorm) {
    return kernel.emitOpError("expects no norm for ") << kernel.getComputes() << ", got one";
  }
  if (isLongest(kernel.getMappedBuffer().getWidth())) {
    return kernel.emitOpError("expects a norm of rows of one width, got ")
           << kernel.getMappedBuffer();
  }
  APFloat epsilon = kernel.getNorm()->getEpsilon().getValue();
  if (!epsilon.isFinite() || epsilon.isNegative()) {
    return kernel.emitOpError("expects a finite epsilon of 0 or more, got ")
           << kernel.getNorm()->getEpsilon();
  }
  return success();
}

/// Fast kernels write rows. A nest checks its result itself.
static LogicalResult verifyRows(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  for (auto [index, result] : llvm::enumerate(kernel.getComputes().getResults(type))) {
    auto buffer = dyn_cast<BufferType>(type.getResult(index));
    if (buffer && result.shape && !buffer.getRowSpace()) {
      return kernel.emitOpError("expects a result of rows, such as tokens, got ") << buffer;
    }
  }
  return success();
}

/// C13
static LogicalResult verifyOrder(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  if (llvm::none_of(namedSpaces(type), [](RowSpace space) { return space.isOrdered(); })) {
    return success();
  }
  for (auto [index, input] : llvm::enumerate(kernel.getComputes().getInputs(type))) {
    bool isCache = isa<CacheType>(type.getInput(index));
    if (!input.isOfOneRow(isCache) && input.role != KernelInput::Role::Moved && !input.isState) {
      return kernel.emitOpError("expects rows in the order of time only where each row of the work "
                                "reads that row of its inputs, got others of operand #")
             << index;
    }
  }
  return success();
}

LogicalResult KernelOp::verify() {
  if (failed(verifyName(*this)) || failed(verifyRegion(*this)) ||
      failed(getComputes().verifyNumbers([&] { return emitOpError(); })) ||
      failed(verifyOperandCount(*this)) || failed(verifyMemory(*this)) ||
      failed(verifyPairs(*this)) || failed(verifyRows(*this)) || failed(verifyComputes(*this)) ||
      failed(verifyOrder(*this)) || failed(verifyEpilogue(*this))) {
    return failure();
  }
  return getMappedBuffer() ? verifyElementwise(*this) : success();
}

} // namespace heddle::dataflow
