// SPDX-License-Identifier: Apache-2.0
///
/// Kernels that make one pass over rows: element-wise maths, reductions, table look-ups, pooling of
/// sequences.
#include "compiler/Target/Emitters/Emitters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace heddle {

// The number of vectors of a row that are processed together, to overlap their latencies.
static constexpr int64_t kUnrolledRows = 4;

void emitRows(
    VectorCode &code, const KernelBody &body, int64_t width,
    llvm::function_ref<std::function<Value(Value column, int64_t valid)>(Value row)> elementsOf) {
  const KernelArguments &arguments = body.arguments;
  Epilogue epilogue(code, body);
  KernelResult result = KernelResult::load(code, arguments);
  code.overRows(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    auto element = elementsOf(row);
    Value to = result.at(code, row, code.integer(0));
    code.overRow(width, kUnrolledRows, [&](Value column, int64_t valid) {
      Value value = epilogue.apply(code, element(column, valid), row, column, valid);
      code.storeVector(value, code.at(to, column), valid);
    });
    if (body.kernel.getNorm()) {
      emitRowNorm(code, body, to, width);
    }
  });
}

template <> KernelScratch scratchOf(dataflow::RowsAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::RowsAttr computes) {
  Value input = body.operand(code, 0);
  int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  emitRows(code, body, computes.getWidth(), [&](Value row) {
    Value from = code.at(input, code.multiply(row, stride));
    return [&code, from](Value column, int64_t valid) {
      return code.loadVector(code.at(from, column), valid);
    };
  });
}

// Returns the largest of a row's elements, each times `sign`; NaN if one is NaN.
static Value largestOfRow(VectorCode &code, Value row, int64_t width, float sign) {
  return largestOverRow(code, row, width, Largest::OrNan, [&](Value x) {
    return sign == 1 ? x : code.multiplyFloat(x, code.splat(sign));
  });
}

// Reduces the `width` columns of a row to a number.
static Value reduceRow(VectorCode &code, dataflow::ReduceKind kind, Value row, int64_t width) {
  auto sum = [&] { return sumOverRow(code, row, width, [](Value x, int64_t) { return x; }); };
  switch (kind) {
  case dataflow::ReduceKind::Mean:
    return code.divideFloat(sum(), code.number(static_cast<float>(width)));
  case dataflow::ReduceKind::Sum:
    return sum();
  case dataflow::ReduceKind::Max:
    return largestOfRow(code, row, width, 1);
  case dataflow::ReduceKind::Min:
    return code.multiplyFloat(largestOfRow(code, row, width, -1), code.number(-1));
  }
  llvm_unreachable("every reduction has its code");
}

template <> KernelScratch scratchOf(dataflow::ReduceAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::ReduceAttr computes) {
  Value input = body.operand(code, 0);
  int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  emitRows(code, body, /*width=*/1, [&](Value row) {
    Value from = code.at(input, code.multiply(row, stride));
    // Reduces here and not where the result is stored, because only one member of a team stores it.
    Value reduced = code.broadcast(reduceRow(code, computes.getKind(), from, computes.getWidth()));
    return [reduced](Value, int64_t) { return reduced; };
  });
}

namespace {
/// A row of a table: the address of its elements, and their scale; null for 1.
struct TableRow {
  Value elements, scale;
  /// For codes outside panels: the addresses of scales, and of zeros or minimums.
  Value scales = {}, zeros = {};
};

/// A table of f32, bf16 or quantised rows, in row-major order or in the panels of products
/// (Panels.cpp). All elements of a vector have the same scale.
struct Table {
  Value memory;
  dataflow::BufferType type;
  /// The stored type of an element, and the bytes of a panel, whose rows are interleaved.
  Type element;
  int64_t panelBytes;
  /// The distance between elements of a row: this many rows are interleaved, `together` codes at a
  /// time.
  int64_t stride;
  int64_t together = 1;
  /// The type of codes, in panels or not; null for others.
  heddle::transformer::QuantizedType quantized = {};

  /// For an encoded table, `arithmetic` is that of the products.
  static Table load(VectorCode &code, const KernelBody &body, int64_t operand, bool isEncoded,
                    dataflow::Arithmetic arithmetic) {
    dataflow::BufferType type = body.kernel.getOperandBuffer(operand);
    Type element = type.getElementType();
    int64_t stride = isEncoded ? code.target.panelColumns : 1;
    const int64_t together = isEncoded ? dataflow::elementsTogether(arithmetic) : 1;
    const auto elements = static_cast<int64_t>(llvm::alignTo(type.getWidth(), together));
    int64_t rowBytes = storedAs(element, isEncoded ? elements : type.getWidth()).bytes();
    auto quantized = dyn_cast<heddle::transformer::QuantizedType>(element);
    if (quantized && isEncoded) {
      // Targets reject rows with more than one scale.
      rowBytes = (together > 1 ? 2 : 1) * kScaleBytes + elements;
    }
    return {body.operand(code, operand),
            type,
            quantized ? quantized.getCodes() : element,
            stride * rowBytes,
            stride,
            together,
            quantized};
  }

  TableRow at(VectorCode &code, Value row) const {
    Value panel = code.bytesAt(memory, code.multiply(code.divide(row, stride), panelBytes));
    Value number = stride == 1 ? code.integer(0) : code.remainder(row, stride);
    if (!quantized) {
      return {code.storedAt(panel, code.multiply(number, together), element), Value()};
    }
    if (stride == 1) {
      const int64_t width = type.getWidth();
      return {code.bytesAt(panel, code.integer(quantized.getCodesOffset(width))), Value(), panel,
              code.bytesAt(panel, code.integer(quantized.getZerosOffset(width)))};
    }
    const int64_t head = (together == 1 ? 1 : 2) * stride * kScaleBytes;
    Value codes = code.bytesAt(panel, code.integer(head));
    return {code.storedAt(codes, code.multiply(number, together), element),
            code.broadcast(code.loadScalar(code.at(panel, number)))};
  }

  /// Prefetches the elements that loadVector() reads of a row in panels, where each element is in
  /// another cache line: the L2 cache can have twice as many misses in flight as the loads alone.
  void prefetch(VectorCode &code, const TableRow &row, Value column, int64_t valid) const {
    for (int64_t lane = 0; lane < valid; lane += together) {
      code.prefetch(code.storedAt(row.elements, placeOf(code, column, lane), element));
    }
  }

  /// Loads elements of a row from `column` on.
  Value loadVector(VectorCode &code, const TableRow &row, Value column, int64_t valid) const {
    if (row.scales) {
      return loadCodes(code, row, column, valid);
    }
    Value loaded =
        stride == 1 ? code.loadStored(code.storedAt(row.elements, column, element), element, valid)
                    : loadApart(code, row, column, valid);
    return row.scale ? code.multiplyFloat(loaded, row.scale) : loaded;
  }

private:
  /// Loads adjacent codes of a row, with the scale of their group.
  Value loadCodes(VectorCode &code, const TableRow &row, Value column, int64_t valid) const {
    Value group = code.divide(column, quantized.getGroupOf(type.getWidth()));
    Type scales = quantized.getScales();
    auto ofGroup = [&](Value numbers) {
      return code.broadcast(code.loadStoredScalar(code.storedAt(numbers, group, scales), scales));
    };
    Value scale = ofGroup(row.scales);
    Value codes =
        quantized.hasHalves()
            ? loadHalves(code, row, group, column, valid)
            : code.loadStored(code.storedAt(row.elements, column, element), element, valid);
    return quantized.getMinimums() ? code.fma(codes, scale, ofGroup(row.zeros))
                                   : code.multiplyFloat(codes, scale);
  }
  /// Loads 4-bit codes in f32, minus the zero of their group if it has one. The column must be
  /// even.
  Value loadHalves(VectorCode &code, const TableRow &row, Value group, Value column,
                   int64_t valid) const {
    constexpr int64_t inByte = 2;
    constexpr int32_t bits = 4, mask = 15;
    auto words = VectorType::get({code.lanes}, code.i32);
    auto constant = [&](ArrayRef<int32_t> values) -> Value {
      return arith::ConstantOp::create(code.builder, code.location,
                                       DenseElementsAttr::get(words, values));
    };
    Value pairs = loadBytes(code, code.bytesAt(row.elements, code.divide(column, inByte)),
                            llvm::divideCeilSigned(valid, inByte));
    SmallVector<int64_t> places;
    SmallVector<int32_t> shifts;
    for (int64_t lane = 0; lane < code.lanes; ++lane) {
      places.push_back(lane / inByte);
      shifts.push_back(static_cast<int32_t>(lane % inByte) * bits);
    }
    Value wide = arith::ExtUIOp::create(code.builder, code.location,
                                        VectorType::get({code.lanes / inByte}, code.i32), pairs);
    wide = vector::ShuffleOp::create(code.builder, code.location, wide, wide, places);
    wide = arith::ShRUIOp::create(code.builder, code.location, wide, constant(shifts));
    wide = arith::AndIOp::create(code.builder, code.location, wide, constant(mask));
    if (quantized.hasZeros()) {
      wide = arith::SubIOp::create(code.builder, code.location, wide, zeroOf(code, row, group));
    }
    return arith::SIToFPOp::create(code.builder, code.location, code.vector, wide);
  }
  /// Returns the zero of a group, in all lanes.
  static Value zeroOf(VectorCode &code, const TableRow &row, Value group) {
    constexpr int64_t inByte = 2;
    constexpr int32_t bits = 4, mask = 15;
    auto words = VectorType::get({code.lanes}, code.i32);
    Value byte = LLVM::LoadOp::create(code.builder, code.location, code.builder.getI8Type(),
                                      code.bytesAt(row.zeros, code.divide(group, inByte)),
                                      /*alignment=*/1);
    Value zero = arith::ExtUIOp::create(code.builder, code.location, code.i32, byte);
    Value shift = arith::TruncIOp::create(code.builder, code.location, code.i32,
                                          code.multiply(code.remainder(group, inByte), bits));
    zero = arith::ShRUIOp::create(code.builder, code.location, zero, shift);
    zero = vector::BroadcastOp::create(code.builder, code.location, words, zero);
    return arith::AndIOp::create(code.builder, code.location, zero,
                                 arith::ConstantOp::create(code.builder, code.location,
                                                           DenseElementsAttr::get(words, mask)));
  }
  /// Loads the first `valid` of as many bytes as half of a vector's lanes.
  static Value loadBytes(VectorCode &code, Value address, int64_t valid) {
    auto bytes = VectorType::get({code.lanes / 2}, code.builder.getI8Type());
    if (valid == bytes.getNumElements()) {
      return LLVM::LoadOp::create(code.builder, code.location, bytes, address, /*alignment=*/1);
    }
    SmallVector<bool> first(bytes.getNumElements(), false);
    std::fill_n(first.begin(), valid, true);
    auto type = VectorType::get(bytes.getShape(), code.builder.getI1Type());
    Value mask = arith::ConstantOp::create(code.builder, code.location,
                                           DenseElementsAttr::get(type, ArrayRef<bool>(first)));
    Value zeros =
        arith::ConstantOp::create(code.builder, code.location, code.builder.getZeroAttr(bytes));
    return LLVM::MaskedLoadOp::create(code.builder, code.location, bytes, address, mask, zeros,
                                      /*alignment=*/1);
  }
  /// Returns the offset, from the row's first element, of the element `lane` columns after
  /// `column`. A column is a multiple of `together`, unless vectors have fewer lanes than that.
  Value placeOf(VectorCode &code, Value column, int64_t lane) const {
    if (code.lanes % together != 0) {
      Value place = code.add(column, lane);
      return code.add(code.multiply(code.divide(place, together), together * stride),
                      code.remainder(place, together));
    }
    return code.add(code.multiply(column, stride),
                    lane / together * together * stride + lane % together);
  }
  Value loadApart(VectorCode &code, const TableRow &row, Value column, int64_t valid) const {
    Value loaded = code.splat(0.0f);
    for (int64_t lane = 0; lane < valid; ++lane) {
      Value place = placeOf(code, column, lane);
      loaded = vector::InsertOp::create(
          code.builder, code.location,
          code.loadStoredScalar(code.storedAt(row.elements, place, element), element), loaded,
          lane);
    }
    return loaded;
  }
};
} // namespace

template <> KernelScratch scratchOf(dataflow::GatherAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::GatherAttr computes) {
  int64_t lookups = computes.getLookups();
  Value positions = body.rows(code).positions(code);
  SmallVector<Value> ids;
  SmallVector<Table> tables;
  for (int64_t i = 0; i < lookups; ++i) {
    ids.push_back(body.operand(code, 2 * i));
    tables.push_back(
        Table::load(code, body, 2 * i + 1, computes.isEncoded(i), computes.getArithmetic()));
  }
  for (size_t i = 0; i < computes.getPositionOffsets().size(); ++i) {
    tables.push_back(
        Table::load(code, body, 2 * lookups + i, /*isEncoded=*/false, dataflow::Arithmetic::F32));
  }
  emitRows(code, body, computes.getWidth(), [&](Value row) {
    SmallVector<TableRow> rows, nextRows;
    Value next = code.smaller(code.add(row, 1), code.subtract(body.arguments.rowEnd, 1));
    for (int64_t i = 0; i < lookups; ++i) {
      rows.push_back(tables[i].at(code, code.loadIndex(ids[i], row)));
      // With teams, the next row belongs to another team.
      const bool isFetched = computes.isEncoded(i) && !code.team;
      nextRows.push_back(isFetched ? tables[i].at(code, code.loadIndex(ids[i], next)) : TableRow());
    }
    for (auto [i, offset] : llvm::enumerate(computes.getPositionOffsets())) {
      Value position = code.add(code.loadIndex(positions, row), offset);
      rows.push_back(tables[lookups + i].at(code, position));
    }
    return [&code, computes, rows, nextRows, tables](Value column, int64_t valid) {
      for (auto [i, next] : llvm::enumerate(nextRows)) {
        if (next.elements) {
          tables[i].prefetch(code, next, column, valid);
        }
      }
      Value sum;
      for (auto [i, from] : llvm::enumerate(rows)) {
        Value next = tables[i].loadVector(code, from, column, valid);
        float scale = static_cast<int64_t>(i) < computes.getLookups() ? computes.getScale(i) : 1.0f;
        next = scale == 1.0f ? next : code.multiplyFloat(next, code.splat(scale));
        sum = sum ? code.addFloat(sum, next) : next;
      }
      return sum;
    };
  });
}

template <> KernelScratch scratchOf(dataflow::AnglesAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::AnglesAttr computes) {
  ArrayRef<float> frequencies = computes.getFrequencies().asArrayRef();
  Value positions = body.rows(code).positions(code);
  Epilogue epilogue(code, body);
  KernelResult result = KernelResult::load(code, body.arguments);
  Value table = code.team ? code.array(body.function, frequencies) : Value();
  code.overRows(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value row) {
    Value position = code.broadcast(arith::SIToFPOp::create(code.builder, code.location, code.f32,
                                                            code.loadIndex(positions, row)));
    Value to = result.at(code, row, code.integer(0));
    auto store = [&](Value some, Value column, int64_t valid) {
      Value angle = code.multiplyFloat(position, some);
      code.storeVector(epilogue.apply(code, angle, row, column, valid), code.at(to, column), valid);
    };
    if (table) {
      code.overRow(computes.getFrequencies().size(), 1, [&](Value column, int64_t valid) {
        store(code.loadVector(code.at(table, column), valid), column, valid);
      });
      return;
    }
    // The frequencies are constants of the code, so this loop is unrolled.
    for (int64_t first = 0; first < computes.getFrequencies().size(); first += code.lanes) {
      ArrayRef<float> some = frequencies.drop_front(first).take_front(code.lanes);
      SmallVector<float> lanes(some);
      lanes.resize(code.lanes, 0.0f);
      Value constants = arith::ConstantOp::create(
          code.builder, code.location,
          DenseElementsAttr::get(cast<VectorType>(code.vector), ArrayRef<float>(lanes)));
      store(constants, code.integer(first), static_cast<int64_t>(some.size()));
    }
  });
}

template <> KernelScratch scratchOf(dataflow::RotateAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::RotateAttr computes) {
  const int64_t pairs = computes.getPairs(), turned = 2 * pairs;
  SmallVector<Value> inputs;
  SmallVector<int64_t> strides;
  for (int64_t input = 0; input < computes.getNumInputs(); ++input) {
    inputs.push_back(body.operand(code, input));
    strides.push_back(body.kernel.getOperandBuffer(input).getRowElements());
  }
  Epilogue epilogue(code, body);
  KernelResult result = KernelResult::load(code, body.arguments);
  code.overRows(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value row) {
    Value from = code.at(inputs[0], code.multiply(row, strides[0]));
    Value cosines = code.at(inputs[1], code.multiply(row, strides[1]));
    Value sines = code.at(inputs[2], code.multiply(row, strides[2]));
    Value to = result.at(code, row, code.integer(0));
    code.loop(code.integer(0), code.integer(computes.getHeads()), 1, [&](Value head) {
      Value first = code.multiply(head, computes.getSize());
      auto store = [&](Value value, Value column, int64_t valid) {
        code.storeVector(epilogue.apply(code, value, row, column, valid), code.at(to, column),
                         valid);
      };
      code.overRow(pairs, 1, [&](Value pair, int64_t valid) {
        Value near = code.add(first, pair), far = code.add(near, pairs);
        Value x = code.loadVector(code.at(from, near), valid);
        Value y = code.loadVector(code.at(from, far), valid);
        Value cosine = code.loadVector(code.at(cosines, pair), valid);
        Value sine = code.loadVector(code.at(sines, pair), valid);
        store(code.subtractFloat(code.multiplyFloat(x, cosine), code.multiplyFloat(y, sine)), near,
              valid);
        store(code.addFloat(code.multiplyFloat(y, cosine), code.multiplyFloat(x, sine)), far,
              valid);
      });
      code.overRow(computes.getSize() - turned, kUnrolledRows, [&](Value rest, int64_t valid) {
        Value column = code.add(code.add(first, rest), turned);
        store(code.loadVector(code.at(from, column), valid), column, valid);
      });
    });
  });
}

// Returns the mean, sum or maximum of one vector of columns over the rows [first, end).
static Value poolColumn(VectorCode &code, dataflow::PoolKind kind, Value input, int64_t stride,
                        Value first, Value end, Value column, int64_t valid) {
  auto load = [&](Value row) {
    return code.loadVector(code.at(input, code.add(code.multiply(row, stride), column)), valid);
  };
  if (kind == dataflow::PoolKind::Cls) {
    return load(first);
  }
  bool sums = kind != dataflow::PoolKind::Max;
  Value initial = code.splat(sums ? 0.0f : -std::numeric_limits<float>::infinity());
  Value pooled = code.loop(first, end, 1, {initial}, [&](Value row, ValueRange carried) {
    Value x = load(row);
    return SmallVector<Value>{sums ? code.addFloat(carried[0], x)
                                   : code.maximumOrNan(x, carried[0])};
  })[0];
  if (kind != dataflow::PoolKind::Mean) {
    return pooled;
  }
  Value count =
      arith::SIToFPOp::create(code.builder, code.location, code.f32, code.subtract(end, first));
  return code.divideFloat(pooled, code.broadcast(count));
}

namespace {
/// The rows of the input that are pooled into a row.
struct PooledRows {
  Value sequenceOf, positions; // of the result's rows
  Value offsets;               // of the input's rows
  int64_t count;               // number of rows; 0: all rows of the sequence
  bool areChoices;             // whether the rows of row r begin at r * count

  static PooledRows load(VectorCode &code, const KernelBody &body) {
    RowSpace finer = *body.kernel.getOperandBuffer(0).getRowSpace();
    RowFields rows = body.rows(code);
    return {rows.sequenceOf(code), rows.positions(code),
            body.arguments.rows(code, finer).offsets(code), *body.kernel.getRows().rowsFrom(finer),
            finer.isSplit()};
  }

  /// Returns the range of rows; the last block of a sequence may be shorter.
  std::pair<Value, Value> of(VectorCode &code, Value row) const {
    if (areChoices && count > 0) {
      Value begin = code.multiply(row, count);
      return {begin, code.add(begin, count)};
    }
    Value sequence = code.loadIndex(sequenceOf, row);
    Value first = code.loadIndex(offsets, sequence);
    Value end = code.loadIndex(offsets, code.add(sequence, 1));
    if (count == 0) {
      return {first, end};
    }
    first = code.add(first, code.multiply(code.loadIndex(positions, row), count));
    return {first, code.smaller(code.add(first, count), end)};
  }
};
} // namespace

template <> KernelScratch scratchOf(dataflow::PoolAttr) { return {}; }

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::PoolAttr computes) {
  Value input = body.operand(code, 0);
  int64_t stride = body.kernel.getOperandBuffer(0).getRowElements();
  PooledRows pooled = PooledRows::load(code, body);
  emitRows(code, body, computes.getWidth(), [&](Value row) {
    auto [first, end] = pooled.of(code, row);
    return [&code, computes, input, stride, first = first, end = end](Value column, int64_t valid) {
      return poolColumn(code, computes.getKind(), input, stride, first, end, column, valid);
    };
  });
}

} // namespace heddle
