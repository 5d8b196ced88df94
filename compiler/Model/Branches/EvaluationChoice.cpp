// SPDX-License-Identifier: Apache-2.0
///
/// Chooses the evaluation of a form. Terms of the same rows become one product; a last map that
/// several terms share is applied to their sum; chains of maps are composed if that is cheaper; the
/// remaining products are stacked, for branches both their first and their last ones.
#include "compiler/Model/Branches/BranchStack.h"

#include "llvm/ADT/SetVector.h"

#include <vector>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

/// Terms with the same row numbers, and the constants with these.
struct GatedTerms {
  SmallVector<Value> rows;
  SmallVector<Term> terms;
  SmallVector<ConstantTerm> constants;
};

class EvaluationChooser {
public:
  /// `attempts` is shared by all choosers of a form, which decrement it.
  EvaluationChooser(const DerivedParameters &parameters, const FormEnds &ends, unsigned &attempts)
      : parameters(parameters), ends(ends), attempts(attempts) {}

  Evaluation chooseSum(ArrayRef<Term> terms, ArrayRef<ConstantTerm> constants, int64_t width);
  std::string obstacle;

private:
  SmallVector<Term> mergeAtoms(ArrayRef<Term> terms, int64_t width);
  void takeCommonMaps(SmallVector<Term> &terms, int64_t width, std::vector<EvaluationNode> &maps);
  void chooseProducts(ArrayRef<Term> terms, std::vector<EvaluationNode> &maps);
  Addend chooseGated(const GatedTerms &gated, int64_t width);

  const DerivedParameters &parameters;
  const FormEnds &ends;
  unsigned &attempts;
};

// Shared last maps may be nested, and each may be applied or not. After this many attempts for one
// sum, the remaining terms are not shared.
constexpr unsigned mostAttempts = 256;

/// Groups the terms by their row numbers; the first group has none.
std::vector<GatedTerms> separate(ArrayRef<Term> terms, ArrayRef<ConstantTerm> constants) {
  std::vector<GatedTerms> parts(1);
  auto partOf = [&](const Factor &factor) -> GatedTerms & {
    auto found =
        llvm::find_if(parts, [&](const GatedTerms &part) { return part.rows == factor.rows; });
    return found != parts.end() ? *found : parts.emplace_back(GatedTerms{factor.rows, {}, {}});
  };
  for (const Term &term : terms) {
    partOf(term.factor).terms.push_back({term.factor.known(), term.chain, term.atom});
  }
  for (const ConstantTerm &constant : constants) {
    partOf(constant.factor).constants.push_back({constant.factor.known(), constant.chain});
  }
  return parts;
}

/// Returns the sum of parts, or the only part.
Evaluation addUp(ArrayRef<Addend> parts, const std::optional<Weight> &bias, int64_t width) {
  const Factor &factor = parts.front().factor;
  if (parts.size() == 1 && !bias && factor.isOne() && factor.rows.empty()) {
    return parts.front().evaluation;
  }
  EvaluationNode sum{.kind = EvaluationNode::Kind::Sum, .width = width, .bias = bias};
  sum.parts.assign(parts.begin(), parts.end());
  return makeEvaluation(sum);
}

} // namespace

/// Groups terms of the same rows, in the order of their first ones; terms without maps stay alone.
static SmallVector<SmallVector<Term>> groupByRows(ArrayRef<Term> terms) {
  SmallVector<SmallVector<Term>> groups;
  // One value may have several groups, with other columns or row numbers.
  llvm::DenseMap<Value, SmallVector<size_t>> byBase;
  for (const Term &term : terms) {
    Slice slice = sliceOf(term.atom);
    SmallVector<size_t> &known = byBase[slice.base];
    auto found = llvm::find_if(known, [&](size_t index) {
      const Term &first = groups[index].front();
      return sliceOf(first.atom) == slice && first.factor.rows == term.factor.rows;
    });
    if (!term.chain.empty() && found != known.end()) {
      groups[*found].push_back(term);
      continue;
    }
    if (!term.chain.empty()) {
      known.push_back(groups.size());
    }
    groups.push_back({term});
  }
  return groups;
}

SmallVector<Term> EvaluationChooser::mergeAtoms(ArrayRef<Term> terms, int64_t width) {
  SmallVector<Term> merged;
  for (ArrayRef<Term> same : groupByRows(terms)) {
    if (same.size() == 1) {
      merged.push_back(same.front());
      continue;
    }
    int64_t apart = 0;
    SmallVector<ScaledChain> chains;
    for (const Term &term : same) {
      apart += cheapestChain(term.chain).multiplications;
      chains.push_back({term.chain, term.factor});
    }
    // The merged product has as many multiplications as a single map of full rank.
    if (width * sliceOf(same.front().atom).width <= apart) {
      merged.push_back({same.front().factor.ofRows(), {composeSum(chains)}, same.front().atom});
    } else {
      llvm::append_range(merged, same);
    }
  }
  return merged;
}

/// Applies all of a chain's cheapest stretches to `input` except the last, which it returns.
static Weight applyStretches(ArrayRef<Weight> chain, Evaluation &input) {
  ChainSplit split = cheapestChain(chain);
  for (size_t length : ArrayRef<size_t>(split.lengths).drop_back()) {
    input = makeEvaluation(linearNode(compose(chain.take_front(length)), input));
    chain = chain.drop_front(length);
  }
  return compose(chain);
}

/// Counts the last maps that all terms share.
static size_t commonEnd(ArrayRef<Term> terms) {
  size_t length = 0;
  auto hasNext = [&](const Term &term) {
    size_t size = term.chain.size();
    const SmallVector<Weight> &first = terms.front().chain;
    return length < size && length < first.size() &&
           term.chain[size - 1 - length].isSameStored(first[first.size() - 1 - length]);
  };
  while (llvm::all_of(terms, hasNext)) {
    ++length;
  }
  return length;
}

/// Applies the last `length` maps, which the terms share, to the sum of what precedes them. Common
/// factors are folded into the maps.
static EvaluationNode chooseCommonEnd(ArrayRef<Term> terms, size_t length,
                                      EvaluationChooser &chooser) {
  Factor common = terms.front().factor.known();
  bool hasCommon = llvm::all_of(terms, [&](const Term &term) {
    return term.factor.constant == common.constant && term.factor.weights == common.weights;
  });
  SmallVector<Term> inner(terms);
  for (Term &term : inner) {
    term.chain.pop_back_n(length);
    term.factor = hasCommon ? term.factor.ofRows() : term.factor;
  }
  ArrayRef<Weight> end = ArrayRef<Weight>(terms.front().chain).take_back(length);
  Evaluation input = chooser.chooseSum(inner, {}, end.front().columns());
  Weight last = applyStretches(end, input);
  return linearNode(hasCommon ? last.scaled(common) : last, input);
}

void EvaluationChooser::takeCommonMaps(SmallVector<Term> &terms, int64_t width,
                                       std::vector<EvaluationNode> &maps) {
  SmallVector<Weight> declined;
  for (size_t first = 0; first < terms.size(); ++first) {
    if (terms[first].chain.empty()) {
      continue;
    }
    Weight map = terms[first].chain.back();
    if (llvm::any_of(declined, [&](const Weight &other) { return map.isSameStored(other); })) {
      continue;
    }
    auto endsWithMap = [&](const Term &term) {
      return !term.chain.empty() && term.chain.back().isSameStored(map);
    };
    SmallVector<Term> same;
    int64_t least = -width;
    for (const Term &term : terms) {
      if (endsWithMap(term)) {
        least += 2 * cheapestChain(term.chain).multiplications +
                 width * (1 + static_cast<int64_t>(term.factor.rows.size()));
        same.push_back(term);
      }
    }
    if (same.size() < 2) {
      continue;
    }
    std::optional<EvaluationNode> best;
    std::string apart;
    // The shortest length tries any length between again, inside its sum.
    llvm::SmallSetVector<size_t, 2> lengths;
    lengths.insert(commonEnd(same));
    lengths.insert(1);
    for (size_t length : lengths) {
      if (attempts == 0) {
        break;
      }
      --attempts;
      EvaluationChooser chooser(parameters, ends, attempts);
      EvaluationNode node = chooseCommonEnd(same, length, chooser);
      if (int64_t cost = costOf(makeEvaluation(node)); cost < least) {
        least = cost;
        best = node;
        apart = chooser.obstacle;
      }
    }
    if (!best) {
      declined.push_back(map);
      continue;
    }
    obstacle = obstacle.empty() ? apart : obstacle;
    maps.push_back(*best);
    llvm::erase_if(terms, endsWithMap);
    --first;
  }
}

void EvaluationChooser::chooseProducts(ArrayRef<Term> terms, std::vector<EvaluationNode> &maps) {
  SmallVector<StackedProduct> products;
  for (const Term &term : terms) {
    if (term.chain.empty()) {
      continue;
    }
    Evaluation input = makeEvaluation(columnsNode(sliceOf(term.atom)));
    Weight last = applyStretches(term.chain, input);
    products.push_back({last.scaled(term.factor), input});
  }
  std::string apart = stackProducts(products, parameters, ends);
  obstacle = obstacle.empty() ? apart : obstacle;
  for (const StackedProduct &product : products) {
    maps.push_back(linearNode(product.map, product.input));
  }
}

/// Returns maps, then atoms, as the parts of a sum. The bias is folded into the last map, if there
/// is one.
static SmallVector<Addend> collectParts(std::vector<EvaluationNode> &maps, ArrayRef<Term> terms,
                                        std::optional<Weight> &bias) {
  if (bias && !maps.empty()) {
    maps.back().bias = bias;
    bias.reset();
  }
  SmallVector<Addend> parts;
  for (const EvaluationNode &map : maps) {
    parts.push_back({{}, makeEvaluation(map)});
  }
  for (const Term &term : terms) {
    if (term.chain.empty()) {
      parts.push_back({term.factor, makeEvaluation(columnsNode(sliceOf(term.atom)))});
    }
  }
  return parts;
}

static std::optional<Weight> sumOf(ArrayRef<ConstantTerm> constants) {
  return constants.empty() ? std::nullopt : std::optional(composeSum(constants));
}

/// A vector times a number of each row is the product of that number with a matrix of one column.
static void moveNumbers(std::vector<GatedTerms> &gated) {
  for (size_t index = gated.size() - 1; index > 0; --index) {
    GatedTerms &part = gated[index];
    if (!part.terms.empty()) {
      continue;
    }
    Term number{{}, {composeSum(part.constants).asColumn()}, part.rows.pop_back_val()};
    auto &terms = part.rows.empty() ? gated.front().terms : part.terms;
    terms.push_back(number);
    part.constants.clear();
    if (part.terms.empty()) {
      gated.erase(gated.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
}

/// Chooses the part of a sum that is multiplied by row numbers, without these.
Addend EvaluationChooser::chooseGated(const GatedTerms &gated, int64_t width) {
  std::vector<EvaluationNode> maps;
  chooseProducts(gated.terms, maps);
  Factor factor;
  factor.rows = gated.rows;
  std::optional<Weight> bias = sumOf(gated.constants);
  SmallVector<Addend> parts = collectParts(maps, gated.terms, bias);
  if (parts.size() == 1 && !bias) {
    return {parts.front().factor * factor, parts.front().evaluation};
  }
  return {factor, addUp(parts, bias, width)};
}

Evaluation EvaluationChooser::chooseSum(ArrayRef<Term> all, ArrayRef<ConstantTerm> constants,
                                        int64_t width) {
  SmallVector<Term> terms = mergeAtoms(all, width);
  std::vector<EvaluationNode> maps;
  takeCommonMaps(terms, width, maps);
  std::vector<GatedTerms> gated = separate(terms, constants);
  moveNumbers(gated);
  chooseProducts(gated.front().terms, maps);
  std::optional<Weight> bias = sumOf(gated.front().constants);
  size_t withProducts = maps.empty() ? 0 : 1;
  SmallVector<Addend> parts = collectParts(maps, gated.front().terms, bias);
  for (const GatedTerms &part : ArrayRef<GatedTerms>(gated).drop_front()) {
    withProducts += llvm::any_of(part.terms, [](const Term &term) { return !term.chain.empty(); });
    parts.push_back(chooseGated(part, width));
  }
  if (withProducts > 1 && obstacle.empty()) {
    obstacle = "its products are multiplied by different numbers of each row";
  }
  return addUp(parts, bias, width);
}

ChosenEvaluation chooseEvaluation(const AffineForm &form, int64_t width,
                                  const DerivedParameters &parameters, const FormEnds &ends) {
  unsigned attempts = mostAttempts;
  EvaluationChooser chooser(parameters, ends, attempts);
  Evaluation evaluation = chooser.chooseSum(form.terms, form.constants, width);
  return {evaluation, chooser.obstacle};
}

} // namespace heddle
