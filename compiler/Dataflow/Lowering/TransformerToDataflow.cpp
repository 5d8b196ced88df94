// SPDX-License-Identifier: Apache-2.0
///
/// Lowers the model level: the pattern of each operation in Patterns/ turns it into a dispatch of a
/// separate kernel, a view, or nothing if its users inspect it. Passes of the dataflow level fold,
/// merge and place dispatches.
///
/// ```mlir
/// func.func @encode(%x: tensor<?x384xf32> {transformer.name = "x"}) -> (tensor<?x48xf32>) {
///   %y = transformer.linear %x, @w, @b : tensor<?x384xf32> -> tensor<?x48xf32>
/// ```
/// becomes
/// ```mlir
/// dataflow.kernel @contract : (...) -> !dataflow.buffer<[tokens, 48], f32>
///     computes #dataflow.contract<n = 48, k = 384> {
/// ^bb0(%sum: f32, %bias: f32):
///   %0 = arith.addf %sum, %bias fastmath<contract> : f32
///   dataflow.yield %0
/// }
/// dataflow.graph @encode(%x: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "x"}) -> ... {
///   %0 = dataflow.parameter @w : !dataflow.buffer<[48, 384], f32>
///   %1 = dataflow.parameter @b : !dataflow.buffer<[48], f32>
///   %2 = dataflow.dispatch @contract(%x, %0, %1) : (...) -> !dataflow.buffer<[tokens, 48], f32>
/// ```
/// Tests: tests/compiler/Dataflow/Lowering/*.mlir
#include "compiler/Dataflow/Lowering/EntryLowering.h"
#include "compiler/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTTRANSFORMERTODATAFLOWPASS
#include "compiler/Passes.h.inc"

namespace {

struct ConvertTransformerToDataflow
    : impl::ConvertTransformerToDataflowPassBase<ConvertTransformerToDataflow> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    FailureOr<CacheLayouts> layouts = chooseCacheLayouts(module);
    if (failed(layouts)) {
      return signalPassFailure();
    }
    for (auto entry : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (failed(lowerEntry(entry, symbols, *layouts))) {
        return signalPassFailure();
      }
    }
  }
};

} // namespace
} // namespace heddle
