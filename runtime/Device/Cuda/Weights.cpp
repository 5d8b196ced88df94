// SPDX-License-Identifier: Apache-2.0
///
/// The file is mapped, but asynchronous copies need pinned memory: while the GPU copies from one of
/// two pinned pieces, the host reads the file into the other.
#include "runtime/Device/Cuda/Weights.h"

#include "formats/Binary/Layout.h"
#include "formats/Binary/Manifest_generated.h"
#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/PinnedRing.h"

#include <algorithm>
#include <cstring>

namespace heddle {

/// Large enough that the cost of starting a copy is negligible.
static constexpr uint64_t pieceBytes = uint64_t(32) << 20;

namespace {
/// The stream of an upload, for its duration.
class UploadStream {
public:
  explicit UploadStream(CudaContext &context) : context(context) {}
  UploadStream(const UploadStream &) = delete;
  UploadStream &operator=(const UploadStream &) = delete;
  ~UploadStream() {
    if (handle != nullptr) {
      // The pinned memory must not be released before the copies are complete.
      context.giveBack(context.driver().cuStreamSynchronize, handle);
      context.giveBack(context.driver().cuStreamDestroy_v2, handle);
    }
  }
  Status create() {
    return context.call(context.driver().cuStreamCreate, &handle, cudaStreamNonBlocking);
  }

  CudaContext &context;
  void *handle = nullptr;
};
} // namespace

/// Returns, for each parameter, whether any entry's buffers read it on the file's target.
static std::vector<bool> parametersRead(const ProgramFile &file) {
  std::vector<bool> read(file.model.parameters()->size(), false);
  for (const manifest::Entry *const entry : *file.model.entries()) {
    for (const manifest::Buffer *const buffer : *entry->buffers()) {
      if (buffer->location() == manifest::Location::Parameter) {
        read[buffer->parameters()->Get(file.target)] = true;
      }
    }
  }
  return read;
}

/// Copies host memory to a GPU address, piece by piece.
static Status copy(std::span<const std::byte> bytes, uint64_t to, UploadStream &stream,
                   PinnedRing &ring) {
  for (uint64_t begin = 0; begin < bytes.size(); begin += pieceBytes) {
    const std::span<const std::byte> piece =
        bytes.subspan(begin, std::min(pieceBytes, bytes.size() - begin));
    HEDDLE_ASSIGN(std::byte *const pinned, ring.take(stream.context, piece.size()));
    std::memcpy(pinned, piece.data(), piece.size());
    HEDDLE_TRY(stream.context.callFor("weights", stream.context.driver().cuMemcpyHtoDAsync_v2,
                                      to + begin, static_cast<const void *>(pinned), piece.size(),
                                      stream.handle));
    HEDDLE_TRY(ring.used(stream.context, stream.handle));
  }
  return {};
}

Status CudaWeights::upload(const ProgramFile &file, CudaContext &context, Device &device) {
  const std::vector<bool> read = parametersRead(file);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < read.size(); ++i) {
    bytes += read[i] ? alignUp(file.model.parameters()->Get(i)->size(), HEDDLE_ALIGNMENT) : 0;
  }
  HEDDLE_ASSIGN(memory, device.allocate(bytes, MemoryUse::Work, "the weights"));
  PinnedRing ring(2);
  UploadStream stream(context);
  HEDDLE_TRY(stream.create());
  places.assign(read.size(), nullptr);
  std::byte *place = memory.data();
  for (uint32_t i = 0; i < read.size(); ++i) {
    if (!read[i]) {
      continue;
    }
    const manifest::Parameter &parameter = *file.model.parameters()->Get(i);
    places[i] = place;
    HEDDLE_TRY(copy(file.weights.subspan(parameter.offset(), parameter.size()), addressOf(place),
                    stream, ring));
    place += alignUp(parameter.size(), HEDDLE_ALIGNMENT);
  }
  return context.callFor("weights", context.driver().cuStreamSynchronize, stream.handle);
}

} // namespace heddle
