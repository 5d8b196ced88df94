// SPDX-License-Identifier: Apache-2.0
///
/// Compilation within this process, with the libraries of heddlec. A program is compiled with many
/// sets of passes, most of which leave most kernels unchanged: a kernel is compiled to machine code
/// once, shared functions once for all programs, and a program that two sets of passes lead to is
/// linked once.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCOMPILER_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCOMPILER_H

#include "compiler/Pipeline.h"
#include "compiler/Target/Target.h"
#include "dialects/Dataflow/Dataflow.h"
#include "tests/EndToEnd/RandomPrograms/TargetTwins.h"
#include "tests/EndToEnd/RandomPrograms/TestProgram.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace heddle {

/// Passes to leave out, and a name for that choice.
struct PassChoice {
  std::string name;
  std::vector<std::string> disabled;
};

/// Returns the choices: all passes, none, and all but each.
std::vector<PassChoice> passChoices();

/// A modification of a program after the phase `fused`: an incorrect pass, for tests.
using Corruption = std::function<void(mlir::ModuleOp)>;

class ProgramCompiler {
public:
  /// Writes binaries into `folder`, for these targets.
  ProgramCompiler(std::string folder, std::vector<std::string> targets)
      : folder(std::move(folder)), targets(std::move(targets)) {}

  /// A binary, and which of its targets have the code of another.
  struct Binary {
    std::string path;
    TargetTwins twins;
  };
  /// Compiles a program; nullopt if other passes gave the same since clear(). Errors are the
  /// diagnostics of the compiler.
  Result<std::optional<Binary>> compile(const TestProgram &program, const PassChoice &passes,
                                        const Corruption &corruption = nullptr);

  /// Returns the program after the phase `fused`.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> fuse(const TestProgram &program,
                                                 const PassChoice &passes,
                                                 const Corruption &corruption = nullptr) const;

  /// Discards binaries, and kernels if there are many, before the next program.
  void clear();

private:
  PipelineOptions optionsOf(const TestProgram &program, const PassChoice &passes) const;

  /// Names the kernels of a module after what they compute; returns those without a name before.
  std::vector<dataflow::KernelOp> nameKernels(mlir::ModuleOp module);
  /// Compiles kernels together, as those of a program are: shared parts are written once.
  Status compileAll(llvm::ArrayRef<dataflow::KernelOp> of, const PipelineOptions &options);
  /// Stores the code of a target's functions, and which of them kernels need.
  Status keepCode(mlir::ModuleOp target, llvm::ArrayRef<dataflow::KernelOp> of, const Code *&next);
  /// Records the functions of a target that have the code of another's.
  void keepTwin(const std::string &target, const std::string &twin,
                llvm::ArrayRef<dataflow::KernelOp> of);
  /// Returns the functions of a module's kernels, after compiling them and a library of them.
  Result<std::set<std::string>> generateCode(mlir::ModuleOp module, const PipelineOptions &options);
  Result<std::string> libraryOf(const std::set<std::string> &functions);
  TargetTwins twinsOf(const std::set<std::string> &functions) const;
  Result<Binary> link(mlir::ModuleOp module, const TestProgram &program,
                      const PipelineOptions &options);
  void forgetKernels();
  std::string pathOf(size_t number) const { return folder + "/" + std::to_string(number) + ".so"; }

  std::string folder;
  std::vector<std::string> targets;
  /// The texts of this program so far: before the phase `dataflow`, with its passes, and after it.
  /// Binaries have the index of theirs.
  std::set<std::string> lowered;
  std::set<std::string> linked;
  /// The libraries of this program by their functions: passes that leave kernels unchanged give the
  /// same.
  std::map<std::set<std::string>, std::string> libraries;
  /// The names of kernels, by the text of what they compute.
  std::map<std::string, std::string> names;
  /// The functions of every target that a kernel's code contains or calls.
  llvm::StringMap<std::vector<std::string>> needs;
  /// The code of functions, and for twins' functions those whose code they have.
  std::map<std::string, Code> code;
  std::map<std::string, std::string> aliases;
  /// The number of times that kernels were compiled.
  int64_t batches = 0;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCOMPILER_H
