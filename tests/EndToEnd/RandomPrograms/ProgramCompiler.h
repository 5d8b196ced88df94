// SPDX-License-Identifier: Apache-2.0
///
/// Compilation within this process, through the libraries of heddlec. A program is compiled with
/// many sets of passes, most of which leave most kernels as they are: a kernel is compiled to
/// machine code once, and a program that two sets of passes lead to is linked once.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCOMPILER_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCOMPILER_H

#include "compiler/Pipeline.h"
#include "dialects/Dataflow/Dataflow.h"
#include "tests/EndToEnd/RandomPrograms/TestProgram.h"

#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace heddle {

/// Passes to leave out, and what to call that.
struct PassChoice {
  std::string name;
  std::vector<std::string> disabled;
};

/// All passes, none, and all but each.
std::vector<PassChoice> passChoices();

/// Something done to a program after the phase `fused`: a pass that is wrong, for tests.
using Corruption = std::function<void(mlir::ModuleOp)>;

class ProgramCompiler {
public:
  /// Binaries are written into `folder`, for these targets.
  ProgramCompiler(std::string folder, std::vector<std::string> targets)
      : folder(std::move(folder)), targets(std::move(targets)) {}

  /// The path of a binary, and whether this program has not given it before. Errors are the
  /// diagnostics of the compiler.
  struct Binary {
    std::string path;
    bool isNew = true;
  };
  Result<Binary> compile(const TestProgram &program, const PassChoice &passes,
                         const Corruption &corruption = nullptr);

  /// The program after the phase `fused`.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> fuse(const TestProgram &program,
                                                 const PassChoice &passes,
                                                 const Corruption &corruption = nullptr) const;

  /// Forgets binaries, and kernels if there are many, before the next program.
  void clear();

private:
  PipelineOptions optionsOf(const TestProgram &program, const PassChoice &passes) const;
  using Code = llvm::SmallVector<char, 0>;

  Result<size_t> numberOf(dataflow::KernelOp kernel, const PipelineOptions &options);
  Result<std::vector<Code>> generateCode(mlir::ModuleOp module, const PipelineOptions &options);
  Result<Binary> link(mlir::ModuleOp module, const TestProgram &program,
                      const PipelineOptions &options);

  std::string folder;
  std::vector<std::string> targets;
  /// By the text of the dispatches.
  std::map<std::string, std::string> binaries;
  /// The code of each kernel for every target, and the kernels' indices by the text of what they
  /// compute.
  std::vector<std::vector<Code>> kernels;
  std::map<std::string, size_t> numbers;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCOMPILER_H
