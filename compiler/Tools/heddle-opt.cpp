// SPDX-License-Identifier: Apache-2.0
///
/// heddle-opt: reads a program, runs single passes on it, and prints it, for tests and debugging;
/// heddlec runs whole phases. `--remarks-filter=heddle` prints what the passes report. Unlike
/// mlir-opt, which it is built on, it limits the size of its input and reports write errors.
#include "compiler/Passes.h"
#include "compiler/Target/Target.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "frontend/Import/ProgramCheck.h"
#include "frontend/Import/TextCheck.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

using namespace mlir;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "heddle-opt: " << message << "\n";
  return EXIT_FAILURE;
}

/// Flushes a stream and reports write errors.
static int finish(llvm::raw_fd_ostream &stream, llvm::StringRef name, int code) {
  stream.flush();
  const std::error_code error = stream.error();
  stream.clear_error();
  return error ? fail(name + ": cannot write: " + error.message()) : code;
}

/// The column of the options' descriptions.
static constexpr size_t helpColumn = 44;

/// Prints Heddle's passes and related options. LLVM's own help begins with some four hundred
/// options of its libraries.
static int printHelp() {
  llvm::outs()
      << "Runs passes of Heddle on a program and prints it.\n\n"
         "Usage: heddle-opt [PASSES] [OPTIONS] FILE.mlir   (- or no file: standard input)\n"
         "\nPasses:\n";
  // Every pass is registered as an option.
  std::vector<std::string> names;
  for (const auto &option : llvm::cl::getRegisteredOptions()) {
    if (PassInfo::lookup(option.first)) {
      names.push_back(option.first.str());
    }
  }
  llvm::sort(names);
  for (const std::string &name : names) {
    PassInfo::lookup(name)->printHelpStr(/*indent=*/2, helpColumn);
  }
  llvm::outs() << R"(
Options:
  -o FILE                               - write the program there
  --pass-pipeline=PIPELINE              - passes as text: builtin.module(transformer-fuse-branches)
  --remarks-filter=heddle               - print what the passes report
  --split-input-file                    - read the parts between lines '// -----' as programs
  --verify-diagnostics                  - expect the errors that comments say
  --mlir-print-debuginfo                - print locations
  --mlir-print-ir-after-all             - print the program after each pass
  --help-list                           - list every option of MLIR and LLVM
  --version                             - print the version
)";
  return finish(llvm::outs(), "standard output", EXIT_SUCCESS);
}

static int printVersion() {
  llvm::outs() << "heddle-opt " HEDDLE_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  return finish(llvm::outs(), "standard output", EXIT_SUCCESS);
}

namespace {

/// Runs before all other passes, which require a program in a single module, as the importer
/// creates it.
struct CheckModulePass : PassWrapper<CheckModulePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckModulePass)
  StringRef getArgument() const override { return "heddle-check-module"; }
  StringRef getDescription() const override {
    return "Refuse operations of Heddle in nested modules; runs before all other passes";
  }
  void runOnOperation() override {
    if (failed(heddle::verifyOneModule(getOperation()))) {
      signalPassFailure();
    }
  }
};

} // namespace

/// Reads a program, rejects text that would crash MLIR's parser, and runs MLIR's opt tool on it.
static int run(llvm::StringRef inputName, llvm::StringRef outputName, DialectRegistry &registry) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputName, &message);
  if (!input) {
    return fail(message);
  }
  const std::string_view text(input->getBufferStart(), input->getBufferSize());
  const std::string_view shown = input->getBufferIdentifier();
  // MLIR's reader checks bytecode, which only developers use.
  if (!isBytecode(input->getMemBufferRef())) {
    if (heddle::Status status = heddle::checkProgramText(text, shown); !status.ok()) {
      return fail(llvm::Twine(status.message()));
    }
  }
  std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(outputName, &message);
  if (!output) {
    return fail(message);
  }
  const MlirOptMainConfig asked = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig config = asked;
  config.setPassPipelineSetupFn([&](PassManager &manager) {
    manager.addPass(std::make_unique<CheckModulePass>());
    return asked.setupPassPipeline(manager);
  });
  const int code = asMainReturnCode(MlirOptMain(output->os(), std::move(input), registry, config));
  const bool isStandard = outputName == "-";
  const int finished = finish(output->os(), isStandard ? "standard output" : outputName, code);
  if (finished == EXIT_SUCCESS) {
    output->keep();
  }
  return finished;
}

int main(int argc, char **argv) {
  std::set_new_handler([] {
    std::fputs("heddle-opt: out of memory\n", stderr);
    std::_Exit(EXIT_FAILURE);
  });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    std::fprintf(stderr, "heddle-opt: %s\n", reason);
    std::_Exit(EXIT_FAILURE);
  });
  // Report a closed pipe and an exceeded file size limit as write errors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  DialectRegistry registry;
  registry
      .insert<heddle::dataflow::DataflowDialect, heddle::transformer::TransformerDialect,
              arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  heddle::registerTargetDialects(registry);
  heddle::registerHeddlePasses();
  PassRegistration<CheckModulePass>();
  // Generic passes of MLIR, which follow the interfaces of the dialects.
  registerCanonicalizerPass();
  registerCSEPass();
  registerRemoveDeadValuesPass();
  registerSCCPPass();
  registerSymbolDCEPass();
  const std::string header =
      registerCLIOptions("heddle-opt: run passes of the heddle compiler\n", registry);
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front(argc > 0 ? 1 : 0)) {
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      return printHelp();
    }
    if (argument == "--version" || argument == "-version") {
      return printVersion();
    }
  }
  auto [input, output] = parseCLIOptions(argc, argv, header);
  return run(input, output, registry);
}
