// SPDX-License-Identifier: Apache-2.0
///
/// Computes once what several layers compute equally, independent of names and spelling: values,
/// caches, position biases, outputs of attention, and the weights of attentions whose values
/// differ. Equality is proved by value numbering (ValueNumbering.h): operands, attributes,
/// parameters by content, and caches by what all entries append to them.
///
/// Before, the weights of @b.query and @b.key equal to those of @a.query and @a.key:
///   %q1 = transformer.linear %x, @a.query     %q2 = transformer.linear %x, @b.query
///   %k1 = transformer.linear %x, @a.key       %k2 = transformer.linear %x, @b.key
///   %o1 = transformer.attention %q1, %k1, %v1 in(%rows, %rows) {...}
///   %o2 = transformer.attention %q2, %k2, %v2 in(%rows, %rows) {...}
/// After:
///   %p = transformer.attention_weights %q1, %k1 in(%rows, %rows) {...}
///   %o1 = transformer.attend %p, %v1 in(%rows, %rows) {...}
///   %o2 = transformer.attend %p, %v2 in(%rows, %rows) {...}
///
/// Every attention similar to an earlier one is a candidate. It is either shared, with all
/// computations and caches that it makes redundant, or declined with the first difference, if at
/// least the queries or the keys are equal or the same heads are in another order. Tested by
/// tests/compiler/Model/Sharing/share-attention*.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Model/Sharing/SharedValues.h"
#include "compiler/Model/Sharing/ValueDifference.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_SHAREATTENTIONPASS
#include "compiler/Passes.h.inc"

namespace {

/// The most attentions over the same rows that one is compared with, head by head.
constexpr size_t mostReordered = 8;

/// A shared computation and its savings except weights, which are counted last.
struct Shared {
  Location location;
  std::string what;
  Savings savings;
  /// Symbols that erased operations name.
  llvm::SetVector<Attribute> symbols;
};

/// Collects the shared computations before anything is rewritten, and reports them afterwards.
class Candidates {
public:
  Candidates(ModuleOp module, const ValueNumbering &numbering, SharedValues &values)
      : module(module), numbering(numbering), values(values) {}

  void find();
  void report();

private:
  using Alike = std::tuple<Block *, unsigned, unsigned, unsigned>;

  void consider(AttentionOp attention);
  void skipOutputs(AttentionOp attention);
  /// Describes which part of an attention equals that of an earlier one; empty if none does.
  std::string describeShared(AttentionOp attention);
  void decline(AttentionOp attention);
  /// Returns the key of `ofInputs`.
  Alike inputsOf(AttentionOp attention) const;
  /// Records an attention for comparison with later ones.
  void note(AttentionOp attention);
  /// Adds a redundant operation, and operations that only such operations use, to `shared`.
  void add(Operation *op, Shared &shared);
  StringAttr findErased(StringAttr name);
  void addCache(StringAttr name, Shared &shared);
  void addSymbols(Operation *op, Shared &shared);

  ModuleOp module;
  const ValueNumbering &numbering;
  SharedValues &values;
  /// The first attention of a block that reads a value as its operand with that index.
  llvm::DenseMap<std::tuple<Block *, unsigned, unsigned>, AttentionOp> firstReaders;
  /// The last attention of a block with these segments and this query, or this key, and its index
  /// among all attentions.
  llvm::DenseMap<Alike, std::pair<size_t, AttentionOp>> lastOfQuery, lastOfKey;
  /// Attentions of a block with these segments whose queries are maps of these rows.
  llvm::DenseMap<Alike, SmallVector<AttentionOp>> ofInputs;
  size_t count = 0;
  /// Redundant weights that are outputs, by block and value number.
  llvm::DenseMap<std::pair<Block *, unsigned>, SmallVector<Operation *>> repeatedWeights;
  std::vector<Shared> found;
  llvm::DenseSet<Operation *> added;
  llvm::DenseSet<StringAttr> addedCaches;
};

void Candidates::addSymbols(Operation *op, Shared &shared) {
  op->getAttrDictionary().walk(
      [&](FlatSymbolRefAttr symbol) { shared.symbols.insert(symbol.getAttr()); });
}

/// Returns the cache of `name`'s class that a redundant use of `name` makes unnecessary: `name`
/// itself or, if that is the one that is kept, another one; null if all are counted.
StringAttr Candidates::findErased(StringAttr name) {
  StringAttr first = values.keptFor(name);
  auto isErased = [&](StringAttr cache) { return cache != first && !addedCaches.contains(cache); };
  if (isErased(name)) {
    return name;
  }
  for (const auto &[other, cache] : numbering.caches()) {
    if (numbering.areOneClass(name, other) && isErased(other)) {
      return other;
    }
  }
  return {};
}

/// Counts a redundant cache, and the operations that append to it in all entries.
void Candidates::addCache(StringAttr name, Shared &shared) {
  StringAttr erased = findErased(name);
  if (!erased) {
    return;
  }
  addedCaches.insert(erased);
  const ValueNumbering::Cache &cache = numbering.caches().find(erased)->second;
  shared.savings.cacheBytesPerToken += cast<CacheType>(cache.type).getPositionBytes();
  for (auto [entry, append] : cache.appends) {
    add(append, shared);
  }
}

void Candidates::add(Operation *first, Shared &shared) {
  // A worklist, not recursion: the redundant expression may be as long as the program.
  SmallVector<Operation *> open = {first};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    // Operations that only redundant operations use are redundant too, even if no earlier operation
    // equals them.
    auto isAdded = [&](Operation *user) { return added.contains(user); };
    bool isUnused = !op->use_empty() && llvm::all_of(op->getUsers(), isAdded) && !values.isKept(op);
    if ((!values.keptFor(op) && !isUnused) || !added.insert(op).second) {
      continue;
    }
    shared.savings.flopsPerToken += flopsPerToken(op);
    shared.savings.flopsPerTokenAndKey += flopsPerTokenAndKey(op);
    addSymbols(op, shared);
    for (Value operand : op->getOperands()) {
      if (Operation *producer = operand.getDefiningOp()) {
        open.push_back(producer);
      }
      if (StringAttr name = isa<CacheType>(operand.getType()) ? cacheName(operand) : StringAttr()) {
        addCache(name, shared);
      }
    }
  }
}

void Candidates::note(AttentionOp attention) {
  Block *block = attention->getBlock();
  for (unsigned operand : {0U, 1U, 2U}) {
    firstReaders.try_emplace({block, operand, numbering.numberOf(attention->getOperand(operand))},
                             attention);
  }
  unsigned queries = numbering.numberOf(attention.getQueries());
  unsigned keys = numbering.numberOf(attention.getKeys());
  lastOfQuery[{block, queries, keys, numbering.numberOf(attention.getQuery())}] = {count,
                                                                                   attention};
  lastOfKey[{block, queries, keys, numbering.numberOf(attention.getKey())}] = {count, attention};
  ofInputs[inputsOf(attention)].push_back(attention);
  ++count;
}

Candidates::Alike Candidates::inputsOf(AttentionOp attention) const {
  auto query = attention.getQuery().getDefiningOp<LinearOp>();
  Value rows = query ? query.getInput() : attention.getQuery();
  return {attention->getBlock(), numbering.numberOf(attention.getQueries()),
          numbering.numberOf(attention.getKeys()), numbering.numberOf(rows)};
}

std::string Candidates::describeShared(AttentionOp attention) {
  if (Value output = values.keptFor(attention)) {
    return "the output of " + placeName(output.getLoc());
  }
  SharedWeights *shared = values.weightsFor(attention);
  if (shared && shared->first() != attention) {
    return "the weights of " + placeName(shared->first()->getLoc()) + ", with values of its own";
  }
  std::tuple<llvm::StringLiteral, Value, unsigned> operands[] = {
      {"keys", attention.getKey(), 1},
      {"values", attention.getValue(), 2},
      {"queries", attention.getQuery(), 0}};
  for (auto [what, value, number] : operands) {
    Operation *producer = value.getDefiningOp();
    if (!producer || !values.keptFor(producer)) {
      continue;
    }
    // The attention that computes the equal value.
    AttentionOp other =
        firstReaders.lookup({attention->getBlock(), number, numbering.numberOf(value)});
    if (!other) {
      continue;
    }
    SmallVector<StringRef> names;
    for (auto [name, operand, place] : operands) {
      if (numbering.areEqual(other->getOperand(place), operand)) {
        names.push_back(name);
      }
    }
    return "the " + llvm::join(names, " and ") + " of " + placeName(other.getLoc());
  }
  return {};
}

/// Reports the difference between an attention's weights and those of the nearest similar attention
/// before it.
void Candidates::decline(AttentionOp attention) {
  Block *block = attention->getBlock();
  unsigned queries = numbering.numberOf(attention.getQueries());
  unsigned keys = numbering.numberOf(attention.getKeys());
  auto ofQuery =
      lastOfQuery.lookup({block, queries, keys, numbering.numberOf(attention.getQuery())});
  auto ofKey = lastOfKey.lookup({block, queries, keys, numbering.numberOf(attention.getKey())});
  bool isOfQuery = ofQuery.second && (!ofKey.second || ofQuery.first > ofKey.first);
  if (AttentionOp nearest = isOfQuery ? ofQuery.second : ofKey.second) {
    reportDeclined(attention.getLoc(), passNames::shareAttention,
                   "not shared with " + placeName(nearest.getLoc()) + ": " +
                       differenceOf(attention, nearest, numbering));
    return;
  }
  // If only the order of heads differs, the results have permuted columns: no operation permutes
  // them, and the weights that read them would have to be derived. Only the last few are compared:
  // models permute heads from one layer to the next, and a program may have thousands of attentions
  // over one value.
  ArrayRef<AttentionOp> candidates = ofInputs[inputsOf(attention)];
  for (AttentionOp other : llvm::reverse(candidates.take_back(mostReordered))) {
    std::string order = headOrder(attention, other, numbering);
    if (!order.empty()) {
      reportDeclined(attention.getLoc(), passNames::shareAttention,
                     "not shared with " + placeName(other.getLoc()) +
                         ": its heads are there in another order (" + order + ")");
      return;
    }
  }
}

/// Equal weights that are optional outputs are not separate work.
void Candidates::skipOutputs(AttentionOp attention) {
  auto weights = repeatedWeights.find({attention->getBlock(), numbering.weightsOf(attention)});
  if (weights != repeatedWeights.end()) {
    added.insert_range(weights->second);
  }
}

void Candidates::consider(AttentionOp attention) {
  skipOutputs(attention);
  SharedWeights *weights = values.weightsFor(attention);
  std::string what = describeShared(attention);
  if (!what.empty()) {
    Shared shared{attention.getLoc(), "shares " + what, {}, {}};
    if (weights && weights->first() != attention) {
      // The sum of its values remains.
      shared.savings.flopsPerTokenAndKey +=
          flopsPerTokenAndKey(attention, 2 * attention.getQuery().getType().getDimSize(1));
    }
    add(attention, shared);
    for (Value operand : attention->getOperands()) {
      if (Operation *producer = operand.getDefiningOp()) {
        add(producer, shared);
      }
    }
    addSymbols(attention, shared);
    found.push_back(std::move(shared));
  }
  if (!values.keptFor(attention) && !weights) {
    decline(attention);
  }
}

void Candidates::find() {
  const SmallVector<Operation *> repeated = values.repeated();
  for (Operation *op : repeated) {
    if (auto weights = dyn_cast<AttentionWeightsOp>(op)) {
      repeatedWeights[{weights->getBlock(), numbering.numberOf(weights)}].push_back(op);
    }
  }
  for (auto entry : module.getOps<func::FuncOp>()) {
    entry.walk([&](AttentionOp attention) {
      consider(attention);
      note(attention);
    });
  }
  // Redundant operations that are unrelated to any attention.
  for (Operation *op : repeated) {
    if (added.contains(op)) {
      continue;
    }
    Shared shared{op->getLoc(), op->getName().getStringRef().str(), {}, {}};
    std::string name = checkpointName(values.keptFor(op).getLoc());
    shared.what += name.empty() ? "" : ", equal to that of " + name;
    add(op, shared);
    found.push_back(std::move(shared));
  }
}

/// Erases unneeded parameters, including those that only other unneeded parameters name.
void eraseParameters(ModuleOp module, llvm::DenseSet<Attribute> unneeded,
                     const llvm::DenseSet<Attribute> &needed) {
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    std::optional<ParameterExpressionAttr> expression = parameter.getExpression();
    if (expression && !needed.contains(parameter.getSymNameAttr()) &&
        llvm::any_of(expression->getOperands(), [&](FlatSymbolRefAttr operand) {
          return unneeded.contains(operand.getAttr());
        })) {
      unneeded.insert(parameter.getSymNameAttr());
    }
  }
  // Parameters follow their operands, so users are visited first.
  const auto parameters = llvm::to_vector(module.getOps<ParameterOp>());
  for (ParameterOp parameter : llvm::reverse(parameters)) {
    if (unneeded.contains(parameter.getSymNameAttr())) {
      parameter.erase();
    }
  }
}

/// Erases the parameters that are no longer named, and counts each at its first user.
void Candidates::report() {
  llvm::DenseSet<Attribute> needed = neededParameters(module);
  SymbolTable symbols(module);
  llvm::DenseSet<Attribute> unneeded;
  for (Shared &shared : found) {
    SmallVector<Attribute> pending(shared.symbols.begin(), shared.symbols.end());
    for (size_t index = 0; index < pending.size(); ++index) {
      auto parameter = symbols.lookup<ParameterOp>(cast<StringAttr>(pending[index]));
      if (!parameter || needed.contains(pending[index]) ||
          !unneeded.insert(pending[index]).second) {
        continue;
      }
      // Its operands are counted with it.
      bool isNamed = index < shared.symbols.size();
      shared.savings.weightBytes += isNamed ? byteSize(parameter) : 0;
      if (std::optional<ParameterExpressionAttr> expression = parameter.getExpression()) {
        for (FlatSymbolRefAttr operand : expression->getOperands()) {
          pending.push_back(operand.getAttr());
        }
      }
    }
    reportTaken(shared.location, passNames::shareAttention, shared.what, shared.savings);
  }
  eraseParameters(module, unneeded, needed);
}

/// Replaces each table of position biases by the first one with the same values.
void shareBiases(ModuleOp module, ParameterContents &contents) {
  FlatSymbolRefAttr first;
  llvm::DenseMap<unsigned, FlatSymbolRefAttr> known;
  auto classOf = [&](FlatSymbolRefAttr bias) { return contents.classOf(contents.rowsOf(bias)); };
  auto keep = [&](auto op) {
    FlatSymbolRefAttr bias = op.getBiasAttr();
    first = first ? first : bias;
    // A single table is not read.
    if (!bias || bias == first) {
      return;
    }
    if (known.empty()) {
      known[classOf(first)] = first;
    }
    FlatSymbolRefAttr kept = known.try_emplace(classOf(bias), bias).first->second;
    if (kept != bias) {
      op.setBiasAttr(kept);
      reportTaken(op.getLoc(), passNames::shareAttention,
                  "the position bias @" + bias.getValue() + " is @" + kept.getValue());
    }
  };
  module.walk([&](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      keep(attention);
    } else if (auto weights = dyn_cast<AttentionWeightsOp>(op)) {
      keep(weights);
    }
  });
}

struct ShareAttentionPass : impl::ShareAttentionPassBase<ShareAttentionPass> {
  ShareAttentionPass() = default;
  explicit ShareAttentionPass(ParameterHasher hasher) : hasher(std::move(hasher)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ParameterContents contents(module, hasher);
    shareBiases(module, contents);
    ValueNumbering numbering(module, contents);
    SharedValues values(module, numbering);
    Candidates candidates(module, numbering, values);
    candidates.find();
    values.rewrite();
    candidates.report();
  }

  ParameterHasher hasher;
};

} // namespace

std::unique_ptr<Pass> createShareAttentionPass(ParameterHasher hasher) {
  return std::make_unique<ShareAttentionPass>(std::move(hasher));
}

} // namespace heddle
