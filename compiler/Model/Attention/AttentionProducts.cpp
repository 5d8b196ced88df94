// SPDX-License-Identifier: Apache-2.0
///
/// Adds up products as cheaply as possible: adds queries if the keys are the same, adds keys if the
/// queries are; if both differ, linear maps concatenate the heads of all products.
#include "compiler/Model/Attention/AttentionProducts.h"

#include "compiler/Model/Attention/AttentionMasks.h"
#include "compiler/Model/Attention/HeadLayout.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

Value toRows(OpBuilder &builder, Location location, const AttentionOperand &operand) {
  // An operand that is not a split of rows keeps its layout: the transpose is then a copy and
  // remains.
  Value tensor = transposed(builder, location, operand.tensor, operand.order);
  return operand.order.size() == 2 ? tensor : mergedHeads(builder, location, tensor);
}

namespace {

/// The largest ratio between factors of products.
constexpr double mostRatio = 0x1p20;

bool isSame(const AttentionOperand &left, const AttentionOperand &right) {
  return left.tensor == right.tensor && left.order == right.order && left.share == right.share &&
         left.numbers == right.numbers;
}

/// Returns the linear map that makes an operand, if it makes it as rows.
LinearOp mapOf(const AttentionOperand &operand) {
  return operand.isRows() ? operand.tensor.getDefiningOp<LinearOp>() : LinearOp();
}

/// Returns the weight that a number of a factor is; null for a number of each row.
FlatSymbolRefAttr weightOf(Value number) {
  auto weight = number.getDefiningOp<WeightOp>();
  return weight ? weight.getParameterAttr() : FlatSymbolRefAttr();
}

/// Returns rows times a factor.
Value scaledRows(OpBuilder &builder, Location location, Value rows, const ScoreFactor &factor) {
  if (factor.constant != 1) {
    rows = ScaleOp::create(builder, location, rows,
                           builder.getF32FloatAttr(static_cast<float>(factor.constant)));
  }
  for (Value number : factor.numbers) {
    rows = MultiplyOp::create(builder, location, rows, number);
  }
  return rows;
}

/// Derives the parameter times a factor whose numbers are weights.
FlatSymbolRefAttr scaledParameter(DerivedParameters &parameters, Location location,
                                  FlatSymbolRefAttr symbol, const ScoreFactor &factor) {
  SmallVector<FlatSymbolRefAttr> operands = {symbol};
  for (Value number : factor.numbers) {
    operands.push_back(weightOf(number));
  }
  FloatAttr constant = factor.constant == 1
                           ? FloatAttr()
                           : FloatAttr::get(Float64Type::get(symbol.getContext()), factor.constant);
  if (!constant && operands.size() == 1) {
    return symbol;
  }
  return parameters.derive(location, symbol.getValue().str() + ".scaled", ExpressionKind::Scale,
                           operands, parameters.lookUp(symbol).getTensorType().getShape(),
                           constant);
}

/// Concatenates one operand of all products, head by head.
class SideBySide {
public:
  SideBySide(OpBuilder &builder, Location location, DerivedParameters &parameters, int64_t heads,
             int64_t share)
      : builder(builder), location(location), parameters(parameters), heads(heads), share(share) {}

  /// Adds the heads that a linear map makes, times a factor, `size` columns each.
  void add(const AttentionOperand &operand, int64_t size, const ScoreFactor &factor) {
    LinearOp linear = mapOf(operand);
    Part part{linear.getInput(), size, inHeads(linear.getWeightAttr(), operand.share, factor), {}};
    if (FlatSymbolRefAttr bias = linear.getBiasAttr()) {
      part.bias = inHeads(bias, operand.share, factor);
    }
    parts.push_back(part);
  }

  /// Returns the heads of all parts as rows: the sum of one linear map per distinct input.
  Value rows() {
    llvm::MapVector<Value, int64_t> inputs;
    for (const Part &part : parts) {
      inputs.insert({part.input, cast<RankedTensorType>(part.input.getType()).getDimSize(1)});
    }
    Value sum;
    for (auto [input, width] : inputs) {
      int64_t size = 0;
      SmallVector<FlatSymbolRefAttr> weights, biases;
      for (const Part &part : parts) {
        bool isOfInput = part.input == input;
        size += part.size;
        weights.push_back(isOfInput ? part.weight : zeros(part.size * width));
        biases.push_back(isOfInput && part.bias ? part.bias : zeros(part.size));
      }
      bool hasBias =
          llvm::any_of(parts, [&](const Part &part) { return part.input == input && part.bias; });
      int64_t made = heads / share * size;
      FlatSymbolRefAttr weight = join(weights, {made, width});
      FlatSymbolRefAttr bias = hasBias ? join(biases, {made}) : FlatSymbolRefAttr();
      auto type = RankedTensorType::get({ShapedType::kDynamic, made}, builder.getF32Type());
      Value map = LinearOp::create(builder, location, type, input, weight, bias);
      sum = sum ? AddOp::create(builder, location, sum, map).getResult() : map;
    }
    return sum;
  }

private:
  struct Part {
    Value input;
    int64_t size;
    /// [heads / share, ...]: one row per head.
    FlatSymbolRefAttr weight;
    FlatSymbolRefAttr bias;
  };

  /// Derives a weight or bias of fewer heads, times a factor, expanded to heads / share rows.
  FlatSymbolRefAttr inHeads(FlatSymbolRefAttr symbol, int64_t operandShare,
                            const ScoreFactor &factor) {
    symbol = scaledParameter(parameters, location, symbol, factor);
    int64_t elements = parameters.lookUp(symbol).getTensorType().getNumElements();
    int64_t has = heads / operandShare;
    int64_t times = operandShare / share;
    int64_t line = elements / has;
    symbol = parameters.derive(location, symbol.getValue().str() + ".heads",
                               ExpressionKind::Reshape, symbol, {has, line});
    if (times == 1) {
      return symbol;
    }
    SmallVector<FlatSymbolRefAttr> lines;
    for (int64_t head = 0; head < has * times; ++head) {
      lines.push_back(parameters.derive(location, symbol.getValue().str() + ".head",
                                        ExpressionKind::Rows, symbol, {1, line}, {}, head / times));
    }
    return parameters.derive(location, symbol.getValue().str() + ".repeated",
                             ExpressionKind::Concat, lines, {has * times, line});
  }

  FlatSymbolRefAttr zeros(int64_t line) {
    return parameters.derive(location, "heads.zeros", ExpressionKind::Zeros, {},
                             {heads / share, line});
  }

  FlatSymbolRefAttr join(ArrayRef<FlatSymbolRefAttr> lines, ArrayRef<int64_t> shape) {
    FlatSymbolRefAttr joined = lines.front();
    if (lines.size() > 1) {
      int64_t width = 0;
      for (FlatSymbolRefAttr each : lines) {
        width += parameters.lookUp(each).getTensorType().getDimSize(1);
      }
      joined = parameters.derive(location, joinNames(lines), ExpressionKind::ConcatColumns, lines,
                                 {heads / share, width});
    }
    return parameters.derive(location, joined.getValue().str() + ".rows", ExpressionKind::Reshape,
                             joined, shape);
  }

  OpBuilder &builder;
  Location location;
  DerivedParameters &parameters;
  int64_t heads;
  int64_t share;
  SmallVector<Part> parts;
};

/// Returns the queries as rows. A kernel reads heads of queries once per row, so shared heads are
/// repeated in memory. Keys and values are read once per row and key.
Value queryRows(OpBuilder &builder, Location location, const ScoreProduct &product, int64_t heads) {
  Value rows = product.pairs ? product.pairs->queries(builder, location)
                             : toRows(builder, location, product.query);
  int64_t share = product.query.share;
  if (share == 1) {
    return rows;
  }
  Value split = splitHeads(builder, location, rows, heads / share, product.size);
  return mergedHeads(builder, location, repeatedHeads(builder, location, split, share));
}

/// Returns the keys as rows, times their numbers.
Value keyRows(OpBuilder &builder, Location location, const AttentionOperand &key) {
  Value rows = toRows(builder, location, key);
  for (Value number : key.numbers) {
    rows = MultiplyOp::create(builder, location, rows, number);
  }
  return rows;
}

/// Returns the factor of a product relative to that of the first.
ScoreFactor besideFirst(const AttentionMatch &match, const ScoreProduct &product) {
  return {product.factor.constant / match.scale(), product.factor.numbers, {}};
}

} // namespace

int64_t sizeOfHeads(const AttentionMatch &match, ProductArrangement arrangement) {
  int64_t size = 0;
  for (const ScoreProduct &product : match.products) {
    size = arrangement == ProductArrangement::SideBySide ? size + product.size : product.size;
  }
  return size;
}

int64_t keyShareOf(const AttentionMatch &match) {
  int64_t share = match.heads;
  for (const ScoreProduct &product : match.products) {
    share = std::gcd(share, product.key.share);
  }
  return share;
}

/// Returns why scores with pairs are not one attention; empty if they are.
static std::string obstacleOfPairs(const AttentionMatch &match) {
  if (match.products.size() > 1) {
    return "scores of pairs are summed with other scores";
  }
  const ScoreProduct &pairs = match.products.front();
  return pairs.key.numbers.empty() && llvm::all_of(pairs.factor.numbers, weightOf)
             ? ""
             : "a number of each row or key multiplies scores of pairs";
}

/// Returns why the heads of several products cannot be concatenated; empty if they can.
static std::string obstacleOfSides(const AttentionMatch &match) {
  for (const ScoreProduct &product : match.products) {
    for (auto [what, operand] :
         {std::pair("queries", &product.query), std::pair("keys", &product.key)}) {
      if (!mapOf(*operand)) {
        Operation *producer = operand->tensor.getDefiningOp();
        return std::string(what) + " of products that are summed are no linear maps, whose heads " +
               "could be made side by side (" + (producer ? describe(producer) : "an argument") +
               ")";
      }
    }
    if (!llvm::all_of(product.factor.numbers, weightOf)) {
      return "products that are summed have factors of their own for each row";
    }
  }
  return "";
}

FailureOr<ProductArrangement> arrangeProducts(const AttentionMatch &match, std::string &reason) {
  if (llvm::any_of(match.products, [](const ScoreProduct &each) { return each.pairs; })) {
    reason = obstacleOfPairs(match);
    return reason.empty() ? FailureOr<ProductArrangement>(ProductArrangement::Alone)
                          : FailureOr<ProductArrangement>(failure());
  }
  auto hasKeyNumbers = [](const ScoreProduct &each) { return !each.key.numbers.empty(); };
  bool isCachedTimes = llvm::any_of(match.products, [&](const ScoreProduct &each) {
    return hasKeyNumbers(each) && cachedSource(each.key.tensor);
  });
  if (isCachedTimes) {
    reason = "a number of each key multiplies scores whose keys lie in a cache";
    return failure();
  }
  if (match.products.size() == 1) {
    return ProductArrangement::Alone;
  }
  const ScoreProduct &first = match.products.front();
  for (const ScoreProduct &product : match.products) {
    // Summands are multiplied by the ratio first, which must stay in the range of f32 as the
    // products did.
    double ratio = std::abs(product.factor.constant / match.scale());
    if (!(ratio >= 1 / mostRatio && ratio <= mostRatio)) {
      reason = "products that are summed have factors as far apart as " +
               printNumber(match.scale()) + " and " + printNumber(product.factor.constant);
      return failure();
    }
  }
  if (llvm::all_of(match.products,
                   [&](const ScoreProduct &each) { return isSame(each.key, first.key); })) {
    return ProductArrangement::SameKeys;
  }
  bool areCached = llvm::any_of(match.products, [](const ScoreProduct &each) {
    return static_cast<bool>(cachedSource(each.key.tensor));
  });
  if (areCached) {
    reason = "keys of products that are summed lie in caches of their own";
    return failure();
  }
  // A number of each row belongs to the queries, so keys cannot take it.
  if (llvm::all_of(match.products, [&](const ScoreProduct &each) {
        return isSame(each.query, first.query) && each.key.share == first.key.share &&
               llvm::all_of(each.factor.numbers, weightOf);
      })) {
    return ProductArrangement::SameQueries;
  }
  if (llvm::any_of(match.products, hasKeyNumbers)) {
    reason = "a number of each key multiplies some of several products of other queries";
    return failure();
  }
  reason = obstacleOfSides(match);
  return reason.empty() ? FailureOr<ProductArrangement>(ProductArrangement::SideBySide)
                        : FailureOr<ProductArrangement>(failure());
}

QueryKeyRows combineProducts(OpBuilder &builder, Location location, DerivedParameters &parameters,
                             const AttentionMatch &match, ProductArrangement arrangement) {
  const ScoreProduct &first = match.products.front();
  // The weights of pairs include the factor.
  if (first.pairs) {
    return {queryRows(builder, location, first, match.heads), toRows(builder, location, first.key),
            first.key.share};
  }
  auto sumOf = [&](llvm::function_ref<Value(const ScoreProduct &)> rowsOf) {
    Value sum;
    for (const ScoreProduct &product : match.products) {
      Value rows = scaledRows(builder, location, rowsOf(product), besideFirst(match, product));
      sum = sum ? AddOp::create(builder, location, sum, rows).getResult() : rows;
    }
    return sum;
  };
  auto queries = [&](const ScoreProduct &product) {
    return queryRows(builder, location, product, match.heads);
  };
  auto keys = [&](const ScoreProduct &product) { return keyRows(builder, location, product.key); };
  switch (arrangement) {
  case ProductArrangement::Alone:
  case ProductArrangement::SameKeys:
    return {sumOf(queries), keys(first), first.key.share};
  case ProductArrangement::SameQueries:
    return {queries(first), sumOf(keys), first.key.share};
  case ProductArrangement::SideBySide:
    break;
  }
  int64_t keyShare = keyShareOf(match);
  SideBySide query(builder, location, parameters, match.heads, 1);
  SideBySide key(builder, location, parameters, match.heads, keyShare);
  for (const ScoreProduct &product : match.products) {
    query.add(product.query, product.size, besideFirst(match, product));
    key.add(product.key, product.size, {});
  }
  return {query.rows(), key.rows(), keyShare};
}

Value valueRows(OpBuilder &builder, Location location, DerivedParameters &parameters,
                const WeightedSum &sum, int64_t heads) {
  Value rows = toRows(builder, location, sum.value);
  if (!sum.map) {
    return rows;
  }
  FlatSymbolRefAttr matrix = mapOfHeads(parameters, location, sum.map, sum.mapOrder);
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, heads * sum.valueSize}, builder.getF32Type());
  return LinearOp::create(builder, location, type, rows, matrix, FlatSymbolRefAttr());
}

/// Derives the table with `distance` distances on each side: its end columns are repeated.
static FlatSymbolRefAttr widened(DerivedParameters &parameters, Location location,
                                 FlatSymbolRefAttr table, int64_t distance) {
  RankedTensorType type = parameters.lookUp(table).getTensorType();
  int64_t heads = type.getDimSize(0);
  int64_t columns = type.getDimSize(1);
  int64_t missing = distance - columns / 2;
  if (missing == 0) {
    return table;
  }
  std::string name = table.getValue().str();
  // Repeats a column: doubles the table at each step, then cuts it to size.
  auto endOf = [&](int64_t column) {
    FlatSymbolRefAttr end = parameters.derive(location, name + ".end", ExpressionKind::Columns,
                                              table, {heads, 1}, {}, column);
    int64_t width = 1;
    for (; width < missing; width *= 2) {
      end = parameters.derive(location, name + ".ends", ExpressionKind::ConcatColumns, {end, end},
                              {heads, 2 * width});
    }
    return width == missing ? end
                            : parameters.derive(location, name + ".ends", ExpressionKind::Columns,
                                                end, {heads, missing}, {}, 0);
  };
  FlatSymbolRefAttr before = endOf(0);
  FlatSymbolRefAttr after = endOf(columns - 1);
  return parameters.derive(location, name + ".wide", ExpressionKind::ConcatColumns,
                           {before, table, after}, {heads, 2 * distance + 1});
}

FlatSymbolRefAttr deriveBias(DerivedParameters &parameters, Location location,
                             ArrayRef<DistanceBias> biases) {
  if (biases.empty()) {
    return {};
  }
  auto columnsOf = [&](const DistanceBias &bias) {
    return parameters.lookUp(bias.table).getTensorType().getDimSize(1);
  };
  int64_t columns = 0;
  for (const DistanceBias &bias : biases) {
    columns = std::max(columns, columnsOf(bias));
  }
  SmallVector<FlatSymbolRefAttr> tables;
  for (const DistanceBias &bias : biases) {
    FlatSymbolRefAttr table = scaledParameter(parameters, location, bias.table, bias.factor);
    tables.push_back(widened(parameters, location, table, columns / 2));
  }
  if (tables.size() == 1) {
    return tables.front();
  }
  return parameters.derive(location, joinNames(tables), ExpressionKind::Sum, tables,
                           parameters.lookUp(tables.front()).getTensorType().getShape());
}

} // namespace heddle
