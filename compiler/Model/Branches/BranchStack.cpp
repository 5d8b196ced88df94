// SPDX-License-Identifier: Apache-2.0
///
/// Finds products that can be computed as one.
#include "compiler/Model/Branches/BranchStack.h"

#include "compiler/Remarks/Report.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

Slice sliceOf(Value value) {
  Slice slice{value, 0, cast<RankedTensorType>(value.getType()).getDimSize(1)};
  while (auto columns = slice.base.getDefiningOp<ColumnsOp>()) {
    slice.base = columns.getInput();
    slice.first += columns.getFirstAttr().getInt();
  }
  return slice;
}

Evaluation makeEvaluation(EvaluationNode node) {
  return std::make_shared<EvaluationNode>(std::move(node));
}

EvaluationNode columnsNode(const Slice &slice) {
  return {.kind = EvaluationNode::Kind::Columns, .width = slice.width, .columns = slice};
}

EvaluationNode linearNode(const Weight &weight, const Evaluation &input) {
  EvaluationNode node{
      .kind = EvaluationNode::Kind::Linear, .width = weight.rows(), .weight = weight};
  node.parts.push_back({{}, input});
  return node;
}

Weight compose(ArrayRef<Weight> chain) {
  Weight product = chain.front();
  for (const Weight &map : chain.drop_front()) {
    product = map.times(product);
  }
  return product;
}

Weight composeSum(ArrayRef<ScaledChain> chains) {
  SmallVector<SmallVector<ScaledChain>> byLast;
  for (const ScaledChain &chain : chains) {
    auto found = llvm::find_if(byLast, [&](ArrayRef<ScaledChain> others) {
      return others.front().maps.back().isSameStored(chain.maps.back());
    });
    if (found == byLast.end()) {
      byLast.push_back({chain});
    } else {
      found->push_back(chain);
    }
  }
  SmallVector<Weight> parts;
  for (ArrayRef<ScaledChain> alike : byLast) {
    const Weight &last = alike.front().maps.back();
    SmallVector<ScaledChain> inner;
    for (const ScaledChain &chain : alike) {
      if (alike.size() == 1 || chain.maps.size() == 1) {
        parts.push_back(compose(chain.maps).scaled(chain.factor));
      } else {
        inner.push_back({chain.maps.drop_back(), chain.factor});
      }
    }
    if (!inner.empty()) {
      parts.push_back(last.times(composeSum(inner)));
    }
  }
  return Weight::sum(parts);
}

Weight composeSum(ArrayRef<ConstantTerm> constants) {
  return composeSum(llvm::map_to_vector(constants, [](const ConstantTerm &constant) {
    return ScaledChain{constant.chain, constant.factor};
  }));
}

ChainSplit cheapestChain(ArrayRef<Weight> chain) {
  // Finds the cheapest path from the atom's width to the result's over the widths between. Prefers
  // longer last stretches among equal ones. Of the maps that read the same width, only the one with
  // the cheapest path before it can begin a stretch.
  struct Begin {
    int64_t width;
    size_t map;
  };
  SmallVector<Begin> begins;
  SmallVector<int64_t> costs(chain.size() + 1);
  SmallVector<size_t> lasts(chain.size() + 1);
  for (size_t end = 1; end <= chain.size(); ++end) {
    int64_t width = chain[end - 1].columns();
    auto known = llvm::find_if(begins, [&](const Begin &begin) { return begin.width == width; });
    if (known == begins.end()) {
      begins.push_back({width, end - 1});
    } else if (costs[end - 1] < costs[known->map]) {
      known->map = end - 1;
    }
    auto costFrom = [&](const Begin &begin) {
      return std::pair(costs[begin.map] + chain[end - 1].rows() * begin.width, begin.map);
    };
    auto best = llvm::min_element(begins, [&](const Begin &left, const Begin &right) {
      return costFrom(left) < costFrom(right);
    });
    std::tie(costs[end], lasts[end]) = costFrom(*best);
  }
  ChainSplit split{costs.back(), {}};
  for (size_t end = chain.size(); end > 0; end = lasts[end]) {
    split.lengths.push_back(end - lasts[end]);
  }
  std::reverse(split.lengths.begin(), split.lengths.end());
  return split;
}

namespace {

/// A product that is the input of another, directly or through an element-wise function.
struct Inner {
  std::optional<Activation> function = {};
  Weight map;
  std::optional<Weight> bias = {};
  Slice input;
  /// The operations that compute it now.
  SmallVector<Operation *> operations = {};
  /// The map of the product that reads it.
  Weight outer;
  int64_t groups = 1;
  /// Both products unchanged; empty for a stack of several.
  std::optional<StackedProduct> whole = {};
};

/// The first condition that did not hold.
struct Obstacle {
  std::string text;
  void note(const Twine &other) {
    if (text.empty()) {
      text = other.str();
    }
  }
};

std::string nameOf(Value value) {
  return value.getDefiningOp() ? describe(value.getDefiningOp()) : "an argument";
}

std::string secondUser(Operation *operation) {
  // MLIR lists the last use first; the first use in the program is that of the form.
  return describe(operation) + " has a second user" +
         (" (" + placeName((*operation->getUsers().begin())->getLoc()) + ")");
}

/// Describes a value that is not the expected one.
std::string whatStandsAt(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer) {
    return "a product reads an argument of the entry";
  }
  bool isOfForm = isAffine(producer) || isa<ActivateOp>(producer);
  return isOfForm && !value.hasOneUse() ? secondUser(producer)
                                        : describe(producer) + " stands between";
}

/// Returns the product that `product` reads through an activation.
std::optional<Inner> activatedProduct(const StackedProduct &product,
                                      const DerivedParameters &parameters, const FormEnds &ends,
                                      Obstacle &obstacle) {
  Value value = product.input->columns.base;
  auto activate = value.getDefiningOp<ActivateOp>();
  if (!activate || !value.hasOneUse() || product.input->columns != sliceOf(value)) {
    obstacle.note(whatStandsAt(value));
    return std::nullopt;
  }
  Operation *producer = activate.getInput().getDefiningOp();
  if (!isAffine(producer) || !activate.getInput().hasOneUse()) {
    obstacle.note(whatStandsAt(activate.getInput()));
    return std::nullopt;
  }
  AffineForm form = flattenAffine(producer, parameters, ends);
  auto hasRows = [](const auto &term) { return !term.factor.rows.empty(); };
  if (llvm::any_of(form.terms, hasRows) || llvm::any_of(form.constants, hasRows)) {
    obstacle.note(describe(producer) + " is multiplied by numbers of each row");
    return std::nullopt;
  }
  if (form.terms.size() != 1 || form.terms.front().chain.empty() ||
      cheapestChain(form.terms.front().chain).lengths.size() != 1) {
    obstacle.note(describe(producer) + " is not one product");
    return std::nullopt;
  }
  const Term &term = form.terms.front();
  Inner inner{.function = activate.getFunction(),
              .map = compose(term.chain).scaled(term.factor),
              .input = sliceOf(term.atom),
              .operations = form.operations,
              .outer = product.map,
              .whole = product};
  inner.operations.push_back(activate);
  if (!form.constants.empty()) {
    inner.bias = composeSum(form.constants);
  }
  return inner;
}

std::optional<Inner> innerOf(const StackedProduct &product, const DerivedParameters &parameters,
                             const FormEnds &ends, Obstacle &obstacle) {
  if (product.input->kind == EvaluationNode::Kind::Columns) {
    return activatedProduct(product, parameters, ends, obstacle);
  }
  // A chain that is cheaper in two stretches.
  const Evaluation &input = product.input->parts.front().evaluation;
  if (input->kind != EvaluationNode::Kind::Columns) {
    obstacle.note("chains of three products are cheapest as they are");
    return std::nullopt;
  }
  return Inner{.map = *product.input->weight,
               .input = input->columns,
               .outer = product.map,
               .whole = product};
}

Weight zerosAt(int64_t width, Location location) {
  std::string name = checkpointName(location);
  return Weight::zeros(width, name.empty() ? "zeros" : name + ".zeros.bias", location);
}

std::optional<Weight> concatBiases(ArrayRef<Inner> inners) {
  if (llvm::none_of(inners, [](const Inner &inner) { return inner.bias.has_value(); })) {
    return std::nullopt;
  }
  SmallVector<Weight> biases;
  for (const Inner &inner : inners) {
    SmallVector<Location> locations;
    inner.map.appendLocations(locations);
    biases.push_back(inner.bias ? *inner.bias : zerosAt(inner.map.rows(), locations.front()));
  }
  return Weight::concat(biases);
}

/// Stacks several products into one: concatenates the first maps by rows, the last ones by columns.
Inner stackInners(ArrayRef<Inner> inners, const Slice &input, int64_t groups) {
  if (inners.size() == 1) {
    return inners.front();
  }
  SmallVector<Weight> maps;
  SmallVector<Weight> outers;
  SmallVector<Operation *> operations;
  for (const Inner &inner : inners) {
    maps.push_back(inner.map);
    outers.push_back(inner.outer);
    llvm::append_range(operations, inner.operations);
  }
  return {.function = inners.front().function,
          .map = Weight::concat(maps),
          .bias = concatBiases(inners),
          .input = input,
          .operations = operations,
          .outer = Weight::concatColumns(outers),
          .groups = groups};
}

/// Groups the indices of slices that are adjacent in one value, in their order there.
SmallVector<SmallVector<size_t>> adjacentRuns(ArrayRef<Slice> slices) {
  SmallVector<SmallVector<size_t>> byBase;
  for (size_t index = 0; index < slices.size(); ++index) {
    auto found = llvm::find_if(byBase, [&](ArrayRef<size_t> others) {
      return slices[others.front()].base == slices[index].base;
    });
    if (found == byBase.end()) {
      byBase.push_back({index});
    } else {
      found->push_back(index);
    }
  }
  SmallVector<SmallVector<size_t>> runs;
  for (SmallVector<size_t> &indices : byBase) {
    llvm::sort(indices, [&](size_t left, size_t right) {
      return std::pair(slices[left].first, left) < std::pair(slices[right].first, right);
    });
    for (size_t place = 0; place < indices.size(); ++place) {
      const Slice &slice = slices[indices[place]];
      bool follows =
          place > 0 &&
          slices[indices[place - 1]].first + slices[indices[place - 1]].width == slice.first;
      if (follows) {
        runs.back().push_back(indices[place]);
      } else {
        runs.push_back({indices[place]});
      }
    }
  }
  return runs;
}

Slice joinSlices(ArrayRef<Slice> slices, ArrayRef<size_t> run) {
  Slice joined = slices[run.front()];
  for (size_t index : run.drop_front()) {
    joined.width += slices[index].width;
  }
  return joined;
}

/// Joins products of adjacent columns into one product of all these columns.
void joinColumns(SmallVectorImpl<StackedProduct> &products) {
  SmallVector<Slice> slices;
  SmallVector<StackedProduct> ofColumns;
  SmallVector<StackedProduct> joined;
  for (const StackedProduct &product : products) {
    if (product.input->kind == EvaluationNode::Kind::Columns) {
      slices.push_back(product.input->columns);
      ofColumns.push_back(product);
    } else {
      joined.push_back(product);
    }
  }
  for (ArrayRef<size_t> run : adjacentRuns(slices)) {
    SmallVector<Weight> maps;
    for (size_t index : run) {
      maps.push_back(ofColumns[index].map);
    }
    joined.push_back(
        {Weight::concatColumns(maps), makeEvaluation(columnsNode(joinSlices(slices, run)))});
  }
  // Keep program order if nothing was joined.
  if (joined.size() < products.size()) {
    products.assign(joined.begin(), joined.end());
  }
}

/// Stacks products with the same function: first those of the same rows, then those of adjacent
/// columns.
SmallVector<Inner> stackAlike(ArrayRef<Inner> alike, Obstacle &obstacle) {
  SmallVector<SmallVector<Inner>> bySlice;
  for (const Inner &inner : alike) {
    auto found = llvm::find_if(
        bySlice, [&](ArrayRef<Inner> others) { return others.front().input == inner.input; });
    if (found == bySlice.end()) {
      bySlice.push_back({inner});
    } else {
      found->push_back(inner);
    }
  }
  SmallVector<Inner> ofSlices;
  SmallVector<Slice> slices;
  for (ArrayRef<Inner> same : bySlice) {
    ofSlices.push_back(stackInners(same, same.front().input, 1));
    slices.push_back(same.front().input);
  }
  SmallVector<Inner> stacked;
  SmallVector<SmallVector<size_t>> runs = adjacentRuns(slices);
  for (ArrayRef<size_t> run : runs) {
    SmallVector<Inner> inners;
    for (size_t index : run) {
      inners.push_back(ofSlices[index]);
    }
    const Inner &first = inners.front();
    auto other = llvm::find_if(
        inners, [&](const Inner &inner) { return inner.map.shape() != first.map.shape(); });
    if (other == inners.end()) {
      stacked.push_back(
          stackInners(inners, joinSlices(slices, run), static_cast<int64_t>(run.size())));
      continue;
    }
    obstacle.note("the first products are " + Twine(first.map.columns()) + " to " +
                  Twine(first.map.rows()) + " and " + Twine(other->map.columns()) + " to " +
                  Twine(other->map.rows()) + ", expected one size");
    llvm::append_range(stacked, inners);
  }
  if (runs.size() > 1) {
    const Slice &first = slices[runs[0].front()];
    const Slice &second = slices[runs[1].front()];
    obstacle.note(first.base == second.base
                      ? "the columns of " + nameOf(first.base) + " do not lie side by side"
                      : "the first products read neither the same rows nor columns of one value" +
                            (first.base.getDefiningOp() ? ": " + whatStandsAt(first.base) : ""));
  }
  return stacked;
}

StackedProduct toProduct(const Inner &inner) {
  if (inner.whole) {
    return *inner.whole;
  }
  EvaluationNode first = linearNode(inner.map, makeEvaluation(columnsNode(inner.input)));
  first.bias = inner.bias;
  first.groups = inner.groups;
  if (!inner.function) {
    return {inner.outer, makeEvaluation(first)};
  }
  EvaluationNode activate{
      .kind = EvaluationNode::Kind::Activate, .width = first.width, .function = *inner.function};
  activate.replaced = inner.operations;
  activate.parts.push_back({{}, makeEvaluation(first)});
  return {inner.outer, makeEvaluation(activate)};
}

} // namespace

std::string stackProducts(SmallVectorImpl<StackedProduct> &products,
                          const DerivedParameters &parameters, const FormEnds &ends) {
  joinColumns(products);
  if (products.size() < 2) {
    return {};
  }
  Obstacle obstacle;
  SmallVector<SmallVector<Inner>> byFunction;
  SmallVector<StackedProduct> stacked;
  for (const StackedProduct &product : products) {
    std::optional<Inner> inner = innerOf(product, parameters, ends, obstacle);
    if (!inner) {
      stacked.push_back(product);
      continue;
    }
    auto found = llvm::find_if(byFunction, [&](ArrayRef<Inner> others) {
      return others.front().function == inner->function;
    });
    if (found == byFunction.end()) {
      byFunction.push_back({*inner});
    } else {
      found->push_back(*inner);
    }
  }
  size_t count = products.size();
  for (ArrayRef<Inner> alike : byFunction) {
    for (const Inner &inner : stackAlike(alike, obstacle)) {
      stacked.push_back(toProduct(inner));
    }
  }
  if (byFunction.size() > 1) {
    obstacle.note("the branches have different functions between their products");
  }
  // Otherwise nothing was stacked, and the products keep their order.
  if (stacked.size() < count) {
    products.assign(stacked.begin(), stacked.end());
  }
  return products.size() > 1 ? obstacle.text : std::string();
}

} // namespace heddle
