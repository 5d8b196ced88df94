// SPDX-License-Identifier: Apache-2.0
///
/// A model on a GPU: the first of its images that the driver accepts, and its weights, uploaded
/// once for all sessions.
#include "runtime/Device/Cuda/CudaDevice.h"

#include "base/Utf8.h"
#include "formats/Binary/ImageCheck.h"
#include "formats/Binary/Layout.h"
#include "formats/Binary/Manifest_generated.h"
#include "runtime/Device/Cuda/Weights.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace heddle {

/// Larger than the log of a driver's compiler when it fails.
static constexpr size_t logBytes = 4096;

/// The shared memory that a launch may use without setting an attribute of the kernel.
static constexpr unsigned usualShared = 48 * 1024;

namespace {
class CudaProgram final : public DeviceProgram {
public:
  explicit CudaProgram(std::shared_ptr<CudaContext> context) : context(std::move(context)) {}
  ~CudaProgram() override {
    if (module != nullptr) {
      context->giveBack(context->driver().cuModuleUnload, module);
    }
  }
  Status load(const ProgramFile &file, Device &device);
  const DeviceKernel &kernel(uint32_t number) const override { return kernels[number]; }
  const std::byte *parameter(uint32_t number) const override { return weights.parameter(number); }

private:
  Status loadImages(const ProgramFile &file);
  Status loadImage(const std::byte *image);
  Status findKernel(const manifest::Kernel &table, uint32_t target, CudaKernel &kernel);

  const std::shared_ptr<CudaContext> context;
  void *module = nullptr;
  std::vector<CudaKernel> kernels;
  CudaWeights weights;
};
} // namespace

/// Sets the kinds of a kernel's operands from a dispatch; if `known`, checks that they agree with
/// those of earlier dispatches.
static Status describeOperands(const manifest::Entry &entry, const manifest::Dispatch &dispatch,
                               CudaKernel &kernel, bool &known) {
  std::vector<OperandKind> kinds;
  for (uint32_t i = 0; i < dispatch.operands()->size(); ++i) {
    const manifest::Location location =
        entry.buffers()->Get(dispatch.operands()->Get(i)->buffer())->location();
    const bool isCache =
        location == manifest::Location::Cache || location == manifest::Location::State;
    kinds.push_back(isCache                  ? OperandKind::Cache
                    : i < dispatch.written() ? OperandKind::Result
                                             : OperandKind::Elements);
  }
  const uint32_t spaces = dispatch.spaces() == nullptr ? 0 : dispatch.spaces()->size();
  if (known && (kinds != kernel.operands || spaces != kernel.spaces)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("damaged: dispatch {} of entry {} has other kinds of operands "
                                    "than those before it have of the same kernel, {}",
                                    quote(dispatch.name()->string_view()),
                                    quote(entry.name()->string_view()), quote(kernel.name)));
  }
  kernel.operands = std::move(kinds);
  kernel.spaces = spaces;
  known = true;
  return {};
}

static Status describeOperands(const manifest::Manifest &model, std::vector<CudaKernel> &kernels) {
  std::vector<bool> known(kernels.size(), false);
  for (const manifest::Entry *const entry : *model.entries()) {
    for (const manifest::Dispatch *const dispatch : *entry->dispatches()) {
      const uint32_t number = dispatch->kernel();
      bool isKnown = known[number];
      HEDDLE_TRY(describeOperands(*entry, *dispatch, kernels[number], isKnown));
      known[number] = isKnown;
    }
  }
  return {};
}

/// Returns whether another image may be tried after this failure of the driver.
static bool isRefused(const Status &status) {
  return status.code() == StatusCode::DataLoss || status.code() == StatusCode::Unsupported;
}

Status CudaProgram::loadImage(const std::byte *image) {
  const Driver &driver = context->driver();
  std::array<char, logBytes> log{};
  std::array<int, 2> options = {cudaJit::errorLog, cudaJit::errorLogBytes};
  // The manual requires integers cast to pointers.
  std::array<void *, 2> values = {log.data(), reinterpret_cast<void *>(log.size())};
  const Status status =
      context->call(driver.cuModuleLoadDataEx, &module, static_cast<const void *>(image),
                    unsigned(options.size()), options.data(), values.data());
  if (status.ok()) {
    return {};
  }
  module = nullptr;
  log.back() = '\0';
  std::string said(log.data());
  said.erase(said.find_last_not_of(" \n\r\t") + 1);
  return said.empty() ? status
                      : Status(status.code(), fmt::format("{}: {}", status.message(), said),
                               __FILE_NAME__, __LINE__);
}

/// Loads the first image of the target that the driver accepts.
Status CudaProgram::loadImages(const ProgramFile &file) {
  const auto *const images = file.model.images();
  std::string refused;
  StatusCode code = StatusCode::NotFound;
  for (uint32_t i = 0; images != nullptr && i < images->size(); ++i) {
    const manifest::Image &image = *images->Get(i);
    if (image.target() != file.target) {
      continue;
    }
    HEDDLE_TRY(checkImageContent(file.model, i, file.images));
    const Status status = loadImage(imageBytes(image, file.images).data());
    if (status.ok()) {
      return {};
    }
    if (!isRefused(status)) {
      return status.annotate(fmt::format("image {}", i));
    }
    code = status.code();
    refused +=
        fmt::format("{}image {} ({} by {}): {}", refused.empty() ? "" : "; ", i,
                    imageKindName(image.kind()), image.compiler()->string_view(), status.message());
  }
  const std::string_view target = file.model.targets()->Get(file.target)->string_view();
  return {code,
          refused.empty() ? fmt::format("no image for {}", target)
                          : fmt::format("no image for {} that {} takes: {}", target,
                                        context->facts().text(), refused),
          __FILE_NAME__, __LINE__};
}

Status CudaProgram::findKernel(const manifest::Kernel &table, uint32_t target, CudaKernel &kernel) {
  const Driver &driver = context->driver();
  const manifest::LaunchShape &shape = *table.launches()->Get(target);
  const char *const symbol = table.symbols()->Get(target)->c_str();
  kernel.name = table.name()->str();
  kernel.threads = shape.threads();
  kernel.shared = shape.shared();
  if (kernel.shared > static_cast<unsigned>(context->facts().sharedOfBlock)) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("kernel {} needs {} bytes of shared memory, {} has {}",
                                    quote(kernel.name), kernel.shared, context->facts().text(),
                                    context->facts().sharedOfBlock));
  }
  HEDDLE_TRY(context->callFor(quote(symbol), driver.cuModuleGetFunction, &kernel.function, module,
                              symbol));
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
                                    quote(kernel.name), context->facts().text(), kernel.threads));
  }
  kernel.mostBlocks = static_cast<unsigned>(blocks * context->facts().multiprocessors);
  return {};
}

Status CudaProgram::load(const ProgramFile &file, Device &device) {
  const CudaContext::Current current(*context);
  HEDDLE_TRY(loadImages(file));
  kernels.resize(file.model.kernels()->size());
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    HEDDLE_TRY(findKernel(*file.model.kernels()->Get(i), file.target, kernels[i]));
  }
  HEDDLE_TRY(describeOperands(file.model, kernels));
  return weights.upload(file, *context, device);
}

Result<std::unique_ptr<DeviceProgram>> loadCudaProgram(std::shared_ptr<CudaContext> context,
                                                       Device &device, const ProgramFile &file) {
  auto program = std::make_unique<CudaProgram>(std::move(context));
  HEDDLE_TRY(program->load(file, device));
  return std::unique_ptr<DeviceProgram>(std::move(program));
}

} // namespace heddle
