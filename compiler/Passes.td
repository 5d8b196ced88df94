// SPDX-License-Identifier: Apache-2.0
/// Every pass, grouped by phase, alphabetical inside a group. Pipeline.cpp orders them.
#ifndef HEDDLE_COMPILER_PASSES
#define HEDDLE_COMPILER_PASSES

include "mlir/Pass/PassBase.td"

// --- fused: within the model level -----------------------------------------------------------

def ApplySharingPass : Pass<"transformer-apply-sharing", "::mlir::ModuleOp"> {
  let summary = "Let attentions use those before them, as a policy asks: what --share-attention does";
  let options = [Option<"policy", "policy", "std::string", "\"\"",
                        "sizes of blocks by kind, for example self:1,5,cross:4,2">];
}

def DeduplicateParametersPass : Pass<"transformer-deduplicate-parameters", "::mlir::ModuleOp"> {
  let summary = "Make parameters with the same source or the same expression one symbol";
}

def EliminateCommonPass : Pass<"transformer-eliminate-common", "::mlir::ModuleOp"> {
  let summary = "Compute equal expressions once";
}

def EliminateDeadPass : Pass<"transformer-eliminate-dead", "::mlir::ModuleOp"> {
  let summary = "Drop operations, caches and parameters that no result needs";
}

def FuseActivationPass : Pass<"transformer-fuse-activation", "::mlir::ModuleOp"> {
  let summary = "Recognise gelu, silu and other activations in primitive maths, however they are spelt";
}

def FuseAttentionPass : Pass<"transformer-fuse-attention", "::mlir::ModuleOp"> {
  let summary = "Recognise softmax(scale * Q K^T + mask) V in primitive maths, however it is spelt";
}

def FuseBranchesPass : Pass<"transformer-fuse-branches", "::mlir::ModuleOp"> {
  let summary = "Compute sums of scaled linear maps in the cheapest way: as products of folded weights";
}

def FuseEmbeddingPass : Pass<"transformer-fuse-embedding", "::mlir::ModuleOp"> {
  let summary = "Sum table look-ups, and their layer norm, in one operation";
}

def FuseNormPass : Pass<"transformer-fuse-norm", "::mlir::ModuleOp"> {
  let summary = "Recognise layer norms and RMS norms in primitive maths, however they are spelt";
}

def FuseProjectionsPass : Pass<"transformer-fuse-projections", "::mlir::ModuleOp"> {
  let summary = "Compute linear maps of the same rows (Q, K, V) as one, with concatenated weights";
}

def FuseRotaryPass : Pass<"transformer-fuse-rotary", "::mlir::ModuleOp"> {
  let summary = "Turn the pairs of columns of heads in one operation, however the rotation is spelt";
}

def NarrowCachesPass : Pass<"transformer-narrow-caches", "::mlir::ModuleOp"> {
  let summary = "Keep the rows of caches in fewer bits: what --cache does";
  let options = [Option<"bits", "bits", "unsigned", "16", "of an element: 16 of bf16, or 8 of codes">];
}

def NormalizeHeadsPass : Pass<"transformer-normalize-heads", "::mlir::ModuleOp"> {
  let summary = "Write heads split or merged by a contraction with a weight as linear maps";
}

def ObserveAttentionPass : Pass<"transformer-observe-attention", "::mlir::ModuleOp"> {
  let summary = "Give every entry the probabilities of its attentions as results to ask for";
}

def ShareAttentionPass : Pass<"transformer-share-attention", "::mlir::ModuleOp"> {
  let summary = "Compute once what several layers compute equally: values, caches, attention";
}

// --- dataflow --------------------------------------------------------------------------------

def ConvertTransformerToDataflowPass : Pass<"convert-transformer-to-dataflow", "::mlir::ModuleOp"> {
  let summary = "Make every operation a dispatch of its kernel";
  let dependentDialects = ["::heddle::dataflow::DataflowDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def CompensateWeightsPass : Pass<"dataflow-compensate-weights", "::mlir::ModuleOp"> {
  let summary = "Choose the codes of matrices by the moments of the rows that they are multiplied with";
}

def EncodeWeightsPass : Pass<"dataflow-encode-weights", "::mlir::ModuleOp"> {
  let summary = "Store the matrices of products as each target reads them";
  let options = [ListOption<"targets", "targets", "std::string",
                            "targets, x86-64-v3 or with the columns of panels x86-64-v3:24">];
}

def FoldEpiloguesPass : Pass<"dataflow-fold-epilogues", "::mlir::ModuleOp"> {
  let summary = "Fold element-wise dispatches and norms into the kernel that produces their input";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FuseStatesPass : Pass<"dataflow-fuse-states", "::mlir::ModuleOp"> {
  let summary = "Make means of rows and the sum that they leave in a state one kernel";
}

def FuseWindowsPass : Pass<"dataflow-fuse-windows", "::mlir::ModuleOp"> {
  let summary = "Multiply what a window sees while it is in the cache, with the rectifier before it";
}

def GroupLoopsPass : Pass<"dataflow-group-loops", "::mlir::ModuleOp"> {
  let summary = "Put loops that read nothing of each other side by side, for threads to run at once";
}

def HoistFromLoopsPass : Pass<"dataflow-hoist-from-loops", "::mlir::ModuleOp"> {
  let summary = "Compute what no step changes for the rows of all steps at once, before the loop";
}

def MergeKernelsPass : Pass<"dataflow-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Make kernels that compute the same one symbol, named after what they compute";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def NarrowRowsPass : Pass<"dataflow-narrow-rows", "::mlir::ModuleOp"> {
  let summary = "Round rows to what the weights they are multiplied with are stored as: bf16 or codes";
  let options = [Option<"precision", "precision", "std::string", "\"int8\"",
                        "of products whose weights no pattern matches, as --precision names it">,
                 Option<"quantisesRows", "quantises-rows", "bool", "false",
                        "whether rows are quantised where the precision is that of the files, an empty one">,
                 ListOption<"keep", "keep", "std::string",
                            "weights of another precision, PATTERN=PRECISION">];
}

def NarrowWeightsPass : Pass<"dataflow-narrow-weights", "::mlir::ModuleOp"> {
  let summary = "Store matrices of products and tables in fewer bits, and compute with them in f32";
  let options = [Option<"precision", "precision", "std::string", "\"bf16-weights\"",
                        "of weights that no pattern matches, as --precision names it; empty: codes of the files, or f32">,
                 Option<"quantisesRows", "quantises-rows", "bool", "false",
                        "whether rows are quantised where the precision is that of the files: codes that rows stay with are finer">,
                 ListOption<"keep", "keep", "std::string",
                            "weights of another precision, PATTERN=PRECISION">];
}

def ObserveRowsPass : Pass<"dataflow-observe-rows", "::mlir::ModuleOp"> {
  let summary = "Make the rows that products read results of their graphs";
  let options = [ListOption<"sites", "sites", "int64_t",
                            "which of them, by the numbers that compensate-weights gives them">];
}

def PlanMemoryPass : Pass<"dataflow-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Place every result in the arena, symbolically in the run-time sizes";
  let options = [Option<"reuse", "reuse", "bool", "true",
                        "let results whose lives do not overlap share memory">];
}

def SelectTokensPass : Pass<"dataflow-select-tokens", "::mlir::ModuleOp"> {
  let summary = "Let a step of a decoder end in the selection of tokens, for GPUs";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ShareTablesPass : Pass<"dataflow-share-tables", "::mlir::ModuleOp"> {
  let summary = "Look up rows of a table where the encoding of a product has it, and store it once";
  let options = [ListOption<"targets", "targets", "std::string",
                            "targets, x86-64-v3 or with the columns of panels x86-64-v3:24">];
}

// --- kernels ---------------------------------------------------------------------------------

def AddEntriesPass : Pass<"kernels-add-entries", "::mlir::ModuleOp"> {
  let summary = "Give kernels of devices the entries that are launched, and devices the kernels that "
                "measure them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertDataflowToKernelsPass : Pass<"convert-dataflow-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Write every kernel as loops and vector code, once for each target";
  let options = [ListOption<"targets", "targets", "std::string",
                            "targets, x86-64-v3 or with the columns of panels x86-64-v3:24">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def ExpandMathPass : Pass<"kernels-expand-math", "::mlir::ModuleOp"> {
  let summary = "Write functions such as exp and erf as vector arithmetic, at most 4 ulp";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect"];
}

// --- llvm ------------------------------------------------------------------------------------

def ConvertKernelsToLLVMPass : Pass<"convert-kernels-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower the kernel modules of all targets to the llvm dialect";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif
