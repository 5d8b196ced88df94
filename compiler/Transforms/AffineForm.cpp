// SPDX-License-Identifier: Apache-2.0
///
/// Flattening from a result to its atoms, each operation once.
#include "compiler/Transforms/AffineForm.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

bool isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.isDynamicDim(0) && !tensor.isDynamicDim(1);
}

/// The weight added to rows as a vector; null for rows added to rows.
WeightOp addedVector(AddOp add) {
  auto weight = add.getRhs().getDefiningOp<WeightOp>();
  return weight && add.getRhs().getType().getRank() == 1 ? weight : WeightOp();
}

/// The operands of an affine operation in which it is affine.
SmallVector<Value, 2> affineOperands(Operation *operation) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value, 2>>(operation)
      .Case([](AddOp add) {
        return addedVector(add) ? SmallVector<Value, 2>{add.getLhs()}
                                : SmallVector<Value, 2>{add.getLhs(), add.getRhs()};
      })
      .Default([](Operation *other) { return SmallVector<Value, 2>{other->getOperand(0)}; });
}

/// Collects the form of `value` times `outer` after the maps `chain`, which is in the order from
/// the result inwards.
class Flattening {
public:
  Flattening(AffineForm &form, const DerivedParameters &parameters)
      : form(form), parameters(parameters) {}

  void flatten(Operation *operation, const Factor &outer, SmallVector<Weight> &chain);

private:
  void flattenOperand(Value value, const Factor &outer, SmallVector<Weight> &chain);
  void addConstant(FlatSymbolRefAttr symbol, Location location, const Factor &outer,
                   ArrayRef<Weight> chain);
  Weight weightOf(FlatSymbolRefAttr symbol, Location location) {
    return Weight::stored(parameters.lookUp(symbol), location);
  }

  AffineForm &form;
  const DerivedParameters &parameters;
};

} // namespace

bool isAffine(Operation *operation) {
  if (!operation || operation->getNumResults() != 1 || !isRows(operation->getResult(0).getType())) {
    return false;
  }
  return llvm::TypeSwitch<Operation *, bool>(operation)
      .Case<LinearOp, ScaleOp>([](Operation *) { return true; })
      .Case([](AddOp add) {
        return add.getLhs().getType() == add.getRhs().getType() || addedVector(add);
      })
      .Case([](MultiplyOp multiply) {
        return multiply.hasScalarRhs() &&
               (isRows(multiply.getRhs().getType()) || multiply.getRhs().getDefiningOp<WeightOp>());
      })
      .Default([](Operation *) { return false; });
}

bool isWithinForm(Operation *operation) {
  Value result = operation->getResult(0);
  if (!result.hasOneUse()) {
    return false;
  }
  Operation *user = *result.getUsers().begin();
  return isAffine(user) && llvm::is_contained(affineOperands(user), result);
}

void Flattening::addConstant(FlatSymbolRefAttr symbol, Location location, const Factor &outer,
                             ArrayRef<Weight> chain) {
  Weight vector = weightOf(symbol, location);
  for (const Weight &map : llvm::reverse(chain)) {
    vector = map.times(vector);
  }
  form.constants.push_back({outer, vector});
}

void Flattening::flattenOperand(Value value, const Factor &outer, SmallVector<Weight> &chain) {
  Operation *producer = value.getDefiningOp();
  if (isAffine(producer) && value.hasOneUse()) {
    flatten(producer, outer, chain);
    return;
  }
  form.terms.push_back({outer, SmallVector<Weight>(llvm::reverse(chain)), value});
}

void Flattening::flatten(Operation *operation, const Factor &outer, SmallVector<Weight> &chain) {
  llvm::TypeSwitch<Operation *>(operation)
      .Case([&](LinearOp linear) {
        if (linear.getBiasAttr()) {
          addConstant(linear.getBiasAttr(), linear.getLoc(), outer, chain);
        }
        chain.push_back(weightOf(linear.getWeightAttr(), linear.getLoc()));
        flattenOperand(linear.getInput(), outer, chain);
        chain.pop_back();
      })
      .Case([&](AddOp add) {
        flattenOperand(add.getLhs(), outer, chain);
        if (WeightOp vector = addedVector(add)) {
          addConstant(vector.getParameterAttr(), add.getLoc(), outer, chain);
        } else {
          flattenOperand(add.getRhs(), outer, chain);
        }
      })
      .Case([&](ScaleOp scale) {
        Factor factor{scale.getFactor().convertToDouble(), {}, {}};
        flattenOperand(scale.getInput(), outer * factor, chain);
      })
      .Case([&](MultiplyOp multiply) {
        Factor factor;
        if (auto weight = multiply.getRhs().getDefiningOp<WeightOp>()) {
          factor.weights.push_back(weight.getParameterAttr());
        } else {
          factor.rows.push_back(multiply.getRhs());
        }
        flattenOperand(multiply.getLhs(), outer * factor, chain);
      });
  form.operations.push_back(operation);
}

AffineForm flattenAffine(Operation *root, const DerivedParameters &parameters) {
  AffineForm form;
  SmallVector<Weight> chain;
  Flattening(form, parameters).flatten(root, Factor(), chain);
  return form;
}

} // namespace heddle
