// SPDX-License-Identifier: Apache-2.0
///
/// Products of a span on FMA units. Queries, keys and values are in shared memory as f32, and a
/// lane reads four adjacent numbers at once. The sum of a score goes over the numbers of a head
/// from first to last. A sum of values goes over the keys of a span in a fixed order: for each t,
/// the keys that lane t of the row has, whose weights come from that lane's registers.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

static constexpr int64_t kFloatBytes = sizeof(float);

namespace {

class FmaSpan final : public SpanProducts {
public:
  FmaSpan(BlockCode &block, const SpanShape &shape, const SpanThread &thread)
      : block(block), code(block.code), shape(shape), thread(thread) {}

  void takeQueries(ArrayRef<Value> queries) override;
  SmallVector<Value> scores() override;
  SmallVector<Value> addValues(ArrayRef<Value> weights, ValueRange sums) override;
  Column columnOf(int64_t i) const override {
    return {i / kFourNumbers * kFourNumbers * kLanesOfRow + i % kFourNumbers, kFourNumbers};
  }

private:
  SmallVector<Value> loadFour(Value at) {
    return block.load(block.sharedAt(at), kFourNumbers, code.f32);
  }
  /// Returns byte 0 of the lane's first row of queries.
  Value queriesAt() {
    Value first = code.add(code.multiply(thread.warp, shape.warpRows()), thread.g);
    return code.multiply(first, shape.keyPitch());
  }

  BlockCode &block;
  VectorCode &code;
  const SpanShape &shape;
  const SpanThread &thread;
};

} // namespace

/// Each lane stores a quarter of its rows.
void FmaSpan::takeQueries(ArrayRef<Value> queries) {
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
                    const int64_t key = e / 2 * kMatrixColumns + e % 2;
                    SmallVector<Value> four = loadFour(code.add(keyAt, key * shape.keyPitch()));
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

std::unique_ptr<SpanProducts> fmaSpanProducts(BlockCode &block, const SpanShape &shape,
                                              const SpanThread &thread) {
  return std::make_unique<FmaSpan>(block, shape, thread);
}

} // namespace heddle
