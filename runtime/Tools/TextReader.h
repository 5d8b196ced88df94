// SPDX-License-Identifier: Apache-2.0
///
/// Texts in blocks, for `heddle embed` and `heddle tokenize`: a .txt file has one a line (an empty
/// line is an empty text), a .jsonl file an object with a string "text" a line.
#ifndef HEDDLE_RUNTIME_TOOLS_TEXTREADER_H
#define HEDDLE_RUNTIME_TOOLS_TEXTREADER_H

#include "runtime/Tools/LineReader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// How texts are written down.
enum class TextFormat { Lines, JsonLines };

/// The format of a file by its name; "-" is Lines. Nothing for other names.
std::optional<TextFormat> textFormatOf(std::string_view path);

/// Texts of one piece of work, and the most of them: what is in memory at a time.
inline constexpr size_t blockTexts = 1024;
inline constexpr size_t blockBytes = size_t(1) << 20;

/// A line that says a text, or why it does not.
struct Text {
  std::string text;
  Status status;
  /// What messages call the line.
  std::string where;

  /// The line's failure, for what went wrong with its text.
  Status failure(const Status &problem) const {
    return status.ok() ? problem.annotate(where) : status;
  }
};

/// Reads the texts of one stream once. Every text it gives is UTF-8.
class TextReader {
public:
  static Result<TextReader> open(const std::string &path);

  /// Fills `texts` with the next blockTexts, or fewer when they are long; empty at the end. A
  /// stream without any line is an error.
  Status nextBlock(std::vector<Text> &texts);

  /// Lines read so far.
  int64_t count() const { return lines.number(); }
  /// What messages call the stream.
  const std::string &name() const { return lines.name(); }

private:
  explicit TextReader(LineReader lines) : lines(std::move(lines)) {}

  LineReader lines;
};

/// The number of texts of a regular file that could be read again; nothing for a pipe or terminal.
Result<std::optional<int64_t>> countTexts(const std::string &path);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TEXTREADER_H
