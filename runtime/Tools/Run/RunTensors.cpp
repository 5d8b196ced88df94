// SPDX-License-Identifier: Apache-2.0
///
/// Matches the tensors of a file with the ports of an entry.
#include "runtime/Tools/Run/RunTensors.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::tools {

static constexpr std::string_view maskName = "attention_mask";
static constexpr std::string_view lengthsName = "lengths";

static const SafetensorsTensor *findTensor(std::span<const SafetensorsTensor> tensors,
                                           std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(),
                   [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// What begins a message about a tensor.
static std::string tensorWhere(std::string_view where, std::string_view name) {
  return fmt::format("{}: tensor {}", where, quote(name));
}

/// The values of a tensor of integers.
static Result<std::vector<int32_t>> integersOf(const SafetensorsTensor &tensor,
                                               std::string_view where) {
  std::vector<int32_t> values(tensor.bytes.size() / infoOf(tensor.dtype).bytes());
  HEDDLE_TRY_WITH(convertToI32(tensor.dtype, tensor.bytes, values),
                  tensorWhere(where, tensor.name));
  return values;
}

/// The tensors that nothing of the entry is named after: a file may hold more than inputs, such as
/// the outputs that are expected.
static std::vector<std::string> namesIgnored(const EntryInfo &entry,
                                             std::span<const SafetensorsTensor> tensors) {
  std::vector<std::string> ignored;
  for (const SafetensorsTensor &tensor : tensors) {
    const bool known =
        tensor.name == maskName || tensor.name == lengthsName ||
        std::any_of(entry.inputs.begin(), entry.inputs.end(),
                    [&](const PortInfo &input) { return input.name == tensor.name; });
    if (!known) {
      ignored.push_back(tensor.name);
    }
  }
  return ignored;
}

static Status checkInputs(const EntryInfo &entry, std::span<const SafetensorsTensor> tensors,
                          std::string_view where) {
  for (const PortInfo &input : entry.inputs) {
    if (!input.optional && findTensor(tensors, input.name) == nullptr) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: no tensor \"{}\", which entry \"{}\" needs", where,
                                      input.name, entry.name));
    }
  }
  return {};
}

static Status checkShape(const SafetensorsTensor &tensor, std::span<const int64_t> expected,
                         std::string_view as, std::string_view where) {
  if (!std::equal(tensor.shape.begin(), tensor.shape.end(), expected.begin(), expected.end())) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has shape {}, expected {} as \"{}\" has",
                                    tensorWhere(where, tensor.name), formatShape(tensor.shape),
                                    formatShape(expected), as));
  }
  return {};
}

/// Which positions of `ids` are tokens, and of which sequence.
static Result<PaddedBatch> batchOf(const SafetensorsTensor &ids,
                                   std::span<const SafetensorsTensor> tensors,
                                   std::string_view where, int32_t pad) {
  if (ids.shape.size() != 1 && ids.shape.size() != 2) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has shape {}, expected [sequences, length] or [tokens]",
                                    tensorWhere(where, ids.name), formatShape(ids.shape)));
  }
  const SafetensorsTensor *mask = findTensor(tensors, maskName);
  const SafetensorsTensor *lengths = findTensor(tensors, lengthsName);
  // Each belongs to one form: the mask to rectangles, the lengths to tokens end to end.
  const SafetensorsTensor *wrong = ids.shape.size() == 2 ? lengths : mask;
  if (wrong != nullptr) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} is given and \"{}\" has shape {}, expected {}",
                                    tensorWhere(where, wrong->name), ids.name,
                                    formatShape(ids.shape),
                                    wrong == lengths ? "[tokens] with lengths"
                                                     : "[sequences, length] with a mask"));
  }
  if (mask != nullptr) {
    HEDDLE_TRY(checkShape(*mask, ids.shape, ids.name, where));
    HEDDLE_ASSIGN(const std::vector<int32_t> marks, integersOf(*mask, where));
    Result<PaddedBatch> batch = batchWithMask(ids.shape, marks);
    return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, maskName));
  }
  if (lengths != nullptr) {
    if (lengths->shape.size() != 1) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has shape {}, expected [sequences]",
                                                       tensorWhere(where, lengthsName),
                                                       formatShape(lengths->shape)));
    }
    HEDDLE_ASSIGN(const std::vector<int32_t> values, integersOf(*lengths, where));
    Result<PaddedBatch> batch = batchWithLengths(ids.shape, values);
    return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, lengthsName));
  }
  if (pad >= 0 && ids.shape.size() == 2) {
    HEDDLE_ASSIGN(const std::vector<int32_t> values, integersOf(ids, where));
    Result<PaddedBatch> batch = batchWithPadding(ids.shape, values, pad);
    return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, ids.name));
  }
  Result<PaddedBatch> batch = batchWithoutPadding(ids.shape);
  return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, ids.name));
}

/// Ids must be rows of the table they look up; padding may hold anything.
static Status checkLimit(const PortInfo &input, const PaddedBatch &batch,
                         std::span<const int32_t> values, std::string_view where) {
  for (size_t token = 0; token < values.size(); ++token) {
    if (values[token] < 0 || values[token] >= input.limit) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("{}: {} is {}, expected 0 to {}",
                                                  tensorWhere(where, input.name),
                                                  batch.placeOf(static_cast<int64_t>(token)),
                                                  values[token], input.limit - 1));
    }
  }
  return {};
}

Result<RunInputs> readRunInputs(const EntryInfo &entry, const PortInfo &shaping,
                                std::span<const SafetensorsTensor> tensors, std::string_view where,
                                int32_t pad) {
  HEDDLE_TRY(checkInputs(entry, tensors, where));
  const SafetensorsTensor &ids = *findTensor(tensors, shaping.name);
  RunInputs inputs;
  inputs.ignored = namesIgnored(entry, tensors);
  HEDDLE_ASSIGN(inputs.batch, batchOf(ids, tensors, where, pad));
  for (const PortInfo &input : entry.inputs) {
    const SafetensorsTensor *tensor = findTensor(tensors, input.name);
    if (tensor == nullptr) {
      continue;
    }
    HEDDLE_TRY(checkShape(*tensor, ids.shape, ids.name, where));
    HEDDLE_ASSIGN(const std::vector<int32_t> padded, integersOf(*tensor, where));
    std::vector<int32_t> values = inputs.batch.gather(padded);
    HEDDLE_TRY(checkLimit(input, inputs.batch, values, where));
    inputs.names.push_back(input.name);
    inputs.values.push_back(std::move(values));
  }
  return inputs;
}

std::vector<int64_t> outputShape(const PortInfo &output, const PaddedBatch &batch) {
  std::vector<int64_t> shape;
  for (const int64_t dimension : output.shape) {
    if (dimension == tokensDimension) {
      shape.insert(shape.end(), batch.shape.begin(), batch.shape.end());
    } else if (dimension == sequencesDimension) {
      shape.push_back(batch.sequences());
    } else {
      shape.push_back(dimension);
    }
  }
  return shape;
}

} // namespace heddle::tools
