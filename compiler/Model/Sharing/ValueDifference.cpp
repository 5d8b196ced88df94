// SPDX-License-Identifier: Apache-2.0
///
/// Walks two values in parallel. A parameter or an attribute is a difference itself; other operands
/// are compared recursively.
#include "compiler/Model/Sharing/ValueDifference.h"

#include "compiler/Model/Attention/AttentionMasks.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

/// The depth of the search: differences further up are differences between layers.
constexpr unsigned mostDepth = 8;

std::string textOf(Attribute attribute) {
  if (auto number = dyn_cast_if_present<FloatAttr>(attribute)) {
    return printNumber(number.getValueAsDouble());
  }
  if (auto number = dyn_cast_if_present<IntegerAttr>(attribute)) {
    return std::to_string(number.getInt());
  }
  if (auto visibility = dyn_cast_if_present<VisibilityAttr>(attribute)) {
    return visibility.getValue().text();
  }
  if (auto hidden = dyn_cast_if_present<HiddenAttr>(attribute)) {
    return stringifyHiddenKind(hidden.getKind()).str() + " " + textOf(hidden.getNumber());
  }
  if (auto score = dyn_cast_if_present<ScoreAttr>(attribute)) {
    return score.text();
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute ? stream << attribute : stream << "none";
  return text;
}

std::string quoted(StringAttr name) { return "\"" + name.str() + "\""; }

class Differences {
public:
  explicit Differences(const ValueNumbering &numbering) : numbering(numbering) {}

  std::string ofAttentions(AttentionOp mine, AttentionOp other);
  std::string ofLocations(AttentionOp mine, AttentionOp other);
  std::string ofCaches(StringAttr mine, StringAttr other);

private:
  std::string ofValues(Value mine, Value other);
  std::string ofOperations(Operation *mine, Operation *other);
  std::string ofParameters(FlatSymbolRefAttr mine, FlatSymbolRefAttr other);
  std::string ofAttributes(Operation *mine, Operation *other);
  std::string ofArguments(Value mine, Value other);
  std::string ofAppends(StringAttr mine, StringAttr other);

  const ValueNumbering &numbering;
  unsigned steps = 0;
};

/// Returns an empty string if they are equal.
std::string Differences::ofParameters(FlatSymbolRefAttr mine, FlatSymbolRefAttr other) {
  ParameterContents &contents = numbering.parameters();
  if (!mine && !other) {
    return {};
  }
  if (!mine || !other) {
    ParameterRows given = contents.rowsOf(mine ? mine : other);
    return contents.areEqual(given, ParameterRows())
               ? std::string()
               : (mine ? mine : other).getValue().str() + " is given to one of them alone";
  }
  ParameterRows left = contents.rowsOf(mine);
  ParameterRows right = contents.rowsOf(other);
  if (contents.areEqual(left, right)) {
    return {};
  }
  return mine.getValue().str() + " has " +
         (contents.haveOneShape(left, right) ? "other values" : "another shape") +
         (contents.haveOneShape(left, right) ? "" : " than " + other.getValue().str());
}

/// Compares parameters first: other differences may be consequences of theirs.
std::string Differences::ofAttributes(Operation *mine, Operation *other) {
  SmallVector<StringAttr> names;
  for (Operation *op : {mine, other}) {
    for (NamedAttribute named : op->getAttrDictionary()) {
      if (!llvm::is_contained(names, named.getName())) {
        names.push_back(named.getName());
      }
    }
  }
  std::string difference;
  // In reverse, to report the weight before the bias.
  for (StringAttr name : llvm::reverse(names)) {
    Attribute left = mine->getAttr(name);
    Attribute right = other->getAttr(name);
    auto leftSymbol = dyn_cast_if_present<FlatSymbolRefAttr>(left);
    auto rightSymbol = dyn_cast_if_present<FlatSymbolRefAttr>(right);
    if (leftSymbol || rightSymbol) {
      std::string text = ofParameters(leftSymbol, rightSymbol);
      if (!text.empty()) {
        return text;
      }
    } else if (left != right && difference.empty()) {
      difference =
          name.str() + " of " + describe(mine) + " is " + textOf(left) + ", not " + textOf(right);
    }
  }
  return difference;
}

std::string Differences::ofOperations(Operation *mine, Operation *other) {
  if (mine->getName() != other->getName()) {
    return describe(mine) + " is not " + describe(other);
  }
  std::string difference = ofAttributes(mine, other);
  if (!difference.empty()) {
    return difference;
  }
  // Compares a cache last: the value that is appended to it here is more informative.
  SmallVector<unsigned> order;
  for (bool isCache : {false, true}) {
    for (OpOperand &operand : mine->getOpOperands()) {
      if (isa<CacheType>(operand.get().getType()) == isCache) {
        order.push_back(operand.getOperandNumber());
      }
    }
  }
  for (unsigned number : order) {
    if (number < other->getNumOperands() &&
        !numbering.areEqual(mine->getOperand(number), other->getOperand(number))) {
      return ofValues(mine->getOperand(number), other->getOperand(number));
    }
  }
  return {};
}

std::string Differences::ofArguments(Value mine, Value other) {
  StringAttr left = isa<CacheType>(mine.getType()) ? cacheName(mine) : StringAttr();
  StringAttr right = isa<CacheType>(other.getType()) ? cacheName(other) : StringAttr();
  if (left && right) {
    return ofCaches(left, right);
  }
  return isa<SegmentsType>(mine.getType()) ? "they are of other segments" : std::string();
}

std::string Differences::ofValues(Value mine, Value other) {
  if (++steps > mostDepth) {
    return {};
  }
  if (mine.getType() != other.getType()) {
    return "their types differ";
  }
  Operation *left = mine.getDefiningOp();
  Operation *right = other.getDefiningOp();
  if (left && right) {
    std::string difference = ofOperations(left, right);
    return difference.empty() ? describe(left) + " has other operands" : difference;
  }
  if (left || right) {
    return describe(left ? left : right) + " is computed for one of them alone";
  }
  return ofArguments(mine, other);
}

/// Describes what an entry appends to one of two caches and not to the other.
std::string Differences::ofAppends(StringAttr mine, StringAttr other) {
  const ValueNumbering::Cache &left = numbering.caches().find(mine)->second;
  const ValueNumbering::Cache &right = numbering.caches().find(other)->second;
  for (auto [entry, append] : left.appends) {
    auto name = "@" + cast<func::FuncOp>(entry).getSymName().str();
    AppendOp same = right.appends.lookup(entry);
    if (!same) {
      return name + " appends to cache " + quoted(mine) + " and not to " + quoted(other);
    }
    if (!numbering.areEqual(append.getInput(), same.getInput())) {
      std::string cause = ofValues(append.getInput(), same.getInput());
      return name + " appends other rows to cache " + quoted(mine) + " than to " + quoted(other) +
             (cause.empty() ? "" : ": " + cause);
    }
    if (!numbering.areEqual(append.getRows(), same.getRows())) {
      return name + " appends to cache " + quoted(mine) + " in other segments than to " +
             quoted(other);
    }
  }
  for (auto [entry, append] : right.appends) {
    if (!left.appends.contains(entry)) {
      return "@" + cast<func::FuncOp>(entry).getSymName().str() + " appends to cache " +
             quoted(other) + " and not to " + quoted(mine);
    }
  }
  return {};
}

std::string Differences::ofCaches(StringAttr mine, StringAttr other) {
  const ValueNumbering::Cache &left = numbering.caches().find(mine)->second;
  const ValueNumbering::Cache &right = numbering.caches().find(other)->second;
  if (left.type != right.type) {
    return "cache " + quoted(mine) + " is as wide as " + textOf(TypeAttr::get(left.type)) +
           ", cache " + quoted(other) + " as " + textOf(TypeAttr::get(right.type));
  }
  std::string difference = ofAppends(mine, other);
  if (!difference.empty()) {
    return difference;
  }
  if (left.isKeys != right.isKeys || left.isValues != right.isValues) {
    return "cache " + quoted(left.isKeys ? mine : other) + " is read as keys, cache " +
           quoted(left.isKeys ? other : mine) + " is not";
  }
  return "nothing appends to cache " + quoted(mine);
}

/// Describes how the numbers of keys that pairs read differ, or their filters.
std::string Differences::ofLocations(AttentionOp mine, AttentionOp other) {
  auto areEqual = [&](Value left, Value right) { return numbering.areEqual(left, right); };
  if (mine.getLocationTapsAttr() != other.getLocationTapsAttr() ||
      !llvm::equal(mine.getLocations(), other.getLocations(), areEqual)) {
    return "the locations of pairs differ";
  }
  for (auto [left, right] :
       {std::pair(mine.getLocationFiltersAttr(), other.getLocationFiltersAttr()),
        std::pair(mine.getLocationWeightsAttr(), other.getLocationWeightsAttr())}) {
    std::string weights = !left == !right ? ofParameters(left, right) : "one has filters";
    if (!weights.empty()) {
      return "what pairs make of the numbers of keys differs: " + weights;
    }
  }
  return {};
}

std::string Differences::ofAttentions(AttentionOp mine, AttentionOp other) {
  for (auto [what, left, right] : {std::tuple("queries", mine.getQuery(), other.getQuery()),
                                   std::tuple("keys", mine.getKey(), other.getKey())}) {
    if (!numbering.areEqual(left, right)) {
      std::string cause = ofValues(left, right);
      return std::string("the ") + what + " differ" + (cause.empty() ? "" : ": " + cause);
    }
  }
  for (auto [what, left, right] :
       {std::tuple("heads", Attribute(mine.getHeadsAttr()), Attribute(other.getHeadsAttr())),
        std::tuple("scales", Attribute(mine.getScaleAttr()), Attribute(other.getScaleAttr())),
        std::tuple("masks", Attribute(mine.getVisibilityAttr()),
                   Attribute(other.getVisibilityAttr())),
        std::tuple("scores of hidden keys", Attribute(mine.getHiddenAttr()),
                   Attribute(other.getHiddenAttr())),
        std::tuple("maths of the scores", Attribute(mine.getScoreAttr()),
                   Attribute(other.getScoreAttr())),
        std::tuple("maths of pairs", Attribute(mine.getPairsAttr()),
                   Attribute(other.getPairsAttr()))}) {
    if (left != right) {
      return std::string("the ") + what + " differ: " + textOf(left) + " and " + textOf(right);
    }
  }
  std::string weights = ofParameters(mine.getPairWeightsAttr(), other.getPairWeightsAttr());
  if (!weights.empty()) {
    return "the weights of pairs differ: " + weights;
  }
  std::string locations = ofLocations(mine, other);
  if (!locations.empty()) {
    return locations;
  }
  std::string bias = ofParameters(mine.getBiasAttr(), other.getBiasAttr());
  return bias.empty() ? "they are of other segments" : "the position biases differ: " + bias;
}

} // namespace

std::string differenceOf(AttentionOp attention, AttentionOp other,
                         const ValueNumbering &numbering) {
  return Differences(numbering).ofAttentions(attention, other);
}

/// Returns whether head `mine` of one linear map equals head `other` of another.
static bool isOneHead(LinearOp left, int64_t mine, LinearOp right, int64_t other, int64_t heads,
                      ParameterContents &contents) {
  int64_t size = left.getType().getDimSize(1) / heads;
  auto rowsOf = [size](FlatSymbolRefAttr symbol, int64_t head) {
    return symbol ? ParameterRows{symbol, head * size, size} : ParameterRows();
  };
  return contents.areEqual(rowsOf(left.getBiasAttr(), mine), rowsOf(right.getBiasAttr(), other)) &&
         contents.areEqual(rowsOf(left.getWeightAttr(), mine),
                           rowsOf(right.getWeightAttr(), other));
}

std::string headOrder(AttentionOp attention, AttentionOp other, const ValueNumbering &numbering) {
  ParameterContents &contents = numbering.parameters();
  auto heads = static_cast<int64_t>(attention.getHeads());
  bool isAlike = attention.getHeadsAttr() == other.getHeadsAttr() &&
                 attention.getScaleAttr() == other.getScaleAttr() &&
                 attention.getVisibilityAttr() == other.getVisibilityAttr() &&
                 attention.getHiddenAttr() == other.getHiddenAttr() &&
                 attention.getScoreAttr() == other.getScoreAttr() &&
                 !attention.getBiasAttr() == !other.getBiasAttr() &&
                 // Heads of pairs have separate weights.
                 !attention.getPairsAttr() && !other.getPairsAttr() &&
                 // Heads that share keys or values have no separate maps.
                 attention.getQuery().getType() == attention.getKey().getType() &&
                 attention.getValue().getType() == attention.getType();
  SmallVector<std::pair<LinearOp, LinearOp>> maps;
  for (unsigned operand : {0, 1, 2}) {
    auto left = attention->getOperand(operand).getDefiningOp<LinearOp>();
    auto right = other->getOperand(operand).getDefiningOp<LinearOp>();
    if (!isAlike || !left || !right || left.getType() != right.getType() ||
        !numbering.areEqual(left.getInput(), right.getInput())) {
      return {};
    }
    maps.emplace_back(left, right);
  }
  auto isHead = [&](int64_t mine, int64_t its) {
    return llvm::all_of(maps,
                        [&](auto &map) {
                          return isOneHead(map.first, mine, map.second, its, heads, contents);
                        }) &&
           (!attention.getBiasAttr() ||
            contents.areEqual({attention.getBiasAttr(), mine, 1}, {other.getBiasAttr(), its, 1}));
  };
  llvm::SmallSetVector<int64_t, 16> order;
  for (int64_t mine = 0; mine < heads; ++mine) {
    for (int64_t its = 0; its < heads; ++its) {
      if (!order.contains(its) && isHead(mine, its)) {
        order.insert(its);
        break;
      }
    }
    if (order.size() != static_cast<size_t>(mine + 1)) {
      return {};
    }
  }
  return llvm::join(llvm::map_range(order, [](int64_t head) { return std::to_string(head); }),
                    ", ");
}

std::string differenceOf(StringAttr cache, StringAttr other, const ValueNumbering &numbering) {
  return Differences(numbering).ofCaches(cache, other);
}

} // namespace heddle
