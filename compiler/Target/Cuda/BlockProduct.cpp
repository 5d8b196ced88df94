// SPDX-License-Identifier: Apache-2.0
///
/// Selects the products that blocks compute, and emits the tiles of a call. The units depend on the
/// arithmetic of the product: FMA units for f32 (docs/decisions/0049), tensor cores if rows are
/// rounded to bf16 (docs/decisions/0054, and 0068 on Hopper) or quantised (docs/decisions/0072), or
/// if an attribute of the kernel permits tf32 (docs/decisions/0056).
#include "compiler/Target/Cuda/BlockProduct.h"

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/ProductTile.h"
#include "compiler/Target/Cuda/WarpgroupCode.h"

using namespace mlir;

namespace heddle {

/// Returns the part of a reason why blocks do not compute a product that all tiles share; empty if
/// they may.
static std::string problemWithColumns(dataflow::ContractAttr computes,
                                      const TargetDescription &target) {
  return computes.getGroups() != 1 ? "it has " + std::to_string(computes.getGroups()) + " groups"
         : target.panelColumns != sharedPanelColumns
             ? "its panels have " + std::to_string(target.panelColumns) + " columns"
             : "";
}

/// Returns the units that compute a product of floating-point numbers; nullopt for others, and if
/// each thread is a separate caller.
static std::optional<Units> unitsOf(dataflow::KernelOp kernel) {
  Type weights = kernel.getOperandBuffer(1).getElementType();
  switch (cast<dataflow::ContractAttr>(kernel.getComputes()).getArithmetic()) {
  case dataflow::Arithmetic::F32:
    if (weights.isF32()) {
      return unitsFor(floatProductsOf(kernel));
    }
    return weights.isBF16() ? std::optional(Units::Fma) : std::nullopt;
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

static bool usesWarpgroups(const TargetDescription &target, dataflow::ContractAttr computes) {
  return usesWarpgroups(target, computes.getArithmetic(), computes.getGroups(), computes.getK());
}

/// Describes the tiles of some work: "in tiles of 128 x 96, up to 64 rows of 16 x 48".
static std::string describe(const BlockWork &work) {
  auto tile = [](const BlockPiece &piece) {
    return std::to_string(piece.rows) + " x " + std::to_string(piece.columns * sharedPanelColumns);
  };
  return "in tiles of " + tile(work.many) + ", up to " + std::to_string(work.fewRows) +
         " rows of " + tile(work.few);
}

static ProductChoice warpgroupChoice(dataflow::ContractAttr computes,
                                     const TargetDescription &target) {
  if (usesWarpgroups(target, computes)) {
    return {true, "by warpgroups, " + describe(warpgroupWork(computes.getK()))};
  }
  const std::string problem = problemWithColumns(computes, target);
  return {false,
          "not by warpgroups: " +
              (!problem.empty() ? problem
                                : "its k, " + std::to_string(computes.getK()) +
                                      ", is no multiple of " + std::to_string(kWarpgroupSteps))};
}

static ProductChoice codesChoice(dataflow::ContractAttr computes, transformer::QuantizedType type,
                                 const TargetDescription &target) {
  const int64_t k = computes.getK();
  const bool isOfIntegers = computes.getArithmetic() == dataflow::Arithmetic::Integers;
  std::string problem = problemWithColumns(computes, target);
  if (problem.empty() && !isOfIntegers) {
    problem = "it is computed in f32, with dequantised weights";
  }
  if (problem.empty() && !integersFit(type, k)) {
    problem = std::to_string(type.getGroupOf(k)) + " elements share a scale, expected at most " +
              std::to_string(kMostSharedInBlocks) + " or the whole row";
  }
  return problem.empty()
             ? ProductChoice{true, "integers by blocks, " + describe(integerWork(type, k))}
             : ProductChoice{false, "thread by thread: " + problem};
}

std::optional<ProductChoice> productChoice(dataflow::KernelOp kernel,
                                           const TargetDescription &target) {
  auto computes = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (!computes) {
    return std::nullopt;
  }
  if (auto type =
          dyn_cast<transformer::QuantizedType>(kernel.getOperandBuffer(1).getElementType())) {
    return codesChoice(computes, type, target);
  }
  return hasWarpgroups(target) && computes.getArithmetic() == dataflow::Arithmetic::Bf16
             ? std::optional(warpgroupChoice(computes, target))
             : std::nullopt;
}

std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target) {
  auto computes = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (!computes || !problemWithColumns(computes, target).empty()) {
    return std::nullopt;
  }
  Type weights = kernel.getOperandBuffer(1).getElementType();
  if (computes.getArithmetic() == dataflow::Arithmetic::Integers) {
    auto type = cast<transformer::QuantizedType>(weights);
    return integersFit(type, computes.getK()) ? std::optional(integerWork(type, computes.getK()))
                                              : std::nullopt;
  }
  if (usesWarpgroups(target, computes)) {
    return warpgroupWork(computes.getK());
  }
  const std::optional<Units> units = unitsOf(kernel);
  if (!units) {
    return std::nullopt;
  }
  return *units == Units::Fma ? fmaWork(weights) : tensorWork();
}

/// Emits all tiles of a call.
static void emitTiles(BlockCode &block, const KernelBody &body, const BlockPiece &tile,
                      Product product, bool isFew) {
  VectorCode &code = block.code;
  const KernelArguments &arguments = body.arguments;
  code.loop(arguments.columnBegin, arguments.columnEnd, tile.columns, [&](Value panel) {
    code.loop(arguments.rowBegin, arguments.rowEnd, tile.rows, [&](Value row) {
      product.firstRow = row;
      product.endRow = arguments.rowEnd;
      product.firstPanel = panel;
      product.endPanel = arguments.columnEnd;
      if (!product.units) {
        emitIntegerTile(block, product, isFew);
      } else if (usesWarpgroups(code.target, product.computes)) {
        emitWarpgroupTile(block, product, body, isFew);
      } else if (product.units == Units::Fma) {
        emitFmaTile(block, product, isFew);
      } else {
        emitTensorTile(block, product, isFew);
      }
    });
  });
}

void emitBlockProduct(VectorCode &code, const KernelBody &body, dataflow::ContractAttr computes) {
  const BlockWork work = *blockProduct(body.kernel, code.target);
  work.note(body.function);
  BlockCode block(code, body.function);
  const Epilogue epilogue(code, body);
  const KernelResult result = KernelResult::load(code, body.arguments);
  const dataflow::BufferType rowsType = body.kernel.getOperandBuffer(0);
  // A buffer begins at a multiple of HEDDLE_ALIGNMENT; columns of a wider buffer begin anywhere.
  constexpr int64_t together = kSharedAlignment / sizeof(float);
  const bool hasAlignedRows =
      rowsType.getRowStride() == 0 && rowsType.getRowElements() % together == 0;
  const Product product{computes,
                        unitsOf(body.kernel),
                        body.kernel.getOperandBuffer(1).getElementType(),
                        body.operand(code, 0),
                        body.operand(code, 1),
                        rowsType.getRowElements(),
                        hasAlignedRows,
                        result,
                        epilogue};
  const KernelArguments &arguments = body.arguments;
  Value rows = code.subtract(arguments.rowEnd, arguments.rowBegin);
  Value columns = code.subtract(arguments.columnEnd, arguments.columnBegin);
  Value isFew = code.both(code.less(rows, code.integer(work.few.rows + 1)),
                          code.less(columns, code.integer(work.few.columns + 1)));
  code.when(
      isFew, [&] { emitTiles(block, body, work.few, product, /*isFew=*/true); },
      [&] { emitTiles(block, body, work.many, product, /*isFew=*/false); });
}

} // namespace heddle
