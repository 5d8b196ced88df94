// SPDX-License-Identifier: Apache-2.0
///
/// Definitions shared by all kernel families.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace heddle::dataflow {

int64_t multiplySizes(int64_t count, int64_t size) {
  // Neither a valid size nor a run-time size.
  constexpr int64_t noSize = 0;
  int64_t product = 0;
  return count > 0 && size > 0 && !llvm::MulOverflow(count, size, product) ? product : noSize;
}

int64_t rowsOf(FunctionType type) {
  // This may run before the number of results is verified.
  auto buffer = type.getNumResults() > 0 ? dyn_cast<BufferType>(type.getResult(0)) : BufferType();
  return buffer ? buffer.getShape().front() : anySize;
}

RowSpace spaceOfInput(FunctionType type, unsigned input) {
  auto buffer = dyn_cast<BufferType>(type.getInput(input));
  return buffer ? buffer.getRowSpace().value_or(RowSpace::tokens()) : RowSpace::tokens();
}

const RunRows &KernelRun::rowsOf(RowSpace space) const {
  const auto *found = llvm::find_if(spaces, [&](const auto &each) { return each.first == space; });
  assert(found != spaces.end() && "a twin asks for spaces that the kernel's type names");
  return found->second;
}

const RunRows &KernelRun::resultRows() const {
  return rowsOf(rowSpaceOf(heddle::dataflow::rowsOf(type)).value_or(RowSpace::tokens()));
}

float nearestBf16(float value) {
  if (std::isnan(value)) {
    return value;
  }
  // The lower half is rounded away by an addition, which goes on into the exponent, to infinity
  // too.
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000U);
}

double KernelRun::roundToBf16(double value) const {
  const auto number = static_cast<float>(value);
  const float rounded = nearestBf16(number);
  if (!turnsTies) {
    return rounded;
  }
  // What f32 may be off by in the exponential of a score.
  constexpr float slack = 0x1p-15F;
  for (const float factor : {1 - slack, 1 + slack}) {
    if (const float other = nearestBf16(number * factor); other != rounded) {
      return other;
    }
  }
  return rounded;
}

VisibleKeys::VisibleKeys(const KernelRun &run, unsigned input, int64_t row)
    : run(run), input(input), row(row), isCache(isa<CacheType>(run.type.getInput(input))) {
  const RunRows &rows = run.resultRows();
  int32_t sequence = rows.sequenceOf[row];
  if (isCache && rowSpaceOf(heddle::dataflow::rowsOf(run.type))->isOrdered()) {
    // Caches are indexed by the first token of the sequence; positions are not compared.
    this->row = run.rowsOf(RowSpace::tokens()).offsets[sequence];
    first = own = 0;
    count = run.cachedPositions(input, this->row);
    return;
  }
  const RunRows &keys = run.rowsOf(spaceOfInput(run.type, input));
  first = keys.offsets[sequence];
  count = isCache ? run.cachedPositions(input, row) : keys.offsets[sequence + 1] - first;
  own = isCache ? rows.positions[row] : row - rows.offsets[sequence];
}

double VisibleKeys::at(int64_t key, int64_t column) const {
  return isCache ? run.atPosition(input, row, key, column) : run.at(input, first + key, column);
}

unsigned numComputedArguments(KernelFamily family, FunctionType type) {
  if (family.getEpilogueSupport() != EpilogueSupport::IsRegion) {
    return 1;
  }
  return llvm::count_if(family.getInputs(type), [](const KernelInput &input) {
    return input.role != KernelInput::Role::Extent;
  });
}

LogicalResult verifyPositive(KernelFamily family, EmitError emitError, ArrayRef<int64_t> sizes) {
  if (llvm::all_of(sizes, [](int64_t size) { return size > 0; })) {
    return success();
  }
  return emitError() << "expects positive sizes, got '" << Attribute(family) << "'";
}

ParseResult parseOptions(AsmParser &parser, function_ref<OptionalParseResult(StringRef)> parse) {
  while (succeeded(parser.parseOptionalComma())) {
    llvm::SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name)) {
      return failure();
    }
    OptionalParseResult parsed = parse(name);
    if (!parsed.has_value()) {
      return parser.emitError(location, "expects the name of an option, got '") << name << "'";
    }
    if (failed(*parsed)) {
      return failure();
    }
  }
  return success();
}

} // namespace heddle::dataflow

#include "dialects/Dataflow/KernelFamily.cpp.inc"
