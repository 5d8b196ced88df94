// SPDX-License-Identifier: Apache-2.0
///
/// Rows that choose, and operations on their choices. As in Tensor.cpp, only conditions that result
/// types depend on are checked here.
#include "frontend/Builder/ModelState.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle {

/// Returns how many choices each row has in segments; 0, with an error, if they are not choices.
static int64_t countOf(OperationSite &site, const Segments &choices) {
  auto op = choices.value().getDefiningOp<transformer::ChoicesOp>();
  if (!op) {
    site.fail("the segments are no choices, expected what Segments::choices() gives");
    return 0;
  }
  return op.getCountAttr().getInt();
}

namespace {
/// Wraps the results of a choice.
struct MadeChoice {
  MadeChoice(ModelState *state, transformer::TopKOp op)
      : chosen{Ids(state, op.getChoice()), Tensor(state, op.getValue())} {}
  Chosen chosen;
};
} // namespace

Chosen Tensor::topK(const Segments &choices) const {
  OperationSite site({this, &choices});
  const int64_t count = expectRows(site, *this) ? countOf(site, choices) : 0;
  if (!site.ok()) {
    return {};
  }
  const RankedTensorType type = site.tensorType({ShapedType::kDynamic, count});
  const auto ids =
      RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(site.model()->context, 32));
  return site.make<MadeChoice, transformer::TopKOp>(ids, type, value(), choices.value()).chosen;
}

Tensor Tensor::repeat(const Segments &choices) const {
  OperationSite site({this, &choices});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::RepeatOp>(typeOf(*this), value(), choices.value());
}

Tensor Tensor::splitRows(const Segments &choices) const {
  OperationSite site({this, &choices});
  const int64_t count = expectRows(site, *this) ? countOf(site, choices) : 0;
  if (!site.ok()) {
    return {};
  }
  if (count < 1 || width() % count != 0) {
    site.fail(
        fmt::format("the input has {} columns, expected a multiple of {} choices", width(), count));
    return {};
  }
  return site.make<Tensor, transformer::SplitRowsOp>(
      site.tensorType({ShapedType::kDynamic, width() / count}), value(), choices.value());
}

Tensor Tensor::joinRows(const Segments &choices) const {
  OperationSite site({this, &choices});
  const int64_t count = expectRows(site, *this) ? countOf(site, choices) : 0;
  if (!site.ok()) {
    return {};
  }
  if (width() > std::numeric_limits<int32_t>::max() / std::max<int64_t>(count, 1)) {
    site.fail(fmt::format("{} choices of {} columns side by side, expected fewer", count, width()));
    return {};
  }
  return site.make<Tensor, transformer::JoinRowsOp>(
      site.tensorType({ShapedType::kDynamic, count * width()}), value(), choices.value());
}

Tensor Tensor::placeColumns(const Ids &chosen, int64_t columns) const {
  OperationSite site({this, &chosen});
  if (!expectRows(site, *this)) {
    return {};
  }
  if (columns < 1) {
    site.fail(fmt::format("expected at least one column, got {}", columns));
    return {};
  }
  return site.make<Tensor, transformer::PlaceColumnsOp>(
      site.tensorType({ShapedType::kDynamic, columns}), value(), chosen.value());
}

Tensor Tensor::rowSoftmax() const {
  OperationSite site({this});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::RowSoftmaxOp>(value());
}

} // namespace heddle
