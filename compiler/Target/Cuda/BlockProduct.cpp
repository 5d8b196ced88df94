// SPDX-License-Identifier: Apache-2.0
///
/// Selects the products that blocks compute, and emits the tiles of a call. The units depend on the
/// arithmetic of the product: FMA units for f32 (docs/decisions/0049), tensor cores if rows are
/// rounded to bf16 (docs/decisions/0054) or if an attribute of the kernel permits tf32
/// (docs/decisions/0056).
#include "compiler/Target/Cuda/BlockProduct.h"

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/ProductTile.h"

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

std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target) {
  const std::optional<Units> units = unitsOf(kernel, target);
  if (!units) {
    return std::nullopt;
  }
  return *units == Units::Fma ? fmaWork(kernel.getOperandBuffer(1).getElementType()) : tensorWork();
}

/// Emits all tiles of a call.
static void emitTiles(BlockCode &block, const KernelArguments &arguments, const BlockPiece &tile,
                      Product product, bool isFew) {
  VectorCode &code = block.code;
  code.loop(arguments.columnBegin, arguments.columnEnd, tile.columns, [&](Value panel) {
    code.loop(arguments.rowBegin, arguments.rowEnd, tile.rows, [&](Value row) {
      product.firstRow = row;
      product.endRow = arguments.rowEnd;
      product.firstPanel = panel;
      product.endPanel = arguments.columnEnd;
      if (product.units == Units::Fma) {
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
      isFew, [&] { emitTiles(block, arguments, work.few, product, /*isFew=*/true); },
      [&] { emitTiles(block, arguments, work.many, product, /*isFew=*/false); });
}

} // namespace heddle
