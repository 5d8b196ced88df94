// SPDX-License-Identifier: Apache-2.0
///
/// Fuses layer norms and RMS norms, in any spelling, into one operation.
///
/// Before:
///   %m = transformer.reduce mean %x
///   %c = transformer.combine subtract %x, %m        // without it the norm is an RMS norm
///   %q = transformer.multiply %c, %c
///   %v = transformer.reduce mean %q                 // or a sum, scaled by 1 / width
///   %e = transformer.shift %v, 1.0e-12
///   %r = transformer.activate rsqrt %e              // or divided by the root, or times 1 / root
///   %u = transformer.multiply %c, %r
///   %n = transformer.multiply %u, %weight           // before %r or after; or %u + %u * %weight
///   %y = transformer.add %n, %bias
/// After:
///   %y = transformer.layer_norm %x, @weight, @bias {epsilon = 1.0e-12}
///
/// A candidate is a square root of a mean of squares, and each product that uses it is a separate
/// norm. Factors, weight and root may follow each other in any order. Rows divided by the root of
/// the sum of their squares, with a lower bound, become `normalize`. Tested by
/// tests/compiler/Model/Rows/fuse-norm.mlir.
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Model/Parameters/WeightExpression.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSENORMPASS
#include "compiler/Passes.h.inc"

namespace {

/// The depth to which two computations are compared, and the most factors of a product.
constexpr int mostSteps = 8;

int64_t widthOf(Value rows) { return cast<RankedTensorType>(rows.getType()).getDimSize(1); }

/// Returns whether two values are the same, or computed by the same operations from the same
/// values.
bool areAlike(Value a, Value b, int steps = mostSteps) {
  if (a == b) {
    return true;
  }
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  return steps > 0 && left && right && left->getName() == right->getName() &&
         left->getNumResults() == 1 && right->getNumResults() == 1 && left->getNumRegions() == 0 &&
         a.getType() == b.getType() && left->getAttrDictionary() == right->getAttrDictionary() &&
         left->getNumOperands() == right->getNumOperands() &&
         llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()), [&](auto operands) {
           return areAlike(std::get<0>(operands), std::get<1>(operands), steps - 1);
         });
}

/// Returns the weight of a vector with one number per column of `rows`; null if a value is none.
WeightOp vectorOf(Value value, Value rows) {
  auto weight = value.getDefiningOp<WeightOp>();
  auto type = cast<RankedTensorType>(value.getType());
  return weight && type.getRank() == 1 && type.getDimSize(0) == widthOf(rows) ? weight : WeightOp();
}

/// A sum over the columns of `input`, times a factor: 1 / width for a mean.
struct ColumnSum {
  Value input;
  double factor = 1;

  bool isMean() const {
    // The factor may be rounded to f32, or be the product of two such numbers.
    constexpr double tolerance = 1e-6;
    return std::abs(factor * static_cast<double>(widthOf(input)) - 1) < tolerance;
  }
};

std::optional<ColumnSum> sumOf(Value value) {
  ColumnSum sum;
  for (auto scale = value.getDefiningOp<ScaleOp>(); scale; scale = value.getDefiningOp<ScaleOp>()) {
    sum.factor *= scale.getFactor().convertToDouble();
    value = scale.getInput();
  }
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || (reduce.getMethod() != Reduction::Mean && reduce.getMethod() != Reduction::Sum)) {
    return std::nullopt;
  }
  sum.input = reduce.getInput();
  if (reduce.getMethod() == Reduction::Mean) {
    sum.factor /= static_cast<double>(widthOf(sum.input));
  }
  return sum;
}

/// The value that is squared in a mean of squares plus epsilon.
struct Moment {
  Value squared;
  double epsilon = 0;
};

/// Returns whether `value` is a sum or difference with a mean of squares: E[x^2] - E[x]^2.
bool isDifferenceOfMeans(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<CombineOp, AddOp>(op) && llvm::any_of(op->getOperands(), [](Value side) {
           std::optional<ColumnSum> sum = sumOf(side);
           return sum && sum->input.getDefiningOp<MultiplyOp>();
         });
}

/// Returns the moment under a root. If there is none, `reason` says why, or is empty if the root is
/// unrelated to norms.
std::optional<Moment> momentOf(Value value, std::string &reason) {
  Moment moment;
  for (auto shift = value.getDefiningOp<ShiftOp>(); shift; shift = value.getDefiningOp<ShiftOp>()) {
    moment.epsilon += shift.getNumber().convertToDouble();
    value = shift.getInput();
  }
  if (isDifferenceOfMeans(value)) {
    reason = "the variance is a difference of two means, which loses the digits that a mean of "
             "centred squares keeps";
    return std::nullopt;
  }
  std::optional<ColumnSum> sum = sumOf(value);
  auto square = sum ? sum->input.getDefiningOp<MultiplyOp>() : MultiplyOp();
  if (!square || !areAlike(square.getLhs(), square.getRhs())) {
    return std::nullopt;
  }
  if (!sum->isMean()) {
    reason = "the squares are not divided by how many there are";
    return std::nullopt;
  }
  auto epsilon = static_cast<float>(moment.epsilon);
  if (!std::isfinite(epsilon) || epsilon < 0) {
    reason = "epsilon is negative, or not finite in f32";
    return std::nullopt;
  }
  moment.squared = square.getLhs();
  return moment;
}

/// Returns x if `centred` is x minus the mean of x; else `centred` itself.
Value withoutCentring(Value centred) {
  auto difference = centred.getDefiningOp<CombineOp>();
  if (!difference || difference.getFunction() != Combination::Subtract || widthOf(centred) == 1) {
    return centred;
  }
  std::optional<ColumnSum> mean = sumOf(difference.getRhs());
  return mean && mean->isMean() && areAlike(mean->input, difference.getLhs()) ? difference.getLhs()
                                                                              : centred;
}

/// Returns x if `root` is the square root of the sum of squares of x; else null.
Value lengthOf(ActivateOp root) {
  std::optional<ColumnSum> sum = sumOf(root.getInput());
  auto square = sum ? sum->input.getDefiningOp<MultiplyOp>() : MultiplyOp();
  bool isLength = square && root.getFunction() == Activation::Sqrt && sum->factor == 1 &&
                  widthOf(sum->input) > 1 && areAlike(square.getLhs(), square.getRhs());
  return isLength ? square.getLhs() : Value();
}

/// Returns whether an operation is a lower bound that can be the epsilon of `normalize`.
bool isLowerBound(Operation *op) {
  auto clamp = dyn_cast<ClampOp>(op);
  return clamp && clamp.getMost().isPosInfinity() && clamp.getLeast().isFinite() &&
         !clamp.getLeast().isNegative() && !clamp.getLeast().isZero();
}

/// One norm: the product with the inverse of the root, and the operations after it.
struct Norm {
  Moment moment;
  /// The operand of the norm.
  Value input;
  double factor = 1;
  WeightOp weight;
  /// Whether the factor is one plus the weight.
  bool isOnePlus = false;
  WeightOp bias;
  /// The operation whose result is that of the norm.
  Operation *last = nullptr;

  bool isCentred() const { return input != moment.squared; }
};

/// Walks back over factors and a weight to the squared value.
LogicalResult matchBackwards(Norm &norm, Value value, std::string &reason) {
  for (int step = 0; !areAlike(value, norm.moment.squared); ++step) {
    auto scale = value.getDefiningOp<ScaleOp>();
    auto multiply = value.getDefiningOp<MultiplyOp>();
    WeightOp weight = multiply ? vectorOf(multiply.getRhs(), multiply.getLhs()) : WeightOp();
    if (step == mostSteps || !(scale || (weight && !norm.weight))) {
      reason = "what the root divides is not what was squared";
      return failure();
    }
    if (scale) {
      norm.factor *= scale.getFactor().convertToDouble();
    } else {
      norm.weight = weight;
    }
    value = value.getDefiningOp()->getOperand(0);
  }
  return success();
}

/// Matches u + u * weight, where `value` is u and has no other users; returns the sum and the
/// weight.
std::pair<AddOp, WeightOp> onePlusWeight(Value value) {
  AddOp sum;
  MultiplyOp product;
  for (Operation *user : value.getUsers()) {
    sum = isa<AddOp>(user) ? cast<AddOp>(user) : sum;
    product = isa<MultiplyOp>(user) ? cast<MultiplyOp>(user) : product;
  }
  bool areBoth = sum && product && value.hasNUses(2) && product.getLhs() == value &&
                 product->hasOneUse() && llvm::is_contained(sum.getOperands(), product.getResult());
  WeightOp weight = areBoth ? vectorOf(product.getRhs(), value) : WeightOp();
  return weight ? std::pair(sum, weight) : std::pair(AddOp(), WeightOp());
}

/// Walks forward over a weight, and a bias if the norm takes one.
void matchForwards(Norm &norm) {
  Value value = norm.last->getResult(0);
  if (!norm.weight) {
    Operation *user = value.hasOneUse() ? *value.user_begin() : nullptr;
    auto multiply = dyn_cast_if_present<MultiplyOp>(user);
    if (auto [sum, weight] = onePlusWeight(value); sum) {
      norm.last = sum;
      norm.weight = weight;
      norm.isOnePlus = true;
    } else if (multiply && multiply.getLhs() == value) {
      norm.weight = vectorOf(multiply.getRhs(), value);
      norm.last = norm.weight ? user : norm.last;
    }
  }
  value = norm.last->getResult(0);
  auto add = value.hasOneUse() ? dyn_cast<AddOp>(*value.user_begin()) : AddOp();
  if (norm.isCentred() && add && add.getLhs() == value) {
    norm.bias = vectorOf(add.getRhs(), value);
    norm.last = norm.bias ? add : norm.last;
  }
}

/// Writes norms, and the parameters that they need.
class NormWriter {
public:
  explicit NormWriter(ModuleOp module) : parameters(module) {}

  void write(Norm &norm) {
    OpBuilder builder(norm.last);
    Location location = norm.last->getLoc();
    FloatAttr epsilon = builder.getF32FloatAttr(static_cast<float>(norm.moment.epsilon));
    FlatSymbolRefAttr weight = weightOf(norm);
    Value result;
    if (norm.isCentred()) {
      FlatSymbolRefAttr bias =
          norm.bias ? norm.bias.getParameterAttr()
                    : vector(norm, ExpressionKind::Zeros, "no_bias", ArrayRef<int64_t>());
      result = LayerNormOp::create(builder, location, norm.input.getType(), norm.input, weight,
                                   bias, epsilon);
    } else {
      result =
          RmsNormOp::create(builder, location, norm.input.getType(), norm.input, weight, epsilon);
    }
    reportTaken(location, passNames::fuseNorm,
                Twine(norm.isCentred() ? "layer norm" : "RMS norm") + " of " +
                    Twine(widthOf(norm.input)) + " columns");
    norm.last->getResult(0).replaceAllUsesWith(result);
    eraseUnused(norm.last);
  }

private:
  FlatSymbolRefAttr vector(const Norm &norm, ExpressionKind kind, StringRef name,
                           ArrayRef<int64_t> numbers) {
    return parameters.derive(norm.last->getLoc(), name, kind, {}, {widthOf(norm.input)}, {},
                             numbers);
  }

  FlatSymbolRefAttr weightOf(Norm &norm) {
    FlatSymbolRefAttr symbol = norm.weight ? norm.weight.getParameterAttr() : FlatSymbolRefAttr();
    if (!symbol || norm.isOnePlus) {
      FlatSymbolRefAttr ones = vector(norm, ExpressionKind::OnesFrom, "ones", {0});
      symbol = symbol
                   ? parameters.derive(norm.last->getLoc(), joinNames({symbol, ones}),
                                       ExpressionKind::Sum, {symbol, ones}, {widthOf(norm.input)})
                   : ones;
    }
    return Weight::stored(parameters.lookUp(symbol), norm.last->getLoc())
        .scaled(Factor::of(norm.factor))
        .derive(parameters);
  }

  DerivedParameters parameters;
};

/// Matches one root with the products that use it or its inverse.
class RootMatcher {
public:
  RootMatcher(ActivateOp root, NormWriter &writer) : root(root), writer(writer) {}

  void run() {
    if (Value squared = lengthOf(root)) {
      fuseLength(squared);
      return;
    }
    std::string reason;
    std::optional<Moment> found = momentOf(root.getInput(), reason);
    if (!found) {
      if (!reason.empty()) {
        reportDeclined(root.getLoc(), passNames::fuseNorm, "not fused: " + reason);
      }
      return;
    }
    moment = *found;
    // Each fused product removes a use.
    for (Operation *user : usersOf(root)) {
      auto inverse = dyn_cast<ActivateOp>(user);
      bool isRoot = root.getFunction() == Activation::Sqrt;
      if (isRoot && inverse && inverse.getFunction() == Activation::Reciprocal) {
        for (Operation *next : usersOf(inverse)) {
          fuse(next, inverse, /*divides=*/false);
        }
      } else {
        fuse(user, root, isRoot);
      }
    }
  }

private:
  /// Returns the users in program order.
  static SmallVector<Operation *> usersOf(Operation *op) {
    SmallVector<Operation *> users(op->getUsers());
    std::reverse(users.begin(), users.end());
    return users;
  }

  void decline(Operation *user, const Twine &reason) {
    reportDeclined(user->getLoc(), passNames::fuseNorm, "not fused: " + reason);
  }

  /// Fuses rows divided by their length, or by epsilon if that is larger.
  void fuseLength(Value squared) {
    for (Operation *bound : usersOf(root)) {
      if (!isLowerBound(bound)) {
        decline(bound, "the length of a row has no lower bound (" + describe(bound) + ")");
        continue;
      }
      for (Operation *user : usersOf(bound)) {
        auto divide = dyn_cast<CombineOp>(user);
        if (!divide || divide.getFunction() != Combination::Divide ||
            divide.getRhs() != bound->getResult(0) || !areAlike(divide.getLhs(), squared)) {
          decline(user, "the length of a row does not divide that row");
          continue;
        }
        OpBuilder builder(user);
        Value result = NormalizeOp::create(builder, user->getLoc(), divide.getLhs(),
                                           cast<ClampOp>(bound).getLeastAttr());
        reportTaken(user->getLoc(), passNames::fuseNorm,
                    "rows of " + Twine(widthOf(result)) + " columns divided by their length");
        user->getResult(0).replaceAllUsesWith(result);
        eraseUnused(user);
      }
    }
  }

  void fuse(Operation *user, Operation *inverse, bool divides) {
    auto divide = dyn_cast<CombineOp>(user);
    bool isDivision = divide && divide.getFunction() == Combination::Divide;
    if (divides && isa<ShiftOp>(user)) {
      return decline(user, "epsilon is added to the root, not to what is under it");
    }
    if ((divides ? !isDivision : !isa<MultiplyOp>(user)) ||
        user->getOperand(1) != inverse->getResult(0) ||
        user->getOperand(0) == inverse->getResult(0)) {
      return decline(user, Twine(divides ? "the root divides nothing"
                                         : "one over the root multiplies nothing") +
                               " (" + describe(user) + ")");
    }
    Norm norm;
    norm.moment = moment;
    norm.input = withoutCentring(moment.squared);
    norm.last = user;
    std::string reason;
    if (failed(matchBackwards(norm, user->getOperand(0), reason))) {
      return decline(user, reason);
    }
    matchForwards(norm);
    if (!std::isfinite(static_cast<float>(norm.factor))) {
      return decline(user, "the product of the factors is not finite in f32");
    }
    writer.write(norm);
  }

  ActivateOp root;
  NormWriter &writer;
  Moment moment;
};

struct FuseNormPass : impl::FuseNormPassBase<FuseNormPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ActivateOp> roots;
    getOperation().walk([&](ActivateOp activate) {
      auto type = cast<RankedTensorType>(activate.getType());
      bool isColumn = type.getRank() == 2 && type.isDynamicDim(0) && type.getDimSize(1) == 1;
      if (isColumn && (activate.getFunction() == Activation::Rsqrt ||
                       activate.getFunction() == Activation::Sqrt)) {
        roots.push_back(activate);
      }
    });
    NormWriter writer(getOperation());
    for (ActivateOp root : roots) {
      RootMatcher(root, writer).run();
    }
  }
};

} // namespace
} // namespace heddle
