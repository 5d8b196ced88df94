// SPDX-License-Identifier: Apache-2.0
///
/// Builders of split_heads, merge_heads and transpose, and the patterns that cancel them.
#include "compiler/Model/Attention/HeadLayout.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

struct CancelTranspose : OpRewritePattern<TransposeOp> {
  using Base::Base;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    if (isIdentity(op.getPermutation())) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner) {
      return rewriter.notifyMatchFailure(op, "the input is not transposed");
    }
    SmallVector<int64_t> permutation;
    for (int64_t axis : op.getPermutation()) {
      permutation.push_back(inner.getPermutation()[axis]);
    }
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getInput(), permutation);
    return success();
  }
};

/// Removes `Outer` of `Inner` if the types match.
template <typename Outer, typename Inner> struct CancelView : OpRewritePattern<Outer> {
  using OpRewritePattern<Outer>::OpRewritePattern;

  LogicalResult matchAndRewrite(Outer op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().template getDefiningOp<Inner>();
    if (!inner || inner.getInput().getType() != op.getType()) {
      return rewriter.notifyMatchFailure(op, "the input is not the opposite view");
    }
    rewriter.replaceOp(op, inner.getInput());
    return success();
  }
};

} // namespace

bool isIdentity(llvm::ArrayRef<int64_t> permutation) {
  return llvm::all_of(llvm::enumerate(permutation),
                      [](auto axis) { return axis.value() == int64_t(axis.index()); });
}

Value transposed(OpBuilder &builder, Location location, Value input,
                 llvm::ArrayRef<int64_t> permutation) {
  if (isIdentity(permutation)) {
    return input;
  }
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation) {
    shape.push_back(type.getDimSize(axis));
  }
  auto result = RankedTensorType::get(shape, type.getElementType());
  return TransposeOp::create(builder, location, result, input, permutation);
}

Value mergedHeads(OpBuilder &builder, Location location, Value heads) {
  auto type = cast<RankedTensorType>(heads.getType());
  auto result = RankedTensorType::get(
      {ShapedType::kDynamic, type.getDimSize(1) * type.getDimSize(2)}, type.getElementType());
  return MergeHeadsOp::create(builder, location, result, heads);
}

Value splitHeads(OpBuilder &builder, Location location, Value rows, int64_t heads, int64_t size) {
  auto type = cast<RankedTensorType>(rows.getType());
  auto result = RankedTensorType::get({ShapedType::kDynamic, heads, size}, type.getElementType());
  return SplitHeadsOp::create(builder, location, result, rows);
}

Value repeatedHeads(OpBuilder &builder, Location location, Value heads, int64_t times) {
  auto type = cast<RankedTensorType>(heads.getType());
  auto result =
      RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(1) * times, type.getDimSize(2)},
                            type.getElementType());
  return RepeatHeadsOp::create(builder, location, result, heads);
}

Value sumOfHeads(OpBuilder &builder, Location location, Value rows, int64_t heads) {
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t size = type.getDimSize(1) / heads;
  auto result = RankedTensorType::get({ShapedType::kDynamic, size}, type.getElementType());
  Value sum;
  for (int64_t head = 0; head < heads; ++head) {
    Value columns =
        heads == 1 ? rows
                   : ColumnsOp::create(builder, location, result, rows, head * size).getResult();
    sum = sum ? AddOp::create(builder, location, sum, columns).getResult() : columns;
  }
  return sum;
}

void simplifyLayouts(ModuleOp module) {
  SmallVector<Operation *> views;
  module.walk([&](Operation *op) {
    if (isa<TransposeOp, MergeHeadsOp, SplitHeadsOp>(op)) {
      views.push_back(op);
    }
  });
  RewritePatternSet patterns(module.getContext());
  patterns.add<CancelTranspose, CancelView<MergeHeadsOp, SplitHeadsOp>,
               CancelView<SplitHeadsOp, MergeHeadsOp>>(module.getContext());
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  // Every pattern removes a view, so rewriting terminates; whether it converged does not matter.
  (void)applyOpPatternsGreedily(views, std::move(patterns), config);
}

} // namespace heddle
