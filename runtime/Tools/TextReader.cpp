// SPDX-License-Identifier: Apache-2.0
///
/// Lines to texts.
#include "runtime/Tools/TextReader.h"

#include "runtime/Base/Utf8.h"
#include "runtime/Tools/TextRecord.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace heddle::tools {

std::optional<TextFormat> textFormatOf(std::string_view path) {
  if (path == "-" || path.ends_with(".txt")) {
    return TextFormat::Lines;
  }
  if (path.ends_with(".jsonl")) {
    return TextFormat::JsonLines;
  }
  return std::nullopt;
}

Result<TextReader> TextReader::open(const std::string &path) {
  const std::optional<TextFormat> format = textFormatOf(path);
  if (!format) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: expected a name that ends in .txt or .jsonl, or - for "
                                    "standard input",
                                    path));
  }
  HEDDLE_ASSIGN(LineReader lines, LineReader::open(path));
  return TextReader(std::move(lines), *format);
}

Result<std::optional<std::string>> TextReader::next() {
  HEDDLE_ASSIGN(const std::optional<std::string_view> line, lines.next());
  if (!line) {
    if (texts == 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: no texts, expected at least one", lines.name()));
    }
    return std::optional<std::string>();
  }
  if (const size_t valid = validUtf8Prefix(*line); valid < line->size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: byte {} of the line is {:#04x}, expected UTF-8",
                                    lines.where(), valid + 1,
                                    static_cast<unsigned char>((*line)[valid])));
  }
  ++texts;
  if (format == TextFormat::Lines) {
    return std::optional(std::string(*line));
  }
  HEDDLE_ASSIGN(std::string text, textOfRecord(*line, lines.where()));
  return std::optional(std::move(text));
}

Status TextReader::nextBlock(std::vector<std::string> &block) {
  block.clear();
  size_t bytes = 0;
  while (block.size() < blockTexts && bytes < blockBytes) {
    HEDDLE_ASSIGN(std::optional<std::string> text, next());
    if (!text) {
      return {};
    }
    bytes += text->size();
    block.push_back(std::move(*text));
  }
  return {};
}

Result<std::optional<int64_t>> countTexts(const std::string &path) {
  struct stat information;
  if (path == "-" || ::stat(path.c_str(), &information) != 0 || !S_ISREG(information.st_mode)) {
    return std::optional<int64_t>();
  }
  HEDDLE_ASSIGN(LineReader lines, LineReader::open(path));
  int64_t count = 0;
  while (true) {
    HEDDLE_ASSIGN(const std::optional<std::string_view> line, lines.next());
    if (!line) {
      return std::optional(count);
    }
    ++count;
  }
}

} // namespace heddle::tools
