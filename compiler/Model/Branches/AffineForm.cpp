// SPDX-License-Identifier: Apache-2.0
///
/// Flattens a result into terms over its atoms, visiting each operation once.
#include "compiler/Model/Branches/AffineForm.h"

#include "llvm/ADT/TypeSwitch.h"

#include <variant>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

bool isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.isDynamicDim(0) && !tensor.isDynamicDim(1);
}

/// Returns the weight that is added to rows as a vector; null if rows are added to rows.
WeightOp addedVector(AddOp add) {
  auto weight = add.getRhs().getDefiningOp<WeightOp>();
  return weight && add.getRhs().getType().getRank() == 1 ? weight : WeightOp();
}

/// Collects the form of a value iteratively: forms may be as deep as a program is long, too deep
/// for recursion.
class Flattening {
public:
  Flattening(AffineForm &form, const DerivedParameters &parameters, const FormEnds &ends)
      : form(form), parameters(parameters), ends(ends) {}

  void flatten(Operation *root);

private:
  /// The pending steps, the last one first.
  struct Step {
    enum class Kind {
      /// Flattens `value` times `factor` after the maps of the chain.
      Flatten,
      /// Adds the vector `symbol` after the maps of the chain.
      AddConstant,
      LeaveMap,
      /// Records that `operation` is flattened.
      Record
    };
    Kind kind;
    Operation *operation = nullptr;
    Value value = {};
    FlatSymbolRefAttr symbol = {};
    Factor factor = {};
  };

  void flattenValue(const Step &step);
  void open(Operation *operation, const Factor &outer);
  void openMap(LinearOp linear, const Factor &outer);
  SmallVector<Weight> chainAfter(std::optional<Weight> vector) const;
  void addConstant(FlatSymbolRefAttr symbol, Location location, const Factor &outer) {
    form.constants.push_back({outer, chainAfter(weightOf(symbol, location))});
  }
  Weight weightOf(FlatSymbolRefAttr symbol, Location location) const {
    return Weight::stored(parameters.lookUp(symbol), location);
  }

  AffineForm &form;
  const DerivedParameters &parameters;
  const FormEnds &ends;
  SmallVector<Step> steps;
  /// In the order from the result inwards.
  SmallVector<Weight> chain;
};

} // namespace

/// The affine operations. Code that distinguishes them visits this variant, so it must handle all
/// of them.
using AffineOperation = std::variant<LinearOp, ScaleOp, AddOp, MultiplyOp>;

static std::optional<AffineOperation> asAffine(Operation *operation) {
  using Found = std::optional<AffineOperation>;
  if (!operation || operation->getNumResults() != 1 || !isRows(operation->getResult(0).getType())) {
    return std::nullopt;
  }
  return llvm::TypeSwitch<Operation *, Found>(operation)
      .Case<LinearOp, ScaleOp>([](auto op) { return Found(op); })
      .Case([](AddOp add) {
        bool isOfRows = add.getLhs().getType() == add.getRhs().getType() || addedVector(add);
        return isOfRows ? Found(add) : Found();
      })
      .Case([](MultiplyOp multiply) {
        bool isByNumbers = multiply.hasScalarRhs() && (isRows(multiply.getRhs().getType()) ||
                                                       multiply.getRhs().getDefiningOp<WeightOp>());
        return isByNumbers ? Found(multiply) : Found();
      })
      // Anything else is an atom.
      .Default([](Operation *) { return Found(); });
}

bool isAffine(Operation *operation) { return asAffine(operation).has_value(); }

bool isWithinForm(Operation *operation) {
  Value result = operation->getResult(0);
  if (!result.hasOneUse()) {
    return false;
  }
  Operation *user = *result.getUsers().begin();
  return isAffine(user) && llvm::is_contained(affineOperands(user), result);
}

/// Returns the operands of an affine operation in which it is affine.
SmallVector<Value, 2> affineOperands(Operation *operation) {
  using Values = SmallVector<Value, 2>;
  return std::visit(llvm::makeVisitor([](LinearOp linear) { return Values{linear.getInput()}; },
                                      [](ScaleOp scale) { return Values{scale.getInput()}; },
                                      [](MultiplyOp multiply) { return Values{multiply.getLhs()}; },
                                      [](AddOp add) {
                                        return addedVector(add)
                                                   ? Values{add.getLhs()}
                                                   : Values{add.getLhs(), add.getRhs()};
                                      }),
                    *asAffine(operation));
}

FormSize formSize(Operation *operation, llvm::function_ref<FormSize(Value)> sizeOf) {
  FormSize size{0, 1};
  for (Value operand : affineOperands(operation)) {
    FormSize part = sizeOf(operand);
    size.terms += part.terms;
    size.total += part.total;
  }
  auto linear = dyn_cast<LinearOp>(operation);
  auto add = dyn_cast<AddOp>(operation);
  bool hasVector = (linear && linear.getBiasAttr()) || (add && addedVector(add));
  // A map is part of the chain of each term.
  size.total += (linear ? size.terms : 0) + (hasVector ? 1 : 0);
  size.terms += hasVector ? 1 : 0;
  return size;
}

/// Returns the maps of the chain in the order of their application, to a vector or to an atom.
SmallVector<Weight> Flattening::chainAfter(std::optional<Weight> vector) const {
  SmallVector<Weight> maps;
  if (vector) {
    maps.push_back(*vector);
  }
  llvm::append_range(maps, llvm::reverse(chain));
  return maps;
}

void Flattening::openMap(LinearOp linear, const Factor &outer) {
  if (linear.getBiasAttr()) {
    addConstant(linear.getBiasAttr(), linear.getLoc(), outer);
  }
  chain.push_back(weightOf(linear.getWeightAttr(), linear.getLoc()));
  steps.push_back({.kind = Step::Kind::LeaveMap});
  steps.push_back({.kind = Step::Kind::Flatten, .value = linear.getInput(), .factor = outer});
}

void Flattening::open(Operation *operation, const Factor &outer) {
  auto flattenLater = [&](Value value, const Factor &factor) {
    steps.push_back({.kind = Step::Kind::Flatten, .value = value, .factor = factor});
  };
  steps.push_back({.kind = Step::Kind::Record, .operation = operation});
  std::visit(llvm::makeVisitor([&](LinearOp linear) { openMap(linear, outer); },
                               [&](AddOp add) {
                                 if (WeightOp vector = addedVector(add)) {
                                   steps.push_back({.kind = Step::Kind::AddConstant,
                                                    .operation = operation,
                                                    .symbol = vector.getParameterAttr(),
                                                    .factor = outer});
                                 } else {
                                   flattenLater(add.getRhs(), outer);
                                 }
                                 flattenLater(add.getLhs(), outer);
                               },
                               [&](ScaleOp scale) {
                                 flattenLater(scale.getInput(),
                                              outer *
                                                  Factor::of(scale.getFactor().convertToDouble()));
                               },
                               [&](MultiplyOp multiply) {
                                 Factor factor;
                                 if (auto weight = multiply.getRhs().getDefiningOp<WeightOp>()) {
                                   factor.weights.push_back(weight.getParameterAttr());
                                 } else {
                                   factor.rows.push_back(multiply.getRhs());
                                   form.movesRows |= !chain.empty();
                                 }
                                 flattenLater(multiply.getLhs(), outer * factor);
                               }),
             *asAffine(operation));
}

void Flattening::flattenValue(const Step &step) {
  Operation *producer = step.value.getDefiningOp();
  if (isAffine(producer) && step.value.hasOneUse() && !ends.contains(step.value)) {
    open(producer, step.factor);
    return;
  }
  Term term{step.factor, chainAfter(std::nullopt), step.value};
  // Folding a constant into a weight is free, even if the scaled rows have other users.
  if (auto scale = dyn_cast_or_null<ScaleOp>(producer); scale && !chain.empty()) {
    term.factor = term.factor * Factor::of(scale.getFactor().convertToDouble());
    term.atom = scale.getInput();
  }
  form.terms.push_back(term);
}

void Flattening::flatten(Operation *root) {
  open(root, Factor());
  while (!steps.empty()) {
    Step step = steps.pop_back_val();
    switch (step.kind) {
    case Step::Kind::Flatten:
      flattenValue(step);
      break;
    case Step::Kind::AddConstant:
      addConstant(step.symbol, step.operation->getLoc(), step.factor);
      break;
    case Step::Kind::LeaveMap:
      chain.pop_back();
      break;
    case Step::Kind::Record:
      form.operations.push_back(step.operation);
      break;
    }
  }
}

AffineForm flattenAffine(Operation *root, const DerivedParameters &parameters,
                         const FormEnds &ends) {
  AffineForm form;
  Flattening(form, parameters, ends).flatten(root);
  return form;
}

} // namespace heddle
