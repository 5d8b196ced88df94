// SPDX-License-Identifier: Apache-2.0
///
/// Reading batch shapes.
#include "runtime/Tools/Shapes.h"

#include "base/Utf8.h"
#include "runtime/Tools/LineReader.h"

#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace heddle::tools {

/// A decimal number from 1 to shapeTokenLimit that is all of `text`.
static std::optional<int64_t> parsePositive(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 ||
      value > shapeTokenLimit) {
    return std::nullopt;
  }
  return value;
}

int64_t Shape::tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
}

static Result<Shape> parseShape(std::string_view text) {
  const size_t cross = text.find('x');
  std::optional<int64_t> sentences;
  std::optional<int64_t> length;
  if (cross != std::string_view::npos) {
    sentences = parsePositive(text.substr(0, cross));
    length = parsePositive(text.substr(cross + 1));
  }
  if (!sentences || !length) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format(
            "shape {} is not two positive numbers, expected SENTENCESxTOKENS such as 32x128",
            quote(text)));
  }
  if (*sentences > shapeTokenLimit / *length) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("shape {} has {} tokens, expected at most {}", quote(text),
                                    *sentences * *length, shapeTokenLimit));
  }
  return Shape{std::string(text), std::vector<int32_t>(static_cast<size_t>(*sentences),
                                                       static_cast<int32_t>(*length))};
}

Result<std::vector<Shape>> parseShapes(std::string_view list) {
  std::vector<Shape> shapes;
  while (true) {
    const size_t comma = list.find(',');
    HEDDLE_ASSIGN(Shape shape, parseShape(list.substr(0, comma)));
    shapes.push_back(std::move(shape));
    if (comma == std::string_view::npos) {
      return shapes;
    }
    list.remove_prefix(comma + 1);
  }
}

Result<Shape> readLengths(const std::string &path) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(path));
  Shape shape{"lengths", {}};
  int64_t tokens = 0;
  while (true) {
    HEDDLE_ASSIGN(const std::optional<Line> line, reader.next());
    if (!line) {
      break;
    }
    HEDDLE_TRY(line->status);
    const std::optional<int64_t> length = parsePositive(line->text);
    if (!length) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("{}: {} is not a length, expected a positive number of tokens",
                      reader.where(), quote(line->text)));
    }
    tokens += *length;
    if (tokens > shapeTokenLimit) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: {} tokens up to here, expected at most {} in one batch",
                                      reader.where(), tokens, shapeTokenLimit));
    }
    shape.lengths.push_back(static_cast<int32_t>(*length));
  }
  if (shape.lengths.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no lengths, expected one a line", reader.name()));
  }
  return shape;
}

} // namespace heddle::tools
