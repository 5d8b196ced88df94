// SPDX-License-Identifier: Apache-2.0
///
/// Selects the products that blocks compute, and emits the tiles of a call. The units depend on the
/// arithmetic of the product: FMA units for f32 (docs/decisions/0049), tensor cores if rows are
/// rounded to bf16 (docs/decisions/0054, and 0068 on Hopper) or if an attribute of the kernel
/// permits tf32 (docs/decisions/0056).
#include "compiler/Target/Cuda/BlockProduct.h"

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/ProductTile.h"
#include "compiler/Target/Cuda/WarpgroupCode.h"

using namespace mlir;

namespace heddle {

/// Returns the units that compute a kernel; nullopt if each thread is a separate caller.
static std::optional<Units> unitsOf(dataflow::KernelOp kernel, const TargetDescription &target) {
  auto computes = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (!computes || computes.getGroups() != 1 || target.panelColumns != sharedPanelColumns) {
    return std::nullopt;
  }
  Type weights = kernel.getOperandBuffer(1).getElementType();
  switch (computes.getArithmetic()) {
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

std::optional<WarpgroupChoice> warpgroupChoice(dataflow::KernelOp kernel,
                                               const TargetDescription &target) {
  auto computes = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (!computes || !hasWarpgroups(target) ||
      computes.getArithmetic() != dataflow::Arithmetic::Bf16) {
    return std::nullopt;
  }
  if (usesWarpgroups(target, computes)) {
    const BlockWork work = warpgroupWork(computes.getK());
    auto tile = [](const BlockPiece &piece) {
      return std::to_string(piece.rows) + " x " +
             std::to_string(piece.columns * sharedPanelColumns);
    };
    return WarpgroupChoice{true, "by warpgroups, in tiles of " + tile(work.many) + ", up to " +
                                     std::to_string(work.fewRows) + " rows of " + tile(work.few)};
  }
  const std::string reason =
      computes.getGroups() != 1 ? "it has " + std::to_string(computes.getGroups()) + " groups"
      : target.panelColumns != sharedPanelColumns
          ? "its panels have " + std::to_string(target.panelColumns) + " columns"
          : "its k, " + std::to_string(computes.getK()) + ", is no multiple of " +
                std::to_string(kWarpgroupSteps);
  return WarpgroupChoice{false, "not by warpgroups: " + reason};
}

std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target) {
  const std::optional<Units> units = unitsOf(kernel, target);
  if (!units) {
    return std::nullopt;
  }
  auto computes = cast<dataflow::ContractAttr>(kernel.getComputes());
  if (usesWarpgroups(target, computes)) {
    return warpgroupWork(computes.getK());
  }
  return *units == Units::Fma ? fmaWork(kernel.getOperandBuffer(1).getElementType()) : tensorWork();
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
      if (usesWarpgroups(code.target, product.computes)) {
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
                        *unitsOf(body.kernel, code.target),
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
