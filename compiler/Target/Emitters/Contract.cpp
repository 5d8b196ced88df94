// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products with packed weights: rows [m, k] times panels [n / c][k][c], where c is the
/// target's panelColumns. With groups, every panel belongs to one group, and reads and writes that
/// group's columns. If rows choose their groups, the rows of one group are computed together, in
/// place.
///
/// The inner loop is a register tile (ContractTile.cpp). The other factor in speed is how weights
/// come from memory (ContractBlocks.cpp).
#include "compiler/Target/Emitters/ContractAmx.h"
#include "compiler/Target/Emitters/ContractBlocks.h"
#include "compiler/Target/Emitters/Windows.h"
#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;

namespace heddle {

// Bytes of weights that a last-level cache can be expected to keep from one step of a loop to the
// next.
static constexpr int64_t kLastLevelBytes = int64_t(16) << 20;

// Half of the second-level cache holds a block of rows while the weights stream through it.
static int64_t tilesInCache(VectorCode &code, const Product &product) {
  int64_t tiles = code.target.cacheBytes / 2 / (product.k * 4) / code.target.tileRows;
  return std::max<int64_t>(tiles, 2);
}

// The largest number of columns of an unpacked panel, enough for all default targets. Wider panels,
// which a user can ask for, are not unpacked.
static constexpr int64_t kUnpackedColumns = 48;

uint64_t unpackedPanelBytes(dataflow::KernelOp kernel) {
  uint64_t bytes = 0;
  auto inputs = kernel.getComputes().getInputs(kernel.getKernelType());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (input.role != dataflow::KernelInput::Role::Matrix ||
        input.arithmetic != dataflow::Arithmetic::F32) {
      continue;
    }
    dataflow::BufferType matrix = kernel.getOperandBuffer(index);
    if (isa<heddle::transformer::QuantizedType>(matrix.getElementType())) {
      bytes = std::max(bytes, matrix.getWidth() * kUnpackedColumns * sizeof(float));
    }
  }
  return bytes;
}

// Returns the scratch for an unpacked panel, after the scratch of the family.
static Value unpackedPanel(VectorCode &code, const KernelBody &body, uint64_t ofFamily) {
  if (unpackedPanelBytes(body.kernel) == 0 || code.target.panelColumns > kUnpackedColumns) {
    return {};
  }
  auto offset = static_cast<int64_t>(llvm::alignTo(ofFamily, HEDDLE_ALIGNMENT));
  return code.bytesAt(body.arguments.scratch(code), code.integer(offset));
}

// Returns the rows of the first operand.
static OperandRows operandRows(VectorCode &code, const KernelBody &body) {
  const int64_t elements = body.kernel.getOperandBuffer(0).getRowElements();
  return {body.operand(code, 0), code.integer(elements), code.integer(0)};
}

// For a product in a loop of steps, records where its weights come from: after the first step they
// come from the last-level cache, if it is large enough. A tile alone on its panel is faster by a
// tenth there if it prefetches nothing. Every second step takes the panels backwards, so it begins
// with those that are still in the second level; step numbers are computed as if all steps had as
// many rows.
static void findWeights(VectorCode &code, const KernelBody &body, Product &product) {
  int64_t panels = product.groups * llvm::divideCeilSigned(product.n, code.target.panelColumns);
  const PanelLayout layout = layoutOf(code, body, product);
  int64_t bytes = panels * layout.panelBytes(product.k);
  if (!body.kernel.getRows().isOfSteps() || bytes > kLastLevelBytes) {
    return;
  }
  Value begin = body.arguments.rowBegin, one = code.integer(1);
  Value rows = code.subtract(body.arguments.rowEnd, begin);
  Value step = code.divide(begin, code.select(code.less(rows, one), one, rows));
  product.readsAgain = code.less(code.integer(0), begin);
  product.isBackward = code.both(code.less(rows, code.integer(layout.tileRows + 1)),
                                 code.equal(code.remainder(step, 2), one));
}

// The scratch for a block of rows, at most half of the second-level cache of every target; and the
// largest number of rows of a tile on any target.
static constexpr int64_t kKeptBytes = int64_t(512) * 1024;
static constexpr int64_t kMostTileRows = 16;

// Returns scratch for blocks of rows of `rowBytes`, at least two tiles; and the tiles that fit.
static KernelScratch scratchOfBlock(int64_t rowBytes) {
  return {.fixed = static_cast<uint64_t>(std::max(kKeptBytes, 2 * kMostTileRows * rowBytes))};
}
static int64_t tilesOfBlock(int64_t tileRows, int64_t rowBytes) {
  assert(tileRows <= kMostTileRows && "scratch has room for two tiles");
  return std::max<int64_t>(kKeptBytes / rowBytes / tileRows, 2);
}

template <> KernelScratch scratchOf(dataflow::ContractAttr computes) {
  if (computes.getArithmetic() == dataflow::Arithmetic::F32) {
    return {};
  }
  return scratchOfBlock(PreparedRows::mostBytes(computes));
}

// Emits a product of rows that are prepared block by block.
static void emitPrepared(VectorCode &code, const KernelBody &body, const Destination &to,
                         const PreparedRows &prepared, Value sums) {
  const OperandRows from = operandRows(code, body);
  Value scratch = body.arguments.scratch(code);
  const int64_t rowBytes = prepared.rowBytes();
  emitBlocks(code, body, to, sums, body.arguments.rowBegin, body.arguments.rowEnd,
             tilesOfBlock(layoutOf(code, body, to.product).tileRows, rowBytes),
             [&](Value first, Value last) {
               code.loop(first, last, 1, [&](Value row) {
                 Value place = code.multiply(code.subtract(row, first), rowBytes);
                 prepared.emitRow(code, code.at(from.memory, code.multiply(row, from.elements)),
                                  code.bytesAt(scratch, place));
               });
               return OperandRows{scratch, code.integer(rowBytes / int64_t(sizeof(float))), first};
             });
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::ContractAttr computes) {
  Epilogue epilogue(code, body);
  Product product{computes.getN(), computes.getK(), computes.getGroups()};
  const std::unique_ptr<PreparedRows> prepared =
      PreparedRows::of(code, body.kernel.getOperandBuffer(1), computes);
  product.arithmetic = computes.getArithmetic();
  product.prepared = prepared.get();
  if (!prepared) {
    product.unpacked = unpackedPanel(code, body, scratchOf(computes).fixed);
  }
  findWeights(code, body, product);
  Destination to{KernelResult::load(code, body.arguments), epilogue, product};
  const PanelLayout layout = layoutOf(code, body, product);
  Value sums = frameOfSums(code, body, product);
  if (layout.isOnAmx) {
    enterAmx(code, body.function, layout, product.k);
  }
  if (prepared) {
    emitPrepared(code, body, to, *prepared, sums);
    if (layout.isOnAmx) {
      leaveAmx(code);
    }
    return;
  }
  OperandRows rows = operandRows(code, body);
  const SpreadRows spread = SpreadRows::of(code, body, computes);
  emitBlocks(code, body, to, sums, body.arguments.rowBegin, body.arguments.rowEnd,
             tilesInCache(code, product),
             [&](Value first, Value last) { return spread.rowsOf(code, rows, first, last); });
}

template <> KernelScratch scratchOf(dataflow::ContractSlideAttr computes) {
  return scratchOfBlock(computes.getInner() * int64_t(sizeof(float)));
}

// Returns the convolution over a line that a slide is equivalent to, which computes several rows at
// once.
static std::optional<dataflow::ConvolveAttr> overLine(dataflow::SlideAttr slide) {
  heddle::transformer::WindowAttr window = slide.getWindow();
  if (slide.getKind() != dataflow::SlideKind::Depthwise || !window.isOfConvolve()) {
    return std::nullopt;
  }
  return dataflow::ConvolveAttr::get(slide.getContext(), slide.getWidth(), window.getHeight(),
                                     window.getDilationDown(), window.getCausal(),
                                     slide.getResumes());
}

template <>
void emit(VectorCode &code, const KernelBody &body, dataflow::ContractSlideAttr computes) {
  Epilogue epilogue(code, body);
  Product product{computes.getN(), computes.getK(), computes.getGroups()};
  product.unpacked = unpackedPanel(code, body, scratchOf(computes).fixed);
  Destination to{KernelResult::load(code, body.arguments), epilogue, product};
  Value sums = frameOfSums(code, body, product);
  int64_t inner = computes.getInner();
  int64_t most = tilesOfBlock(code.target.tileRows, inner * int64_t(sizeof(float)));
  constexpr unsigned weights = 2;
  SlideSource source(code, body, computes.getSlide(), weights);
  Value seen = body.arguments.scratch(code);
  auto rowsOf = [&](Value first, Value last) {
    auto rowOf = [&](Value row) {
      return code.at(seen, code.multiply(code.subtract(row, first), inner));
    };
    if (std::optional<dataflow::ConvolveAttr> convolve = overLine(computes.getSlide())) {
      ConvolvedRows rows{*convolve, first, last, weights, computes.getSlide().getRectifies()};
      emitConvolution(code, body, rows, [&](Value value, Value row, Value column, int64_t valid) {
        code.storeVector(value, code.at(rowOf(row), column), valid);
      });
      return OperandRows{seen, code.integer(inner), first};
    }
    code.loop(first, last, 1, [&](Value row) {
      Value to = rowOf(row);
      source.emitRow(row, [&](Value value, Value column, int64_t valid) {
        code.storeVector(value, code.at(to, column), valid);
      });
    });
    return OperandRows{seen, code.integer(inner), first};
  };
  emitBlocks(code, body, to, sums, body.arguments.rowBegin, body.arguments.rowEnd, most, rowsOf);
}

template <> KernelScratch scratchOf(dataflow::ContractChosenAttr) { return {}; }

int64_t rowsOfInput(dataflow::KernelOp kernel) {
  const bool isOwnRow = *kernel.getOperandBuffer(0).getRowSpace() == kernel.getRows();
  return isOwnRow ? 1 : kernel.getRows().parts();
}

// Returns the first place in (begin, end) whose row has chosen another group; `end` if there is
// none.
static Value endOfGroup(VectorCode &code, Value begin, Value end, Value group,
                        llvm::function_ref<Value(Value place)> groupAt) {
  auto op = scf::WhileOp::create(code.builder, code.location, TypeRange{code.i64},
                                 ValueRange{code.add(begin, 1)});
  OpBuilder::InsertionGuard guard(code.builder);
  Block *before = code.builder.createBlock(&op.getBefore(), {}, {code.i64}, {code.location});
  Value place = before->getArgument(0);
  // The place is clamped because it is read even if the first condition is false.
  Value goesOn = code.both(code.less(place, end),
                           code.equal(groupAt(code.smaller(place, code.subtract(end, 1))), group));
  scf::ConditionOp::create(code.builder, code.location, goesOn, before->getArguments());
  Block *after = code.builder.createBlock(&op.getAfter(), {}, {code.i64}, {code.location});
  scf::YieldOp::create(code.builder, code.location, ValueRange{code.add(after->getArgument(0), 1)});
  return op.getResult(0);
}

template <>
void emit(VectorCode &code, const KernelBody &body, dataflow::ContractChosenAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Epilogue epilogue(code, body);
  Product product{computes.getN(), computes.getK(), computes.getGroups()};
  product.unpacked = unpackedPanel(code, body, scratchOf(computes).fixed);
  Destination to{KernelResult::load(code, arguments), epilogue, product};
  // An address takes as many bytes as two elements.
  product.list = code.frame(body.function, 2 * code.target.tileRows);
  product.order = body.operand(code, 3);
  product.rowCount = body.rows(code).count(code);
  Value sums = frameOfSums(code, body, product);
  product.parts = rowsOfInput(body.kernel);
  Value chosen = body.operand(code, 2);
  OperandRows rows = operandRows(code, body);
  auto groupAt = [&](Value place) {
    return chosenNumber(code, chosen, product.rowAt(code, place), computes.getGroups());
  };
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value begin) {
    product.group = groupAt(begin);
    if (computes.getBiased()) {
      product.bias = code.at(body.operand(code, 4), code.multiply(product.group, computes.getN()));
    }
    Value end = endOfGroup(code, begin, arguments.rowEnd, product.group, groupAt);
    emitBlocks(code, body, to, sums, begin, end, tilesInCache(code, product),
               [&](Value, Value) { return rows; });
    return end;
  });
}

} // namespace heddle
