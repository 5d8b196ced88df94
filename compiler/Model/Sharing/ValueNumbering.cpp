// SPDX-License-Identifier: Apache-2.0
///
/// Interns terms in program order. Splits the classes of caches until numbering all entries splits
/// none.
#include "compiler/Model/Sharing/ValueNumbering.h"

#include "compiler/Model/Attention/CacheReads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

/// Kinds of terms that do not belong to one operation. No pointer is that small.
enum TermKind : uintptr_t { OfCache = 1, OfLinear, OfScores, OfAttend, OfColumns, OfScale };

uintptr_t keyOf(const void *unique) { return reinterpret_cast<uintptr_t>(unique); }
uintptr_t keyOf(Attribute attribute) { return keyOf(attribute.getAsOpaquePointer()); }
uintptr_t keyOf(Type type) { return keyOf(type.getAsOpaquePointer()); }

/// Returns the parameters that an attribute names: one, or an array of symbols only.
std::optional<SmallVector<FlatSymbolRefAttr>> parametersIn(Attribute attribute) {
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute)) {
    return SmallVector<FlatSymbolRefAttr>{symbol};
  }
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array || array.empty() || !llvm::all_of(array, llvm::IsaPred<FlatSymbolRefAttr>)) {
    return std::nullopt;
  }
  return llvm::to_vector(array.getAsRange<FlatSymbolRefAttr>());
}

/// Returns whether operands commute: their sum or product is bitwise the same.
bool isCommutative(Operation *op) {
  return isa<AddOp, MultiplyOp>(op) && op->getOperand(0).getType() == op->getOperand(1).getType();
}

} // namespace

ValueNumbering::ValueNumbering(ModuleOp module, ParameterContents &contents)
    : module(module), contents(contents) {
  findCaches();
  do {
    numberAll();
  } while (splitClasses());
}

// --- Caches ----------------------------------------------------------------------------------

ValueNumbering::Cache *ValueNumbering::cacheOf(Value cache) {
  StringAttr name = cacheName(cache);
  auto found = name ? cacheTable.find(name) : cacheTable.end();
  return found == cacheTable.end() ? nullptr : &found->second;
}

void ValueNumbering::findArguments(func::FuncOp entry) {
  llvm::DenseSet<StringAttr> names;
  for (BlockArgument argument : entry.getArguments()) {
    StringAttr name = isa<CacheType>(argument.getType()) ? cacheName(argument) : StringAttr();
    if (!name) {
      continue;
    }
    Cache &cache = cacheTable[name];
    bool isNew = !cache.type;
    cache.type = isNew ? argument.getType() : cache.type;
    cache.isAlone |= cache.type != argument.getType() || !names.insert(name).second ||
                     !entry.getBody().hasOneBlock();
  }
}

void ValueNumbering::noteUse(Operation *op) {
  for (const CacheRead &read : cacheReads(op)) {
    CachedOp cached = cachedSource(read.rows);
    if (Cache *cache = cached ? cacheOf(cached.getCache()) : nullptr) {
      (read.isKeys ? cache->isKeys : cache->isValues) = true;
    }
  }
  if (auto append = dyn_cast<AppendOp>(op)) {
    if (Cache *cache = cacheOf(append.getCache())) {
      auto entry = dyn_cast<func::FuncOp>(op->getParentOp());
      cache->isAlone |= !entry || !cache->appends.insert({entry, append}).second;
    }
  }
}

/// Puts all caches that may be equal into one class: those of the same type that are read in the
/// same way.
void ValueNumbering::findCaches() {
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isExternal()) {
      findArguments(entry);
      entry.walk([&](Operation *op) { noteUse(op); });
    }
  }
  std::map<std::tuple<uintptr_t, bool, bool>, unsigned> classes;
  unsigned count = 0;
  for (auto &[name, cache] : cacheTable) {
    // A cache that no entry appends to is filled in an unknown way.
    if (cache.isAlone || cache.appends.empty()) {
      cache.number = count++;
      continue;
    }
    auto [known, isNew] =
        classes.try_emplace({keyOf(cache.type), cache.isKeys, cache.isValues}, count);
    count += isNew ? 1 : 0;
    cache.number = known->second;
  }
}

/// Splits classes of caches to which an entry appends different rows, by the numbers for the
/// current classes. Returns false if nothing changed.
bool ValueNumbering::splitClasses() {
  std::map<std::pair<unsigned, std::vector<uintptr_t>>, unsigned> classes;
  unsigned before = 0;
  for (auto &[name, cache] : cacheTable) {
    before = std::max(before, cache.number + 1);
  }
  SmallVector<unsigned> numbersAfter;
  for (auto &[name, cache] : cacheTable) {
    std::vector<uintptr_t> appended;
    for (auto entry : module.getOps<func::FuncOp>()) {
      if (AppendOp append = cache.appends.lookup(entry)) {
        appended.insert(appended.end(), {keyOf(entry.getOperation()), numberOf(append.getInput()),
                                         numberOf(append.getRows())});
      }
    }
    auto [known, isNew] = classes.try_emplace({cache.number, appended}, classes.size());
    numbersAfter.push_back(known->second);
  }
  for (auto [entry, number] : llvm::zip_equal(cacheTable, numbersAfter)) {
    entry.second.number = number;
  }
  return classes.size() > before;
}

bool ValueNumbering::areOneClass(StringAttr left, StringAttr right) const {
  auto mine = cacheTable.find(left);
  auto other = cacheTable.find(right);
  return mine != cacheTable.end() && other != cacheTable.end() &&
         mine->second.number == other->second.number;
}

// --- Values ----------------------------------------------------------------------------------

void ValueNumbering::numberAll() {
  numbers.clear();
  weightNumbers.clear();
  terms.clear();
  last = 0;
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (entry.isExternal()) {
      continue;
    }
    for (BlockArgument argument : entry.getArguments()) {
      numberArgument(argument);
    }
    entry.getBody().walk([&](Operation *op) { numberOperation(op); });
  }
}

void ValueNumbering::numberArgument(BlockArgument argument) {
  Cache *cache = isa<CacheType>(argument.getType()) ? cacheOf(argument) : nullptr;
  // Within an entry, a cache that is named twice is two values.
  bool isOfClass = cache && !cache->isAlone;
  numbers[argument] = isOfClass ? intern({{OfCache, cache->number}, {}}) : ++last;
}

/// A value without a number, such as an argument of an inner block, equals no other.
unsigned ValueNumbering::operandNumber(Value value) {
  unsigned &number = numbers[value];
  number = number == 0 ? ++last : number;
  return number;
}

unsigned ValueNumbering::intern(Term term) {
  auto [place, isNew] = terms.try_emplace(std::move(term.key));
  Known &known = place->second;
  if (isNew) {
    known.first = std::move(term.parameters);
    known.number = ++last;
    return last;
  }
  auto areEqual = [&](auto pair) {
    return contents.areEqual(std::get<0>(pair), std::get<1>(pair));
  };
  if (llvm::all_of(llvm::zip_equal(term.parameters, known.first), areEqual)) {
    return known.number;
  }
  auto classesOf = [&](ArrayRef<ParameterRows> parameters) {
    std::vector<unsigned> classes;
    for (const ParameterRows &rows : parameters) {
      classes.push_back(contents.classOf(rows));
    }
    return classes;
  };
  if (known.numbers.empty()) {
    known.numbers.emplace(classesOf(known.first), known.number);
  }
  auto [number, isOther] = known.numbers.try_emplace(classesOf(term.parameters), last + 1);
  last += isOther ? 1 : 0;
  return number->second;
}

void ValueNumbering::numberOperation(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op)) {
    for (Value result : op->getResults()) {
      numbers[result] = ++last;
    }
    return;
  }
  unsigned number =
      llvm::TypeSwitch<Operation *, unsigned>(op)
          .Case([&](LinearOp linear) {
            return numberLinear(linear, 0, linear.getType().getDimSize(1));
          })
          .Case([&](ColumnsOp columns) { return numberColumns(columns); })
          .Case([&](ScaleOp scale) { return numberScale(scale); })
          .Case([&](AttentionOp attention) {
            unsigned weights = numberScores(
                {attention.getQuery(), attention.getKey(), attention.getQueries(),
                 attention.getKeys(), attention.getLocations(), attention.getHeadsAttr(),
                 attention.getScaleAttr(), attention.getVisibilityAttr(), attention.getHiddenAttr(),
                 attention.getScoreAttr(), attention.getPairsAttr(),
                 attention.getLocationTapsAttr(), attention.getBiasAttr(),
                 attention.getPairWeightsAttr(), attention.getLocationFiltersAttr(),
                 attention.getLocationWeightsAttr(), /*isRaw=*/false});
            weightNumbers[attention] = weights;
            return numberAttend(weights, attention.getValue(), attention.getQueries(),
                                attention.getKeys(), attention.getAttendedKeys(),
                                attention.getType());
          })
          .Case([&](AttentionWeightsOp weights) {
            return numberScores(
                {weights.getQuery(), weights.getKey(), weights.getQueries(), weights.getKeys(),
                 weights.getLocations(), weights.getHeadsAttr(), weights.getScaleAttr(),
                 weights.getVisibilityAttr(), weights.getHiddenAttr(), weights.getScoreAttr(),
                 weights.getPairsAttr(), weights.getLocationTapsAttr(), weights.getBiasAttr(),
                 weights.getPairWeightsAttr(), weights.getLocationFiltersAttr(),
                 weights.getLocationWeightsAttr(), weights.getRaw()});
          })
          .Case([&](AttendOp attend) {
            return numberAttend(operandNumber(attend.getWeights()), attend.getValue(),
                                attend.getQueries(), attend.getKeys(), attend.getVisibilityAttr(),
                                attend.getType());
          })
          // Correct for all operations that compute the same result from the same operands and
          // attributes.
          .Default([&](Operation *other) { return numberOther(other); });
  numbers[op->getResult(0)] = number;
}

unsigned ValueNumbering::numberScores(const Scores &scores) {
  Term term;
  term.key = {OfScores,
              operandNumber(scores.query),
              operandNumber(scores.key),
              operandNumber(scores.queries),
              operandNumber(scores.keys),
              keyOf(scores.heads),
              keyOf(scores.scale),
              keyOf(scores.visibility),
              keyOf(scores.hidden),
              keyOf(scores.score),
              keyOf(scores.pairs),
              keyOf(scores.locationTaps),
              uintptr_t(scores.isRaw),
              uintptr_t(bool(scores.bias)),
              uintptr_t(bool(scores.locationFilters))};
  for (Value locations : scores.locations) {
    term.key.push_back(operandNumber(locations));
  }
  for (FlatSymbolRefAttr parameter :
       {scores.bias, scores.pairWeights, scores.locationFilters, scores.locationWeights}) {
    if (parameter) {
      term.parameters.push_back(contents.rowsOf(parameter));
    }
  }
  return intern(std::move(term));
}

unsigned ValueNumbering::numberAttend(unsigned weights, Value value, Value queries, Value keys,
                                      Attribute visibility, Type type) {
  return intern({{OfAttend, weights, operandNumber(value), operandNumber(queries),
                  operandNumber(keys), keyOf(visibility), keyOf(type)},
                 {}});
}

/// Columns of a linear map are the map by those rows of its weight. A missing bias equals one of
/// zeros.
unsigned ValueNumbering::numberLinear(LinearOp linear, int64_t first, int64_t count) {
  Term term;
  term.key = {OfLinear, operandNumber(linear.getInput()), uintptr_t(count)};
  term.parameters.push_back({linear.getWeightAttr(), first, count});
  term.parameters.push_back({linear.getBiasAttr(), first, count});
  return intern(std::move(term));
}

unsigned ValueNumbering::numberColumns(ColumnsOp columns) {
  int64_t first = columns.getFirst();
  int64_t count = columns.getType().getDimSize(1);
  Value input = columns.getInput();
  while (auto inner = input.getDefiningOp<ColumnsOp>()) {
    first += int64_t(inner.getFirst());
    input = inner.getInput();
  }
  if (input.getType() == columns.getType()) {
    return operandNumber(input);
  }
  if (auto linear = input.getDefiningOp<LinearOp>()) {
    return numberLinear(linear, first, count);
  }
  return intern({{OfColumns, operandNumber(input), uintptr_t(first), uintptr_t(count)}, {}});
}

/// Two factors are not merged: their product rounds, and the value between them may overflow.
unsigned ValueNumbering::numberScale(ScaleOp scale) {
  if (scale.getFactor().isExactlyValue(1.0)) {
    return operandNumber(scale.getInput());
  }
  return intern(
      {{OfScale, operandNumber(scale.getInput()), keyOf(Attribute(scale.getFactorAttr()))}, {}});
}

unsigned ValueNumbering::numberOther(Operation *op) {
  Term term;
  term.key = {keyOf(op->getName().getAsOpaquePointer()), keyOf(op->getResult(0).getType())};
  SmallVector<unsigned> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(operandNumber(operand));
  }
  if (isCommutative(op)) {
    llvm::sort(operands);
  }
  term.key.push_back(operands.size());
  term.key.insert(term.key.end(), operands.begin(), operands.end());
  for (NamedAttribute named : op->getAttrDictionary()) {
    term.key.push_back(keyOf(Attribute(named.getName())));
    std::optional<SmallVector<FlatSymbolRefAttr>> symbols = parametersIn(named.getValue());
    if (!symbols || !llvm::all_of(*symbols, [&](FlatSymbolRefAttr symbol) {
          return contents.isParameter(symbol);
        })) {
      term.key.push_back(keyOf(named.getValue()));
      continue;
    }
    term.key.push_back(symbols->size());
    for (FlatSymbolRefAttr symbol : *symbols) {
      term.parameters.push_back(contents.rowsOf(symbol));
    }
  }
  return intern(std::move(term));
}

} // namespace heddle
