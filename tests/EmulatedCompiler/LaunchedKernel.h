// SPDX-License-Identifier: Apache-2.0
///
/// A kernel that is compiled for the emulated GPU and launched through its driver. Tests may change
/// the code between these steps.
#ifndef HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDKERNEL_H
#define HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDKERNEL_H

#include "compiler/Target/Target.h"
#include "heddle/Abi.h"
#include "tests/Emulator/Emulator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle {

/// What a cache stores.
enum class Kept : uint8_t { F32, Bf16, Codes };

/// The layout of a cache's blocks (compiler/Target/Emitters/CacheBlock.h), written once more for
/// tests: `width` elements of a position, of which `shared` have a scale of codes in common.
struct KeptBlock {
  Kept kept;
  int64_t width, shared;
  bool areKeys;

  /// Returns the type of the cache, as IR has it.
  std::string type() const;
  int64_t scaleBytes() const { return width / shared * int64_t(sizeof(float)); }
  int64_t positionBytes() const;
  int64_t bytes() const { return HEDDLE_BLOCK * positionBytes(); }
  /// Return where an element of a position begins, and its scale.
  int64_t elementAt(int64_t position, int64_t element) const;
  int64_t scaleAt(int64_t position, int64_t element) const;
};

/// The work of a launch, and its shape.
struct KernelLaunch {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
  unsigned blocks = 2;
  unsigned threads = 128;
  unsigned shared = 0;
  /// Into how many sections keys are divided among blocks (HeddleSections), and the bytes of a
  /// partial result; columns are those of the kernel.
  int64_t sections = 1;
  int64_t partialBytes = 0;
  /// The bytes of a rounded row, if large launches of the kernel round their rows before
  /// (HeddleRoundedRows), and whether this one does.
  int64_t roundedBytes = 0;
  bool roundsBefore = false;
};

/// The result, or the emulated GPU's report of an error.
struct KernelOutcome {
  std::vector<float> values;
  std::string report;
};

/// Returns how launches use the banks of shared memory.
HeddleBankUses bankUsesOf(llvm::function_ref<void()> launch);
/// Returns their passes over the banks beyond the minimum, relative to it.
double extraPassesOf(llvm::function_ref<void()> launch);

/// A context of the emulated driver, and its allocations. They have exactly the size of the data,
/// so that accesses out of bounds are detected.
class EmulatedGpu {
public:
  EmulatedGpu();
  EmulatedGpu(const EmulatedGpu &) = delete;
  EmulatedGpu &operator=(const EmulatedGpu &) = delete;
  ~EmulatedGpu();

  void load(llvm::ArrayRef<char> image);
  /// Returns an entry of the image.
  void *entry(const std::string &name);
  uint64_t send(const void *values, size_t bytes);
  template <typename Element> uint64_t send(const std::vector<Element> &values) {
    return send(values.data(), values.size() * sizeof(Element));
  }
  /// Sends the record of a launch: operands and row spaces are addresses. If it has sections or
  /// rounds its rows before, their memory initially contains NaN; recordOfMerge() is the record of
  /// what merges sections.
  uint64_t sendLaunch(const std::vector<uint64_t> &operands, const std::vector<uint64_t> &spaces,
                      const KernelLaunch &launch);
  /// Launches an entry with a record and waits for it; returns the report of an error, or an empty
  /// string.
  std::string run(void *function, uint64_t record, const KernelLaunch &launch);
  uint64_t recordOfMerge() const { return mergeRecord; }
  std::vector<float> fetch(uint64_t address, size_t count);

private:
  std::string wait();

  std::vector<uint64_t> allocations;
  void *module = nullptr;
  uint64_t mergeRecord = 0;
};

/// Returns how many random kernels a test tries that tries `few` of them every day:
/// HEDDLE_RANDOM_KERNELS times as many.
int randomKernels(int few);

/// Compiles a program to an image. `change` may change its module, in the llvm dialect.
Code compileImage(const std::string &program, const std::string &target,
                  llvm::function_ref<void(mlir::ModuleOp)> change = nullptr);

/// The code of one kernel for a GPU, in the llvm dialect.
class CompiledKernel {
public:
  /// Compiles `program`, which defines the kernel `name`.
  CompiledKernel(const std::string &program, const std::string &name, const std::string &target);

  /// Returns the function that all threads of a block call.
  mlir::LLVM::LLVMFuncOp body() const;
  /// Returns the launch that the manifest describes, over `rows` rows and `columns` columns.
  KernelLaunch launchOf(int64_t rows, int64_t columns) const;
  /// Launches the kernel; later calls run the code of the first call, even if it has changed since.
  /// `send` sends the operands other than the result, and returns the address of the launch record;
  /// it is passed the address of a HeddleResult with rows of `rowElements`, and of its memory. The
  /// result has `count` numbers and initially contains NaN.
  using Send = std::function<uint64_t(EmulatedGpu &, uint64_t result, uint64_t memory)>;
  KernelOutcome run(const KernelLaunch &launch, size_t count, int64_t rowElements,
                    const Send &send) const;

private:
  std::string name, target;
  mutable mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mutable Code image;
};

} // namespace heddle

#endif // HEDDLE_TESTS_EMULATEDCOMPILER_LAUNCHEDKERNEL_H
