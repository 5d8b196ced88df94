// SPDX-License-Identifier: Apache-2.0
///
/// A planned graph with everything that a manifest needs, for tests of the manifest's writer.
#ifndef HEDDLE_TESTS_COMPILER_LINK_PLANNEDPROGRAM_H
#define HEDDLE_TESTS_COMPILER_LINK_PLANNEDPROGRAM_H

#include "compiler/Cost/KernelCost.h"
#include "compiler/Link/Manifest.h"
#include "formats/Binary/SymbolicSize.h"
#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace heddle {

inline constexpr llvm::StringLiteral program = R"mlir(
module attributes {transformer.model_type = "bert"} {
  transformer.parameter @table : tensor<30x96xf32> from "table"
  transformer.parameter @unused : tensor<4xf32> from "unused"
  transformer.parameter @w : tensor<100x48xf32> from "w"
  transformer.parameter @w.packed : tensor<3x48x48xf32> = pack(@w, 48)
  transformer.parameter @norm : tensor<100xf32> from "norm"
  dataflow.kernel @gather_96 : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 96], f32>) -> !dataflow.buffer<[tokens, 96], f32> computes #dataflow.gather<width = 96, lookups = 1> {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.kernel @attention_3x16 : (!dataflow.buffer<[tokens, 48] in 96, f32>, !dataflow.buffer<[tokens, 48] in 96, f32>, !dataflow.buffer<[tokens, 48] in 96, f32>) -> !dataflow.buffer<[tokens, 48], f32> computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 2.500000e-01 : f32, visibility = <all>> {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.kernel @contract_100x48_layer_norm : (!dataflow.buffer<[tokens, 48], f32>, !dataflow.buffer<[100, 48], f32>, !dataflow.buffer<[100], f32>, !dataflow.buffer<[100], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 48> norm #dataflow.norm<layer_norm, 9.99999996E-13 : f32> {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.kernel @pool_mean_100 : (!dataflow.buffer<[tokens, 100], f32>) -> !dataflow.buffer<[sequences, 100], f32> computes #dataflow.pool<mean, width = 100> {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.graph @encode(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "input_ids", dataflow.limit = 30 : i64, dataflow.optional}) -> (!dataflow.buffer<[sequences, 100], f32> {dataflow.name = "pooled"}, !dataflow.buffer<[tokens, 100], f32> {dataflow.name = "states"}) attributes {arena = #dataflow.size<tokens = 576>, max_length = 512 : i64} {
    %table = dataflow.parameter @table : !dataflow.buffer<[30, 96], f32>
    %dead = dataflow.parameter @unused : !dataflow.buffer<[4], f32>
    %x = dataflow.dispatch @gather_96(%ids, %table) at <tokens = 192> : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30, 96], f32>) -> !dataflow.buffer<[tokens, 96], f32> loc("embeddings")
    %q = dataflow.columns %x from 0 : !dataflow.buffer<[tokens, 96], f32> -> !dataflow.buffer<[tokens, 48] in 96, f32>
    %k = dataflow.columns %x from 48 : !dataflow.buffer<[tokens, 96], f32> -> !dataflow.buffer<[tokens, 48] in 96, f32>
    %h = dataflow.reshape %k : !dataflow.buffer<[tokens, 48] in 96, f32> -> !dataflow.buffer<[tokens, 3, 16] in 96, f32>
    %v = dataflow.reshape %h : !dataflow.buffer<[tokens, 3, 16] in 96, f32> -> !dataflow.buffer<[tokens, 48] in 96, f32>
    %a = dataflow.dispatch @attention_3x16(%q, %k, %v) at <> : (!dataflow.buffer<[tokens, 48] in 96, f32>, !dataflow.buffer<[tokens, 48] in 96, f32>, !dataflow.buffer<[tokens, 48] in 96, f32>) -> !dataflow.buffer<[tokens, 48], f32> loc("layer.0.attention")
    %w = dataflow.parameter @w as @w.packed : !dataflow.buffer<[100, 48], f32>
    %n = dataflow.parameter @norm : !dataflow.buffer<[100], f32>
    %y = dataflow.dispatch @contract_100x48_layer_norm(%a, %w, %n, %n) : (!dataflow.buffer<[tokens, 48], f32>, !dataflow.buffer<[100, 48], f32>, !dataflow.buffer<[100], f32>, !dataflow.buffer<[100], f32>) -> !dataflow.buffer<[tokens, 100], f32> loc(fused["layer.0.output.dense", "layer.0.output.LayerNorm"])
    %p = dataflow.dispatch @pool_mean_100(%y) : (!dataflow.buffer<[tokens, 100], f32>) -> !dataflow.buffer<[sequences, 100], f32>
    dataflow.output %p, %y : !dataflow.buffer<[sequences, 100], f32>, !dataflow.buffer<[tokens, 100], f32>
  }
}
)mlir";

inline ManifestInputs someInputs() {
  ManifestInputs inputs;
  inputs.targets = {{"x86-64-v3", 48, 6}, {"x86-64-v4", 48, 8}};
  inputs.functionName = [](llvm::StringRef kernel, llvm::StringRef target) {
    return (kernel + "." + target).str();
  };
  inputs.launchShape = [](dataflow::KernelOp, const ManifestTarget &target) {
    return target.launch;
  };
  inputs.finishName = [](llvm::StringRef kernel) { return (kernel + ".finish").str(); };
  inputs.scratch = [](dataflow::KernelOp kernel) {
    return kernel.getSymName().starts_with("attention") ? ScratchSize{128, 64} : ScratchSize{};
  };
  inputs.parameters["table"] = {0, 11520, 1};
  inputs.parameters["w.packed"] = {11520, 27648, 2};
  inputs.parameters["norm"] = {39168, 400, 3};
  inputs.weightsSize = 39616;
  inputs.sourceHash = "00ff";
  inputs.producer = "heddle 0.1.0";
  inputs.precision = "f32";
  inputs.reportSummary = {"fold-epilogues: 1 of 1 taken"};
  return inputs;
}

class ManifestTest : public ::testing::Test {
protected:
  ManifestTest() {
    context.loadDialect<mlir::arith::ArithDialect, dataflow::DataflowDialect,
                        transformer::TransformerDialect>();
  }

  /// Builds the manifest of a program. Returns null after an error, whose message is in `error`.
  const manifest::Manifest *build(llvm::StringRef text, const ManifestInputs &inputs) {
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) { error += diagnostic.str(); });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    if (!module || mlir::failed(buildManifest(*module, inputs, builder))) {
      return nullptr;
    }
    flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize());
    EXPECT_TRUE(manifest::VerifyManifestBuffer(verifier));
    return manifest::GetManifest(builder.GetBufferPointer());
  }

  /// Returns the error for the program above with `from` replaced by `to`.
  std::string errorOf(llvm::StringRef from, llvm::StringRef to) {
    std::string text = program.str();
    size_t position = text.find(from.str());
    EXPECT_NE(position, std::string::npos);
    text.replace(position, from.size(), to.str());
    EXPECT_EQ(build(text, someInputs()), nullptr);
    return error;
  }

  /// Returns the operations of a kernel per row, and per row and key.
  dataflow::Flops flopsOf(llvm::StringRef kernel) {
    return kernelFlops(mlir::SymbolTable(*module).lookup<dataflow::KernelOp>(kernel)).ofRow;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  flatbuffers::FlatBufferBuilder builder;
  std::string error;
};

} // namespace heddle

#endif // HEDDLE_TESTS_COMPILER_LINK_PLANNEDPROGRAM_H
