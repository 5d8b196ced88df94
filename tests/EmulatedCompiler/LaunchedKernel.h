// SPDX-License-Identifier: Apache-2.0
///
/// A kernel, compiled for the emulated GPU and launched by the functions of its driver. Between
/// both steps a test may change the code.
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

/// The work of a launch, and its shape.
struct KernelLaunch {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
  unsigned blocks = 2;
  unsigned threads = 128;
  unsigned shared = 0;
};

/// A result, or what the emulated GPU says of the kernel; and how it has used banks.
struct KernelOutcome {
  std::vector<float> values;
  std::string report;
  HeddleBankUses banks;
};

/// A context of the emulated driver, and what is allocated in it: exactly as much as is sent, so
/// that a kernel that goes beyond is found.
class EmulatedGpu {
public:
  EmulatedGpu();
  EmulatedGpu(const EmulatedGpu &) = delete;
  EmulatedGpu &operator=(const EmulatedGpu &) = delete;
  ~EmulatedGpu();

  /// The entry of an image.
  void *load(llvm::ArrayRef<char> image, const std::string &entry);
  uint64_t send(const void *values, size_t bytes);
  template <typename Element> uint64_t send(const std::vector<Element> &values) {
    return send(values.data(), values.size() * sizeof(Element));
  }
  /// The record of a launch: operands and row spaces are addresses.
  uint64_t sendLaunch(const std::vector<uint64_t> &operands, const std::vector<uint64_t> &spaces,
                      const KernelLaunch &launch);
  /// Launches an entry with a record and waits for it; what there is to say of it.
  std::string run(void *function, uint64_t record, const KernelLaunch &launch);
  std::vector<float> fetch(uint64_t address, size_t count);

private:
  std::string wait();

  std::vector<uint64_t> allocations;
  void *module = nullptr;
};

/// The code of one kernel for a GPU, in the llvm dialect.
class CompiledKernel {
public:
  /// `program` defines the kernel of that name.
  CompiledKernel(const std::string &program, const std::string &name, const std::string &target);

  /// The function that all threads of a block call.
  mlir::LLVM::LLVMFuncOp body() const;
  /// How the manifest has it launched, over so many rows and columns.
  KernelLaunch launchOf(int64_t rows, int64_t columns) const;
  /// Launches what the code was when it was run first. `send` sends what it reads beside its
  /// result, a HeddleResult of `rowElements`, and gives the record. The result has `count` numbers
  /// and begins as NaN.
  using Send = std::function<uint64_t(EmulatedGpu &, uint64_t result)>;
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
