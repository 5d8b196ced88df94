// SPDX-License-Identifier: Apache-2.0
///
/// Checks the arguments of a run.
#include "runtime/Session/Batch.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace heddle {

/// Row numbers are 32-bit integers in compiled code.
static constexpr int64_t mostTokens = std::numeric_limits<int32_t>::max() - 64;

static std::string namesOf(const std::vector<PortInfo> &ports) {
  std::string names;
  for (const PortInfo &port : ports) {
    names += (names.empty() ? "" : ", ") + quote(port.name);
  }
  return names.empty() ? "none" : names;
}

/// Returns the index of the port of that name, or ports.size().
static size_t findPort(const std::vector<PortInfo> &ports, std::string_view name) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const PortInfo &port) { return port.name == name; });
  return static_cast<size_t>(found - ports.begin());
}

Status Batch::bindLengths(const EntryInfo &entry) {
  tokenCount = 0;
  longestLength = 0;
  for (size_t i = 0; i < lengths().size(); ++i) {
    const int64_t length = lengths()[i];
    if (length <= 0) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("sequence {} has {} tokens, expected at least 1", i + 1, length));
    }
    if (entry.maxLength != 0 && length > entry.maxLength) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("sequence {} has {} tokens, the model allows at "
                                                  "most {}",
                                                  i + 1, length, entry.maxLength));
    }
    if (length % entry.lengthMultiple != 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("sequence {} has {} tokens, expected whole rows of {} pixels",
                                      i + 1, length, entry.lengthMultiple));
    }
    tokenCount += length;
    longestLength = std::max(longestLength, length);
    if (tokenCount > mostTokens) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("sequences 1 to {} have {} tokens, expected at "
                                                  "most {} in a batch",
                                                  i + 1, tokenCount, mostTokens));
    }
  }
  return {};
}

/// Binds the widths of images, which only some entries take. If all images have one width, widths
/// may be given too, and must equal it.
Status Batch::bindWidths(const EntryInfo &entry) {
  const std::span<const int32_t> widths = sequenceSizes.widths;
  const bool isMissing = entry.hasWidths && widths.size() != lengths().size();
  const bool isForeign = !entry.hasWidths && entry.lengthMultiple == 1 && !widths.empty();
  if (isMissing || isForeign || (!widths.empty() && widths.size() != lengths().size())) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} widths for {} sequences, expected {}", widths.size(),
                                    lengths().size(),
                                    isForeign ? "none: they are no images"
                                              : "one for each, the pixels in a row of its image"));
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    const int64_t width = widths[i], length = lengths()[i];
    if (!entry.hasWidths && width != entry.lengthMultiple) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("sequence {} has rows of {} pixels, the model expects {}",
                                      i + 1, width, entry.lengthMultiple));
    }
    if (width < 1 || width > GridSize::mostAcross) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("sequence {} has a width of {}, expected 1 to {}",
                                                  i + 1, width, GridSize::mostAcross));
    }
    if (length % width != 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("sequence {} has {} tokens, expected whole rows of {} pixels",
                                      i + 1, length, width));
    }
    for (const RowLimit &limit : entry.rowLimits) {
      if (const int64_t rows = limit.rows.rowsOf(length, width); rows > limit.most) {
        return HEDDLE_ERROR(
            OutOfRange, fmt::format("sequence {} has {} x {} pixels, of which the model makes {} "
                                    "rows, expected at most {}, its positions",
                                    i + 1, length / width, width, rows, limit.most));
      }
    }
  }
  // If all images have one width, rows depend on lengths alone.
  sequenceSizes.widths = entry.hasWidths ? widths : std::span<const int32_t>();
  return {};
}

Status Batch::checkIds(const PortInfo &port, std::span<const int32_t> values) const {
  const auto limit = static_cast<uint64_t>(port.limit);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && static_cast<uint64_t>(values[i]) < limit) {
      continue;
    }
    size_t sequence = 0;
    int64_t position = static_cast<int64_t>(i);
    while (position >= lengths()[sequence]) {
      position -= lengths()[sequence++];
    }
    return HEDDLE_ERROR(OutOfRange,
                        fmt::format("input {} has the value {} at position {} (sequence {}, token "
                                    "{}), expected 0 to {}",
                                    quote(port.name), values[i], i + 1, sequence + 1, position + 1,
                                    limit - 1));
  }
  return {};
}

Status Batch::checkValues(const PortInfo &port, const Input &input) const {
  // An empty batch has no values of any type.
  if (input.element != port.element && !input.bytes.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("input {} is given as {}, expected {}", quote(port.name),
                                    infoOf(input.element).name, infoOf(port.element).name));
  }
  const size_t count = input.bytes.size() / infoOf(port.element).bytes();
  const bool areIds = port.shape.size() == 1;
  const int64_t width = areIds ? 1 : port.shape.back();
  // Rows are below 2^31 and a manifest's widths below 2^42: no overflow in 128 bits.
  if (static_cast<unsigned __int128>(tokenCount) * static_cast<unsigned __int128>(width) == count) {
    return {};
  }
  return HEDDLE_ERROR(
      InvalidArgument,
      areIds ? fmt::format("input {} has {} values, the lengths add up to {}", quote(port.name),
                           count, tokenCount)
             : fmt::format("input {} has {} floats, expected {} rows of {}, as the lengths add up",
                           quote(port.name), count, tokenCount, width));
}

Status Batch::bindInput(const EntryInfo &entry, const Input &input) {
  const size_t index = findPort(entry.inputs, input.name);
  if (index == entry.inputs.size()) {
    return HEDDLE_ERROR(NotFound, fmt::format("no input {}, there are {}", quote(input.name),
                                              namesOf(entry.inputs)));
  }
  if (inputsGiven[index]) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("input {} is given twice", quote(input.name)));
  }
  const PortInfo &port = entry.inputs[index];
  HEDDLE_TRY(checkValues(port, input));
  inputsGiven[index] = true;
  inputValues[index] = input.bytes.data();
  if (port.element != ElementType::I32) {
    return {};
  }
  return checkIds(port, {reinterpret_cast<const int32_t *>(input.bytes.data()),
                         input.bytes.size() / sizeof(int32_t)});
}

Status Batch::bindOutput(const EntryInfo &entry, const Output &output) {
  size_t index = findPort(entry.outputs, output.name);
  if (index == entry.outputs.size()) {
    index += findPort(entry.observed, output.name);
  }
  if (index == entry.outputs.size() + entry.observed.size()) {
    return HEDDLE_ERROR(NotFound, fmt::format("no output {}, there are {}", quote(output.name),
                                              namesOf(entry.outputs)));
  }
  if (outputsRequested[index]) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("output {} is given twice", quote(output.name)));
  }
  const bool isObserved = index >= entry.outputs.size();
  const PortInfo &port =
      isObserved ? entry.observed[index - entry.outputs.size()] : entry.outputs[index];
  const std::vector<int64_t> &shape = port.shape;
  std::vector<int64_t> &first = firstRows[index];
  first.assign(1, 0);
  for (size_t i = 0; i < lengths().size(); ++i) {
    first.push_back(first.back() + port.rowsOf(lengths()[i], sequenceSizes.widthOf(i)));
  }
  const int64_t rows = first.back();
  if (shape.back() == longestDimension && !isObserved) {
    return HEDDLE_ERROR(Unsupported, fmt::format("output {} has rows as long as the longest "
                                                 "sequence, which only a decoder gives",
                                                 quote(output.name)));
  }
  // Rows and lengths are below 2^31, the product of a shape's constants below 2^40: no overflow in
  // 128 bits.
  using Wide = unsigned __int128;
  Wide width = 1;
  for (size_t i = 1; i < shape.size(); ++i) {
    width *= static_cast<Wide>(shape[i] == longestDimension ? longestLength : shape[i]);
  }
  if (static_cast<Wide>(rows) * width != output.values.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("output {} has room for {} floats, expected {} rows of {}",
                                    quote(output.name), output.values.size(), rows, width));
  }
  outputsRequested[index] = true;
  outputValues[index] = output.values.data();
  return {};
}

Status Batch::bind(const EntryInfo &entry, const SequenceSizes &sequences,
                   std::span<const Input> inputs, std::span<const Output> outputs) {
  sequenceSizes = sequences;
  inputValues.assign(entry.inputs.size(), nullptr);
  inputsGiven.assign(entry.inputs.size(), false);
  const size_t outputCount = entry.outputs.size() + entry.observed.size() + (entry.selects ? 1 : 0);
  outputValues.assign(outputCount, nullptr);
  outputsRequested.assign(outputCount, false);
  firstRows.resize(std::max(firstRows.size(), outputCount));
  HEDDLE_TRY(bindLengths(entry));
  HEDDLE_TRY(bindWidths(entry));
  for (const Input &input : inputs) {
    HEDDLE_TRY(bindInput(entry, input));
  }
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (!inputsGiven[i] && !entry.inputs[i].optional) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("input {} is missing", quote(entry.inputs[i].name)));
    }
  }
  for (const Output &output : outputs) {
    HEDDLE_TRY(bindOutput(entry, output));
  }
  return {};
}

} // namespace heddle
