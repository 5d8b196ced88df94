// SPDX-License-Identifier: Apache-2.0
///
/// Operands have allocations of exactly their size, so that a kernel that goes beyond is found. The
/// result begins as NaN.
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include "compiler/CompileOptions.h"
#include "compiler/Link/LinkModel.h"
#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Pipeline.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/FormatVariadic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {

// --- operands ----------------------------------------------------------------------------------

/// The upper half of a number, which is bf16.
static float truncated(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xFFFF0000U);
}

ProductOperands::ProductOperands(const ProductShape &shape, uint32_t seed) : shape(shape) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  auto fill = [&](std::vector<float> &values, int64_t count) {
    values.resize(static_cast<size_t>(count));
    for (float &value : values) {
      value = number(random);
    }
  };
  fill(rows, shape.rows * shape.rowElements());
  fill(weights, shape.n * shape.k);
  fill(bias, shape.n);
  fill(residual, shape.rows * shape.n);
  if (shape.isBf16) {
    for (float &weight : weights) {
      weight = truncated(weight);
    }
  }
}

/// Rounded to bf16, ties to even.
static float rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return truncated(std::bit_cast<float>(bits + 0x7FFFU + (bits >> 16 & 1)));
}

/// Rounded to tf32, ties away from zero.
static float roundedToTf32(float value) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000U) & ~0x1FFFU);
}

namespace {
/// A number of f32 as the sum of two of tf32.
struct Halves {
  float high, low;

  explicit Halves(float value)
      : high(roundedToTf32(value)), low(roundedToTf32(value - roundedToTf32(value))) {}
};
} // namespace

/// A sum over k of `product(k)`, as tensor cores add so many steps without loss.
template <typename Function>
static float addTogether(float sum, int64_t first, int64_t end, Function product) {
  double all = sum;
  for (int64_t k = first; k < end; ++k) {
    all += product(k);
  }
  return static_cast<float>(all);
}

float ProductOperands::sumOf(int64_t row, int64_t column) const {
  const float *const factors = rows.data() + row * shape.rowElements();
  const float *const own = weights.data() + column * shape.k;
  float sum = 0;
  const bool isExact = shape.products == FloatProducts::Exact;
  if (!shape.roundsRows && isExact) {
    for (int64_t k = 0; k < shape.k; ++k) {
      sum = std::fma(factors[k], own[k], sum);
    }
    return sum;
  }
  const int64_t together = isExact ? 16 : 8;
  for (int64_t first = 0; first < shape.k; first += together) {
    const int64_t end = std::min(first + together, shape.k);
    const auto add = [&](auto product) { sum = addTogether(sum, first, end, product); };
    switch (shape.products) {
    case FloatProducts::Exact:
      add([&](int64_t k) { return double(rounded(factors[k])) * double(own[k]); });
      break;
    case FloatProducts::Tf32:
      add([&](int64_t k) {
        return double(roundedToTf32(factors[k])) * double(roundedToTf32(own[k]));
      });
      break;
    case FloatProducts::Tf32x3:
      add([&](int64_t k) { return double(Halves(factors[k]).low) * double(Halves(own[k]).high); });
      add([&](int64_t k) { return double(Halves(factors[k]).high) * double(Halves(own[k]).low); });
      add([&](int64_t k) { return double(Halves(factors[k]).high) * double(Halves(own[k]).high); });
      break;
    }
  }
  return sum;
}

double ProductOperands::exactSum(int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t k = 0; k < shape.k; ++k) {
    sum += double(rows[size_t(row * shape.rowElements() + k)]) *
           double(weights[size_t(column * shape.k + k)]);
  }
  return sum;
}

double ProductOperands::sumOfMagnitudes(int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t k = 0; k < shape.k; ++k) {
    sum += std::abs(double(rows[size_t(row * shape.rowElements() + k)]) *
                    double(weights[size_t(column * shape.k + k)]));
  }
  return sum;
}

float ProductOperands::expected(int64_t row, int64_t column) const {
  // The compiler of this file must not make an FMA of it.
  volatile float biased = sumOf(row, column) + bias[size_t(column)];
  return biased + residual[size_t(row * shape.n + column)];
}

std::vector<std::byte> ProductOperands::panels() const {
  const size_t bytes = shape.isBf16 ? 2 : 4;
  constexpr int64_t columns = ProductShape::panelColumns;
  // Elements of a column that lie together, where rows are rounded.
  const int64_t together = shape.roundsRows ? 2 : 1;
  const int64_t steps = (shape.k + together - 1) / together;
  std::vector<std::byte> packed(size_t(shape.panels() * steps * columns * together) * bytes);
  for (int64_t column = 0; column < shape.n; ++column) {
    for (int64_t k = 0; k < shape.k; ++k) {
      const int64_t panel = column / columns;
      const int64_t inColumns = (panel * steps + k / together) * columns + column % columns;
      const auto place = size_t(inColumns * together + k % together);
      const auto bits = std::bit_cast<uint32_t>(weights[size_t(column * shape.k + k)]);
      const uint32_t stored = shape.isBf16 ? bits >> 16 : bits;
      std::memcpy(packed.data() + place * bytes, &stored, bytes);
    }
  }
  return packed;
}

// --- the emulated driver -----------------------------------------------------------------------

namespace {
template <typename... Arguments> int call(const char *name, Arguments... arguments) {
  static void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void *const address = library == nullptr ? nullptr : ::dlsym(library, name);
  if (address == nullptr) {
    ADD_FAILURE() << "no " << name << " in the emulated GPU's libcuda.so.1";
    std::abort();
  }
  return reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
}
template <typename... Arguments> void mustCall(const char *name, Arguments... arguments) {
  EXPECT_EQ(call(name, arguments...), 0) << name;
}

HeddleBankUses takeBankUses() {
  static void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<HeddleEmulatorBanks *>(::dlsym(library, "heddle_emulator_banks"))();
}

/// A context, what is allocated in it, and what becomes of it.
class Gpu {
public:
  Gpu() {
    mustCall("cuInit", 0U);
    void *context = nullptr;
    mustCall("cuDevicePrimaryCtxRetain", &context, 0);
    mustCall("cuCtxPushCurrent_v2", context);
  }
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
  ~Gpu() {
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

  void *load(const Code &image, const std::string &entry) {
    void *function = nullptr;
    mustCall("cuModuleLoadDataEx", &module, static_cast<const void *>(image.data()), 0U,
             static_cast<int *>(nullptr), static_cast<void **>(nullptr));
    mustCall("cuModuleGetFunction", &function, module, entry.c_str());
    return function;
  }
  uint64_t send(const void *values, size_t bytes) {
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
  template <typename Element> uint64_t send(const std::vector<Element> &values) {
    return send(values.data(), values.size() * sizeof(Element));
  }
  /// Waits for the kernel; what was there to say of it.
  std::string wait() {
    const int code = call("cuStreamSynchronize", static_cast<void *>(nullptr));
    std::string journal(size_t(1) << 16, '\0');
    static void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto *const read =
        reinterpret_cast<HeddleEmulatorJournal *>(::dlsym(library, "heddle_emulator_journal"));
    journal.resize(read(journal.data(), journal.size()));
    const size_t said = journal.rfind("\n! ");
    return code == 0 ? ""
           : said == std::string::npos
               ? "error " + std::to_string(code)
               : journal.substr(said + 3, journal.find('\n', said + 1) - said - 3);
  }
  std::vector<float> fetch(uint64_t address, size_t count) {
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

private:
  std::vector<uint64_t> allocations;
  void *module = nullptr;
};

/// The record of a launch in the GPU's memory.
uint64_t sendLaunch(Gpu &gpu, const ProductOperands &operands, const ProductLaunch &launch,
                    uint64_t result) {
  auto pointer = [](uint64_t address) { return reinterpret_cast<void *>(address); };
  const HeddleResult written = {pointer(result), 0, 0, operands.shape.n};
  const std::vector<void *> list = {
      pointer(gpu.send(&written, sizeof written)), pointer(gpu.send(operands.rows)),
      pointer(gpu.send(operands.panels())), pointer(gpu.send(operands.bias)),
      pointer(gpu.send(operands.residual))};
  HeddleRows rows = {};
  rows.count = rows.longest = operands.shape.rows;
  const std::vector<void *> spaces = {pointer(gpu.send(&rows, sizeof rows))};
  const HeddleKernelContext context = {
      static_cast<void *const *>(pointer(gpu.send(list))),
      static_cast<const HeddleRows *const *>(pointer(gpu.send(spaces))), nullptr};
  const HeddleDeviceLaunch record = {
      static_cast<const HeddleKernelContext *>(pointer(gpu.send(&context, sizeof context))),
      launch.rowBegin,
      launch.rowEnd,
      launch.columnBegin,
      launch.columnEnd,
      1,
      0};
  return gpu.send(&record, sizeof record);
}
} // namespace

// --- the product -------------------------------------------------------------------------------

static std::string noteOf(FloatProducts products) {
  const std::string name = floatProductsName(products).str();
  return name.empty() ? name : " attributes {dataflow.float_products = \"" + name + "\"}";
}

static std::string programOf(const ProductShape &shape) {
  const std::string rows = llvm::formatv(
      "[tokens, {0}]{1}", shape.k, shape.stride == 0 ? "" : " in " + std::to_string(shape.stride));
  return llvm::formatv(R"(
!y = !dataflow.buffer<[tokens, {0}], f32>
dataflow.kernel @product : (!dataflow.buffer<{2}, f32>, !dataflow.buffer<[{0}, {1}], {3}>, !dataflow.buffer<[{0}], f32>, !y) -> !y
    computes #dataflow.contract<n = {0}, k = {1}{4}>{5} {{
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}
)",
                       shape.n, shape.k, rows, shape.isBf16 ? "bf16" : "f32",
                       shape.roundsRows ? ", arithmetic = bf16" : "", noteOf(shape.products));
}

CompiledProduct::CompiledProduct(const ProductShape &shape, const std::string &target)
    : shape(shape), target(target) {
  registerDialects(context);
  module = mlir::parseSourceString<mlir::ModuleOp>(programOf(shape), &context);
  PipelineOptions options;
  options.targets = {target};
  mlir::PassManager manager(&context);
  buildPhase(manager, Phase::Kernels, options);
  buildPhase(manager, Phase::Llvm, options);
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
}

mlir::LLVM::LLVMFuncOp CompiledProduct::body() const {
  auto kernels = mlir::cast<mlir::ModuleOp>(mlir::SymbolTable::lookupSymbolIn(*module, target));
  return mlir::cast<mlir::LLVM::LLVMFuncOp>(
      mlir::SymbolTable::lookupSymbolIn(kernels, kernelFunctionName("product", target)));
}

ProductLaunch CompiledProduct::launchOfAll() const {
  const TargetDescription &described = *findTarget(target);
  auto kernel =
      mlir::cast<dataflow::KernelOp>(mlir::SymbolTable::lookupSymbolIn(*module, "product"));
  const manifest::LaunchShape launch = described.backend->launchShapeOf(kernel, described);
  return {0, shape.rows, 0, shape.panels(), /*blocks=*/2, launch.threads(), launch.shared()};
}

ProductResult CompiledProduct::run(const ProductOperands &operands, const ProductLaunch &launch) {
  const Result<CompiledKernels> code = compileKernels(*module, /*cache=*/nullptr, {});
  EXPECT_TRUE(code.ok()) << code.status().message();
  if (!code.ok()) {
    return {};
  }
  Gpu gpu;
  void *const function =
      gpu.load(code->images.front().second.bytes,
               findTarget(target)->backend->symbolOf("product", *findTarget(target)));
  const std::vector<float> nothing(size_t(shape.rows * shape.n),
                                   std::numeric_limits<float>::quiet_NaN());
  const uint64_t result = gpu.send(nothing);
  uint64_t record = sendLaunch(gpu, operands, launch, result);
  void *parameters[] = {&record};
  mustCall("cuStreamSynchronize", static_cast<void *>(nullptr));
  call("heddle_emulator_record");
  takeBankUses();
  mustCall("cuLaunchKernel", function, launch.blocks, 1U, 1U, launch.threads, 1U, 1U, launch.shared,
           static_cast<void *>(nullptr), static_cast<void **>(parameters),
           static_cast<void **>(nullptr));
  const std::string report = gpu.wait();
  return {report.empty() ? gpu.fetch(result, nothing.size()) : std::vector<float>(), report,
          takeBankUses()};
}

} // namespace heddle
