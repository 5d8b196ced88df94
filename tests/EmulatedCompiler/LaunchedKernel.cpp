// SPDX-License-Identifier: Apache-2.0
///
/// Calls the emulated driver by name, as the runtime does.
#include "tests/EmulatedCompiler/LaunchedKernel.h"

#include "compiler/CompileOptions.h"
#include "compiler/Link/CodeCache.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Pipeline.h"
#include "tests/base/TemporaryFolder.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>

namespace heddle {

static void *driverFunction(const char *name) {
  static void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void *const address = library == nullptr ? nullptr : ::dlsym(library, name);
  if (address == nullptr) {
    ADD_FAILURE() << "no " << name << " in the emulated GPU's libcuda.so.1";
    std::abort();
  }
  return address;
}
template <typename... Arguments> static int call(const char *name, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(driverFunction(name))(arguments...);
}
template <typename... Arguments> static void mustCall(const char *name, Arguments... arguments) {
  EXPECT_EQ(call(name, arguments...), 0) << name;
}

HeddleBankUses bankUsesOf(llvm::function_ref<void()> launch) {
  auto *const banks =
      reinterpret_cast<HeddleEmulatorBanks *>(driverFunction("heddle_emulator_banks"));
  banks(/*isWanted=*/1);
  launch();
  return banks(/*isWanted=*/0);
}

double extraPassesOf(llvm::function_ref<void()> launch) {
  const HeddleBankUses uses = bankUsesOf(launch);
  EXPECT_GT(uses.least, 0U);
  return double(uses.passes) / double(uses.least) - 1;
}

// --- the emulated driver -----------------------------------------------------------------------

EmulatedGpu::EmulatedGpu() {
  mustCall("cuInit", 0U);
  void *context = nullptr;
  mustCall("cuDevicePrimaryCtxRetain", &context, 0);
  mustCall("cuCtxPushCurrent_v2", context);
}

EmulatedGpu::~EmulatedGpu() {
  for (const uint64_t address : allocations) {
    call("cuMemFree_v2", address);
  }
  if (module != nullptr) {
    call("cuModuleUnload", module);
  }
  void *context = nullptr;
  call("cuCtxPopCurrent_v2", &context);
  call("cuDevicePrimaryCtxRelease_v2", 0);
}

void EmulatedGpu::load(llvm::ArrayRef<char> image) {
  mustCall("cuModuleLoadDataEx", &module, static_cast<const void *>(image.data()), 0U,
           static_cast<int *>(nullptr), static_cast<void **>(nullptr));
}

void *EmulatedGpu::entry(const std::string &name) {
  void *function = nullptr;
  mustCall("cuModuleGetFunction", &function, module, name.c_str());
  return function;
}

uint64_t EmulatedGpu::send(const void *values, size_t bytes) {
  uint64_t address = 0;
  mustCall("cuMemAlloc_v2", &address, bytes);
  allocations.push_back(address);
  void *pinned = nullptr;
  mustCall("cuMemHostAlloc", &pinned, bytes, 0U);
  std::memcpy(pinned, values, bytes);
  mustCall("cuMemcpyHtoDAsync_v2", address, static_cast<const void *>(pinned), bytes,
           static_cast<void *>(nullptr));
  mustCall("cuMemFreeHost", pinned);
  return address;
}

uint64_t EmulatedGpu::sendLaunch(const std::vector<uint64_t> &operands,
                                 const std::vector<uint64_t> &spaces, const KernelLaunch &launch) {
  const auto pointer = [](uint64_t address) { return reinterpret_cast<void *>(address); };
  const auto memoryOf = [&](int64_t bytes) {
    return pointer(send(std::vector<float>(static_cast<size_t>(bytes) / sizeof(float),
                                           std::numeric_limits<float>::quiet_NaN())));
  };
  HeddleSections sections = {launch.sections, nullptr};
  if (launch.sections > 1) {
    sections.partials =
        memoryOf(launch.rowEnd * launch.columnEnd * launch.sections * launch.partialBytes);
  }
  HeddleRoundedRows rounded = {nullptr};
  if (launch.roundsBefore) {
    const auto rows = static_cast<int64_t>(
        llvm::alignTo(static_cast<uint64_t>(launch.rowEnd - launch.rowBegin), HEDDLE_ROUNDED_ROWS));
    rounded.rows = memoryOf(rows * launch.roundedBytes);
  }
  const uint64_t scratch =
      launch.roundedBytes == 0 ? send(&sections, sizeof sections) : send(&rounded, sizeof rounded);
  const HeddleKernelContext context = {
      static_cast<void *const *>(pointer(send(operands))),
      static_cast<const HeddleRows *const *>(pointer(send(spaces))), pointer(scratch)};
  HeddleDeviceLaunch record = {
      static_cast<const HeddleKernelContext *>(pointer(send(&context, sizeof context))),
      launch.rowBegin,
      launch.rowEnd,
      launch.columnBegin,
      launch.columnEnd,
      1,
      0};
  mergeRecord = send(&record, sizeof record);
  record.column_end *= launch.sections;
  return send(&record, sizeof record);
}

std::string EmulatedGpu::run(void *function, uint64_t record, const KernelLaunch &launch) {
  void *parameters[] = {&record};
  // Launches with more shared memory than usual need an attribute of the kernel, as in CudaProgram.
  constexpr unsigned usualShared = 48 * 1024;
  constexpr int dynamicShared = 8;
  if (launch.shared > usualShared) {
    mustCall("cuFuncSetAttribute", function, dynamicShared, int(launch.shared));
  }
  mustCall("cuStreamSynchronize", static_cast<void *>(nullptr));
  call("heddle_emulator_record");
  mustCall("cuLaunchKernel", function, launch.blocks, 1U, 1U, launch.threads, 1U, 1U, launch.shared,
           static_cast<void *>(nullptr), static_cast<void **>(parameters),
           static_cast<void **>(nullptr));
  return wait();
}

/// Waits for a kernel; returns its error report, or an empty string.
std::string EmulatedGpu::wait() {
  const int code = call("cuStreamSynchronize", static_cast<void *>(nullptr));
  std::string journal(size_t(1) << 16, '\0');
  journal.resize(reinterpret_cast<HeddleEmulatorJournal *>(
      driverFunction("heddle_emulator_journal"))(journal.data(), journal.size()));
  const size_t said = journal.rfind("\n! ");
  return code == 0 ? ""
         : said == std::string::npos
             ? "error " + std::to_string(code)
             : journal.substr(said + 3, journal.find('\n', said + 1) - said - 3);
}

std::vector<float> EmulatedGpu::fetch(uint64_t address, size_t count) {
  void *pinned = nullptr;
  const size_t bytes = count * sizeof(float);
  mustCall("cuMemHostAlloc", &pinned, bytes, 0U);
  mustCall("cuMemcpyDtoHAsync_v2", pinned, address, bytes, static_cast<void *>(nullptr));
  mustCall("cuStreamSynchronize", static_cast<void *>(nullptr));
  std::vector<float> values(count);
  std::memcpy(values.data(), pinned, bytes);
  mustCall("cuMemFreeHost", pinned);
  return values;
}

// --- blocks of caches --------------------------------------------------------------------------

std::string KeptBlock::type() const {
  const std::string codes = "!transformer.quantized<i8, " + std::to_string(shared) + ">";
  const std::string element = kept == Kept::F32 ? "f32" : kept == Kept::Bf16 ? "bf16" : codes;
  return "!dataflow.cache<[" + std::to_string(width) + "], " + element + ", " +
         (areKeys ? "keys" : "rows") + ">";
}

int64_t KeptBlock::positionBytes() const {
  return kept == Kept::F32    ? width * int64_t(sizeof(float))
         : kept == Kept::Bf16 ? width * int64_t(sizeof(uint16_t))
                              : scaleBytes() + int64_t(llvm::alignTo(width, sizeof(float)));
}

int64_t KeptBlock::elementAt(int64_t position, int64_t element) const {
  if (kept == Kept::Codes) {
    // Scales come first: those of all keys, or those of each row.
    return areKeys ? scaleBytes() * HEDDLE_BLOCK + element * HEDDLE_BLOCK + position
                   : position * positionBytes() + scaleBytes() + element;
  }
  const int64_t bytes = positionBytes() / width;
  return bytes * (areKeys ? element * HEDDLE_BLOCK + position : position * width + element);
}

int64_t KeptBlock::scaleAt(int64_t position, int64_t element) const {
  const int64_t scale = element / shared * int64_t(sizeof(float));
  return areKeys ? scale * HEDDLE_BLOCK + position * int64_t(sizeof(float))
                 : position * positionBytes() + scale;
}

// --- a kernel ----------------------------------------------------------------------------------

/// Compiles a program to the llvm dialect, with or without the kernels that measure a GPU.
static mlir::OwningOpRef<mlir::ModuleOp> compileModule(mlir::MLIRContext &context,
                                                       const std::string &program,
                                                       const std::string &target, bool hasRoofs) {
  registerDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  PipelineOptions options;
  options.targets = {target};
  const auto run = [&](Phase phase) {
    mlir::PassManager manager(&context);
    buildPhase(manager, phase, options);
    EXPECT_TRUE(module && succeeded(manager.run(*module))) << program;
  };
  run(Phase::Kernels);
  if (!hasRoofs) {
    auto kernels = mlir::cast<mlir::ModuleOp>(mlir::SymbolTable::lookupSymbolIn(*module, target));
    for (mlir::Operation &each : llvm::make_early_inc_range(*kernels.getBody())) {
      auto symbol = mlir::dyn_cast<mlir::SymbolOpInterface>(each);
      if (symbol && symbol.getName().starts_with("roof$")) {
        each.erase();
      }
    }
  }
  run(Phase::Llvm);
  return module;
}

int randomKernels(int few) {
  const char *const times = std::getenv("HEDDLE_RANDOM_KERNELS");
  return times == nullptr ? few : few * std::max(1, std::atoi(times));
}

/// Returns a cache of this process: some tests compile a kernel several times.
static const CodeCache *codeOfProcess() {
  static const TemporaryFolder folder;
  static const Result<CodeCache> cache = CodeCache::open(folder / "code");
  EXPECT_TRUE(cache.ok()) << cache.status().message();
  return cache.ok() ? &*cache : nullptr;
}

static Code imageOf(mlir::ModuleOp module) {
  const Result<CompiledKernels> code = compileKernels(module, codeOfProcess(), {});
  EXPECT_TRUE(code.ok()) << code.status().message();
  return code.ok() ? code->images.front().second.bytes : Code();
}

Code compileImage(const std::string &program, const std::string &target,
                  llvm::function_ref<void(mlir::ModuleOp)> change) {
  mlir::MLIRContext context;
  const auto module = compileModule(context, program, target, /*hasRoofs=*/true);
  if (change) {
    change(*module);
  }
  return imageOf(*module);
}

CompiledKernel::CompiledKernel(const std::string &program, const std::string &name,
                               const std::string &target)
    : name(name), target(target),
      module(compileModule(context, program, target, /*hasRoofs=*/false)) {}

mlir::LLVM::LLVMFuncOp CompiledKernel::body() const {
  auto kernels = mlir::cast<mlir::ModuleOp>(mlir::SymbolTable::lookupSymbolIn(*module, target));
  return mlir::cast<mlir::LLVM::LLVMFuncOp>(
      mlir::SymbolTable::lookupSymbolIn(kernels, kernelFunctionName(name, target)));
}

KernelLaunch CompiledKernel::launchOf(int64_t rows, int64_t columns) const {
  const TargetDescription &described = *findTarget(target);
  auto kernel = mlir::cast<dataflow::KernelOp>(mlir::SymbolTable::lookupSymbolIn(*module, name));
  const manifest::LaunchShape launch = described.backend->launchShapeOf(kernel, described);
  KernelLaunch whole = {0, rows, 0, columns, /*blocks=*/2, launch.threads(), launch.shared()};
  whole.partialBytes = launch.partial_bytes();
  whole.roundedBytes = launch.rounded_bytes();
  return whole;
}

KernelOutcome CompiledKernel::run(const KernelLaunch &launch, size_t count, int64_t rowElements,
                                  const Send &send) const {
  if (image.empty()) {
    image = imageOf(*module);
    if (image.empty()) {
      return {};
    }
  }
  EmulatedGpu gpu;
  const auto entryOf = [&](const std::string &kernel) {
    return gpu.entry(findTarget(target)->backend->symbolOf(kernel, *findTarget(target)));
  };
  gpu.load(image);
  const std::vector<float> nothing(count, std::numeric_limits<float>::quiet_NaN());
  const uint64_t memory = gpu.send(nothing);
  const HeddleResult result = {reinterpret_cast<void *>(memory), 0, 0, rowElements};
  const uint64_t record = send(gpu, gpu.send(&result, sizeof result), memory);
  std::string report;
  if (launch.roundsBefore) {
    KernelLaunch round = launch;
    round.threads = HEDDLE_ROUND_THREADS;
    round.shared = HEDDLE_ALIGNMENT;
    report = gpu.run(entryOf(roundKernelName(name)), record, round);
  }
  report = report.empty() ? gpu.run(entryOf(name), record, launch) : report;
  if (report.empty() && launch.sections > 1) {
    KernelLaunch merge = launch;
    merge.threads = HEDDLE_MERGE_THREADS;
    merge.shared = HEDDLE_ALIGNMENT;
    report = gpu.run(entryOf(mergeKernelName(name)), gpu.recordOfMerge(), merge);
  }
  return {report.empty() ? gpu.fetch(memory, count) : std::vector<float>(), report};
}

} // namespace heddle
