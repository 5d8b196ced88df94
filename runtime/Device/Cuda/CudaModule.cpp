// SPDX-License-Identifier: Apache-2.0
///
/// Loads images, and finds their kernels.
#include "runtime/Device/Cuda/CudaModule.h"

#include "base/Utf8.h"

#include <array>
#include <fmt/format.h>

namespace heddle {

/// Larger than the log of a driver's compiler when it fails.
static constexpr size_t logBytes = 4096;

/// The shared memory that a launch may use without setting an attribute of the kernel.
static constexpr unsigned usualShared = 48 * 1024;

Result<std::shared_ptr<const CudaModule>> CudaModule::load(std::shared_ptr<CudaContext> context,
                                                           const std::byte *image) {
  const std::shared_ptr<CudaModule> module(new CudaModule(std::move(context)));
  CudaContext &own = *module->context;
  std::array<char, logBytes> log{};
  std::array<int, 2> options = {cudaJit::errorLog, cudaJit::errorLogBytes};
  // The manual requires integers cast to pointers.
  std::array<void *, 2> values = {log.data(), reinterpret_cast<void *>(log.size())};
  const Status status =
      own.call(own.driver().cuModuleLoadDataEx, &module->handle, static_cast<const void *>(image),
               unsigned(options.size()), options.data(), values.data());
  if (status.ok()) {
    return std::shared_ptr<const CudaModule>(module);
  }
  module->handle = nullptr;
  log.back() = '\0';
  std::string said(log.data());
  said.erase(said.find_last_not_of(" \n\r\t") + 1);
  return said.empty() ? status
                      : Status(status.code(), fmt::format("{}: {}", status.message(), said),
                               __FILE_NAME__, __LINE__);
}

CudaModule::~CudaModule() {
  if (handle != nullptr) {
    context->giveBack(context->driver().cuModuleUnload, handle);
  }
}

Status CudaModule::find(const char *entry, CudaKernel &kernel) const {
  const Driver &driver = context->driver();
  const GpuFacts &gpu = context->facts();
  if (kernel.shared > static_cast<unsigned>(gpu.sharedOfBlock)) {
    return HEDDLE_ERROR(Unsupported, fmt::format("kernel {} needs {} bytes of shared memory, {} "
                                                 "has {}",
                                                 quote(kernel.name), kernel.shared, gpu.text(),
                                                 gpu.sharedOfBlock));
  }
  HEDDLE_TRY(
      context->callFor(quote(entry), driver.cuModuleGetFunction, &kernel.function, handle, entry));
  if (kernel.shared > usualShared) {
    HEDDLE_TRY(context->callFor(quote(kernel.name), driver.cuFuncSetAttribute, kernel.function,
                                cudaDynamicShared, int(kernel.shared)));
  }
  int blocks = 0;
  HEDDLE_TRY(context->callFor(quote(kernel.name),
                              driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
                              kernel.function, int(kernel.threads), size_t(kernel.shared)));
  if (blocks < 1) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("kernel {}: {} has not the registers for a block of {} threads",
                                    quote(kernel.name), gpu.text(), kernel.threads));
  }
  kernel.mostBlocks = static_cast<unsigned>(blocks * gpu.multiprocessors);
  return {};
}

} // namespace heddle
