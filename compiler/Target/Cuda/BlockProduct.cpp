// SPDX-License-Identifier: Apache-2.0
///
/// Which products blocks compute, and the tiles of a call. What a tile is computed with follows
/// from what the product promises of its sums: FMA units where f32 is f32 (docs/decisions/0049),
/// tensor cores where rows are rounded to bf16 (docs/decisions/0054).
#include "compiler/Target/Cuda/BlockProduct.h"

#include "compiler/Target/Cuda/ProductTile.h"

using namespace mlir;

namespace heddle {

std::optional<BlockWork> blockProduct(dataflow::KernelOp kernel, const TargetDescription &target) {
  auto computes = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (!computes || computes.getGroups() != 1 || target.panelColumns != sharedPanelColumns) {
    return std::nullopt;
  }
  Type weights = kernel.getOperandBuffer(1).getElementType();
  switch (computes.getArithmetic()) {
  case dataflow::Arithmetic::F32:
    if (weights.isF32() || weights.isBF16()) {
      return fmaWork(weights);
    }
    return std::nullopt;
  case dataflow::Arithmetic::Bf16:
    return tensorWork();
  case dataflow::Arithmetic::Integers:
    return std::nullopt;
  }
  llvm_unreachable("every arithmetic is handled");
}

/// All tiles of a call.
static void emitTiles(BlockCode &block, const KernelArguments &arguments, const BlockPiece &tile,
                      Product product, bool isFew) {
  VectorCode &code = block.code;
  code.loop(arguments.columnBegin, arguments.columnEnd, tile.columns, [&](Value panel) {
    code.loop(arguments.rowBegin, arguments.rowEnd, tile.rows, [&](Value row) {
      product.firstRow = row;
      product.endRow = arguments.rowEnd;
      product.firstPanel = panel;
      product.endPanel = arguments.columnEnd;
      switch (product.computes.getArithmetic()) {
      case dataflow::Arithmetic::F32:
        return emitFmaTile(block, product, isFew);
      case dataflow::Arithmetic::Bf16:
        return emitTensorTile(block, product, isFew);
      case dataflow::Arithmetic::Integers:
        llvm_unreachable("blockProduct() leaves these to callers");
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
  // A buffer begins at a multiple of HEDDLE_ALIGNMENT, columns of a wider one anywhere.
  constexpr int64_t together = kSharedAlignment / sizeof(float);
  const bool hasAlignedRows =
      rowsType.getRowStride() == 0 && rowsType.getRowElements() % together == 0;
  const Product product{computes,
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
