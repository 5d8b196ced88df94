// SPDX-License-Identifier: Apache-2.0
///
/// Kernels: their operands, and verification of every family.
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

/// In the shape a buffer is to have: any constant size. No attribute can ask for it: a size that is
/// not positive fits no buffer.
static constexpr int64_t kAny = std::numeric_limits<int64_t>::min();

int64_t ContractAttr::getGroupPanels() const {
  return llvm::divideCeilSigned(getN(), HEDDLE_PANEL);
}

StringRef familyName(Attribute computes) {
  return llvm::TypeSwitch<Attribute, StringRef>(computes)
      .Case<AccumulateAttr, AppendAttr, AttendAttr, AttentionAttr, AttentionWeightsAttr,
            ContractAttr, GatherAttr, NestAttr, PoolAttr, PrefixMeanAttr, RowsAttr>(
          [](auto family) { return decltype(family)::getMnemonic(); });
}

unsigned KernelOp::getNumInputs() {
  return llvm::TypeSwitch<Attribute, unsigned>(getComputes())
      .Case<AccumulateAttr, AppendAttr, AttendAttr, ContractAttr, PrefixMeanAttr>(
          [](auto) { return 2; })
      .Case([](AttentionAttr attention) { return attention.getBiasDistance() > 0 ? 4 : 3; })
      .Case([](AttentionWeightsAttr weights) { return weights.getBiasDistance() > 0 ? 3 : 2; })
      .Case([](GatherAttr gather) {
        return 2 * gather.getLookups() + gather.getPositionOffsets().size();
      })
      .Case([](NestAttr nest) { return nest.getNumInputs() + (nest.getKeysFrom() ? 1 : 0); })
      .Default([](Attribute) { return 1; });
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
    return 0;
  }
  llvm_unreachable("every norm has a number of operands");
}

bool KernelOp::hasTrivialEpilogue() {
  Block &block = getEpilogue().front();
  return cast<YieldOp>(block.getTerminator()).getValue() == block.getArgument(0);
}

// --- the region and the number of operands ----------------------------------------------------

/// Whether the operation is among those of C3.
static bool hasLowering(Operation &op) {
  return isa<arith::ConstantOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::CmpFOp, arith::SelectOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, math::ExpOp, math::Exp2Op, math::ErfOp, math::TanhOp, math::SqrtOp,
             math::AbsFOp, math::CopySignOp, math::FmaOp>(op);
}

/// C3
static LogicalResult verifyRegion(KernelOp kernel) {
  Block &block = kernel.getEpilogue().front();
  if (block.empty() || !isa<YieldOp>(block.back())) {
    return kernel.emitOpError("expects a region that ends with 'dataflow.yield', got ")
           << (block.empty() ? StringRef("none") : block.back().getName().getStringRef());
  }
  // A nest that reads nothing yields a constant.
  if (block.getNumArguments() == 0 && !isa<NestAttr>(kernel.getComputes())) {
    return kernel.emitOpError("expects a region with the computed value as argument, got none");
  }
  for (BlockArgument argument : block.getArguments()) {
    if (!argument.getType().isF32()) {
      return kernel.emitOpError("expects a region with arguments of f32, got ")
             << argument.getType();
    }
  }
  auto isScalar = [](Type type) { return type.isF32() || type.isInteger(1); };
  for (Operation &op : block.without_terminator()) {
    if (!hasLowering(op)) {
      return op.emitOpError("in a kernel's region: expects scalar maths that has a lowering, got '")
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

/// Whether input `i` may be a cache.
static bool takesCache(KernelOp kernel, unsigned i) {
  return llvm::TypeSwitch<Attribute, bool>(kernel.getComputes())
      .Case<AccumulateAttr, AppendAttr>([&](auto) { return i == 0; })
      .Case<AttendAttr, AttentionWeightsAttr, PrefixMeanAttr>([&](auto) { return i == 1; })
      .Case([&](AttentionAttr) { return i == 1 || i == 2; })
      .Case([&](NestAttr) { return i < kernel.getNumInputs(); })
      .Default([](Attribute) { return false; });
}

/// Whether input `i` is a state.
static bool takesState(KernelOp kernel, unsigned i) {
  return (isa<AccumulateAttr>(kernel.getComputes()) && i == 0) ||
         (isa<PrefixMeanAttr>(kernel.getComputes()) && i == 1);
}

/// C2: where operands are buffers, and where they are caches.
static LogicalResult verifyMemory(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  bool writesCache = kernel.writesCache();
  if (writesCache && (!isa<CacheType>(type.getInput(0)) || type.getInput(0) != type.getResult(0))) {
    return kernel.emitOpError("expects a cache as input #0 and result of ")
           << familyName(kernel.getComputes()) << ", got " << type;
  }
  for (auto [index, operand] : llvm::enumerate(type.getInputs())) {
    if (!isa<BufferType>(operand) && !(isa<CacheType>(operand) && takesCache(kernel, index))) {
      return kernel.emitOpError("expects a buffer as operand #") << index << ", got " << operand;
    }
    // C11
    auto cache = dyn_cast<CacheType>(operand);
    bool isState = cache && cache.getLayout() == CacheLayout::State;
    if (takesState(kernel, index) != isState) {
      return kernel.emitOpError("expects ")
             << (isState ? "no state" : "a cache of layout 'state'") << " as operand #" << index
             << " of " << familyName(kernel.getComputes()) << ", got " << operand;
    }
  }
  if (!writesCache && !isa<BufferType>(type.getResult(0))) {
    return kernel.emitOpError("expects a buffer as result, got ") << type.getResult(0);
  }
  return success();
}

/// C2
static LogicalResult verifyOperandCount(KernelOp kernel) {
  FunctionType type = kernel.getKernelType();
  if (auto gather = dyn_cast<GatherAttr>(kernel.getComputes());
      gather && (gather.getLookups() < 0 || gather.getLookups() > type.getNumInputs())) {
    return kernel.emitOpError("expects at most as many lookups as operands, got ")
           << gather.getLookups() << " and " << type.getNumInputs();
  }
  if (auto nest = dyn_cast<NestAttr>(kernel.getComputes());
      nest && kernel.getEpilogue().front().getNumArguments() != nest.getNumInputs()) {
    return kernel.emitOpError("expects one argument of the region for each of ")
           << nest.getNumInputs() << " inputs, got "
           << kernel.getEpilogue().front().getNumArguments();
  }
  unsigned expected =
      kernel.getNumInputs() + kernel.getNumElementwise() + kernel.getNumNormOperands();
  if (type.getNumInputs() != expected) {
    return kernel.emitOpError("expects ")
           << expected << " operands (" << kernel.getNumInputs() << " inputs, "
           << kernel.getNumElementwise() << " element-wise, " << kernel.getNumNormOperands()
           << " of the norm), got " << type.getNumInputs();
  }
  if (type.getNumResults() != 1) {
    return kernel.emitOpError("expects one result, got ") << type.getNumResults();
  }
  return verifyMemory(kernel);
}

// --- shapes ----------------------------------------------------------------------------------

/// C5: `buffer` has the shape `expected`, in which kAny stands for any constant.
static LogicalResult verifyShape(KernelOp kernel, const Twine &name, BufferType buffer,
                                 ArrayRef<int64_t> expected, Type elementType) {
  ArrayRef<int64_t> shape = buffer.getShape();
  bool equal = buffer.getElementType() == elementType && shape.size() == expected.size() &&
               llvm::all_of(llvm::zip_equal(shape, expected), [](auto pair) {
                 auto [size, wanted] = pair;
                 return size == wanted || (wanted == kAny && size > 0);
               });
  if (equal) {
    return success();
  }
  InFlightDiagnostic error = kernel.emitOpError("expects ") << name << " of shape [";
  llvm::interleaveComma(expected, error, [&](int64_t size) {
    switch (size) {
    case kAny:
      error << "any";
      break;
    case BufferType::kTokens:
      error << "tokens";
      break;
    case BufferType::kSequences:
      error << "sequences";
      break;
    case BufferType::kLongest:
      error << "longest";
      break;
    default:
      error << size;
    }
  });
  return error << "] and element type " << elementType << ", got " << buffer;
}

/// count * size, or a number that is no dimension if that overflows or one is not positive.
static int64_t multiplyWidth(int64_t count, int64_t size) {
  int64_t width = 0;
  return count > 0 && size > 0 && !llvm::MulOverflow(count, size, width) ? width
                                                                         : BufferType::kLongest - 1;
}

/// C5: `operand` holds rows of `width` elements, in a buffer or in a cache of this layout.
static LogicalResult verifyKeys(KernelOp kernel, unsigned operand, int64_t width,
                                CacheLayout layout) {
  CacheType cache = kernel.getOperandCache(operand);
  if (!cache) {
    return verifyShape(kernel, "input #" + Twine(operand), kernel.getOperandBuffer(operand),
                       {BufferType::kTokens, width}, Float32Type::get(kernel.getContext()));
  }
  // C10
  if (cache.getLayout() != layout || cache.getWidth() != width) {
    return kernel.emitOpError("expects input #")
           << operand << " to be a cache of " << width << " elements and layout '"
           << stringifyCacheLayout(layout) << "', got " << cache;
  }
  return success();
}

/// C5 and C10: `operand` is the table of biases by distance, if there is one.
static LogicalResult verifyBias(KernelOp kernel, unsigned operand, int64_t heads,
                                int64_t distance) {
  if (distance < 0 || distance > transformer::mostDistance) {
    return kernel.emitOpError("expects a bias distance of 0 to 2^20, got ") << distance;
  }
  return distance == 0
             ? success()
             : verifyShape(kernel, "input #" + Twine(operand), kernel.getOperandBuffer(operand),
                           {heads, 2 * distance + 1}, Float32Type::get(kernel.getContext()));
}

/// C12
template <typename Attribute> static LogicalResult verifyHidden(KernelOp kernel, Attribute a) {
  return a.getCausal() || !a.getHidden()
             ? success()
             : kernel.emitOpError("expects 'hidden' only where keys are causal, got '") << a << "'";
}

/// C5: neighbouring heads that share keys or values divide all heads.
static LogicalResult verifyShare(KernelOp kernel, StringRef what, int64_t share, int64_t heads) {
  if (heads % share != 0) {
    return kernel.emitOpError("expects a share of ")
           << what << " that divides the " << heads << " heads, got " << share;
  }
  return success();
}

/// C5, C10 and C12
static LogicalResult verifyAttention(KernelOp kernel, AttentionAttr attention) {
  Type f32 = Float32Type::get(kernel.getContext());
  int64_t heads = attention.getHeads();
  int64_t queries = multiplyWidth(heads, attention.getKeySize());
  int64_t results = multiplyWidth(heads, attention.getValueSize());
  int64_t keys = multiplyWidth(heads / attention.getKeyShare(), attention.getKeySize());
  int64_t values = multiplyWidth(heads / attention.getValueShare(), attention.getValueSize());
  if (failed(verifyShare(kernel, "keys", attention.getKeyShare(), heads)) ||
      failed(verifyShare(kernel, "values", attention.getValueShare(), heads))) {
    return failure();
  }
  if (!kernel.getOperandCache(1) != !kernel.getOperandCache(2)) {
    return kernel.emitOpError("expects keys and values that are both buffers or both caches, got ")
           << kernel.getKernelType().getInput(1) << " and " << kernel.getKernelType().getInput(2);
  }
  return success(succeeded(verifyShape(kernel, "a result", kernel.getResultBuffer(),
                                       {BufferType::kTokens, results}, f32)) &&
                 succeeded(verifyShape(kernel, "input #0", kernel.getOperandBuffer(0),
                                       {BufferType::kTokens, queries}, f32)) &&
                 succeeded(verifyKeys(kernel, 1, keys, CacheLayout::Keys)) &&
                 succeeded(verifyKeys(kernel, 2, values, CacheLayout::Rows)) &&
                 succeeded(verifyBias(kernel, 3, heads, attention.getBiasDistance())) &&
                 succeeded(verifyHidden(kernel, attention)));
}

/// C5, C10 and C12
static LogicalResult verifyAttentionWeights(KernelOp kernel, AttentionWeightsAttr weights) {
  Type f32 = Float32Type::get(kernel.getContext());
  int64_t heads = weights.getHeads();
  int64_t queries = multiplyWidth(heads, weights.getKeySize());
  int64_t keys = multiplyWidth(heads / weights.getKeyShare(), weights.getKeySize());
  return success(succeeded(verifyShare(kernel, "keys", weights.getKeyShare(), heads)) &&
                 succeeded(verifyShape(kernel, "a result", kernel.getResultBuffer(),
                                       {BufferType::kTokens, heads, BufferType::kLongest}, f32)) &&
                 succeeded(verifyShape(kernel, "input #0", kernel.getOperandBuffer(0),
                                       {BufferType::kTokens, queries}, f32)) &&
                 succeeded(verifyKeys(kernel, 1, keys, CacheLayout::Keys)) &&
                 succeeded(verifyBias(kernel, 2, heads, weights.getBiasDistance())) &&
                 succeeded(verifyHidden(kernel, weights)));
}

/// C5 and C10
static LogicalResult verifyAttend(KernelOp kernel, AttendAttr attend) {
  Type f32 = Float32Type::get(kernel.getContext());
  int64_t heads = attend.getHeads();
  int64_t results = multiplyWidth(heads, attend.getValueSize());
  int64_t values = multiplyWidth(heads / attend.getValueShare(), attend.getValueSize());
  return success(succeeded(verifyShare(kernel, "values", attend.getValueShare(), heads)) &&
                 succeeded(verifyShape(kernel, "a result", kernel.getResultBuffer(),
                                       {BufferType::kTokens, results}, f32)) &&
                 succeeded(verifyShape(kernel, "input #0", kernel.getOperandBuffer(0),
                                       {BufferType::kTokens, heads, BufferType::kLongest}, f32)) &&
                 succeeded(verifyKeys(kernel, 1, values, CacheLayout::Rows)));
}

/// C5: every size that `computes` names is positive, and a gather looks at least one table up.
static LogicalResult verifySizes(KernelOp kernel) {
  auto sizes = llvm::TypeSwitch<Attribute, SmallVector<int64_t>>(kernel.getComputes())
                   .Case([](ContractAttr a) {
                     return SmallVector<int64_t>{a.getN(), a.getK(), a.getGroups()};
                   })
                   .Case([](AttentionAttr a) {
                     return SmallVector<int64_t>{a.getHeads(), a.getKeySize(), a.getValueSize(),
                                                 a.getKeyShare(), a.getValueShare()};
                   })
                   .Case([](AttendAttr a) {
                     return SmallVector<int64_t>{a.getHeads(), a.getValueSize(), a.getValueShare()};
                   })
                   .Case([](AttentionWeightsAttr a) {
                     return SmallVector<int64_t>{a.getHeads(), a.getKeySize(), a.getKeyShare()};
                   })
                   .Case([](RowsAttr a) { return SmallVector<int64_t>{a.getWidth()}; })
                   .Case([](GatherAttr a) {
                     auto positions = static_cast<int64_t>(a.getPositionOffsets().size());
                     return SmallVector<int64_t>{a.getWidth(), a.getLookups() + 1,
                                                 std::max<int64_t>(a.getLookups(), 0) + positions};
                   })
                   .Case([](PoolAttr a) { return SmallVector<int64_t>{a.getWidth()}; })
                   .Default([](Attribute) { return SmallVector<int64_t>(); });
  if (llvm::any_of(sizes, [](int64_t size) { return size < 1; })) {
    return kernel.emitOpError("expects positive sizes, got '") << kernel.getComputes() << "'";
  }
  return success();
}

/// C5 for the inputs and the result of `computes`. `rows` is the result's first dimension.
static LogicalResult verifyComputes(KernelOp kernel, int64_t rows) {
  if (failed(verifySizes(kernel))) {
    return failure();
  }
  Type f32 = Float32Type::get(kernel.getContext());
  Type i32 = IntegerType::get(kernel.getContext(), 32);
  auto input = [&](unsigned i, ArrayRef<int64_t> shape, Type type) {
    return verifyShape(kernel, "input #" + Twine(i), kernel.getOperandBuffer(i), shape, type);
  };
  auto result = [&](ArrayRef<int64_t> shape) {
    return verifyShape(kernel, "a result", kernel.getResultBuffer(), shape, f32);
  };
  return llvm::TypeSwitch<Attribute, LogicalResult>(kernel.getComputes())
      .Case([&](ContractAttr contract) {
        int64_t groups = contract.getGroups();
        int64_t panels = multiplyWidth(groups, contract.getGroupPanels());
        return success(succeeded(result({rows, multiplyWidth(groups, contract.getN())})) &&
                       succeeded(input(0, {rows, multiplyWidth(groups, contract.getK())}, f32)) &&
                       succeeded(input(1, {panels, contract.getK(), HEDDLE_PANEL}, f32)));
      })
      .Case([&](AttendAttr attend) { return verifyAttend(kernel, attend); })
      .Case([&](AttentionAttr attention) { return verifyAttention(kernel, attention); })
      .Case([&](AttentionWeightsAttr weights) { return verifyAttentionWeights(kernel, weights); })
      .Case([&](RowsAttr attr) {
        return success(succeeded(result({rows, attr.getWidth()})) &&
                       succeeded(input(0, {rows, attr.getWidth()}, f32)));
      })
      .Case([&](GatherAttr gather) {
        bool valid = succeeded(result({rows, gather.getWidth()}));
        unsigned next = 0;
        for (int64_t i = 0; valid && i < gather.getLookups(); ++i) {
          valid = succeeded(input(next, {rows}, i32)) &&
                  succeeded(input(next + 1, {kAny, gather.getWidth()}, f32));
          next += 2;
        }
        for (; valid && next < kernel.getNumInputs(); ++next) {
          valid = succeeded(input(next, {kAny, gather.getWidth()}, f32));
        }
        return success(valid);
      })
      .Case([&](PrefixMeanAttr) {
        int64_t width = kernel.getOperandCache(1).getWidth();
        return success(succeeded(result({BufferType::kTokens, width})) &&
                       succeeded(input(0, {BufferType::kTokens, width}, f32)));
      })
      .Case([&](PoolAttr pool) {
        return success(succeeded(result({BufferType::kSequences, pool.getWidth()})) &&
                       succeeded(input(0, {BufferType::kTokens, pool.getWidth()}, f32)));
      })
      .Default([&](Attribute computes) {
        return cast<NestAttr>(computes).verifyOperands(
            [&] { return kernel.emitOpError(); },
            kernel.getKernelType().getInputs().take_front(kernel.getNumInputs()),
            kernel.getResultBuffer());
      });
}

/// Whether input `i` has no row stride: packed weights, tables, the weights of attend.
static bool isDense(Attribute computes, unsigned i) {
  return llvm::TypeSwitch<Attribute, bool>(computes)
      .Case([&](AttendAttr) { return i == 0; })
      .Case([&](AttentionAttr) { return i == 3; })
      .Case([&](AttentionWeightsAttr) { return i == 2; })
      .Case([&](ContractAttr) { return i == 1; })
      .Case([](GatherAttr) { return true; })
      .Default([](Attribute) { return false; });
}

/// C8, given that all shapes are right: rows of values alone may be columns of a wider buffer, and
/// a vector has no stride by its type.
static LogicalResult verifyDense(KernelOp kernel) {
  auto verifyBuffer = [&](const Twine &name, BufferType buffer) -> LogicalResult {
    if (buffer.getRowStride() != 0) {
      return kernel.emitOpError("expects ") << name << " to be dense, got " << buffer;
    }
    return success();
  };
  if (failed(verifyBuffer("the result", kernel.getResultBuffer()))) {
    return failure();
  }
  for (unsigned i = 0; i < kernel.getNumInputs(); ++i) {
    if (isDense(kernel.getComputes(), i) &&
        failed(verifyBuffer("input #" + Twine(i), kernel.getOperandBuffer(i)))) {
      return failure();
    }
  }
  return success();
}

/// C9
static LogicalResult verifyLookups(KernelOp kernel) {
  auto gather = dyn_cast<GatherAttr>(kernel.getComputes());
  if (!gather) {
    return success();
  }
  for (int64_t offset : gather.getPositionOffsets()) {
    if (offset < 0) {
      return kernel.emitOpError("expects position offsets of 0 or more, got ") << offset;
    }
  }
  DenseF32ArrayAttr scales = gather.getScales();
  if (scales && (scales.size() != gather.getLookups() ||
                 !llvm::all_of(scales.asArrayRef(), [](float x) { return std::isfinite(x); }))) {
    return kernel.emitOpError("expects a finite scale for each of ")
           << gather.getLookups() << " lookups, got " << scales;
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

/// Whether rows, or a vector or number that is repeated, can be an element-wise operand.
static bool isElementwise(BufferType operand, BufferType result) {
  ArrayRef<int64_t> shape = operand.getShape();
  return operand.getElementType().isF32() &&
         (shape == result.getShape() || shape == ArrayRef<int64_t>(result.getWidth()) ||
          shape == ArrayRef<int64_t>({result.getShape().front(), 1}) ||
          shape == ArrayRef<int64_t>(1));
}

/// C4, and C5 for the operands of the norm.
static LogicalResult verifyElementwise(KernelOp kernel) {
  BufferType result = kernel.getResultBuffer();
  unsigned next = kernel.getNumInputs();
  for (unsigned end = next + kernel.getNumElementwise(); next < end; ++next) {
    BufferType operand = kernel.getOperandBuffer(next);
    if (!isElementwise(operand, result)) {
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

/// C6
static LogicalResult verifyNorm(KernelOp kernel) {
  if (isa<AccumulateAttr, AppendAttr, AttendAttr, AttentionAttr, AttentionWeightsAttr,
          PrefixMeanAttr>(kernel.getComputes()) &&
      !kernel.hasTrivialEpilogue()) {
    return kernel.emitOpError("expects a region that yields its argument for ")
           << kernel.getComputes() << ", got another";
  }
  if (!kernel.getNorm()) {
    return success();
  }
  if (!isa<ContractAttr, RowsAttr, GatherAttr, PoolAttr>(kernel.getComputes())) {
    return kernel.emitOpError(
               "expects a norm only for contract, rows, gather and pool, got one for ")
           << kernel.getComputes();
  }
  APFloat epsilon = kernel.getNorm()->getEpsilon().getValue();
  if (!epsilon.isFinite() || epsilon.isNegative()) {
    return kernel.emitOpError("expects a finite epsilon of 0 or more, got ")
           << kernel.getNorm()->getEpsilon();
  }
  return success();
}

/// C4 to C6 for append and accumulate, whose result is no rows.
static LogicalResult verifyWritten(KernelOp kernel) {
  if (kernel.getNumElementwise() > 0) {
    return kernel.emitOpError("expects no element-wise operands of ")
           << familyName(kernel.getComputes()) << ", got " << kernel.getNumElementwise();
  }
  return success(succeeded(verifyShape(kernel, "input #1", kernel.getOperandBuffer(1),
                                       {BufferType::kTokens, kernel.getOperandCache(0).getWidth()},
                                       Float32Type::get(kernel.getContext()))) &&
                 succeeded(verifyNorm(kernel)));
}

LogicalResult KernelOp::verify() {
  // C1
  if (!isa<AccumulateAttr, AppendAttr, AttendAttr, AttentionAttr, AttentionWeightsAttr,
           ContractAttr, GatherAttr, NestAttr, PoolAttr, PrefixMeanAttr, RowsAttr>(getComputes())) {
    return emitOpError("expects to compute accumulate, append, attend, attention, "
                       "attention_weights, contract, gather, nest, pool, prefix_mean or rows, got ")
           << getComputes();
  }
  if (failed(verifyName(*this)) || failed(verifyRegion(*this)) ||
      failed(verifyOperandCount(*this))) {
    return failure();
  }
  if (writesCache()) {
    return verifyWritten(*this);
  }
  int64_t rows = getResultBuffer().getShape().front();
  if (!isa<NestAttr>(getComputes()) && rows != BufferType::kTokens &&
      rows != BufferType::kSequences) {
    return emitOpError("expects a result of tokens or sequences, got ") << getResultBuffer();
  }
  return success(succeeded(verifyComputes(*this, rows)) && succeeded(verifyElementwise(*this)) &&
                 succeeded(verifyNorm(*this)) && succeeded(verifyDense(*this)) &&
                 succeeded(verifyLookups(*this)));
}

} // namespace heddle::dataflow
