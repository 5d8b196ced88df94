// SPDX-License-Identifier: Apache-2.0
///
/// Lines to texts.
#include "runtime/Tools/TextReader.h"

#include "runtime/Tools/Interruption.h"

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
  if (!textFormatOf(path)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: expected a name that ends in .txt or .jsonl, or - for "
                                    "standard input",
                                    path));
  }
  HEDDLE_ASSIGN(LineReader lines, LineReader::openTexts(path));
  return TextReader(std::move(lines));
}

Status TextReader::nextBlock(std::vector<Text> &block) {
  block.clear();
  size_t bytes = 0;
  while (block.size() < blockTexts && bytes < blockBytes) {
    HEDDLE_ASSIGN(const std::optional<Line> line, lines.next());
    if (!line) {
      break;
    }
    bytes += line->text.size();
    block.push_back({std::string(line->text), line->status, lines.where()});
  }
  if (lines.number() == 0 && !interrupted()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no texts, expected at least one", lines.name()));
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
    HEDDLE_ASSIGN(const std::optional<Line> line, lines.next());
    if (!line) {
      return std::optional(count);
    }
    ++count;
  }
}

} // namespace heddle::tools
