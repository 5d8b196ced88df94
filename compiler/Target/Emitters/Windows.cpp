// SPDX-License-Identifier: Apache-2.0
///
/// Sliding windows over the rows of sequences, vectorised over channels: in one dimension, or over
/// the pixels of images. Elements outside the sequence are omitted from sums, whose terms are in
/// the order of the window.
#include "compiler/Target/Emitters/Windows.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace heddle {

using dataflow::SlideKind;

SlideSource::SlideSource(VectorCode &code, const KernelBody &body, dataflow::SlideAttr slide,
                         unsigned weights)
    : code(code), slide(slide), window(slide.getWindow()), input(body.operand(code, 0)),
      stride(body.kernel.getOperandBuffer(0).getRowElements()) {
  RowFields rows = body.rows(code);
  to = rows.offsets(code);
  sequenceOf = rows.sequenceOf(code);
  RowFields given = body.arguments.rows(code, *body.kernel.getOperandBuffer(0).getRowSpace());
  from = given.offsets(code);
  if (window.isOfAnyWidth()) {
    widths = given.widths(code);
  }
  if (slide.getKind() == SlideKind::Depthwise) {
    this->weights = body.operand(code, weights);
  }
  if (slide.getResumes()) {
    positions = rows.positions(code);
    auto last = static_cast<unsigned>(body.kernel.getComputes().getNumInputs() - 1);
    state = CacheFields::load(code, body.operand(code, last));
  }
}

/// Returns the range of a window's elements that are within the `places` of an axis. The window
/// begins `before` places before `place`.
static std::pair<Value, Value> elementsWithin(VectorCode &code, Value place, Value before,
                                              Value places, int64_t elements, int64_t dilation) {
  Value zero = code.integer(0);
  Value missing = code.larger(code.subtract(zero, code.add(place, before)), zero);
  Value after = code.divide(code.subtract(code.subtract(places, place), 1), dilation);
  return {code.divideUp(missing, dilation),
          code.smaller(code.add(after, 1), code.integer(elements))};
}

/// Returns the number of places before the first element of the window at place 0 of an axis;
/// `reach` is the distance from its first element to its last.
static Value marginBefore(VectorCode &code, Value places, int64_t reach, int64_t stride) {
  if (stride == 1) {
    return code.integer(reach / 2);
  }
  Value last = code.multiply(code.subtract(code.divideUp(places, stride), 1), stride);
  Value margins = code.subtract(code.add(last, reach + 1), places);
  return code.divide(code.larger(margins, code.integer(0)), 2);
}

SlideSource::Place SlideSource::stand(Value row) const {
  Place p;
  Value sequence = code.loadIndex(sequenceOf, row);
  Value own = code.subtract(row, code.loadIndex(to, sequence));
  p.firstRow = code.loadIndex(from, sequence);
  Value count = code.subtract(code.loadIndex(from, code.add(sequence, 1)), p.firstRow);
  bool isOfAnyWidth = window.isOfAnyWidth();
  int64_t reach = window.getRowsBefore();
  p.across = isOfAnyWidth ? code.loadIndex(widths, sequence) : code.integer(window.getAcross());
  Value after = isOfAnyWidth ? code.divideUp(p.across, window.getStrideRight())
                             : code.integer(window.getAcrossAfter(window.getAcross()));
  Value lines = window.isOverLine() ? count : code.divide(count, p.across);
  Value above = window.getCausal() ? code.integer(reach)
                                   : marginBefore(code, lines, reach, window.getStrideDown());
  Value line = window.isOverLine() ? own : code.divide(own, after);
  p.down = code.subtract(code.multiply(line, window.getStrideDown()), above);
  p.start = code.integer(0);
  if (state) {
    p.start = code.subtract(code.loadIndex(positions, row), own);
    p.kept = state->blockAt(code, state->blocksOf(code, sequence), code.integer(0));
  }
  std::tie(p.firstLine, p.endLine) =
      elementsWithin(code, p.down, p.start, lines, window.getHeight(), window.getDilationDown());
  p.right = p.firstColumn = code.integer(0);
  p.endColumn = code.integer(1);
  if (!window.isOverLine()) {
    Value place = code.subtract(own, code.multiply(line, after));
    int64_t reachRight = (window.getWidth() - 1) * window.getDilationRight();
    Value left = isOfAnyWidth ? marginBefore(code, p.across, reachRight, window.getStrideRight())
                              : code.integer(window.getMarginLeft(window.getAcross()));
    p.right = code.subtract(code.multiply(place, window.getStrideRight()), left);
    std::tie(p.firstColumn, p.endColumn) = elementsWithin(
        code, p.right, code.integer(0), p.across, window.getWidth(), window.getDilationRight());
  }
  return p;
}

/// Returns the address of the row of a window element. A row before the run is in the state.
Value SlideSource::elementAt(const Place &p, Value line, Value column) const {
  Value down = code.add(p.down, code.multiply(line, window.getDilationDown()));
  Value right = code.add(p.right, code.multiply(column, window.getDilationRight()));
  Value row = code.add(p.firstRow, code.add(code.multiply(down, p.across), right));
  Value address = code.at(input, code.multiply(row, stride));
  if (!state) {
    return address;
  }
  Value place = code.remainder(code.add(p.start, down), window.getRowsBefore());
  Value before = code.at(p.kept, code.multiply(place, slide.getWidth()));
  return code.select(code.less(down, code.integer(0)), before, address);
}

Value SlideSource::load(Value address, int64_t valid) const {
  Value x = code.loadVector(address, valid);
  // With this operand order NaN propagates, as in a separate ReLU.
  return slide.getRectifies() ? code.maximum(code.splat(0), x) : x;
}

/// Returns whether an element of the window is a row of the sequence.
Value SlideSource::isWithin(const Place &p, Value line, Value column) const {
  auto isBetween = [&](Value number, Value first, Value end) {
    return code.both(code.less(number, end), code.less(first, code.add(number, 1)));
  };
  return code.both(isBetween(line, p.firstLine, p.endLine),
                   isBetween(column, p.firstColumn, p.endColumn));
}

/// Stores all elements side by side, zeros for those outside.
void SlideSource::emitPatches(const Place &p, Store store) const {
  constexpr int64_t unroll = 4;
  int64_t groups = slide.getGroups(), own = slide.getWidth() / groups;
  code.loop(code.integer(0), code.integer(window.getHeight()), 1, [&](Value line) {
    code.loop(code.integer(0), code.integer(window.getWidth()), 1, [&](Value column) {
      Value element = code.add(code.multiply(line, window.getWidth()), column);
      Value isInside = isWithin(p, line, column);
      auto emitGroups = [&](llvm::function_ref<Value(Value, int64_t)> valueAt) {
        code.loop(code.integer(0), code.integer(groups), 1, [&](Value group) {
          Value read = code.multiply(group, own);
          Value written =
              code.add(code.multiply(read, window.getElements()), code.multiply(element, own));
          code.overRow(own, unroll, [&](Value offset, int64_t valid) {
            store(valueAt(code.add(read, offset), valid), code.add(written, offset), valid);
          });
        });
      };
      code.when(
          isInside,
          [&] {
            Value x = elementAt(p, line, column);
            emitGroups([&](Value at, int64_t valid) { return load(code.at(x, at), valid); });
          },
          [&] { emitGroups([&](Value, int64_t) { return code.splat(0); }); });
    });
  });
}

/// Computes the weighted sums of some columns, or their maxima.
void SlideSource::emitReduced(const Place &p, ArrayRef<VectorCode::Columns> group,
                              Store store) const {
  bool isMax = slide.getKind() == SlideKind::Max;
  Value initial = code.splat(0);
  if (isMax) {
    Value none = code.splat(-std::numeric_limits<float>::infinity());
    // A causal window reads zeros outside the sequence.
    Value zero = initial;
    initial = none;
    auto leaveZeroIf = [&](Value missing) { initial = code.select(missing, zero, initial); };
    if (window.getCausal()) {
      leaveZeroIf(code.less(code.integer(0), p.firstLine));
    }
    if (window.getCausal() && window.getWidth() > 1) {
      leaveZeroIf(code.less(code.integer(0), p.firstColumn));
      leaveZeroIf(code.less(p.endColumn, code.integer(window.getWidth())));
    }
  }
  SmallVector<Value> results(group.size(), initial);
  results = code.loop(p.firstLine, p.endLine, 1, results, [&](Value line, ValueRange ofLines) {
    SmallVector<Value> before(ofLines);
    return code.loop(p.firstColumn, p.endColumn, 1, before, [&](Value place, ValueRange carried) {
      Value x = elementAt(p, line, place);
      Value element = code.add(code.multiply(line, window.getWidth()), place);
      SmallVector<Value> next;
      for (auto [columns, result] : llvm::zip_equal(group, carried)) {
        Value value = load(code.at(x, columns.first), columns.valid);
        if (isMax) {
          next.push_back(code.maximumOrNan(value, result));
          continue;
        }
        Value row = code.at(weights, code.multiply(element, slide.getWidth()));
        Value weight = code.loadVector(code.at(row, columns.first), columns.valid);
        next.push_back(code.fma(weight, value, result));
      }
      return next;
    });
  });
  for (auto [columns, result] : llvm::zip_equal(group, results)) {
    store(result, columns.first, columns.valid);
  }
}

/// Returns the number in a column of emitPatches().
Value SlideSource::patchElement(const Place &p, Value column) const {
  const int64_t elements = window.getElements(), own = slide.getWidth() / slide.getGroups();
  Value inGroup = code.remainder(column, elements * own), element = code.divide(inGroup, own);
  Value read = code.add(code.multiply(code.divide(column, elements * own), own),
                        code.remainder(inGroup, own));
  Value line = code.divide(element, window.getWidth());
  Value inLine = code.remainder(element, window.getWidth());
  Value isInside = isWithin(p, line, inLine);
  // Outside, the first row of the sequence is read and not used.
  Value first = code.at(input, code.multiply(p.firstRow, stride));
  Value from = code.select(isInside, elementAt(p, line, inLine), first);
  return code.select(isInside, load(code.at(from, read), 1), code.splat(0));
}

Value SlideSource::element(Value row, Value column) const {
  assert(code.lanes == 1 && "a vector is an element");
  const Place place = stand(row);
  Value result;
  if (slide.getKind() == SlideKind::Patches) {
    result = patchElement(place, column);
  } else {
    emitReduced(place, VectorCode::Columns{column, 1},
                [&](Value value, Value, int64_t) { result = value; });
  }
  return vector::ExtractOp::create(code.builder, code.location, result, 0);
}

void SlideSource::emitRow(Value row, Store store) const {
  Place place = stand(row);
  if (slide.getKind() == SlideKind::Patches) {
    return emitPatches(place, store);
  }
  // Enough vectors to overlap their additions.
  constexpr int64_t unroll = 4;
  code.overGroups(slide.getWidth(), unroll,
                  [&](ArrayRef<VectorCode::Columns> group) { emitReduced(place, group, store); });
}

template <> KernelScratch scratchOf(dataflow::SlideAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::SlideAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Epilogue epilogue(code, body);
  KernelResult result = KernelResult::load(code, arguments);
  SlideSource source(code, body, computes, /*weights=*/1);
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value to = result.at(code, row, code.integer(0));
    source.emitRow(row, [&](Value value, Value column, int64_t valid) {
      value = epilogue.apply(code, value, row, column, valid);
      code.storeVector(value, code.at(to, column), valid);
    });
    if (body.kernel.getNorm()) {
      emitRowNorm(code, body, to, computes.getResultWidth());
    }
  });
}

} // namespace heddle
