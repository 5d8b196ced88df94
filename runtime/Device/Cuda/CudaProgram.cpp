// SPDX-License-Identifier: Apache-2.0
///
/// A model on a GPU: the first of its images that the driver accepts, and its weights, uploaded
/// once for all sessions.
#include "runtime/Device/Cuda/CudaDevice.h"

#include "base/Utf8.h"
#include "formats/Binary/ImageCheck.h"
#include "formats/Binary/Layout.h"
#include "formats/Binary/Manifest_generated.h"
#include "heddle/HypothesisOrder.h"
#include "heddle/Selection.h"
#include "runtime/Device/Cuda/CudaModule.h"
#include "runtime/Device/Cuda/CudaRoofs.h"
#include "runtime/Device/Cuda/Weights.h"

#include <array>
#include <fmt/format.h>
#include <optional>

namespace heddle {

namespace {
class CudaProgram final : public DeviceProgram {
public:
  explicit CudaProgram(std::shared_ptr<CudaContext> context) : context(std::move(context)) {}
  Status load(const ProgramFile &file, Device &device, CudaRoofs &roofs);
  const DeviceKernel &kernel(uint32_t number) const override { return kernels[number]; }
  const DeviceKernel *ownKernel(OwnKernel kernel) const override {
    return ownKernels[static_cast<size_t>(kernel)].get();
  }
  const std::byte *parameter(uint32_t number) const override { return weights.parameter(number); }

private:
  Status loadImages(const ProgramFile &file);
  Status findKernel(const manifest::Kernel &table, uint32_t target, CudaKernel &kernel) const;
  Status findOwnKernels();

  const std::shared_ptr<CudaContext> context;
  std::shared_ptr<const CudaModule> module;
  std::vector<CudaKernel> kernels;
  /// By their OwnKernel; null if the image has none.
  std::array<std::unique_ptr<CudaKernel>, size_t(OwnKernel::Count)> ownKernels;
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
    Result<std::shared_ptr<const CudaModule>> loaded =
        CudaModule::load(context, imageBytes(image, file.images).data());
    const Status status = loaded.status();
    if (status.ok()) {
      module = *std::move(loaded);
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

Status CudaProgram::findKernel(const manifest::Kernel &table, uint32_t target,
                               CudaKernel &kernel) const {
  const manifest::LaunchShape &shape = *table.launches()->Get(target);
  const char *const symbol = table.symbols()->Get(target)->c_str();
  kernel.name = table.name()->str();
  kernel.threads = shape.threads();
  kernel.shared = shape.shared();
  kernel.sectionKeys = shape.section_keys();
  kernel.partialBytes = shape.partial_bytes();
  kernel.pieceRows = shape.piece_rows();
  kernel.pieceColumns = shape.piece_columns();
  kernel.roundedFrom = shape.rounded_from();
  kernel.roundedBytes = shape.rounded_bytes();
  HEDDLE_TRY(module->find(symbol, kernel));
  // Finds a kernel that runs before or after it. A block is one caller.
  const auto find = [&](std::unique_ptr<CudaKernel> &companion, std::string_view name,
                        std::string_view suffix, unsigned threads) -> Status {
    companion = std::make_unique<CudaKernel>();
    companion->name = kernel.name + std::string(name);
    companion->threads = threads;
    companion->shared = HEDDLE_ALIGNMENT;
    return module->find((symbol + std::string(suffix)).c_str(), *companion);
  };
  if (kernel.sectionKeys != 0) {
    HEDDLE_TRY(find(kernel.merge, ".merge", HEDDLE_MERGE_SUFFIX, HEDDLE_MERGE_THREADS));
  }
  if (kernel.roundedFrom != 0) {
    HEDDLE_TRY(find(kernel.round, ".round", HEDDLE_ROUND_SUFFIX, HEDDLE_ROUND_THREADS));
  }
  return {};
}

/// Finds the kernels beside those of the model: all of them, or none in images of older compilers.
Status CudaProgram::findOwnKernels() {
  const auto find = [&](OwnKernel number, const char *entry, int64_t threads, int64_t shared,
                        size_t operands) -> Status {
    auto kernel = std::make_unique<CudaKernel>();
    kernel->name = entry;
    kernel->threads = static_cast<unsigned>(threads);
    kernel->shared = static_cast<unsigned>(shared);
    kernel->operands.assign(operands, OperandKind::Elements);
    HEDDLE_TRY(module->find(entry, *kernel));
    ownKernels[static_cast<size_t>(number)] = std::move(kernel);
    return {};
  };
  Status status = find(OwnKernel::ExcludeTokens, exclusionEntry, exclusionThreads, /*shared=*/0, 2);
  if (status.code() == StatusCode::NotFound) {
    return {};
  }
  HEDDLE_TRY(status);
  HEDDLE_TRY(find(OwnKernel::OrderHypotheses, hypothesisOrderEntry, hypothesisOrderThreads,
                  hypothesisOrderShared, 4));
  return find(OwnKernel::CopyBlocks, blockCopyEntry, blockCopyThreads, blockCopyShared, 1);
}

/// Returns whether a model selects tokens from logits.
static bool selects(const manifest::Manifest &model) {
  for (const manifest::Entry *const entry : *model.entries()) {
    for (const manifest::Port *const output : *entry->outputs()) {
      if (output->observed() == manifest::Observed::Selection) {
        return true;
      }
    }
  }
  return false;
}

Status CudaProgram::load(const ProgramFile &file, Device &device, CudaRoofs &roofs) {
  const CudaContext::Current current(*context);
  HEDDLE_TRY(loadImages(file));
  kernels.resize(file.model.kernels()->size());
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    HEDDLE_TRY(findKernel(*file.model.kernels()->Get(i), file.target, kernels[i]));
  }
  HEDDLE_TRY(describeOperands(file.model, kernels));
  if (selects(file.model)) {
    HEDDLE_TRY(findOwnKernels());
  }
  HEDDLE_TRY(weights.upload(file, *context, device));
  roofs.add(file.model.targets()->Get(file.target)->string_view(), module);
  return {};
}

Result<std::unique_ptr<DeviceProgram>> loadCudaProgram(std::shared_ptr<CudaContext> context,
                                                       Device &device, CudaRoofs &roofs,
                                                       const ProgramFile &file) {
  auto program = std::make_unique<CudaProgram>(std::move(context));
  HEDDLE_TRY(program->load(file, device, roofs));
  return std::unique_ptr<DeviceProgram>(std::move(program));
}

} // namespace heddle
