// SPDX-License-Identifier: Apache-2.0
///
/// Finds padding by the inputs that mark it.
#include "runtime/Tools/Run/RunRectangle.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Checkpoint/Convert.h"
#include "heddle/RectangleEntries.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::tools {

static bool isPadded(const PortInfo &input) {
  return input.pad && input.element == ElementType::I32;
}

bool isOverRectangles(const EntryInfo &entry) {
  static constexpr std::string_view names[] = {rectangleEntry, encodeEntry, decodeEntry,
                                               sourceEntry};
  return entry.name == columnsEntry ||
         (std::find(std::begin(names), std::end(names), entry.name) != std::end(names) &&
          std::any_of(entry.inputs.begin(), entry.inputs.end(), isPadded));
}

/// Returns the values of a tensor of ids, which must have the shape of the rectangle.
static Result<std::vector<int32_t>> idsOf(const SafetensorsTensor &tensor,
                                          std::span<const int64_t> shape, std::string_view where) {
  const std::string name = fmt::format("{}: tensor {}", where, quote(tensor.name));
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has shape {}, expected {}", name, formatShape(tensor.shape),
                                    formatShape(shape)));
  }
  std::vector<int32_t> values(tensor.bytes.size() / infoOf(tensor.dtype).bytes());
  if (tensor.dtype == ElementType::Bool) {
    // A mask of Booleans.
    std::transform(tensor.bytes.begin(), tensor.bytes.end(), values.begin(),
                   [](std::byte value) { return std::to_integer<int32_t>(value); });
    return values;
  }
  HEDDLE_TRY_WITH(convertToI32(tensor.dtype, tensor.bytes, values), name);
  return values;
}

/// Returns a place such as "in.safetensors: tensor "x": row 2, column 5".
static std::string placeOf(std::string_view where, std::string_view tensor, size_t index,
                           std::span<const int64_t> shape) {
  const auto columns = static_cast<size_t>(shape.back());
  return fmt::format("{}: tensor {}: row {}, column {}", where, quote(tensor), index / columns + 1,
                     index % columns + 1);
}

/// Marks the columns of each sequence that an input counts; the others are padding.
static Status markCounted(const SafetensorsTensor &tensor, std::span<const int64_t> shape,
                          std::string_view where, std::vector<bool> &present) {
  HEDDLE_ASSIGN(const std::vector<int32_t> counts, idsOf(tensor, shape.first(1), where));
  for (size_t sequence = 0; sequence < counts.size(); ++sequence) {
    if (counts[sequence] < 0 || counts[sequence] > shape[1]) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: tensor {}: sequence {} has {}, expected 0 to {}", where,
                                      quote(tensor.name), sequence + 1, counts[sequence],
                                      shape[1]));
    }
    const auto begin = present.begin() + static_cast<int64_t>(sequence) * shape[1];
    std::fill(begin + counts[sequence], begin + shape[1], false);
  }
  return {};
}

/// Marks the rows that an input says are padding. An input that nothing else reads is a mask, of
/// zeros and ones, or ids of which only one says something.
static Status markPadding(const PortInfo &input, const SafetensorsTensor &tensor,
                          std::span<const int64_t> shape, std::string_view where,
                          std::vector<bool> &present) {
  if (input.optional && input.limit == 2 && tensor.shape.size() == 1) {
    return markCounted(tensor, shape, where, present);
  }
  HEDDLE_ASSIGN(const std::vector<int32_t> values, idsOf(tensor, shape, where));
  for (size_t i = 0; i < values.size(); ++i) {
    if (input.optional && (values[i] < 0 || values[i] >= input.limit)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} is {}, expected {}",
                                      placeOf(where, tensor.name, i, shape), values[i],
                                      input.limit == 2 ? "0 or 1" : "0 or more"));
    }
    present[i] = values[i] != *input.pad;
  }
  return {};
}

/// Checks that a padding token that positions are counted without only ends rows.
static Status checkEnding(const PortInfo &input, const SafetensorsTensor &tensor,
                          std::span<const int64_t> shape, std::string_view where,
                          const std::vector<bool> &present) {
  HEDDLE_ASSIGN(const std::vector<int32_t> values, idsOf(tensor, shape, where));
  const auto columns = static_cast<size_t>(shape.back());
  bool isAfter = false;
  for (size_t i = values.size(); i-- > 0;) {
    isAfter = (i + 1) % columns == 0 ? present[i] : isAfter || present[i];
    if (isAfter && values[i] == *input.pad) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{} is {}, which the model counts positions without, expected "
                      "it only where the rest of a row is padding",
                      placeOf(where, tensor.name, i, shape), values[i]));
    }
  }
  return {};
}

/// Rejects padding before the last row of a sequence.
static Status checkFirstColumns(const PaddedBatch &batch, std::string_view where) {
  const int64_t columns = batch.shape.back();
  size_t token = 0;
  for (size_t row = 0; row < batch.lengths.size(); ++row) {
    for (int64_t column = 0; column < batch.lengths[row]; ++column, ++token) {
      const int64_t found = batch.positions[token] % columns;
      if (found != column) {
        return HEDDLE_ERROR(
            InvalidArgument,
            fmt::format("{}: row {} has padding in column {} and a token in column {}, expected "
                        "padding after all tokens: the model knows how far these are from each "
                        "other, or how many there are",
                        where, row + 1, column + 1, found + 1));
      }
    }
  }
  return {};
}

/// Returns the positions of the tokens in a rectangle.
static Result<PaddedBatch> findTokens(const EntryInfo &entry, std::span<const int64_t> shape,
                                      std::span<const SafetensorsTensor> tensors,
                                      std::string_view where) {
  int64_t places = 0;
  if (__builtin_mul_overflow(shape[0], shape[1], &places)) {
    places = 0;
  }
  std::vector<bool> present(static_cast<size_t>(places), true);
  const bool hasMask =
      std::any_of(entry.inputs.begin(), entry.inputs.end(),
                  [&](const auto &input) { return isPadded(input) && input.optional; });
  // Masks first, or the ids themselves if there is no mask.
  for (const bool marks : {true, false}) {
    for (const PortInfo &input : entry.inputs) {
      const SafetensorsTensor *const tensor = findTensor(tensors, input.name);
      if (tensor != nullptr && isPadded(input) && marks == (input.optional || !hasMask)) {
        HEDDLE_TRY(marks ? markPadding(input, *tensor, shape, where, present)
                         : checkEnding(input, *tensor, shape, where, present));
      }
    }
  }
  Result<PaddedBatch> batch = batchWithHoles(shape, present);
  HEDDLE_TRY_WITH(batch.status(), where);
  return batch;
}

/// Returns whether an input holds the column of each row, which is computed here.
static bool isOfColumns(std::string_view name) {
  return name == columnsInput || name == columnNumbersInput;
}

static RunInput columnsOf(const PortInfo &input, const PaddedBatch &batch) {
  RunInput columns{input.name, {}, {}, input.element};
  for (const int64_t position : batch.positions) {
    const int64_t column = position % batch.shape.back();
    if (input.element == ElementType::I32) {
      columns.ids.push_back(static_cast<int32_t>(column));
    } else {
      columns.rows.push_back(static_cast<float>(column));
    }
  }
  return columns;
}

Result<RectangleInputs> readRectangle(const Model &model, const EntryInfo &entry,
                                      const PortInfo &shaping,
                                      std::span<const SafetensorsTensor> tensors,
                                      std::string_view where) {
  const bool hasColumns = entry.name == columnsEntry;
  const EntryInfo &simple = hasColumns ? *model.findEntry(rectangleEntry) : entry;
  const SafetensorsTensor *const first = findTensor(tensors, shaping.name);
  const size_t rank = shaping.shape.size() + 1;
  const auto isGiven = [&](const PortInfo &input) {
    return isPadded(input) && findTensor(tensors, input.name) != nullptr;
  };
  // If no input marks padding, lengths may.
  const bool saysPadding = std::any_of(simple.inputs.begin(), simple.inputs.end(), isGiven);
  if (first == nullptr || first->shape.size() != rank || (!saysPadding && !hasColumns)) {
    HEDDLE_ASSIGN(RunInputs inputs, readRunInputs(entry, shaping, tensors, where));
    return RectangleInputs{std::move(inputs), &entry};
  }
  HEDDLE_ASSIGN(PaddedBatch batch,
                findTokens(simple, std::span(first->shape).first(2), tensors, where));
  const EntryInfo *const any =
      simple.name == rectangleEntry ? model.findEntry(columnsEntry) : nullptr;
  const bool isSimple = !hasColumns && (batch.areFirstColumns() || any == nullptr);
  if (isSimple) {
    HEDDLE_TRY(checkFirstColumns(batch, where));
  }
  const EntryInfo &chosen = isSimple ? simple : *any;
  for (const PortInfo &input : chosen.inputs) {
    if (!input.optional && !isOfColumns(input.name) && findTensor(tensors, input.name) == nullptr) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: no tensor {}, which entry {} needs", where,
                                      quote(input.name), quote(chosen.name)));
    }
  }
  std::vector<SafetensorsTensor> given(tensors.begin(), tensors.end());
  // The mask is not read by anything else. The columns are computed here.
  std::erase_if(given, [&](const SafetensorsTensor &tensor) {
    const auto port =
        std::find_if(chosen.inputs.begin(), chosen.inputs.end(),
                     [&](const PortInfo &input) { return input.name == tensor.name; });
    return isOfColumns(tensor.name) || (port != chosen.inputs.end() && port->optional && port->pad);
  });
  HEDDLE_ASSIGN(RunInputs inputs,
                gatherInputs(chosen, std::move(batch), shaping.name, given, where));
  for (const PortInfo &input : chosen.inputs) {
    if (!isSimple && isOfColumns(input.name)) {
      inputs.inputs.push_back(columnsOf(input, inputs.batch));
    }
  }
  return RectangleInputs{std::move(inputs), &chosen};
}

void clearHiddenSequences(const PortInfo &output, const PaddedBatch &batch,
                          std::vector<float> &rows) {
  if (output.shape.front() != sequencesDimension || !batch.rectangular) {
    return;
  }
  const auto width = static_cast<size_t>(rowWidth(output));
  size_t token = 0;
  for (size_t sequence = 0; sequence < batch.lengths.size(); ++sequence) {
    if (batch.positions[token] % batch.shape.back() != 0) {
      std::fill_n(rows.begin() + static_cast<int64_t>(sequence * width), width, 0.0F);
    }
    token += static_cast<size_t>(batch.lengths[sequence]);
  }
}

} // namespace heddle::tools
