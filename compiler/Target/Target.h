// SPDX-License-Identifier: Apache-2.0
///
/// Describes machines for code generation: registers, lanes, cache sizes, and their names in LLVM.
/// Emitters use this description, never the name of a target. All other differences are behind the
/// back end's interface, so that other code does not depend on the folder of a back end.
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

/// How 8-bit products are accumulated in 32 bits, always exactly: one at a time as 32-bit numbers;
/// two per instruction into 16 bits, then widened by another; four per instruction.
enum class IntegerProducts : uint8_t { Single, Pairs, Fours };

inline constexpr int64_t kKibibyte = 1024;
/// The element types that code of every target reads from weights and caches.
inline constexpr ElementType kStoredElements[] = {ElementType::F32, ElementType::BF16,
                                                  ElementType::I8};

/// A target of the compiler.
struct TargetDescription {
  /// The name in --target, the manifest and `heddle --isa`.
  llvm::StringRef name;
  /// LLVM's triple and processor.
  llvm::StringRef triple;
  llvm::StringRef processor;
  /// Additional features of the processor, in LLVM's syntax: "+avx512vnni".
  llvm::StringRef features;
  /// The f32 lanes of a vector register.
  int64_t lanes;
  /// The register tile of a matrix product: rows times vectors of accumulators. It leaves one
  /// register for a broadcast element and `tileVectors` for the weights.
  int64_t tileRows;
  int64_t tileVectors;
  /// The columns of the panels in which matrices of products are stored, see encodeMatrix(). Also
  /// the size of one column of work if a target divides elements.
  int64_t panelColumns;
  /// Whether x * 2^n is one instruction, for any n (AVX-512's vscalefps).
  bool hasScale;
  /// How 8-bit products are accumulated.
  IntegerProducts integerProducts;
  /// Whether one instruction adds two bf16 products to f32.
  bool hasBf16DotProduct;
  /// Whether AMX is available: tile registers for bf16 products and 8-bit integer products.
  bool hasAmx;
  /// Bytes of L2 cache to assume per core.
  int64_t cacheBytes;
  /// The stored element types of weights that its code reads (integers are codes), and those of
  /// caches that it reads and writes.
  llvm::ArrayRef<ElementType> weightElements;
  llvm::ArrayRef<ElementType> cacheElements;
  /// The back end.
  const TargetBackend *backend;
};

/// Returns all targets, the least capable first.
llvm::ArrayRef<TargetDescription> allTargets();

/// Registers the dialects of all back ends, see TargetBackend::registerDialects().
void registerTargetDialects(mlir::DialectRegistry &registry);

/// Returns the target with a name, or null.
const TargetDescription *findTarget(llvm::StringRef name);

/// Parses a target in options, NAME or NAME:COLUMNS. The latter stores the matrices of products in
/// panels of this width, a multiple of panelStep() up to mostPanelColumns. On failure `reason` says
/// what is wrong with the text.
mlir::FailureOr<TargetDescription> parseTarget(llvm::StringRef text, std::string &reason);
inline constexpr int64_t mostPanelColumns = 128;
/// Returns the step of panel widths: whole vectors, and whole words of 4-bit codes.
int64_t panelStep(const TargetDescription &target);

/// Prints a target as parseTarget() reads it, without the columns if they are the default.
std::string targetText(const TargetDescription &target);

/// Create the module for a target's kernels, which is named after the target and records a panel
/// width other than the default; and return the target of such a module: null for other modules,
/// failure with `reason` for an invalid panel width.
mlir::ModuleOp createTargetModule(mlir::OpBuilder &builder, mlir::Location location,
                                  const TargetDescription &target);
mlir::FailureOr<std::optional<TargetDescription>> targetOf(mlir::ModuleOp module,
                                                           std::string &reason);

/// Parses the targets of a pass; emits an error for an unknown target, or if there is none.
mlir::FailureOr<std::vector<TargetDescription>> findTargets(llvm::ArrayRef<std::string> texts,
                                                            mlir::Location location);

/// How a target stores a matrix: a parameter expression, its type, and a name.
struct MatrixEncoding {
  std::string name;
  transformer::ParameterExpressionAttr expression;
  mlir::RankedTensorType type;
  /// Whether look-ups of the target can read single rows of the encoded matrix.
  bool hasRows;
};

/// Bytes of scratch memory per caller of a kernel, plus bytes for each row of the longest sequence.
struct KernelScratch {
  uint64_t fixed = 0;
  uint64_t perLongest = 0;
};

/// Bytes of a relocatable object, or of assembly.
using Code = llvm::SmallVector<char, 0>;

/// One function of a target's kernels, compiled separately.
struct CodeUnit {
  std::string name;
  /// The input of the compiler. Equal bytes give equal code, independent of other functions.
  Code source;
};

/// All kernels of a target in the form that a device loads.
struct DeviceImage {
  manifest::ImageKind kind;
  Code bytes;
  /// The program that created it, and its version.
  std::string compiler;
};

/// Optional external programs that create additional images; empty: none.
struct DeviceTools {
  /// Assembles PTX to a cubin.
  std::string ptxas;
};

/// Compiles one target's kernels to code.
class TargetCode {
public:
  virtual ~TargetCode() = default;
  virtual llvm::ArrayRef<CodeUnit> units() const = 0;
  /// Returns everything except the source that determines the code of a unit: compiler, machine and
  /// options.
  virtual std::string compilerIdentity() const = 0;
  /// Optimises and compiles a unit to an object, which is linked with all others of the program, or
  /// to input of images(). Thread-safe.
  virtual Result<Code> compile(const CodeUnit &unit) const = 0;
  /// Returns the images of a target with a launch unit, in order of preference, from the code of
  /// all units in order; none for other targets.
  virtual Result<std::vector<DeviceImage>> images(llvm::ArrayRef<Code> code,
                                                  const DeviceTools &tools) const = 0;
  /// Returns the assembly of all units.
  virtual Result<Code> assembly() const = 0;
};

/// A function of a target beside that of a kernel.
struct KernelCompanion {
  std::string name;
  /// Writes the function.
  void (*emit)(VectorCode &code, const KernelBody &body);
};

/// The interface of a back end to its targets.
class TargetBackend {
public:
  virtual ~TargetBackend() = default;
  /// Registers the dialects beside MLIR's generic ones in which this back end writes kernels, with
  /// their translation to LLVM IR. Lowering to the llvm dialect leaves their operations as they
  /// are.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Describes the machines that run a target, for users: "processors with vectors of 8 f32
  /// numbers".
  virtual std::string describe(const TargetDescription &target) const = 0;
  /// Returns the encoding in which products of a target read `matrix`, [groups * n, k], as an input
  /// of role Matrix.
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
  /// Writes the computation of a kernel into its function, with the emitter of its family or one of
  /// this back end.
  virtual void emitKernel(VectorCode &code, const KernelBody &body) const = 0;
  /// Returns the functions that may run directly before or after that of a kernel.
  virtual llvm::SmallVector<KernelCompanion>
  companionsOf(dataflow::KernelOp kernel, const TargetDescription &target) const = 0;
  /// Writes the norm of a kernel's finished rows into its function.
  virtual void emitFinish(VectorCode &code, const KernelBody &body) const = 0;
  /// What a kernel, or its finish, is called by whoever launches it.
  virtual std::string symbolOf(llvm::StringRef kernel, const TargetDescription &target) const = 0;
  /// Adds device entry points beside the functions in a module of kernels.
  virtual void addEntries(mlir::ModuleOp module, const TargetDescription &target) const = 0;
  /// Sets the attributes of a function of the llvm dialect that LLVM needs besides the processor;
  /// `isShared` for functions that kernels share.
  virtual void setAttributes(mlir::LLVM::LLVMFuncOp function, const TargetDescription &target,
                             bool isShared) const = 0;
  /// Translates a module of the llvm dialect. Not thread-safe: it uses the module's context.
  virtual Result<std::unique_ptr<TargetCode>> translate(mlir::ModuleOp module,
                                                        const TargetDescription &target) const = 0;
};

/// Returns the name of a kernel's function for a target in a program.
std::string kernelFunctionName(llvm::StringRef kernel, llvm::StringRef target);
/// Returns the name of a norm as a separate kernel.
std::string finishKernelName(llvm::StringRef kernel);
/// Return the names of the functions that merge the partial results of a kernel (HeddleSections in
/// heddle/Abi.h) and that round its rows before (HeddleRoundedRows).
std::string mergeKernelName(llvm::StringRef kernel);
std::string roundKernelName(llvm::StringRef kernel);

/// Rows that a kernel whose rows share work computes together on a target: work is divided at
/// multiples of it. One where rows share nothing.
int64_t tileRowsOf(dataflow::KernelOp kernel, const TargetDescription &target);

/// The names of all targets, for messages: "x86-64-v3, x86-64-v4".
std::string targetNames();

/// Returns the most capable target that this process can run, or null if there is none. Targets
/// whose additional instructions only some programs use are considered only if they are in
/// `useful`, ordered from the least capable.
const TargetDescription *nativeTarget(llvm::ArrayRef<std::string> useful);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_H
