// SPDX-License-Identifier: Apache-2.0
///
/// Sliding windows over rows: patches, depthwise convolutions, maxima, and strided rows.
#include "frontend/Builder/ModelState.h"

#include <fmt/format.h>

using namespace mlir;

namespace heddle {

using transformer::SlideKind;

/// Checks that a tensor is [t, w] and the window is valid; returns a null attribute otherwise.
static transformer::WindowAttr windowOf(OperationSite &site, const Tensor &x,
                                        const Window &window) {
  const RankedTensorType type = typeOf(x);
  if (type.getRank() != 2 || !type.isDynamicDim(0) || type.isDynamicDim(1)) {
    site.fail(fmt::format("the input has shape {}, expected rows [?, width]",
                          printSizes(type.getShape())));
    return {};
  }
  MLIRContext *context = x.value().getContext();
  std::string reason;
  const ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    reason = diagnostic.str();
    return success();
  });
  const auto attribute = transformer::WindowAttr::getChecked(
      [&] { return emitError(UnknownLoc::get(context)); }, context, window.height, window.width,
      window.strideDown, window.strideRight, window.dilationDown, window.dilationRight,
      window.across, window.causal);
  if (!attribute) {
    site.fail(reason);
  }
  return attribute;
}

static Tensor slide(OperationSite &site, SlideKind kind, const Tensor &x, const Window &window,
                    const Segments &rows, const Segments &to, const State &before, int64_t groups,
                    FlatSymbolRefAttr weight) {
  if (!site.ok()) {
    return {};
  }
  const transformer::WindowAttr attribute = windowOf(site, x, window);
  if (!attribute) {
    return {};
  }
  const int64_t width = x.width() * (kind == SlideKind::Patches ? attribute.getElements() : 1);
  return site.make<Tensor, transformer::SlideOp>(
      site.tensorType({ShapedType::kDynamic, width}), kind, x.value(), rows.value(),
      to.valid() && to.value() != rows.value() ? to.value() : Value(),
      before.valid() ? before.value() : Value(), weight, attribute, static_cast<uint64_t>(groups));
}

/// Returns the site of an operation that takes the name of `x`.
static OperationSite siteOf(const Tensor &x, const Segments &rows, const Segments &to,
                            const State &before) {
  const Segments &after = to.valid() ? to : rows;
  return before.valid() ? OperationSite({&x, &rows, &after, &before})
                        : OperationSite({&x, &rows, &after});
}

Tensor Tensor::patches(const Window &window, const Segments &rows, const Segments &to,
                       int64_t groups, const State &before) const {
  OperationSite site = siteOf(*this, rows, to, before);
  return slide(site, SlideKind::Patches, *this, window, rows, to, before, groups, {});
}

Tensor Tensor::largest(const Window &window, const Segments &rows, const Segments &to) const {
  OperationSite site = siteOf(*this, rows, to, State());
  return slide(site, SlideKind::Max, *this, window, rows, to, State(), 1, {});
}

Tensor Scope::convolve(const Tensor &x, const Parameter &weight, const Window &window,
                       const Segments &rows, const Segments &to, const State &before) const {
  const Segments &after = to.valid() ? to : rows;
  OperationSite site = before.valid() ? OperationSite(state, prefix, {&x, &rows, &after, &before})
                                      : OperationSite(state, prefix, {&x, &rows, &after});
  if (!site.ok()) {
    return {};
  }
  if (weight.model() != state) {
    site.fail("the weight is not a parameter of this model");
    return {};
  }
  return slide(site, SlideKind::Depthwise, x, window, rows, to, before, 1,
               FlatSymbolRefAttr::get(state->context, weight.symbol()));
}

Segments Segments::strided(int64_t down, int64_t right, int64_t across) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Segments, transformer::StridedOp>(
      value().getType(), value(), static_cast<uint64_t>(down), static_cast<uint64_t>(right),
      static_cast<uint64_t>(across));
}

} // namespace heddle
