// SPDX-License-Identifier: Apache-2.0
///
/// Plain loop nests: their axes, and the checks of axes against buffers and caches.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::dataflow {

unsigned NestAttr::getNumNamed() const {
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

namespace {
/// The axes of a nest as its operands are met.
struct AxisCheck {
  function_ref<InFlightDiagnostic()> emitError;
  /// The size of each axis; negative for t and k.
  llvm::SmallDenseMap<char, int64_t> sizes = llvm::SmallDenseMap<char, int64_t>();
  /// Whether k runs over the positions of a cache, and whether it counts rows of the batch.
  bool hasCachedKeys = false;
  bool hasKeyRows = false;

  /// The axes of one operand: distinct lower-case letters, one for each dimension, of which t and k
  /// are run-time sizes and all others have one size wherever they stand.
  LogicalResult verify(const Twine &name, StringRef axes, Type type);

private:
  LogicalResult verifyLetters(const Twine &name, StringRef axes, Type type, size_t rank);
  LogicalResult verifySize(char axis, int64_t size, Type type);
};
} // namespace

LogicalResult AxisCheck::verifyLetters(const Twine &name, StringRef axes, Type type, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!llvm::isLower(axes[i]) || axes.find(axes[i], i + 1) != StringRef::npos) {
      return emitError() << "expects axes that are distinct lower-case letters, got '" << axes
                         << "'";
    }
  }
  auto buffer = dyn_cast<BufferType>(type);
  if ((buffer && buffer.getElement() != ElementType::F32) || axes.size() != rank) {
    return emitError() << "expects " << name << " of f32 with axes '" << axes << "', got " << type;
  }
  return success();
}

LogicalResult AxisCheck::verifySize(char axis, int64_t size, Type type) {
  bool isRow = axis == 't' || axis == 'k';
  if (isRow != (size < 0)) {
    return emitError() << "expects axis '" << axis << "' to be a "
                       << (isRow ? "run-time" : "constant") << " size, got " << type;
  }
  int64_t known = sizes.try_emplace(axis, size).first->second;
  if (!isRow && known != size) {
    return emitError() << "expects axis '" << axis << "' to have one size, got " << known << " and "
                       << size;
  }
  hasKeyRows |= axis == 'k' && size != BufferType::kLongest && isa<BufferType>(type);
  return success();
}

LogicalResult AxisCheck::verify(const Twine &name, StringRef axes, Type type) {
  auto cache = dyn_cast<CacheType>(type);
  SmallVector<int64_t> shape;
  if (cache) {
    if (!axes.starts_with("k")) {
      return emitError() << "expects axes that begin with 'k' for " << name << ", a cache, got '"
                         << axes << "'";
    }
    shape.push_back(BufferType::kLongest);
    llvm::append_range(shape, cache.getShape());
    hasCachedKeys = true;
  } else {
    llvm::append_range(shape, cast<BufferType>(type).getShape());
  }
  if (failed(verifyLetters(name, axes, type, shape.size()))) {
    return failure();
  }
  for (auto [axis, size] : llvm::zip_equal(axes, shape)) {
    if (failed(verifySize(axis, size, type))) {
      return failure();
    }
  }
  return success();
}

/// What `relative` and `keys_from` need.
static LogicalResult verifyOptions(NestAttr nest, AxisCheck &check, ArrayRef<Type> inputs) {
  StringRef axes = nest.getAxes().getValue();
  bool hasPairs = check.sizes.contains('t') && check.sizes.contains('k');
  if (nest.getRelative() &&
      (!hasPairs || check.sizes.lookup('r') % 2 != 1 || nest.getResultAxes().contains('r'))) {
    return check.emitError() << "expects axes 't' and 'k', and 'r' of an odd size that the result "
                                "lacks, with 'relative', got '"
                             << axes << "'";
  }
  if (nest.getKeysFrom()) {
    if (check.hasCachedKeys || inputs.empty() || !isa<CacheType>(inputs.back())) {
      return check.emitError() << "expects a last input that is the only cache with 'keys_from', "
                                  "got '"
                               << axes << "'";
    }
    check.hasCachedKeys = true;
  }
  if (check.hasCachedKeys && (!hasPairs || check.hasKeyRows)) {
    return check.emitError() << "expects axis 't', and an axis 'k' that counts no rows of the "
                                "batch, with a cache, got '"
                             << axes << "'";
  }
  return success();
}

LogicalResult NestAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  ArrayRef<Type> inputs = type.getInputs().take_front(getNumInputs());
  auto result = cast<BufferType>(type.getResult(0));
  StringRef axes = getAxes().getValue();
  if (axes.count("->") != 1) {
    return emitError() << "expects axes 'axes,...->axes', got '" << axes << "'";
  }
  AxisCheck check{emitError};
  ArrayRef<Type> named = inputs.take_front(getNumNamed());
  for (auto [index, input] : llvm::enumerate(named)) {
    if (failed(check.verify("input #" + Twine(index), getInputAxes(index), input))) {
      return failure();
    }
  }
  if (failed(check.verify("a result", getResultAxes(), result)) ||
      failed(verifyOptions(*this, check, inputs))) {
    return failure();
  }
  auto &sizes = check.sizes;
  char rowAxis = sizes.contains('t') ? 't' : 'k';
  size_t row = getResultAxes().find(rowAxis);
  if (row == StringRef::npos || result.getShape()[row] == BufferType::kLongest) {
    return emitError() << "expects the row axis '" << rowAxis
                       << "' in the result, of tokens or sequences, got '" << axes << "' and "
                       << result;
  }
  // Tokens and keys of sequences mean nothing to a row that is a sequence.
  auto uses = [&](int64_t symbol) {
    auto has = [symbol](Type type) {
      auto buffer = dyn_cast<BufferType>(type);
      return buffer && buffer.hasSymbol(symbol);
    };
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

// --- the family ------------------------------------------------------------------------------

StringRef NestAttr::getNoun() const { return "a loop nest"; }

/// The axes of inputs and result; those of the result only if the first input has others.
std::string NestAttr::getSizes(FunctionType) const {
  std::string name;
  for (unsigned i = 0; i < getNumNamed(); ++i) {
    name += (i == 0 ? "" : "_") + getInputAxes(i).str();
  }
  if (getNumNamed() == 0 || getInputAxes(0) != getResultAxes()) {
    name += (name.empty() ? "" : "_") + getResultAxes().str();
  }
  if (getReduction() == ReductionKind::Softmax) {
    name += "_softmax";
  }
  return getCausal() ? name + "_causal" : name;
}

LogicalResult NestAttr::verifyNumbers(EmitError) const { return success(); }

int64_t NestAttr::getNumInputs() const {
  return static_cast<int64_t>(getNumNamed()) + (getKeysFrom() ? 1 : 0);
}

/// A row reads other rows along `k`, its own along `t`; what has neither is read whole.
static KernelInput::Role roleOf(StringRef axes) {
  return axes.contains('k')   ? KernelInput::Role::Sequence
         : axes.contains('t') ? KernelInput::Role::Rows
                              : KernelInput::Role::Weights;
}

SmallVector<KernelInput> NestAttr::getInputs(FunctionType) const {
  SmallVector<KernelInput> inputs;
  for (unsigned i = 0; i < getNumNamed(); ++i) {
    inputs.push_back({.role = roleOf(getInputAxes(i)), .takesAnyCache = true});
  }
  if (getKeysFrom()) {
    inputs.push_back({.role = KernelInput::Role::Extent, .takesAnyCache = true});
  }
  return inputs;
}

KernelResult NestAttr::getResult(FunctionType) const { return {}; }

Division NestAttr::getDivision(FunctionType) const { return {}; }

/// Two for each term of a sum over the axes.
Flops NestAttr::getFlops(FunctionType type) const {
  if (getReduction() != ReductionKind::Sum) {
    return {};
  }
  uint64_t terms = 1;
  bool overKeys = false;
  llvm::SmallString<8> seen;
  auto visit = [&](StringRef axes, Type operand) {
    SmallVector<int64_t> shape;
    if (auto cache = dyn_cast<CacheType>(operand)) {
      shape.push_back(BufferType::kLongest);
      llvm::append_range(shape, cache.getShape());
    } else {
      llvm::append_range(shape, cast<BufferType>(operand).getShape());
    }
    for (auto [axis, dimension] : llvm::zip_equal(axes, shape)) {
      if (seen.str().contains(axis)) {
        continue;
      }
      seen.push_back(axis);
      overKeys |= axis == 'k';
      terms *= dimension > 0 ? dimension : 1;
    }
  };
  for (unsigned i = 0; i < getNumNamed(); ++i) {
    visit(getInputAxes(i), type.getInput(i));
  }
  return overKeys ? Flops{.perRowAndKey = 2 * terms} : Flops{.perRow = 2 * terms};
}

EpilogueSupport NestAttr::getEpilogueSupport() const { return EpilogueSupport::IsRegion; }

bool NestAttr::hidesLaterKeys() const { return getCausal(); }

ParseResult parseNestOptions(AsmParser &parser, FloatAttr &hidden, bool &relative, bool &keysFrom) {
  return parseOptions(parser, [&](StringRef name) -> OptionalParseResult {
    if (name == "hidden") {
      return ParseResult(failure(parser.parseEqual() || parser.parseAttribute(hidden)));
    }
    if (name == "relative") {
      relative = true;
      return ParseResult(success());
    }
    if (name == "keys_from") {
      keysFrom = true;
      return ParseResult(success());
    }
    return std::nullopt;
  });
}

void printNestOptions(AsmPrinter &printer, FloatAttr hidden, bool relative, bool keysFrom) {
  if (hidden) {
    printer << ", hidden = " << hidden;
  }
  printer << (relative ? ", relative" : "") << (keysFrom ? ", keys_from" : "");
}

} // namespace heddle::dataflow
