// SPDX-License-Identifier: Apache-2.0
///
/// Lays out records. All fields that kernels read have eight bytes, so no part of a record needs
/// padding.
#include "runtime/Device/Cuda/LaunchRecord.h"

#include <algorithm>
#include <cstring>

namespace heddle {

static constexpr uint64_t addressBytes = sizeof(uint64_t);

/// Returns the bytes of an operand's description, in addition to its address.
static uint64_t descriptionBytes(OperandKind kind) {
  switch (kind) {
  case OperandKind::Elements:
    return 0;
  case OperandKind::Result:
    return sizeof(HeddleResult);
  case OperandKind::Cache:
    return sizeof(HeddleCache);
  }
  return 0;
}

uint64_t recordBytes(const CudaKernel &kernel, bool hasNext) {
  uint64_t bytes = (hasNext ? 2 : 1) * sizeof(HeddleDeviceLaunch) + sizeof(HeddleKernelContext) +
                   (kernel.sectionKeys == 0 ? 0 : sizeof(HeddleSections)) +
                   (kernel.roundedFrom == 0 ? 0 : sizeof(HeddleRoundedRows)) +
                   kernel.operands.size() * addressBytes +
                   kernel.spaces * (addressBytes + sizeof(HeddleRows));
  for (const OperandKind kind : kernel.operands) {
    bytes += descriptionBytes(kind);
  }
  return bytes;
}

namespace {
/// A part of a record.
struct Part {
  std::byte *host;
  uint64_t device;
};

/// Allocates the parts of a record, one after another.
class Parts {
public:
  explicit Parts(Part all) : next(all) {}

  Part take(uint64_t bytes) {
    const Part taken = next;
    next = {next.host + bytes, next.device + bytes};
    return taken;
  }
  /// Adds a part with these contents; returns its device address.
  uint64_t put(const void *contents, uint64_t bytes) {
    const Part part = take(bytes);
    std::memcpy(part.host, contents, bytes);
    return part.device;
  }

private:
  Part next;
};
} // namespace

/// Sets entry `index` of a list of addresses.
static void setAddress(const Part &list, size_t index, uint64_t address) {
  std::memcpy(list.host + index * addressBytes, &address, addressBytes);
}

void writeRecord(const Launch &launch, const CudaKernel &kernel, const HeddleSections &sections,
                 const HeddleRoundedRows &rounded, std::byte *host, uint64_t device) {
  Parts parts({host, device});
  const bool isDivided = kernel.sectionKeys != 0 && sections.count > 1;
  const bool hasNext = launch.finish != nullptr || isDivided;
  const Part launches = parts.take((hasNext ? 2 : 1) * sizeof(HeddleDeviceLaunch));
  const Part context = parts.take(sizeof(HeddleKernelContext));
  const Part operands = parts.take(kernel.operands.size() * addressBytes);
  const Part spaces = parts.take(kernel.spaces * addressBytes);
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const void *const operand = launch.context->operands[i];
    const uint64_t bytes = descriptionBytes(kernel.operands[i]);
    setAddress(operands, i, bytes == 0 ? addressOf(operand) : parts.put(operand, bytes));
  }
  for (uint32_t i = 0; i < kernel.spaces; ++i) {
    setAddress(spaces, i, parts.put(launch.context->spaces[i], sizeof(HeddleRows)));
  }
  const uint64_t scratch = kernel.sectionKeys != 0   ? parts.put(&sections, sizeof sections)
                           : kernel.roundedFrom != 0 ? parts.put(&rounded, sizeof rounded)
                                                     : addressOf(launch.context->scratch);
  const uint64_t contextFields[] = {operands.device, spaces.device, scratch};
  static_assert(sizeof contextFields == sizeof(HeddleKernelContext));
  std::memcpy(context.host, contextFields, sizeof contextFields);
  HeddleDeviceLaunch fields = {reinterpret_cast<const HeddleKernelContext *>(context.device),
                               launch.rows.begin,
                               launch.rows.end,
                               launch.columns.begin,
                               isDivided ? launch.columns.end * sections.count : launch.columns.end,
                               std::max<int64_t>(launch.rowTile, 1),
                               static_cast<int64_t>(launch.scratch)};
  std::memcpy(launches.host, &fields, sizeof fields);
  if (hasNext) {
    // Finishing processes whole rows, so there are no columns to divide.
    fields.column_begin = 0;
    fields.column_end = isDivided ? launch.columns.end : 1;
    std::memcpy(launches.host + nextOffset, &fields, sizeof fields);
  }
}

} // namespace heddle
