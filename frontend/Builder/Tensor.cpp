// SPDX-License-Identifier: Apache-2.0
///
/// Operations without parameters that are not element-wise. This file checks only conditions that
/// result types depend on; the dialect's verifiers check the rest when the model is finished.
#include "frontend/Builder/ModelState.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>

using namespace mlir;

namespace heddle {

Tensor Mask::bias(double hidden) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::MaskBiasOp>(
      site.tensorType({ShapedType::kDynamic, ShapedType::kDynamic}), value(), site.f32(hidden));
}

std::vector<int64_t> Tensor::shape() const {
  if (!valid() || state->finished) {
    return {};
  }
  std::vector<int64_t> sizes = typeOf(*this).getShape().vec();
  std::replace(sizes.begin(), sizes.end(), ShapedType::kDynamic, int64_t(-1));
  return sizes;
}

int64_t Tensor::width() const {
  const std::vector<int64_t> sizes = shape();
  return sizes.empty() ? 0 : sizes.back();
}

/// Returns whether a tensor is [t, w].
static bool isRows(const Tensor &tensor) {
  const RankedTensorType type = typeOf(tensor);
  return type.getRank() == 2 && type.isDynamicDim(0) && !type.isDynamicDim(1);
}

/// Checks that a tensor is [t, h, d].
static bool expectHeads(OperationSite &site, const Tensor &tensor) {
  if (!site.ok()) {
    return false;
  }
  const RankedTensorType type = typeOf(tensor);
  if (type.getRank() != 3 || type.getNumDynamicDims() != 1 || !type.isDynamicDim(0)) {
    site.fail(fmt::format("the input has shape {}, expected heads [?, heads, head size]",
                          printSizes(type.getShape())));
  }
  return site.ok();
}

bool expectRows(OperationSite &site, const Tensor &tensor) {
  if (site.ok() && !isRows(tensor)) {
    site.fail(fmt::format("the input has shape {}, expected rows [?, width]",
                          printSizes(typeOf(tensor).getShape())));
  }
  return site.ok();
}

Tensor Tensor::splitHeads(int64_t heads) const {
  OperationSite site({this});
  if (!expectRows(site, *this)) {
    return {};
  }
  const int64_t width = typeOf(*this).getDimSize(1);
  if (heads < 1 || width % heads != 0) {
    site.fail(fmt::format("{} heads of rows of width {}, expected heads that divide the width",
                          heads, width));
    return {};
  }
  return site.make<Tensor, transformer::SplitHeadsOp>(
      site.tensorType({ShapedType::kDynamic, heads, width / heads}), value());
}

Tensor Tensor::mergeHeads() const {
  OperationSite site({this});
  if (!expectHeads(site, *this)) {
    return {};
  }
  const RankedTensorType type = typeOf(*this);
  const int64_t width = type.getDimSize(1) * type.getDimSize(2);
  return site.make<Tensor, transformer::MergeHeadsOp>(
      site.tensorType({ShapedType::kDynamic, width}), value());
}

Tensor Tensor::repeatHeads(int64_t times) const {
  OperationSite site({this});
  if (!expectHeads(site, *this)) {
    return {};
  }
  const RankedTensorType type = typeOf(*this);
  const int64_t most = std::numeric_limits<int32_t>::max() / type.getDimSize(1);
  if (times < 1 || times > most) {
    site.fail(fmt::format("{} heads repeated {} times, expected 1 to {} times", type.getDimSize(1),
                          times, most));
    return {};
  }
  return site.make<Tensor, transformer::RepeatHeadsOp>(
      site.tensorType({ShapedType::kDynamic, type.getDimSize(1) * times, type.getDimSize(2)}),
      value());
}

Tensor Tensor::transpose(std::span<const int64_t> permutation) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  const ArrayRef<int64_t> sizes = typeOf(*this).getShape();
  std::vector<int64_t> sorted(permutation.begin(), permutation.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> axes(sizes.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (sorted != axes) {
    site.fail(fmt::format("the permutation is {}, expected every axis of {} once",
                          printSizes({permutation.data(), permutation.size()}), printSizes(sizes)));
    return {};
  }
  std::vector<int64_t> result;
  for (int64_t axis : permutation) {
    result.push_back(sizes[axis]);
  }
  return site.make<Tensor, transformer::TransposeOp>(
      site.tensorType(result), value(), ArrayRef<int64_t>(permutation.data(), permutation.size()));
}

Tensor Tensor::softmax(const Segments &keys) const {
  OperationSite site({this, &keys});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::SoftmaxOp>(value(), keys.value());
}

Tensor Tensor::divideBySum(const Segments &keys) const {
  OperationSite site({this, &keys});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::DivideBySumOp>(value(), keys.value());
}

Tensor Tensor::select(const Mask &mask, double hidden) const {
  OperationSite site({this, &mask});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::SelectOp>(mask.value(), value(), site.f32(hidden));
}

Tensor Tensor::columns(int64_t first, int64_t count) const {
  OperationSite site({this});
  if (!expectRows(site, *this)) {
    return {};
  }
  const int64_t width = typeOf(*this).getDimSize(1);
  if (first < 0 || count < 1 || count > width || first > width - count) {
    site.fail(fmt::format("{} columns from {} of rows of width {}, expected columns within the "
                          "width",
                          count, first, width));
    return {};
  }
  return site.make<Tensor, transformer::ColumnsOp>(site.tensorType({ShapedType::kDynamic, count}),
                                                   value(), static_cast<uint64_t>(first));
}

Tensor Tensor::pool(transformer::Pooling method, const Segments &rows) const {
  OperationSite site({this, &rows});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::PoolOp>(method, value(), rows.value(),
                                                /*blocks=*/mlir::Value());
}

Tensor Tensor::pool(transformer::Pooling method, const Segments &rows,
                    const Segments &blocks) const {
  OperationSite site({this, &rows, &blocks});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::PoolOp>(method, value(), rows.value(), blocks.value());
}

Tensor Tensor::spread(const Segments &rows) const {
  OperationSite site({this, &rows});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::SpreadOp>(value(), rows.value());
}

Tensor Tensor::pairSum(const Tensor &keys, const Segments &rows,
                       const Segments &keySegments) const {
  OperationSite site({this, &keys, &rows, &keySegments});
  if (!expectRows(site, *this) || !expectRows(site, keys)) {
    return {};
  }
  return site.make<Tensor, transformer::PairSumOp>(
      site.tensorType({mlir::ShapedType::kDynamic, mlir::ShapedType::kDynamic, width()}), value(),
      keys.value(), rows.value(), keySegments.value());
}

Tensor Tensor::normalize(double epsilon) const {
  OperationSite site({this});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::NormalizeOp>(value(), site.f32(epsilon));
}

} // namespace heddle
