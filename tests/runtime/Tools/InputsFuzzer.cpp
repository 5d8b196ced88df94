// SPDX-License-Identifier: Apache-2.0
///
/// A letter, then arbitrary bytes as user input of the corresponding kind: lines of texts, of
/// records, of token ids or of lengths, a list of shapes, or the tensors of `heddle run`. An
/// invalid line is one failure with its place; parsed input is within the limits that commands rely
/// on.
#include "base/Utf8.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Run/RunTensors.h"
#include "tests/Fuzzing/JsonMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"
#include "tests/Fuzzing/TextMutation.h"

#include <algorithm>
#include <cmath>

using namespace heddle;
using namespace heddle::tools;
using fuzzing::require;

static constexpr char texts = 't';
static constexpr char records = 'j';
static constexpr char tokens = 'k';
static constexpr char lengths = 'l';
static constexpr char shapes = 's';
static constexpr char tensors = 'r';
static constexpr char paddedTensors = 'p';

/// A record is a line of JSON.
static void mutateRecords(std::string &lines, fuzzing::Choice &choice) {
  if (choice.oneIn(3) || lines.empty()) {
    return fuzzing::mutateText(lines, {}, choice);
  }
  const size_t somewhere = choice.below(lines.size());
  const size_t before = somewhere == 0 ? std::string::npos : lines.rfind('\n', somewhere - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  const size_t end = std::min(lines.find('\n', somewhere), lines.size());
  fuzzing::changePart(lines, begin, std::max(begin, end), fuzzing::mutateJson, choice);
}

static void mutateInput(std::string &input, fuzzing::Choice &choice) {
  if (input.size() < 2) {
    input = "ta b\n\nc\n";
  }
  fuzzing::Mutation mutation = [](std::string &text, fuzzing::Choice &lines) {
    fuzzing::mutateText(text, {}, lines);
  };
  if (input[0] == records) {
    mutation = mutateRecords;
  } else if (input[0] == tensors || input[0] == paddedTensors) {
    mutation = fuzzing::mutateSafetensors;
  }
  fuzzing::changePart(input, 1, input.size(), mutation, choice);
}

HEDDLE_FUZZ_MUTATION(mutateInput)

/// Reads as many lines as a text has, each with its number, and a text or a failure with its place.
static void readLines(const std::string &path, std::string_view text) {
  Result<LineReader> reader = LineReader::openTexts(path, LineFormat::ByName);
  require(reader.ok());
  int64_t count = std::count(text.begin(), text.end(), '\n');
  count += !text.empty() && text.back() != '\n' ? 1 : 0;
  for (int64_t number = 1; number <= count; ++number) {
    const Result<std::optional<Line>> line = reader->next();
    require(line.ok() && line->has_value() && reader->number() == number);
    if ((*line)->status.ok()) {
      require(describeInvalidUtf8((*line)->text).empty());
    } else {
      require((*line)->status.message().starts_with(reader->where() + ": "));
    }
  }
  const Result<std::optional<Line>> after = reader->next();
  require(after.ok() && !after->has_value());
}

/// Non-blank lines are fewer, and none of them is blank.
static void readTexts(const std::string &path) {
  Result<LineReader> reader = LineReader::openTexts(path, LineFormat::ByName);
  require(reader.ok());
  for (int64_t last = 0;;) {
    const Result<std::optional<Line>> line = reader->nextText();
    require(line.ok());
    if (!line->has_value()) {
      return;
    }
    require(reader->number() > last);
    last = reader->number();
    const std::string_view text = (*line)->text;
    require(!(*line)->status.ok() || text.find_first_not_of(" \t") != std::string_view::npos);
  }
}

/// A truncated line is a prefix of the whole; written lines are read again.
static void readTokens(std::string_view line) {
  constexpr int64_t most = 3;
  const Result<std::vector<int32_t>> all = parseTokenLine(line);
  const Result<std::vector<int32_t>> some = parseTokenLine(line, most);
  require(all.ok() == some.ok());
  if (!all.ok()) {
    return require(all.status().message().starts_with("word "));
  }
  require(static_cast<int64_t>(some->size()) == std::min(most, static_cast<int64_t>(all->size())));
  require(std::equal(some->begin(), some->end(), all->begin()));
  const Result<std::vector<int32_t>> again = parseTokenLine(tokenLine(*all));
  require(again.ok() && *again == *all);
}

static void checkShape(const Shape &shape) {
  require(!shape.lengths.empty() && shape.tokens() <= shapeTokenLimit);
  require(*std::min_element(shape.lengths.begin(), shape.lengths.end()) > 0);
}

/// Large shapes take time and memory without testing more than small ones.
static bool isLarge(std::string_view list) {
  return std::count_if(list.begin(), list.end(), [](char c) { return c >= '0' && c <= '9'; }) > 12;
}

/// Returns an entry with ids, whose other inputs are optional.
static EntryInfo entryOfIds() {
  EntryInfo info;
  info.name = "encode";
  info.inputs = {{.name = "input_ids", .element = ElementType::I32, .shape = {}, .limit = 50},
                 {.name = "token_type_ids",
                  .element = ElementType::I32,
                  .shape = {},
                  .limit = 2,
                  .optional = true},
                 {.name = "features",
                  .element = ElementType::F32,
                  .shape = {tokensDimension, 2},
                  .optional = true}};
  return info;
}

static EntryInfo entryOfRows() {
  EntryInfo info;
  info.name = "encode";
  info.inputs = {{.name = "features", .element = ElementType::F32, .shape = {tokensDimension, 2}}};
  return info;
}

/// Returns an entry of images of any width.
static EntryInfo entryOfImages() {
  EntryInfo info;
  info.name = "encode";
  info.inputs = {{.name = "image", .element = ElementType::F32, .shape = {tokensDimension, 2}}};
  info.hasWidths = true;
  return info;
}

/// A file without ids has images or rows.
static void readTensors(std::string_view file, int32_t pad) {
  static const EntryInfo ofIds = entryOfIds(), ofRows = entryOfRows(), ofImages = entryOfImages();
  const auto contents = parseSafetensors(std::as_bytes(std::span(file)), "input");
  if (!contents.ok()) {
    return;
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(contents->tensors.begin(), contents->tensors.end(),
                       [&](const SafetensorsTensor &tensor) { return tensor.name == name; });
  };
  const EntryInfo &chosen = has("input_ids") ? ofIds : has("image") ? ofImages : ofRows;
  const Result<RunInputs> inputs =
      readRunInputs(chosen, chosen.inputs.front(), contents->tensors, "input", pad);
  if (!inputs.ok()) {
    return require(inputs.status().message().starts_with("input: "));
  }
  const PaddedBatch &batch = inputs->batch;
  int64_t sum = 0;
  for (const int32_t length : batch.lengths) {
    require(length > 0);
    sum += length;
  }
  require(sum == batch.tokens());
  for (const RunInput &input : inputs->inputs) {
    const bool areRows = input.name == "features" || input.name == "image";
    require(static_cast<int64_t>(areRows ? input.rows.size() : input.ids.size()) ==
            (areRows ? 2 : 1) * sum);
    require(std::all_of(input.ids.begin(), input.ids.end(),
                        [](int32_t id) { return id >= 0 && id < 50; }));
  }
  const std::vector<float> rows(static_cast<size_t>(sum), 1.0F);
  const std::vector<float> spread = batch.scatter(rows, 1);
  require(std::count(spread.begin(), spread.end(), 1.0F) == sum);
}

static void readFile(char kind, std::string_view content) {
  static const fuzzing::ScratchFolder folder;
  const std::string name = kind == records ? "input.jsonl" : "input.txt";
  folder.write(name, content);
  if (kind == lengths) {
    const Result<Shape> shape = readLengths(folder.path(name));
    if (shape.ok()) {
      checkShape(*shape);
    } else {
      require(shape.status().message().starts_with(folder.path(name)));
    }
    return;
  }
  readLines(folder.path(name), content);
  readTexts(folder.path(name));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const std::string_view content = input.substr(std::min<size_t>(1, size));
  switch (input.empty() ? '\0' : input[0]) {
  case texts:
  case records:
  case lengths:
    readFile(input[0], content);
    return 0;
  case tokens:
    readTokens(content);
    return 0;
  case shapes:
    if (isLarge(content)) {
      return -1;
    }
    if (const Result<std::vector<Shape>> list = parseShapes(content); list.ok()) {
      std::for_each(list->begin(), list->end(), checkShape);
    } else {
      require(list.status().message().starts_with("shape"));
    }
    return 0;
  case tensors:
  case paddedTensors:
    readTensors(content, input[0] == paddedTensors ? 0 : -1);
    return 0;
  default:
    return -1;
  }
}
