// SPDX-License-Identifier: Apache-2.0
///
/// heddle-opt: reads a program, runs single passes on it, and prints it. For tests and for looking
/// at what one pass does; heddlec runs whole phases. `--remarks-filter=heddle` prints what the
/// passes report.
#include "compiler/Passes.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<heddle::dataflow::DataflowDialect, heddle::transformer::TransformerDialect,
                  mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  heddle::registerHeddlePasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "heddle-opt: run passes of the heddle compiler\n", registry));
}
