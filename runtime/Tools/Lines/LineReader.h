// SPDX-License-Identifier: Apache-2.0
///
/// Reads a file or standard input line by line, in constant memory. All commands share it and its
/// rules. Every line counts, because answers keep the numbers of their lines: in a .jsonl file of
/// texts each line is an object with a "text", and a blank line is an error like any other line
/// that is not JSON; elsewhere the line itself is the text, and a blank line is an empty text.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_LINEREADER_H
#define HEDDLE_RUNTIME_TOOLS_LINES_LINEREADER_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The longest line that is read, in bytes.
inline constexpr size_t lineLimit = size_t(16) << 20;

/// The most texts that are read together, and the bytes at which a block is full: they bound what
/// is in memory at a time.
inline constexpr size_t blockTexts = 1024;
inline constexpr size_t blockBytes = size_t(1) << 20;

/// A line that was read.
struct Line {
  /// The line itself, or the "text" of its object. Valid until the next call.
  std::string_view text;
  /// Why there is no text, with the line's place: too long, not UTF-8, not an object with a text.
  Status status = {};
};

/// A line of a block. Owns its text.
struct Text {
  std::string text;
  Status status;
  /// What messages call the line.
  std::string where;

  /// The line's failure, given what went wrong with its text.
  Status failure(const Status &problem) const {
    return status.ok() ? problem.annotate(where) : status;
  }
};

/// Whether a line has nothing but spaces and tabs.
bool isBlank(std::string_view line);

/// Reads one stream once. Move-only. Lines end in LF or CRLF; the last may lack its end. A byte
/// order mark before the first line is not part of it. A line that cannot be used is a failure of
/// that line, and reading goes on after it; only what ends the stream is a failure of a call.
class LineReader {
public:
  /// Opens a file, or standard input for "-". Lines are bytes, such as token ids.
  static Result<LineReader> open(const std::string &path);
  /// The same for texts, which are UTF-8. A file whose name ends in .jsonl has objects.
  static Result<LineReader> openTexts(const std::string &path);

  LineReader(LineReader &&other) noexcept;
  LineReader &operator=(LineReader &&) = delete;
  ~LineReader();

  /// The next line without its end; nothing at the end of the file, and once a signal was noted.
  Result<std::optional<Line>> next();
  /// The same, for commands that have no use for empty texts: skips blank ones.
  Result<std::optional<Line>> nextText();
  /// Fills `texts` with the next blockTexts lines, or fewer when they are long; leaves it empty at
  /// the end. A stream without any line is an error.
  Status nextBlock(std::vector<Text> &texts);

  /// Whether next() would answer without waiting, after at most `milliseconds` of waiting for it;
  /// a signal ends the wait early.
  Result<bool> ready(int milliseconds);

  /// What messages call the stream: its path, or "standard input".
  const std::string &name() const { return title; }
  /// What messages call the line read last: "texts.txt:3", and its number.
  std::string where() const;
  int64_t number() const { return line; }

private:
  LineReader(std::string title, int descriptor, bool owned)
      : title(std::move(title)), descriptor(descriptor), owned(owned) {}
  Status fill();
  Result<bool> hasLine(int milliseconds);
  std::string_view takeLine();
  Result<std::optional<std::string_view>> nextLine();
  Line lineOf(std::string_view found);

  std::string title;
  int descriptor = -1;
  bool owned = false;
  bool ended = false;
  int64_t line = 0;
  // Bytes read; those before `begin` have been handed out, those before `searched` have no line
  // feed.
  std::string buffer;
  size_t begin = 0;
  size_t searched = 0;
  // The line that `begin` is in has lost its beginning.
  bool tooLong = false;
  // Whether lines are texts, whether each is in an object, and the text of the one read last.
  bool areTexts = false;
  bool hasRecords = false;
  std::string text;
};

/// Opens what a model reads: texts, or lines of token ids.
inline Result<LineReader> openSources(const std::string &path, bool areTokens) {
  return areTokens ? LineReader::open(path) : LineReader::openTexts(path);
}

/// The number of lines of a regular file, which can be read again; nothing for a pipe or terminal.
Result<std::optional<int64_t>> countTexts(const std::string &path);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_LINEREADER_H
