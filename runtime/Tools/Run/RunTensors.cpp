// SPDX-License-Identifier: Apache-2.0
///
/// Checks tensors against an entry.
#include "runtime/Tools/Run/RunTensors.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Checkpoint/Convert.h"
#include "formats/Checkpoint/Safetensors.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Run/PixelRows.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <numeric>
#include <optional>

namespace heddle::tools {

static constexpr std::string_view maskName = "attention_mask";
static constexpr std::string_view lengthsName = "lengths";

/// Returns the name of the tensor with the length of each sequence of an input: "audio.length".
static std::string lengthName(std::string_view input) { return std::string(input) + ".length"; }

/// Returns the name of the tensor with the width of each image of an input: "image.width".
static std::string widthName(std::string_view input) { return std::string(input) + ".width"; }

/// Returns whether the sequences of an entry are images or spectra.
static bool readsPixels(const EntryInfo &entry) {
  return entry.hasWidths || entry.lengthMultiple > 1;
}

const SafetensorsTensor *findTensor(std::span<const SafetensorsTensor> tensors,
                                    std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(),
                   [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// Returns the beginning of a message about a tensor.
static std::string tensorWhere(std::string_view where, std::string_view name) {
  return fmt::format("{}: tensor {}", where, quote(name));
}

/// Returns the values of a tensor of integers.
static Result<std::vector<int32_t>> integersOf(const SafetensorsTensor &tensor,
                                               std::string_view where) {
  std::vector<int32_t> values(tensor.bytes.size() / infoOf(tensor.dtype).bytes());
  HEDDLE_TRY_WITH(convertToI32(tensor.dtype, tensor.bytes, values),
                  tensorWhere(where, tensor.name));
  return values;
}

/// Returns the values of a tensor of floats.
static Result<std::vector<float>> floatsOf(const SafetensorsTensor &tensor,
                                           std::string_view where) {
  std::vector<float> values(tensor.bytes.size() / infoOf(tensor.dtype).bytes());
  HEDDLE_TRY_WITH(convertToF32(tensor.dtype, tensor.bytes, values),
                  tensorWhere(where, tensor.name));
  return values;
}

/// Returns the width of rows of floats; nullopt for ids.
static std::optional<int64_t> widthOf(const PortInfo &input) {
  return input.shape.size() == 2 ? std::optional(input.shape.back()) : std::nullopt;
}

/// Returns the tensors that the entry does not use: a file may hold more than inputs, such as
/// expected outputs.
static std::vector<std::string> namesIgnored(const EntryInfo &entry,
                                             std::span<const SafetensorsTensor> tensors) {
  std::vector<std::string> ignored;
  for (const SafetensorsTensor &tensor : tensors) {
    const auto isOf = [&](const PortInfo &input) {
      return input.name == tensor.name || lengthName(input.name) == tensor.name ||
             (readsPixels(entry) && widthName(input.name) == tensor.name);
    };
    const bool known = tensor.name == maskName || tensor.name == lengthsName ||
                       std::any_of(entry.inputs.begin(), entry.inputs.end(), isOf);
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

/// Checks that a tensor has one number for each sequence.
static Status checkOnePerSequence(const SafetensorsTensor &tensor, int64_t sequences,
                                  std::string_view where) {
  if (tensor.shape == std::vector<int64_t>{sequences}) {
    return {};
  }
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{} has shape {}, expected [{}], one for each sequence",
                                  tensorWhere(where, tensor.name), formatShape(tensor.shape),
                                  sequences));
}

/// Returns the integers of a tensor with one for each sequence, each in `least` to `most`.
static Result<std::vector<int32_t>> onePerSequence(const SafetensorsTensor &tensor,
                                                   int64_t sequences, int64_t least, int64_t most,
                                                   std::string_view where) {
  HEDDLE_TRY(checkOnePerSequence(tensor, sequences, where));
  HEDDLE_ASSIGN(std::vector<int32_t> numbers, integersOf(tensor, where));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < least || numbers[i] > most) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("{}: sequence {} has {}, expected {} to {}",
                                                  tensorWhere(where, tensor.name), i + 1,
                                                  numbers[i], least, most));
    }
  }
  return numbers;
}

/// Returns the values, 1 to `most`, of an accompanying tensor with one for each sequence; all
/// `most` if absent.
static Result<std::vector<int32_t>> countsBeside(std::span<const SafetensorsTensor> tensors,
                                                 const std::string &name, int64_t sequences,
                                                 int64_t most, std::string_view where) {
  const SafetensorsTensor *const tensor = findTensor(tensors, name);
  if (tensor == nullptr) {
    return std::vector<int32_t>(static_cast<size_t>(sequences), static_cast<int32_t>(most));
  }
  return onePerSequence(*tensor, sequences, 1, most, where);
}

/// Returns the batch of images of `shape`, [B,height,width,channels], with accompanying heights and
/// widths of the used parts.
static Result<PaddedBatch> paddedImages(const SafetensorsTensor &tensor,
                                        std::span<const int64_t> shape,
                                        std::span<const SafetensorsTensor> tensors,
                                        std::string_view where) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has shape {}, expected at least one pixel in at least "
                                    "one example",
                                    tensorWhere(where, tensor.name), formatShape(tensor.shape)));
  }
  if (shape[1] > std::numeric_limits<int32_t>::max() || shape[2] > GridSize::mostAcross ||
      shape[1] > std::numeric_limits<int32_t>::max() / shape[2]) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has shape {}, expected rows of at most {} pixels and "
                                    "fewer than 2^31 in all",
                                    tensorWhere(where, tensor.name), formatShape(tensor.shape),
                                    GridSize::mostAcross));
  }
  HEDDLE_ASSIGN(const std::vector<int32_t> heights,
                countsBeside(tensors, lengthName(tensor.name), shape[0], shape[1], where));
  HEDDLE_ASSIGN(const std::vector<int32_t> widths,
                countsBeside(tensors, widthName(tensor.name), shape[0], shape[2], where));
  return batchOfImages(shape, heights, widths);
}

/// Returns the batch of an input's images of any width: [B,height,width,channels], all or parts of
/// it, or [tokens,channels] with accompanying lengths and widths. Also computes the shape of such a
/// tensor as rows of the input, [B,length,channels].
static Result<PaddedBatch> imagesOf(const SafetensorsTensor &tensor, const PortInfo &input,
                                    std::span<const SafetensorsTensor> tensors,
                                    std::string_view where) {
  const int64_t channels = input.shape.size() == 2 ? input.shape.back() : 1;
  std::vector<int64_t> shape = tensor.shape;
  // Pixels that are ids, and those of one channel, need no separate dimension.
  if (shape.size() == 3 && channels == 1) {
    shape.push_back(1);
  }
  const bool areImages = shape.size() == 4 && shape[3] == channels;
  const bool areTokens = shape.size() == (input.shape.size() == 2 ? 2 : 1) &&
                         (input.shape.size() == 1 || shape[1] == channels);
  if (!areImages && !areTokens) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{} has shape {}, expected [sequences, height, width, {}], or [tokens, {}] "
                    "beside {} and {}",
                    tensorWhere(where, tensor.name), formatShape(tensor.shape), channels, channels,
                    quote(lengthsName), quote(widthName(tensor.name))));
  }
  if (findTensor(tensors, maskName) != nullptr) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} is given beside images, expected {} and {}",
                                    tensorWhere(where, maskName), quote(lengthName(tensor.name)),
                                    quote(widthName(tensor.name))));
  }
  // Counts of pixels with images, or heights with pixels, would be redundant or contradictory.
  const std::string foreign = areImages ? std::string(lengthsName) : lengthName(tensor.name);
  if (findTensor(tensors, foreign) != nullptr) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{} is given beside {} of shape {}, expected {}", tensorWhere(where, foreign),
                    quote(tensor.name), formatShape(tensor.shape),
                    quote(areImages ? lengthName(tensor.name) : std::string(lengthsName))));
  }
  if (areImages) {
    return paddedImages(tensor, shape, tensors, where);
  }
  const SafetensorsTensor *const lengths = findTensor(tensors, lengthsName);
  if (lengths == nullptr || lengths->shape.size() != 1 ||
      findTensor(tensors, widthName(tensor.name)) == nullptr) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has shape {}, expected tensors {} and {} [sequences] "
                                    "beside it",
                                    tensorWhere(where, tensor.name), formatShape(tensor.shape),
                                    quote(lengthsName), quote(widthName(tensor.name))));
  }
  HEDDLE_ASSIGN(const std::vector<int32_t> counts, integersOf(*lengths, where));
  Result<PaddedBatch> batch = batchWithLengths(std::span(shape).first(1), counts);
  HEDDLE_TRY_WITH(batch.status(), tensorWhere(where, lengthsName));
  HEDDLE_ASSIGN(batch->widths,
                countsBeside(tensors, widthName(tensor.name), static_cast<int64_t>(counts.size()),
                             GridSize::mostAcross, where));
  return batch;
}

/// Returns images of any width as rows of the input: [sequences, length, width].
static std::vector<SafetensorsTensor> imagesAsRows(const EntryInfo &entry,
                                                   std::span<const SafetensorsTensor> tensors) {
  std::vector<SafetensorsTensor> flat(tensors.begin(), tensors.end());
  for (SafetensorsTensor &tensor : flat) {
    const auto input = std::find_if(entry.inputs.begin(), entry.inputs.end(),
                                    [&](const PortInfo &each) { return each.name == tensor.name; });
    if (input == entry.inputs.end()) {
      continue;
    }
    const std::optional<int64_t> width = widthOf(*input);
    const size_t rank = tensor.shape.size();
    if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) {
      // Its shape does not match the images.
      continue;
    }
    if (rank == 4 || (rank == 3 && width.value_or(1) == 1)) {
      tensor.shape = {tensor.shape[0], tensor.shape[1] * tensor.shape[2]};
      if (width) {
        tensor.shape.push_back(*width);
      }
    }
  }
  return flat;
}

/// Checks that images of a named width have the only width that the entry takes.
static Status checkOneWidth(const EntryInfo &entry, const PortInfo &input,
                            std::span<const SafetensorsTensor> tensors, std::string_view where,
                            size_t sequences) {
  const SafetensorsTensor *const tensor = findTensor(tensors, widthName(input.name));
  if (tensor == nullptr || !readsPixels(entry)) {
    return {};
  }
  HEDDLE_TRY(checkOnePerSequence(*tensor, static_cast<int64_t>(sequences), where));
  HEDDLE_ASSIGN(const std::vector<int32_t> widths, integersOf(*tensor, where));
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] != entry.lengthMultiple) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: sequence {} has {}, the model expects {}",
                                      tensorWhere(where, tensor->name), i + 1, widths[i],
                                      entry.lengthMultiple));
    }
  }
  return {};
}

/// Returns the shapes that rows of floats may have, for messages.
static std::string rowShapes(int64_t width, int64_t across) {
  const std::string rows = fmt::format("[sequences, length, {}] or [tokens, {}]", width, width);
  return across == 1  ? rows
         : width == 1 ? fmt::format("[sequences, frames, {}], {}", across, rows)
                      : fmt::format("[sequences, height, {}, {}], {}", across, width, rows);
}

/// Returns the first dimensions of a tensor, [sequences, length] or [tokens], before the width of
/// rows.
static Result<std::span<const int64_t>> tokenShape(const SafetensorsTensor &tensor,
                                                   const PortInfo &input, int64_t across,
                                                   std::string_view where) {
  const std::optional<int64_t> width = widthOf(input);
  const size_t rank = tensor.shape.size() - (width && !tensor.shape.empty() ? 1 : 0);
  if ((rank == 1 || rank == 2) && (!width || tensor.shape.back() == *width)) {
    return std::span<const int64_t>(tensor.shape).first(rank);
  }
  return HEDDLE_ERROR(
      InvalidArgument,
      fmt::format("{} has shape {}, expected {}", tensorWhere(where, tensor.name),
                  formatShape(tensor.shape),
                  width ? rowShapes(*width, across) : "[sequences, length] or [tokens]"));
}

/// Returns the batch of equally sized sequences with lengths from NAME.length; nullopt without that
/// tensor.
static Result<std::optional<PaddedBatch>> batchOfCounts(const SafetensorsTensor &first,
                                                        std::span<const int64_t> shape,
                                                        const PortInfo &shaping, int64_t across,
                                                        std::span<const SafetensorsTensor> tensors,
                                                        std::string_view where) {
  const std::string name = lengthName(first.name);
  const SafetensorsTensor *const counts = findTensor(tensors, name);
  const bool isMasked = findTensor(tensors, maskName) != nullptr;
  if (counts == nullptr) {
    if (shaping.pad && widthOf(shaping) && shape.size() == 2 && shape[0] > 1 && !isMasked) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: no tensor {} [{}], expected one beside {}, whose shorter "
                      "sequences end in zeros",
                      where, quote(name), shape[0], quote(first.name)));
    }
    return std::optional<PaddedBatch>();
  }
  const bool hasLengths = findTensor(tensors, lengthsName) != nullptr;
  if (shape.size() != 2 || isMasked || hasLengths) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} is given beside {}, expected it only for sequences of one "
                                    "size, without a mask or lengths",
                                    tensorWhere(where, name),
                                    isMasked     ? quote(maskName)
                                    : hasLengths ? quote(lengthsName)
                                                 : quote(first.name)));
  }
  HEDDLE_TRY(checkShape(*counts, shape.first(1), first.name, where));
  HEDDLE_ASSIGN(const std::vector<int32_t> values, integersOf(*counts, where));
  Result<PaddedBatch> batch = batchWithCounts(shape, values, across);
  HEDDLE_TRY_WITH(batch.status(), tensorWhere(where, name));
  return std::optional(*std::move(batch));
}

/// Finds the positions of `first`, the tensor that gives the batch its shape, that are tokens, and
/// their sequences.
static Result<PaddedBatch> batchOf(const SafetensorsTensor &first, const PortInfo &shaping,
                                   int64_t across, std::span<const SafetensorsTensor> tensors,
                                   std::string_view where, int32_t pad) {
  HEDDLE_ASSIGN(const std::span<const int64_t> shape, tokenShape(first, shaping, across, where));
  HEDDLE_ASSIGN(std::optional<PaddedBatch> counted,
                batchOfCounts(first, shape, shaping, across, tensors, where));
  if (counted) {
    return *std::move(counted);
  }
  const SafetensorsTensor *mask = findTensor(tensors, maskName);
  const SafetensorsTensor *lengths = findTensor(tensors, lengthsName);
  // Each belongs to one form: the mask to rectangles, the lengths to concatenated tokens.
  const SafetensorsTensor *wrong = shape.size() == 2 ? lengths : mask;
  if (wrong != nullptr) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} is given and \"{}\" has shape {}, expected {}",
                                    tensorWhere(where, wrong->name), first.name,
                                    formatShape(first.shape),
                                    wrong == lengths ? "[tokens] with lengths"
                                                     : "[sequences, length] with a mask"));
  }
  if (mask != nullptr) {
    HEDDLE_TRY(checkShape(*mask, shape, first.name, where));
    HEDDLE_ASSIGN(const std::vector<int32_t> marks, integersOf(*mask, where));
    Result<PaddedBatch> batch = batchWithMask(shape, marks);
    return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, maskName));
  }
  if (lengths != nullptr) {
    if (lengths->shape.size() != 1) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has shape {}, expected [sequences]",
                                                       tensorWhere(where, lengthsName),
                                                       formatShape(lengths->shape)));
    }
    HEDDLE_ASSIGN(const std::vector<int32_t> values, integersOf(*lengths, where));
    Result<PaddedBatch> batch = batchWithLengths(shape, values);
    return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, lengthsName));
  }
  if (pad >= 0 && shape.size() == 2 && !widthOf(shaping)) {
    HEDDLE_ASSIGN(const std::vector<int32_t> values, integersOf(first, where));
    Result<PaddedBatch> batch = batchWithPadding(shape, values, pad);
    return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, first.name));
  }
  Result<PaddedBatch> batch = batchWithoutPadding(shape);
  return batch.ok() ? std::move(batch) : batch.status().annotate(tensorWhere(where, first.name));
}

/// Checks that ids are rows of the table that they index; padding may have any value.
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

Result<RunInputs> gatherInputs(const EntryInfo &entry, PaddedBatch batch, std::string_view shaping,
                               std::span<const SafetensorsTensor> tensors, std::string_view where) {
  RunInputs inputs;
  inputs.batch = std::move(batch);
  inputs.ignored = namesIgnored(entry, tensors);
  for (const PortInfo &input : entry.inputs) {
    const SafetensorsTensor *tensor = findTensor(tensors, input.name);
    if (tensor == nullptr) {
      continue;
    }
    RunInput &given = inputs.inputs.emplace_back(RunInput{input.name, {}, {}, tensor->dtype});
    std::vector<int64_t> shape = inputs.batch.shape;
    if (const std::optional<int64_t> width = widthOf(input)) {
      shape.push_back(*width);
      HEDDLE_TRY(checkShape(*tensor, shape, shaping, where));
      HEDDLE_ASSIGN(const std::vector<float> padded, floatsOf(*tensor, where));
      given.rows = inputs.batch.gather(padded, *width);
      continue;
    }
    HEDDLE_TRY(checkShape(*tensor, shape, shaping, where));
    HEDDLE_ASSIGN(const std::vector<int32_t> padded, integersOf(*tensor, where));
    given.ids = inputs.batch.gather(padded);
    HEDDLE_TRY(checkLimit(input, inputs.batch, given.ids, where));
  }
  return inputs;
}

Result<RunInputs> readRunInputs(const EntryInfo &entry, const PortInfo &shaping,
                                std::span<const SafetensorsTensor> given, std::string_view where,
                                int32_t pad) {
  HEDDLE_TRY(checkInputs(entry, given, where));
  RunInputs inputs;
  std::vector<SafetensorsTensor> tensors;
  if (entry.hasWidths) {
    HEDDLE_ASSIGN(inputs.batch, imagesOf(*findTensor(given, shaping.name), shaping, given, where));
    tensors = imagesAsRows(entry, given);
  } else {
    HEDDLE_ASSIGN(tensors, pixelsAsRows(entry, given, where));
    HEDDLE_ASSIGN(inputs.batch,
                  batchOf(*findTensor(tensors, shaping.name), shaping, entry.lengthMultiple,
                          tensors, where, shaping.pad.value_or(pad)));
    HEDDLE_TRY(checkOneWidth(entry, shaping, given, where, inputs.batch.lengths.size()));
  }
  return gatherInputs(entry, std::move(inputs.batch), shaping.name, tensors, where);
}

int64_t commandsOf(const EntryInfo &decode) {
  const auto logits =
      std::find_if(decode.outputs.begin(), decode.outputs.end(),
                   [](const PortInfo &output) { return output.name == logitsOutput; });
  return logits == decode.outputs.end() || decode.inputs.empty()
             ? 0
             : std::max<int64_t>(decode.inputs.front().limit - rowWidth(*logits), 0);
}

Result<std::vector<int32_t>> readCommands(const EntryInfo &decode, size_t sequences,
                                          std::span<const SafetensorsTensor> tensors,
                                          std::string_view where) {
  const SafetensorsTensor *const tensor = findTensor(tensors, commandTensor);
  const int64_t tasks = commandsOf(decode);
  if (tensor == nullptr || tasks == 0) {
    return std::vector<int32_t>();
  }
  return onePerSequence(*tensor, static_cast<int64_t>(sequences), 0, tasks - 1, where);
}

Status putCommands(RunInputs &targets, const EntryInfo &decode,
                   std::span<const SafetensorsTensor> tensors, std::string_view where) {
  HEDDLE_ASSIGN(const std::vector<int32_t> commands,
                readCommands(decode, targets.batch.lengths.size(), tensors, where));
  if (commands.empty()) {
    return {};
  }
  const int64_t firstCommand = decode.inputs.front().limit - commandsOf(decode);
  size_t first = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    targets.inputs.front().ids[first] = static_cast<int32_t>(firstCommand) + commands[i];
    first += static_cast<size_t>(targets.batch.lengths[i]);
  }
  std::erase(targets.ignored, commandTensor);
  return {};
}

/// Returns the space of an output's rows, if it is derived from tokens.
static std::optional<RowSpace> derivedSpace(const PortInfo &output) {
  const std::optional<RowSpace> space = rowSpaceOf(output.shape.front());
  return space && space->isDerived() ? space : std::nullopt;
}

/// Returns the number of an output's rows in one line of a rectangle.
static int64_t rowsOfLine(const PortInfo &output, const PaddedBatch &batch) {
  if (batch.widths.empty()) {
    return output.rowsOf(batch.shape.back());
  }
  int64_t most = 0;
  for (size_t i = 0; i < batch.lengths.size(); ++i) {
    most = std::max(most, output.rowsOf(batch.lengths[i], batch.widths[i]));
  }
  return most;
}

std::vector<int64_t> outputShape(const PortInfo &output, const PaddedBatch &batch) {
  std::vector<int64_t> shape = output.shape;
  const std::optional<RowSpace> derived = derivedSpace(output);
  if (batch.rectangular && (derived || shape.front() == tokensDimension)) {
    shape.front() =
        shape.front() == tokensDimension ? batch.shape.back() : rowsOfLine(output, batch);
    shape.insert(shape.begin(), batch.shape.front());
  } else {
    shape.front() = output.rowsOf(batch.lengths, batch.widths);
  }
  return shape;
}

std::vector<float> spreadRows(const PortInfo &output, const PaddedBatch &batch,
                              std::vector<float> rows) {
  if (!batch.rectangular) {
    return rows;
  }
  const int64_t width = rowWidth(output);
  if (output.shape.front() == tokensDimension) {
    return batch.scatter(rows, width);
  }
  if (!derivedSpace(output)) {
    return rows;
  }
  const int64_t line = rowsOfLine(output, batch) * width;
  std::vector<float> spread(static_cast<size_t>(batch.sequences() * line));
  auto from = rows.begin();
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const auto sequence = static_cast<size_t>(i);
    const int64_t count =
        output.rowsOf(batch.lengths[sequence], batch.sizes().widthOf(sequence)) * width;
    std::copy_n(from, count, spread.begin() + i * line);
    from += count;
  }
  return spread;
}

Status checkLengthsNames(std::span<const PortInfo> outputs) {
  for (const PortInfo &output : outputs) {
    const auto isTaken = [&](const PortInfo &each) {
      return each.name == rowsTensorName(output.name);
    };
    if (derivedSpace(output) && std::any_of(outputs.begin(), outputs.end(), isTaken)) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("output {} has the name that the rows of each sequence of "
                                      "output {} get in a file: use C or C++",
                                      quote(rowsTensorName(output.name)), quote(output.name)));
    }
  }
  return {};
}

std::vector<int32_t> derivedLengths(const PortInfo &output, const PaddedBatch &batch) {
  std::vector<int32_t> lengths;
  for (size_t i = 0; derivedSpace(output) && i < batch.lengths.size(); ++i) {
    lengths.push_back(
        static_cast<int32_t>(output.rowsOf(batch.lengths[i], batch.sizes().widthOf(i))));
  }
  return lengths;
}

} // namespace heddle::tools
