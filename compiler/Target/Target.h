// SPDX-License-Identifier: Apache-2.0
///
/// What code generation needs to know of a machine: registers, lanes, cache sizes, and the names
/// LLVM has for it. Emitters ask this description and never the name of a target; all else asks its
/// back end, and knows no folder of a kind of machine.
#ifndef HEDDLE_COMPILER_TARGET_H
#define HEDDLE_COMPILER_TARGET_H

#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class TargetBackend;

/// One target level of the compiler.
struct TargetDescription {
  /// As --target, the manifest and `heddle --isa` name it.
  llvm::StringRef name;
  /// LLVM's triple and processor.
  llvm::StringRef triple;
  llvm::StringRef processor;
  /// What it has beside the processor's instructions, as LLVM spells it: "+avx512vnni".
  llvm::StringRef features;
  /// f32 lanes of a vector register.
  int64_t lanes;
  /// The register tile of a matrix product: rows times vectors of accumulators. One register is
  /// left for a broadcast element and `tileVectors` for the weights.
  int64_t tileRows;
  int64_t tileVectors;
  /// Columns of the panels in which a matrix of a product lies: encodeMatrix(). Also those that one
  /// column of work is where a target cuts elements.
  int64_t panelColumns;
  /// Whether x * 2^n is one instruction, at any n (AVX-512's vscalefps).
  bool hasScale;
  /// Whether four products of 8 bits are added to 32 bits by one instruction, without loss.
  bool hasIntegerDotProduct;
  /// Whether two products of bf16 are added to f32 by one instruction.
  bool hasBf16DotProduct;
  /// Bytes of second-level cache a core may be assumed to have.
  int64_t cacheBytes;
  /// The element types in which its code reads weights that may be stored in another than f32, of
  /// integers as codes, and those of caches that it reads and writes.
  llvm::ArrayRef<ElementType> weightElements;
  llvm::ArrayRef<ElementType> cacheElements;
  /// The kind of machine that it is.
  const TargetBackend *backend;
};

/// Every target, the least capable first.
llvm::ArrayRef<TargetDescription> allTargets();

/// The target of that name, or null.
const TargetDescription *findTarget(llvm::StringRef name);

/// A target as options spell it, NAME or NAME:COLUMNS: the latter stores the matrices of products
/// in panels of so many columns, a multiple of the target's lanes up to mostPanelColumns. Fails
/// with `reason`, what is wrong with the text.
mlir::FailureOr<TargetDescription> parseTarget(llvm::StringRef text, std::string &reason);
inline constexpr int64_t mostPanelColumns = 128;

/// The text that parseTarget() reads: without the columns if they are those of the table.
std::string targetText(const TargetDescription &target);

/// The module of a target's kernels in a program, which is named after it and says how wide its
/// panels are where that is not what the table says; and the target of such a module. Null for a
/// module that is no target's; fails with `reason` if the module says a width that cannot be.
mlir::ModuleOp createTargetModule(mlir::OpBuilder &builder, mlir::Location location,
                                  const TargetDescription &target);
mlir::FailureOr<std::optional<TargetDescription>> targetOf(mlir::ModuleOp module,
                                                           std::string &reason);

/// The targets of a pass, spelt so; emits an error about one that there is not, or if there is
/// none.
mlir::FailureOr<std::vector<TargetDescription>> findTargets(llvm::ArrayRef<std::string> texts,
                                                            mlir::Location location);

/// How a target stores a matrix: a parameter expression, its type, and a name for it.
struct MatrixEncoding {
  std::string name;
  transformer::ParameterExpressionAttr expression;
  mlir::RankedTensorType type;
  /// Whether look-ups of the target can read single rows of the matrix in it.
  bool hasRows;
};

/// Bytes of scratch memory for each caller of a kernel, and more for each row of the longest
/// sequence.
struct KernelScratch {
  uint64_t fixed = 0;
  uint64_t perLongest = 0;
};

/// Bytes of a relocatable object, or of assembly.
using Code = llvm::SmallVector<char, 0>;

/// One function of a target's kernels, which is compiled by itself.
struct CodeUnit {
  std::string name;
  /// What it is compiled from. Equal bytes give equal code, whatever stands beside the function.
  Code source;
};

/// One target's kernels on their way to code.
class TargetCode {
public:
  virtual ~TargetCode() = default;
  virtual llvm::ArrayRef<CodeUnit> units() const = 0;
  /// What the code of a unit follows from beside its source: compiler, machine and options.
  virtual std::string compilerIdentity() const = 0;
  /// Optimises and compiles a unit to an object. Several threads may do so at the same time.
  virtual Result<Code> compile(const CodeUnit &unit) const = 0;
  /// The assembly of all units.
  virtual Result<Code> assembly() const = 0;
};

/// What the folder of a kind of machine answers for its targets.
class TargetBackend {
public:
  virtual ~TargetBackend() = default;
  /// How products of a target read `matrix`, [groups * n, k], as an input of role Matrix.
  virtual MatrixEncoding encodeMatrix(const TargetDescription &target,
                                      transformer::ParameterOp matrix,
                                      const dataflow::KernelInput &input) const = 0;
  /// The scratch of a kernel, enough for every target of the kind.
  virtual KernelScratch scratchOf(dataflow::KernelOp kernel) const = 0;
  /// Takes over a module of the llvm dialect. Not for several threads at once: it uses the module's
  /// context.
  virtual Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                        const TargetDescription &target) const = 0;
};

/// The name of the function of a kernel for a target, in the object and in the manifest.
std::string kernelFunctionName(llvm::StringRef kernel, llvm::StringRef target);
/// The name of a norm as a kernel of its own.
std::string finishKernelName(llvm::StringRef kernel);

/// The names of all targets, for messages: "x86-64-v3, x86-64-v4".
std::string targetNames();

/// The most capable target this machine can run, or null when it can run none. A target
/// whose further instructions only some programs make use of counts where it is `most`.
const TargetDescription *nativeTarget(llvm::StringRef most);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_H
