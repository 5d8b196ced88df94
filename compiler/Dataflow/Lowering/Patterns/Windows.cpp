// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of windows that slide over rows, and of the rows at their strides.
#include "compiler/Dataflow/Lowering/EntryContext.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Segments need no kernel: operations that make strided rows ask the entry for their space.
LogicalResult lowerStrided(transformer::StridedOp, EntryContext &) { return success(); }

SlideKind toSlideKind(transformer::SlideKind kind) {
  switch (kind) {
  case transformer::SlideKind::Patches:
    return SlideKind::Patches;
  case transformer::SlideKind::Depthwise:
    return SlideKind::Depthwise;
  case transformer::SlideKind::Max:
    return SlideKind::Max;
  }
  llvm_unreachable("every window has its kernel");
}

/// Channels are vectorised: the weight is read transposed, [elements, width]. A depthwise window
/// over one dimension is a `convolve`, whose kernel computes several rows at once.
LogicalResult lowerSlide(transformer::SlideOp op, EntryContext &entry) {
  Value input = entry.bufferOf(op.getInput());
  if (failed(entry.checkRows(op, "slides over", input, op.getRows()))) {
    return failure();
  }
  bool resumes = static_cast<bool>(op.getState());
  assert((!resumes || op.getRows() == entry.rows) && "entries with states derive no rows");
  transformer::WindowAttr window = op.getWindow();
  int64_t width = op.getInput().getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "slide";
  parts.computes = SlideAttr::get(op.getContext(), toSlideKind(op.getKind()), width, window,
                                  op.getGroupsAttr().getInt(), /*rectifies=*/false, resumes);
  parts.inputs = {input};
  if (op.getWeightAttr()) {
    parts.inputs.push_back(entry.transposedParameter(op.getWeightAttr()));
    if (window.isOfConvolve()) {
      parts.stem = "convolve";
      parts.computes = ConvolveAttr::get(op.getContext(), width, window.getHeight(),
                                         window.getDilationDown(), window.getCausal(), resumes);
    }
  }
  if (resumes) {
    parts.inputs.push_back(entry.bufferOf(op.getState()));
  }
  parts.results = {
      entry.denseBuffer({entry.rowsIn(op.getResultRows()), op.getType().getDimSize(1)})};
  return entry.dispatch(op, parts);
}

} // namespace

template <> Pattern patternOf<transformer::StridedOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::StridedOp, lowerStrided>};
}

template <> Pattern patternOf<transformer::SlideOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::SlideOp, lowerSlide>};
}

} // namespace heddle
