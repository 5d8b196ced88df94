// SPDX-License-Identifier: Apache-2.0
///
/// Selects the products that blocks compute, and emits the tiles of a call. The units depend on the
/// arithmetic of the product: FMA units for f32 (docs/decisions/0049, and 0073 for experts, windows
/// and groups), tensor cores if rows are rounded to bf16 (docs/decisions/0054, and 0068 on Hopper)
/// or quantised (docs/decisions/0072), or if an attribute of the kernel permits tf32
/// (docs/decisions/0056).
#include "compiler/Target/Cuda/BlockProduct.h"

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/ProductTile.h"
#include "compiler/Target/Cuda/WarpgroupCode.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

namespace {
/// The sizes of a product, and into how many groups its columns are divided.
struct ProductSizes {
  int64_t n, k, groups;
};
} // namespace

/// Returns the sizes of a product of any family.
static ProductSizes sizesOf(Attribute computes) {
  return llvm::TypeSwitch<Attribute, ProductSizes>(computes)
      .Case<dataflow::ContractAttr, dataflow::ContractSlideAttr>([](auto product) {
        return ProductSizes{product.getN(), product.getK(), product.getGroups()};
      })
      // The groups of rows do not divide columns.
      .Case([](dataflow::ContractChosenAttr product) {
        return ProductSizes{product.getN(), product.getK(), 1};
      });
}

/// Returns the arithmetic of a product of any family.
static dataflow::Arithmetic arithmeticOf(Attribute computes) {
  auto product = dyn_cast<dataflow::ContractAttr>(computes);
  return product ? product.getArithmetic() : dataflow::Arithmetic::F32;
}

/// Returns why blocks do not compute a product; empty if they do.
static std::string problemOf(dataflow::KernelOp kernel, const ProductSizes &sizes,
                             const TargetDescription &target) {
  if (target.panelColumns != sharedPanelColumns) {
    return "its panels have " + std::to_string(target.panelColumns) + " columns";
  }
  const dataflow::Arithmetic arithmetic = arithmeticOf(kernel.getComputes());
  Type weights = kernel.getOperandBuffer(1).getElementType();
  auto codes = dyn_cast<transformer::QuantizedType>(weights);
  if (arithmetic == dataflow::Arithmetic::Integers && !integersFit(codes, sizes.k)) {
    return std::to_string(codes.getGroupOf(sizes.k)) +
           " elements share a scale, expected at most " + std::to_string(kMostSharedInBlocks) +
           " or the whole row";
  }
  assert((codes || weights.isF32() || weights.isBF16()) && "weights have no other types");
  return "";
}

/// Returns the units that compute a product by blocks; nullopt for products of integers.
static std::optional<Units> unitsOf(dataflow::KernelOp kernel) {
  switch (arithmeticOf(kernel.getComputes())) {
  case dataflow::Arithmetic::F32:
    return kernel.getOperandBuffer(1).getElementType().isF32() ? unitsFor(floatProductsOf(kernel))
                                                               : Units::Fma;
  case dataflow::Arithmetic::Bf16:
    return Units::Bf16;
  case dataflow::Arithmetic::Integers:
    return std::nullopt;
  }
  llvm_unreachable("every arithmetic is handled");
}

bool usesWarpgroups(const TargetDescription &target, dataflow::Arithmetic arithmetic,
                    int64_t groups, int64_t k) {
  return hasWarpgroups(target) && arithmetic == dataflow::Arithmetic::Bf16 && groups == 1 &&
         target.panelColumns == sharedPanelColumns && k % kWarpgroupSteps == 0;
}

static bool usesWarpgroups(dataflow::KernelOp kernel, const ProductSizes &sizes,
                           const TargetDescription &target) {
  return usesWarpgroups(target, arithmeticOf(kernel.getComputes()), sizes.groups, sizes.k);
}

/// Describes the tiles of some work: "in tiles of 128 x 96, up to 64 rows of 16 x 48".
static std::string describe(const BlockWork &work) {
  auto tile = [](const BlockPiece &piece) {
    return std::to_string(piece.rows) + " x " + std::to_string(piece.columns * sharedPanelColumns);
  };
  return "in tiles of " + tile(work.many) + ", up to " + std::to_string(work.fewRows) +
         " rows of " + tile(work.few);
}

std::optional<KernelChoice> productChoice(dataflow::KernelOp kernel,
                                          const TargetDescription &target) {
  const ProductSizes sizes = sizesOf(kernel.getComputes());
  const std::string problem = problemOf(kernel, sizes, target);
  if (hasWarpgroups(target) && arithmeticOf(kernel.getComputes()) == dataflow::Arithmetic::Bf16) {
    if (usesWarpgroups(kernel, sizes, target)) {
      const int64_t from = warpgroupRounds(sizes.n, sizes.k).from;
      const std::string rounds = from == 0 ? ""
                                           : "; launches of at least " + std::to_string(from) +
                                                 " rows round them in a separate kernel first";
      return KernelChoice{true, "by warpgroups, " + describe(warpgroupWork(sizes.k)) + rounds};
    }
    const std::string why = !problem.empty() ? problem
                            : sizes.groups != 1
                                ? "it has " + std::to_string(sizes.groups) + " groups"
                                : "its k, " + std::to_string(sizes.k) + ", is no multiple of " +
                                      std::to_string(kWarpgroupSteps);
    return KernelChoice{false, "not by warpgroups: " + why};
  }
  if (!problem.empty()) {
    return KernelChoice{false, "thread by thread: " + problem};
  }
  auto codes = dyn_cast<transformer::QuantizedType>(kernel.getOperandBuffer(1).getElementType());
  if (!codes) {
    return std::nullopt;
  }
  const bool areDequantised = arithmeticOf(kernel.getComputes()) == dataflow::Arithmetic::F32;
  return KernelChoice{
      true, (areDequantised ? "dequantised weights by blocks, " : "integers by blocks, ") +
                describe(*blockProduct(kernel, target))};
}

std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target) {
  const ProductSizes sizes = sizesOf(kernel.getComputes());
  if (!problemOf(kernel, sizes, target).empty()) {
    return std::nullopt;
  }
  Type weights = kernel.getOperandBuffer(1).getElementType();
  const std::optional<Units> units = unitsOf(kernel);
  if (!units) {
    return integerWork(cast<transformer::QuantizedType>(weights), sizes.k, sizes.groups);
  }
  if (usesWarpgroups(kernel, sizes, target)) {
    return warpgroupWork(sizes.k);
  }
  return *units == Units::Fma ? fmaWork(weights, sizes.k, sizes.groups) : tensorWork(sizes.groups);
}

RoundedLaunches roundedLaunches(dataflow::KernelOp kernel, const TargetDescription &target) {
  const ProductSizes sizes = sizesOf(kernel.getComputes());
  return usesWarpgroups(kernel, sizes, target) ? warpgroupRounds(sizes.n, sizes.k)
                                               : RoundedLaunches();
}

/// Returns whether the rows of each group begin at multiples of 16 bytes. A buffer begins at a
/// multiple of HEDDLE_ALIGNMENT; columns of a wider buffer begin anywhere.
static bool hasAlignedRows(dataflow::KernelOp kernel, const ProductSizes &sizes) {
  constexpr int64_t together = kSharedAlignment / sizeof(float);
  const dataflow::BufferType rows = kernel.getOperandBuffer(0);
  return rows.getRowStride() == 0 && rows.getRowElements() % together == 0 &&
         (sizes.groups == 1 || sizes.k % together == 0);
}

void emitRoundedRows(VectorCode &code, const KernelBody &body) {
  emitRowBlocks(code, body, roundedLaunches(body.kernel, code.target).blocks,
                hasAlignedRows(body.kernel, sizesOf(body.kernel.getComputes())));
}

namespace {
/// The tiles of a call.
class Tiles {
public:
  Tiles(BlockCode &block, const KernelBody &body, const TiledProduct &product)
      : block(block), code(block.code), body(body), weights(product.weights), product(product) {}

  /// Emits all of them.
  void emit(const BlockPiece &tile, bool isFew);

private:
  void setColumns(Value panel);
  void emitOne(Value begin, Value end, bool isFew);
  Value groupAt(dataflow::ContractChosenAttr computes, Value place);
  Value endOfGroup(dataflow::ContractChosenAttr computes, Value begin, Value end, Value group,
                   int64_t most);
  void emitChosen(dataflow::ContractChosenAttr computes, const BlockPiece &tile, bool isFew);

  BlockCode &block;
  VectorCode &code;
  const KernelBody &body;
  /// Those of all groups.
  const Value weights;
  TiledProduct product;
};
} // namespace

/// Emits the tile of rows [begin, end).
void Tiles::emitOne(Value begin, Value end, bool isFew) {
  product.firstRow = begin;
  product.endRow = end;
  if (!product.units) {
    emitIntegerTile(block, product, isFew);
  } else if (product.units == Units::Fma) {
    emitFmaTile(block, product, isFew);
  } else {
    emitTensorTile(block, product, isFew);
  }
}

/// Returns the group that the row at a place has chosen.
Value Tiles::groupAt(dataflow::ContractChosenAttr computes, Value place) {
  return chosenNumber(code, body.operand(code, 2), product.chosen->rowAt(code, place),
                      computes.getGroups());
}

/// Returns the end of the places of a group from `begin` on, at most `most` of them and at most
/// `end`. Groups ascend along the order.
Value Tiles::endOfGroup(dataflow::ContractChosenAttr computes, Value begin, Value end, Value group,
                        int64_t most) {
  Value from = code.add(begin, 1), to = code.smaller(end, code.add(begin, most));
  const auto steps = static_cast<int64_t>(llvm::Log2_64_Ceil(static_cast<uint64_t>(most)));
  return code
      .loop(code.integer(0), code.integer(steps), 1, {from, to},
            [&](Value, ValueRange carried) {
              // Once both are equal, they stay so: the place between is then clamped.
              Value middle = code.divide(code.add(carried[0], carried[1]), 2);
              Value near = code.smaller(middle, code.subtract(end, 1));
              Value isOpen = code.less(carried[0], carried[1]);
              Value isOwn = code.both(isOpen, code.equal(groupAt(computes, near), group));
              return SmallVector<Value>{code.select(isOwn, code.add(middle, 1), carried[0]),
                                        code.select(isOwn, carried[1], middle)};
            })
      .front();
}

/// Emits the tiles of a panel's rows group by group.
void Tiles::emitChosen(dataflow::ContractChosenAttr computes, const BlockPiece &tile, bool isFew) {
  const int64_t panels = llvm::divideCeilSigned(product.n, sharedPanelColumns);
  const int64_t groupBytes = panels * product.panelBytes();
  code.walk(body.arguments.rowBegin, body.arguments.rowEnd, [&](Value begin) {
    Value group = groupAt(computes, begin);
    Value end = endOfGroup(computes, begin, body.arguments.rowEnd, group, tile.rows);
    product.weights = code.bytesAt(weights, code.multiply(group, groupBytes));
    if (computes.getBiased()) {
      product.chosen->bias = code.at(body.operand(code, 4), code.multiply(group, product.n));
    }
    emitOne(begin, end, isFew);
    return end;
  });
}

/// Sets the columns of the tiles of a panel and, if all columns are of one group, the next ones.
void Tiles::setColumns(Value panel) {
  if (product.groups == 1) {
    product.setColumns(code, panel, body.arguments.columnEnd);
    return;
  }
  product.firstPanel = panel;
  const int64_t panels = llvm::divideCeilSigned(product.n, sharedPanelColumns);
  Value group = code.divide(panel, panels), inGroup = code.remainder(panel, panels);
  Value before = code.multiply(group, product.n);
  product.endPanel = code.add(panel, 1);
  product.firstColumn = code.add(before, code.multiply(inGroup, sharedPanelColumns));
  product.endColumn =
      code.smaller(code.add(product.firstColumn, sharedPanelColumns), code.add(before, product.n));
  product.stepsBefore = code.multiply(group, product.k);
}

void Tiles::emit(const BlockPiece &tile, bool isFew) {
  const KernelArguments &arguments = body.arguments;
  code.loop(arguments.columnBegin, arguments.columnEnd, tile.columns, [&](Value panel) {
    setColumns(panel);
    if (product.chosen) {
      emitChosen(cast<dataflow::ContractChosenAttr>(body.kernel.getComputes()), tile, isFew);
      return;
    }
    code.loop(arguments.rowBegin, arguments.rowEnd, tile.rows,
              [&](Value row) { emitOne(row, arguments.rowEnd, isFew); });
  });
}

/// Returns the order of rows that choose groups; nullopt for other products.
static std::optional<ChosenRows> chosenRows(VectorCode &code, const KernelBody &body) {
  if (!isa<dataflow::ContractChosenAttr>(body.kernel.getComputes())) {
    return std::nullopt;
  }
  return ChosenRows{body.operand(code, 3), body.rows(code).count(code), rowsOfInput(body.kernel)};
}

void emitBlockProduct(VectorCode &code, const KernelBody &body) {
  const BlockWork work = *blockProduct(body.kernel, code.target);
  work.note(body.function);
  BlockCode block(code, body.function);
  const Epilogue epilogue(code, body);
  const KernelResult result = KernelResult::load(code, body.arguments);
  const ProductSizes sizes = sizesOf(body.kernel.getComputes());
  std::optional<SlideSource> windows;
  if (auto computes = dyn_cast<dataflow::ContractSlideAttr>(body.kernel.getComputes())) {
    windows.emplace(code, body, computes.getSlide(), /*weights=*/2);
  }
  const TiledProduct product{.n = sizes.n,
                             .k = sizes.k,
                             .groups = sizes.groups,
                             .units = unitsOf(body.kernel),
                             .element = body.kernel.getOperandBuffer(1).getElementType(),
                             .rows = body.operand(code, 0),
                             .weights = body.operand(code, 1),
                             .rowElements = body.kernel.getOperandBuffer(0).getRowElements(),
                             .hasAlignedRows = hasAlignedRows(body.kernel, sizes),
                             .result = result,
                             .epilogue = epilogue,
                             .chosen = chosenRows(code, body),
                             .windows = windows ? &*windows : nullptr};
  if (usesWarpgroups(body.kernel, sizes, code.target)) {
    emitWarpgroupTiles(block, product, body);
    return;
  }
  const KernelArguments &arguments = body.arguments;
  Value rows = code.subtract(arguments.rowEnd, arguments.rowBegin);
  Value columns = code.subtract(arguments.columnEnd, arguments.columnBegin);
  Value isFew = code.both(code.less(rows, code.integer(work.few.rows + 1)),
                          code.less(columns, code.integer(work.few.columns + 1)));
  Tiles tiles(block, body, product);
  code.when(
      isFew, [&] { tiles.emit(work.few, /*isFew=*/true); },
      [&] { tiles.emit(work.many, /*isFew=*/false); });
}

} // namespace heddle
