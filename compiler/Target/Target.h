// SPDX-License-Identifier: Apache-2.0
///
/// What code generation needs to know of a machine: registers, lanes, cache sizes, and the names
/// LLVM has for it. Emitters ask this description and never the name of a target; all else asks its
/// back end, and knows no folder of a kind of machine.
#ifndef HEDDLE_COMPILER_TARGET_H
#define HEDDLE_COMPILER_TARGET_H

#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "formats/Binary/Manifest_generated.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
class VectorCode;
struct KernelBody;

/// How products of 8 bits are added to 32 bits, without loss in any case: one at a time as numbers
/// of 32 bits; two in 16 bits by one instruction and those sums by another; four by one.
enum class IntegerProducts : uint8_t { Single, Pairs, Fours };

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
  /// How products of 8 bits are added.
  IntegerProducts integerProducts;
  /// Whether two products of bf16 are added to f32 by one instruction.
  bool hasBf16DotProduct;
  /// Whether there is AMX: tile registers that products of bf16 and of codes of 8 bits run on.
  bool hasAmx;
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
/// in panels of so many columns, a multiple of panelStep() up to mostPanelColumns. Fails with
/// `reason`, what is wrong with the text.
mlir::FailureOr<TargetDescription> parseTarget(llvm::StringRef text, std::string &reason);
inline constexpr int64_t mostPanelColumns = 128;
/// Whole vectors, and whole words of codes of 4 bits.
int64_t panelStep(const TargetDescription &target);

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

/// All kernels of a target as a device loads them.
struct DeviceImage {
  manifest::ImageKind kind;
  Code bytes;
  /// The program that made it, and its version.
  std::string compiler;
};

/// Programs of others that make further images, where the user has them; empty: none.
struct DeviceTools {
  /// Assembles PTX to a cubin.
  std::string ptxas;
};

/// One target's kernels on their way to code.
class TargetCode {
public:
  virtual ~TargetCode() = default;
  virtual llvm::ArrayRef<CodeUnit> units() const = 0;
  /// What the code of a unit follows from beside its source: compiler, machine and options.
  virtual std::string compilerIdentity() const = 0;
  /// Optimises and compiles a unit: to an object, which is linked with all others of the program,
  /// or to what images are made of. Several threads may do so at the same time.
  virtual Result<Code> compile(const CodeUnit &unit) const = 0;
  /// The images of a target that has a launch unit, the one to be tried first before others, from
  /// the code of all units in their order; none of other targets.
  virtual Result<std::vector<DeviceImage>> images(llvm::ArrayRef<Code> code,
                                                  const DeviceTools &tools) const = 0;
  /// The assembly of all units.
  virtual Result<Code> assembly() const = 0;
};

/// What the folder of a kind of machine answers for its targets.
class TargetBackend {
public:
  virtual ~TargetBackend() = default;
  /// The machines that run a target, for users: "processors with vectors of 8 f32 numbers".
  virtual std::string describe(const TargetDescription &target) const = 0;
  /// How products of a target read `matrix`, [groups * n, k], as an input of role Matrix.
  virtual MatrixEncoding encodeMatrix(const TargetDescription &target,
                                      transformer::ParameterOp matrix,
                                      const dataflow::KernelInput &input) const = 0;
  /// How kernels are launched whose callers work alone. Without a launch unit they are functions
  /// of the program.
  virtual manifest::LaunchShape launchShape() const = 0;
  /// How a norm is launched that runs by itself, over the finished rows of a kernel.
  virtual manifest::LaunchShape finishShape() const = 0;
  /// How a kernel is launched for a target.
  virtual manifest::LaunchShape launchShapeOf(dataflow::KernelOp kernel,
                                              const TargetDescription &target) const = 0;
  /// Writes what a kernel computes into its function: by the emitter of its family, or by one that
  /// only this kind of machine has.
  virtual void emitKernel(VectorCode &code, const KernelBody &body) const = 0;
  /// Writes the norm of a kernel's finished rows into its function.
  virtual void emitFinish(VectorCode &code, const KernelBody &body) const = 0;
  /// What a kernel, or its finish, is called by whoever launches it.
  virtual std::string symbolOf(llvm::StringRef kernel, const TargetDescription &target) const = 0;
  /// Adds what launches need beside the functions in a module of kernels.
  virtual void addEntries(mlir::ModuleOp module, const TargetDescription &target) const = 0;
  /// Says of a function of the llvm dialect what LLVM has to know beside its processor; `isShared`
  /// of what kernels have in common.
  virtual void setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &target,
                             bool isShared) const = 0;
  /// The scratch of a kernel, enough for every target of the kind.
  virtual KernelScratch scratchOf(dataflow::KernelOp kernel) const = 0;
  /// Takes over a module of the llvm dialect. Not for several threads at once: it uses the module's
  /// context.
  virtual Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                        const TargetDescription &target) const = 0;
};

/// The name of the function of a kernel for a target in a program.
std::string kernelFunctionName(llvm::StringRef kernel, llvm::StringRef target);
/// The name of a norm as a kernel of its own.
std::string finishKernelName(llvm::StringRef kernel);

/// Rows that a kernel whose rows share work computes together on a target: work is divided at
/// multiples of it. One where rows share nothing.
int64_t tileRowsOf(dataflow::KernelOp kernel, const TargetDescription &target);

/// The names of all targets, for messages: "x86-64-v3, x86-64-v4".
std::string targetNames();

/// The most capable target this machine can run, or null when it can run none. Targets
/// whose further instructions only some programs make use of count where they are `useful`, the
/// least capable first.
const TargetDescription *nativeTarget(llvm::ArrayRef<std::string> useful);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_H
