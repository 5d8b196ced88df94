// SPDX-License-Identifier: Apache-2.0
///
/// Products of a span on tensor cores, in bf16 or tf32. A warp keeps the queries of its 16 rows in
/// registers, as operands of the instruction. Scores have the layout of the instruction's sums,
/// which, after rounding, is also the layout of the first operand of the product with values: in
/// bf16, two adjacent keys form a word; in tf32, the first of each two keys takes the place of
/// steps 0 to 3 and the second that of steps 4 to 7. A sum does not depend on which key is which
/// step, as long as values use the same order.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Rows of the first matrix per lane, and sums per lane for both rows.
static constexpr int64_t kLaneRows = 2, kSumsOfLane = 4;

namespace {

class TensorSpan final : public SpanProducts {
public:
  TensorSpan(BlockCode &block, const SpanShape &shape, const SpanThread &thread)
      : block(block), code(block.code), shape(shape), thread(thread), products(block, shape.units) {
    assert(shape.laneRows == kLaneRows && "the rows of an instruction");
  }

  void takeQueries(ArrayRef<Value> queries, ArrayRef<LaneRow> rows) override;
  SmallVector<Value> scores() override;
  SmallVector<Value> addValues(ArrayRef<Value> weights, ValueRange sums) override;
  Column columnOf(int64_t i) const override;

private:
  bool isBf16() const { return shape.units == Units::Bf16; }
  /// Words of a row of keys.
  int64_t keyWords() const { return shape.keyNumbers() / numbersOfWord(shape.units); }
  /// Matrices of eight values, and the number of them in a run, from which a lane reads one
  /// adjacent number each. In tf32, lane group g has column run + width * g + j of matrix j of a
  /// run.
  int64_t matrices() const { return shape.valueNumbers() / kMatrixColumns; }
  int64_t runWidth() const {
    return isBf16() ? 1 : matrices() % 4 == 0 ? 4 : matrices() % 2 == 0 ? 2 : 1;
  }
  Value queryWord(Value query, int64_t word);
  /// Returns the lane's address when a warp loads matrices of 16 rows: its row, and its half of the
  /// words.
  Value matrixAt(int64_t pitch, int64_t begin);
  Words weightsOf(ArrayRef<SmallVector<Value>> weights, int64_t step);
  void addBf16Values(const Words &weights, int64_t step, MutableArrayRef<Value> sums);
  void addTf32Values(const Words &weights, int64_t step, MutableArrayRef<Value> sums);
  /// Adds to the sums of one of the matrices of eight values. Sums are stored row by row.
  void addTo(MutableArrayRef<Value> sums, int64_t matrix, const Words &rows, const Words &columns);

  BlockCode &block;
  VectorCode &code;
  const SpanShape &shape;
  const SpanThread &thread;
  TensorProducts products;
  /// For each eight words of a row: words t and t + 4 of the lane's rows, in the instruction's
  /// order.
  SmallVector<SmallVector<Value>> queryWords;
};

} // namespace

// --- scores --------------------------------------------------------------------------------------

/// Returns word `word` + t of a query; zero past its last number.
Value TensorSpan::queryWord(Value query, int64_t word) {
  const int64_t together = numbersOfWord(shape.units);
  Value first = code.multiply(code.add(thread.t, word), together);
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < together; ++i) {
    Value number = code.add(first, i);
    Value near = code.smaller(number, code.integer(shape.keySize - 1));
    Value loaded = block.loadFar(code.at(query, near), code.f32);
    numbers.push_back(code.select(code.equal(number, near), loaded, code.number(0)));
  }
  return products.wordsOf(numbers).front();
}

void TensorSpan::takeQueries(ArrayRef<Value> queries, ArrayRef<LaneRow>) {
  queryWords.clear();
  for (int64_t word = 0; word < keyWords(); word += kMatrixWords) {
    SmallVector<Value> words;
    for (const int64_t half : {int64_t{0}, kMatrixWords / 2}) {
      for (Value query : queries) {
        words.push_back(queryWord(query, word + half));
      }
    }
    queryWords.push_back(std::move(words));
  }
}

Value TensorSpan::matrixAt(int64_t pitch, int64_t begin) {
  Value row = code.multiply(code.remainder(thread.lane, kMatrixRows), pitch);
  Value half = code.multiply(code.divide(thread.lane, kMatrixRows), kSharedAlignment);
  return code.add(code.add(row, half), begin);
}

SmallVector<Value> TensorSpan::scores() {
  const int64_t pitch = shape.keyPitch();
  Value at = matrixAt(pitch, shape.keysBegin());
  SmallVector<Value> sums(static_cast<size_t>(shape.keys / kMatrixColumns * kSumsOfLane),
                          code.number(0));
  for (auto [step, words] : llvm::enumerate(queryWords)) {
    const Words queries = products.rounded(words, /*areRounded=*/true);
    const auto before = static_cast<int64_t>(step) * kMatrixWords * kWordBytes;
    for (int64_t key = 0; key < shape.keys; key += kMatrixRows) {
      Value place = code.add(at, key * pitch + before);
      SmallVector<Value> keys = block.loadMatrix(block.sharedAt(place));
      for (const size_t half : {0, 1}) {
        const Words columns = products.rounded({keys[half], keys[half + 2]}, /*areRounded=*/true);
        const size_t matrix = static_cast<size_t>(key / kMatrixColumns) + half;
        auto own = MutableArrayRef(sums).slice(matrix * kSumsOfLane, kSumsOfLane);
        llvm::copy(products.add(queries, columns, own), own.begin());
      }
    }
  }
  SmallVector<Value> rows;
  for (size_t row = 0; row < kLaneRows; ++row) {
    SmallVector<Value> ofRow;
    for (size_t matrix = 0; matrix < sums.size(); matrix += kSumsOfLane) {
      ofRow.append({sums[matrix + 2 * row], sums[matrix + 2 * row + 1]});
    }
    rows.push_back(vectorOf(code, ofRow));
  }
  return rows;
}

// --- values --------------------------------------------------------------------------------------

SpanProducts::Column TensorSpan::columnOf(int64_t i) const {
  const int64_t width = runWidth(), matrix = i / 2, second = i % 2;
  return {matrix / width * width * kMatrixColumns + width * second + matrix % width, 2 * width};
}

/// Returns the weights of a step, 16 keys in bf16 and 8 in tf32, as the first matrix of a product.
Words TensorSpan::weightsOf(ArrayRef<SmallVector<Value>> weights, int64_t step) {
  SmallVector<Value> words;
  const auto first = static_cast<size_t>(step) * (isBf16() ? 4 : 2);
  for (const size_t half : {0, 1}) {
    for (const SmallVector<Value> &row : weights) {
      if (isBf16()) {
        words.push_back(block.roundedPair(row[first + 2 * half], row[first + 2 * half + 1]));
      } else {
        words.append(products.wordsOf(row[first + half]));
      }
    }
  }
  return products.rounded(words, /*areRounded=*/true);
}

void TensorSpan::addTo(MutableArrayRef<Value> sums, int64_t matrix, const Words &rows,
                       const Words &columns) {
  const auto ofRow = static_cast<size_t>(shape.laneValues());
  SmallVector<Value *> places;
  SmallVector<Value> own;
  for (size_t row = 0; row < kLaneRows; ++row) {
    for (const size_t second : {0, 1}) {
      places.push_back(&sums[row * ofRow + static_cast<size_t>(2 * matrix) + second]);
      own.push_back(*places.back());
    }
  }
  for (auto [place, sum] : llvm::zip_equal(places, products.add(rows, columns, own))) {
    *place = sum;
  }
}

void TensorSpan::addBf16Values(const Words &weights, int64_t step, MutableArrayRef<Value> sums) {
  Value at = code.add(matrixAt(shape.valuePitch(), shape.valuesBegin()),
                      step * kMatrixRows * shape.valuePitch());
  for (int64_t matrix = 0; matrix < matrices(); matrix += 2) {
    Value place = code.add(at, matrix * kSharedAlignment);
    SmallVector<Value> words = block.loadTransposed(block.sharedAt(place));
    for (const size_t second : {0, 1}) {
      addTo(sums, matrix + static_cast<int64_t>(second), weights,
            {{words[2 * second], words[2 * second + 1]}, {}});
    }
  }
}

void TensorSpan::addTf32Values(const Words &weights, int64_t step, MutableArrayRef<Value> sums) {
  const int64_t width = runWidth();
  Value key = code.add(code.multiply(thread.t, 2), step * kMatrixColumns);
  Value column = code.multiply(thread.g, width * kWordBytes);
  Value at =
      code.add(code.add(code.multiply(key, shape.valuePitch()), column), shape.valuesBegin());
  for (int64_t matrix = 0; matrix < matrices(); matrix += width) {
    Value place = code.add(at, matrix * kMatrixColumns * kWordBytes);
    SmallVector<Value> words[2];
    for (const int64_t second : {0, 1}) {
      Value row = code.add(place, second * shape.valuePitch());
      words[second] = block.loadWords(block.sharedAt(row), width);
    }
    for (int64_t j = 0; j < width; ++j) {
      const auto number = static_cast<size_t>(j);
      addTo(sums, matrix + j, weights,
            products.rounded({words[0][number], words[1][number]}, /*areRounded=*/true));
    }
  }
}

SmallVector<Value> TensorSpan::addValues(ArrayRef<Value> weights, ValueRange sums) {
  SmallVector<SmallVector<Value>> own;
  for (Value row : weights) {
    own.push_back(elementsOf(code, row));
  }
  SmallVector<Value> next(sums);
  const int64_t steps = shape.keys / (isBf16() ? kMatrixRows : kMatrixColumns);
  for (int64_t step = 0; step < steps; ++step) {
    const Words ofStep = weightsOf(own, step);
    if (isBf16()) {
      addBf16Values(ofStep, step, next);
    } else {
      addTf32Values(ofStep, step, next);
    }
  }
  return next;
}

std::unique_ptr<SpanProducts> tensorSpanProducts(BlockCode &block, const SpanShape &shape,
                                                 const SpanThread &thread) {
  return std::make_unique<TensorSpan>(block, shape, thread);
}

} // namespace heddle
