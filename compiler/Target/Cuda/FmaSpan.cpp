// SPDX-License-Identifier: Apache-2.0
///
/// Products of a span on FMA units. Queries, keys and values are in shared memory as f32, and a
/// lane reads four adjacent numbers at once. The sum of a score goes over the numbers of a head
/// from first to last. A sum of values goes over the keys of a span in a fixed order: for each t,
/// the keys that lane t of the row has, whose weights come from that lane's registers.
///
/// With a function of pairs, a score is the weighted sum of its results, in the same order.
/// Locations are added to the elements of keys first. Their lines are in shared memory for the keys
/// of a span.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

namespace {

class FmaSpan : public SpanProducts {
public:
  FmaSpan(BlockCode &block, const SpanShape &shape, const SpanThread &thread)
      : block(block), code(block.code), shape(shape), thread(thread) {}

  void takeQueries(ArrayRef<Value> queries, ArrayRef<LaneRow> rows) override;
  SmallVector<Value> scores() override;
  SmallVector<Value> addValues(ArrayRef<Value> weights, ValueRange sums) override;
  Column columnOf(int64_t i) const override {
    return {i / kFourNumbers * kFourNumbers * kLanesOfRow + i % kFourNumbers, kFourNumbers};
  }

protected:
  SmallVector<Value> loadFour(Value at) {
    return block.load(block.sharedAt(at), kFourNumbers, code.f32);
  }
  /// Returns byte 0 of the lane's first row of queries.
  Value queriesAt() {
    Value first = code.add(code.multiply(thread.warp, shape.warpRows()), thread.g);
    return code.multiply(first, shape.keyPitch());
  }
  /// Returns the bytes from a lane's first key to its key number `e`.
  int64_t keyOffset(int64_t e) const { return (e / 2 * kMatrixColumns + e % 2) * shape.keyPitch(); }

  BlockCode &block;
  VectorCode &code;
  const SpanShape &shape;
  const SpanThread &thread;
};

/// Sums over pairs in place of products of queries and keys.
class PairSpan final : public FmaSpan {
public:
  PairSpan(BlockCode &block, const SpanShape &shape, const SpanThread &thread,
           const AttentionTile &a)
      : FmaSpan(block, shape, thread), a(a) {}

  void takeQueries(ArrayRef<Value> queries, ArrayRef<LaneRow> rows) override;
  void storeLines(const QueryTile &tile, Value first) override;
  SmallVector<Value> scores() override;

private:
  Value nearKey(Value row, Value key, Value number);
  Value lineAt(Value row, Value key, Value line);
  Value withLocations(Value keys, Value number, int64_t row);
  Value broadcast(Value number) {
    return vector::BroadcastOp::create(code.builder, code.location, type, number);
  }

  const AttentionTile &a;
  const VectorType type = VectorType::get({shape.laneKeys()}, code.f32);
  /// The factors of the heads of the lane's rows.
  SmallVector<Value> factors;
};

} // namespace

/// Each lane stores a quarter of its rows.
void FmaSpan::takeQueries(ArrayRef<Value> queries, ArrayRef<LaneRow>) {
  const int64_t runs = shape.keyNumbers() / (kFourNumbers * kLanesOfRow);
  for (auto [i, query] : llvm::enumerate(queries)) {
    const int64_t before = static_cast<int64_t>(i) * kLaneGroups * shape.keyPitch();
    Value to = code.add(queriesAt(), before);
    code.loop(code.integer(0), code.integer(runs), 1, [&](Value run) {
      Value number =
          code.multiply(code.add(code.multiply(run, kLanesOfRow), thread.t), kFourNumbers);
      SmallVector<Value> numbers;
      for (int64_t n = 0; n < kFourNumbers; ++n) {
        Value each = code.add(number, n);
        Value near = code.smaller(each, code.integer(shape.keySize - 1));
        Value loaded = block.loadFar(code.at(query, near), code.f32);
        numbers.push_back(code.select(code.equal(each, near), loaded, code.number(0)));
      }
      block.store(numbers, block.sharedAt(code.add(to, code.multiply(number, kFloatBytes))));
    });
  }
}

SmallVector<Value> FmaSpan::scores() {
  const int64_t keys = shape.laneKeys();
  Value queries = queriesAt();
  // Of each eight keys, the lane has 2 t and 2 t + 1.
  Value ofLane = code.add(code.multiply(thread.t, 2 * shape.keyPitch()), shape.keysBegin());
  SmallVector<Value> initial(static_cast<size_t>(shape.laneRows * keys), code.number(0));
  auto sums =
      code.loop(code.integer(0), code.integer(shape.keyNumbers()), kFourNumbers, initial,
                [&](Value number, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  Value byte = code.multiply(number, kFloatBytes);
                  Value queryAt = code.add(queries, byte), keyAt = code.add(ofLane, byte);
                  SmallVector<SmallVector<Value>> rows;
                  for (int64_t i = 0; i < shape.laneRows; ++i) {
                    rows.push_back(loadFour(code.add(queryAt, i * kLaneGroups * shape.keyPitch())));
                  }
                  for (int64_t e = 0; e < keys; ++e) {
                    SmallVector<Value> four = loadFour(code.add(keyAt, keyOffset(e)));
                    for (int64_t i = 0; i < shape.laneRows; ++i) {
                      Value &sum = next[static_cast<size_t>(i * keys + e)];
                      for (size_t n = 0; n < four.size(); ++n) {
                        sum = code.fma(rows[static_cast<size_t>(i)][n], four[n], sum);
                      }
                    }
                  }
                  return next;
                });
  SmallVector<Value> rows;
  for (int64_t i = 0; i < shape.laneRows; ++i) {
    rows.push_back(vectorOf(
        code, ArrayRef(sums).slice(static_cast<size_t>(i * keys), static_cast<size_t>(keys))));
  }
  return rows;
}

void PairSpan::takeQueries(ArrayRef<Value> queries, ArrayRef<LaneRow> rows) {
  FmaSpan::takeQueries(queries, rows);
  factors.clear();
  for (const LaneRow &row : rows) {
    factors.push_back(code.at(a.pairWeights, code.multiply(row.head, shape.keySize)));
  }
}

// --- locations -----------------------------------------------------------------------------------

/// Returns number `number` of the numbers near a key, of all inputs, heads and taps; zero outside
/// the keys of the sequence.
Value PairSpan::nearKey(Value row, Value key, Value number) {
  Value result = code.number(0);
  for (const LocationInput &input : a.locations) {
    const int64_t count = input.heads * input.taps;
    Value head = code.divide(number, input.taps);
    Value own = code.subtract(code.add(key, code.remainder(number, input.taps)), input.taps / 2);
    Value isOwn =
        code.both(code.less(code.integer(-1), number), code.less(number, code.integer(count)));
    Value isKey = code.both(code.less(code.integer(-1), own), code.less(own, a.keyCount));
    Value line = code.add(code.multiply(row, input.heads), head);
    result = block
                 .choose(
                     code.both(isOwn, isKey),
                     [&] {
                       Value place = code.add(code.multiply(line, a.longest), own);
                       return SmallVector<Value>{code.loadScalar(code.at(input.numbers, place))};
                     },
                     [&] { return SmallVector<Value>{result}; })
                 .front();
    number = code.subtract(number, count);
  }
  return result;
}

/// Returns the number of a line at a key: one of those near it, or a filter's sum of them.
Value PairSpan::lineAt(Value row, Value key, Value line) {
  if (a.locationFilters == 0) {
    return nearKey(row, key, line);
  }
  const int64_t near = a.numbersNear();
  Value weights = code.at(a.filters, code.multiply(line, near));
  return code
      .loop(code.integer(0), code.integer(near), 1, {code.number(0)},
            [&](Value number, ValueRange sum) {
              Value weight = code.loadScalar(code.at(weights, number));
              return SmallVector<Value>{code.fma(weight, nearKey(row, key, number), sum.front())};
            })
      .front();
}

void PairSpan::storeLines(const QueryTile &tile, Value first) {
  if (shape.lines == 0) {
    return;
  }
  const int64_t ofRow = shape.lines * shape.keys;
  // A warp that has rows reads the lines of all of its rows.
  Value warps = code.divideUp(tile.count, code.integer(shape.warpRows()));
  code.loop(block.thread, code.multiply(warps, shape.warpRows() * ofRow), shape.threads(),
            [&](Value number) {
              Value line = code.divide(code.remainder(number, ofRow), shape.keys);
              Value key = code.add(first, code.remainder(number, shape.keys));
              Value row = tile.placeAt(code.divide(number, ofRow)).row;
              Value at = code.add(code.multiply(number, kFloatBytes), shape.linesBegin());
              block.store(lineAt(row, key, line), block.sharedAt(at));
            });
}

/// Returns element `number` of the lane's keys plus the locations of the lane's row `row`.
Value PairSpan::withLocations(Value keys, Value number, int64_t row) {
  if (shape.lines == 0) {
    return keys;
  }
  Value inTile = code.add(code.multiply(thread.warp, shape.warpRows()), thread.g);
  inTile = code.add(inTile, row * kLaneGroups);
  Value lines =
      code.add(code.multiply(inTile, shape.lines * shape.keys), code.multiply(thread.t, 2));
  Value begin = code.add(code.multiply(lines, kFloatBytes), shape.linesBegin());
  Value weights = code.at(a.locationWeights, code.multiply(number, shape.lines));
  return code
      .loop(code.integer(0), code.integer(shape.lines), 1, {keys},
            [&](Value line, ValueRange sum) {
              Value at = code.add(begin, code.multiply(line, shape.keys * kFloatBytes));
              SmallVector<Value> numbers;
              for (int64_t e = 0; e < shape.laneKeys(); e += 2) {
                const int64_t before = e / 2 * kMatrixColumns * kFloatBytes;
                llvm::append_range(numbers,
                                   block.load(block.sharedAt(code.add(at, before)), 2, code.f32));
              }
              Value weight = code.loadScalar(code.at(weights, line));
              return SmallVector<Value>{
                  code.fma(broadcast(weight), vectorOf(code, numbers), sum.front())};
            })
      .front();
}

SmallVector<Value> PairSpan::scores() {
  Value queries = queriesAt();
  Value ofLane = code.add(code.multiply(thread.t, 2 * shape.keyPitch()), shape.keysBegin());
  const SmallVector<Value> initial(static_cast<size_t>(shape.laneRows), block.zero(type));
  return code.loop(code.integer(0), code.integer(shape.keySize), 1, initial,
                   [&](Value number, ValueRange carried) {
                     Value byte = code.multiply(number, kFloatBytes);
                     auto numberAt = [&](Value place, int64_t offset) {
                       Value at = block.sharedAt(code.add(code.add(place, byte), offset));
                       return block.load(at, 1, code.f32).front();
                     };
                     SmallVector<Value> loaded, next;
                     for (int64_t e = 0; e < shape.laneKeys(); ++e) {
                       loaded.push_back(numberAt(ofLane, keyOffset(e)));
                     }
                     Value keys = vectorOf(code, loaded);
                     for (auto [factor, sum] : llvm::zip_equal(factors, carried)) {
                       const auto row = static_cast<int64_t>(next.size());
                       Value query = numberAt(queries, row * kLaneGroups * shape.keyPitch());
                       Value key = withLocations(keys, number, row);
                       Value pair = cloneScalarMaths(code, *a.pairs, {broadcast(query), key}, type);
                       Value weight = code.loadScalar(code.at(factor, number));
                       next.push_back(code.fma(broadcast(weight), pair, sum));
                     }
                     return next;
                   });
}

// --- values --------------------------------------------------------------------------------------

SmallVector<Value> FmaSpan::addValues(ArrayRef<Value> weights, ValueRange sums) {
  const int64_t values = shape.laneValues(), runs = values / kFourNumbers;
  SmallVector<SmallVector<Value>> own;
  for (Value row : weights) {
    own.push_back(elementsOf(code, row));
  }
  Value column = code.multiply(thread.t, kFourNumbers * kFloatBytes);
  Value begin = code.add(column, shape.valuesBegin());
  return code.loop(
      code.integer(0), code.integer(kLanesOfRow), 1, sums, [&](Value t, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value lane = arith::TruncIOp::create(code.builder, code.location, code.i32,
                                             code.add(code.multiply(thread.g, kLanesOfRow), t));
        Value rows = code.add(begin, code.multiply(t, 2 * shape.valuePitch()));
        for (int64_t e = 0; e < shape.laneKeys(); ++e) {
          const int64_t key = e / 2 * kMatrixColumns + e % 2;
          SmallVector<Value> ofRows;
          for (const SmallVector<Value> &row : own) {
            ofRows.push_back(block.ofLane(row[static_cast<size_t>(e)], lane));
          }
          Value at = code.add(rows, key * shape.valuePitch());
          for (int64_t run = 0; run < runs; ++run) {
            SmallVector<Value> four =
                loadFour(code.add(at, run * kLanesOfRow * kFourNumbers * kFloatBytes));
            for (auto [i, weight] : llvm::enumerate(ofRows)) {
              for (int64_t n = 0; n < kFourNumbers; ++n) {
                Value &sum = next[i * static_cast<size_t>(values) +
                                  static_cast<size_t>(run * kFourNumbers + n)];
                sum = code.fma(weight, four[static_cast<size_t>(n)], sum);
              }
            }
          }
        }
        return next;
      });
}

std::unique_ptr<SpanProducts> fmaSpanProducts(BlockCode &block, const AttentionTile &a,
                                              const SpanShape &shape, const SpanThread &thread) {
  if (a.pairs) {
    return std::make_unique<PairSpan>(block, shape, thread, a);
  }
  return std::make_unique<FmaSpan>(block, shape, thread);
}

} // namespace heddle
