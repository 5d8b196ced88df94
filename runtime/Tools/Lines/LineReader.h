// SPDX-License-Identifier: Apache-2.0
///
/// Reads a file or standard input line by line, in constant memory. All commands share it and its
/// rules. Every line counts, because answers keep the numbers of their lines: in JSON lines of
/// texts each line is an object with a "text", and a blank line is an error like any other line
/// that is not JSON; otherwise the line itself is the text, and a blank line is an empty text.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_LINEREADER_H
#define HEDDLE_RUNTIME_TOOLS_LINES_LINEREADER_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The interval at which a wait for input checks for a signal: one that arrives just before the
/// wait, or on another thread, does not interrupt it.
inline constexpr int waitMilliseconds = 100;

/// The longest line that is read, in bytes.
inline constexpr size_t lineLimit = size_t(16) << 20;

/// The maximum number of texts that are read together, and the size in bytes at which a block is
/// full: they bound the memory use.
inline constexpr size_t blockTexts = 1024;
inline constexpr size_t blockBytes = size_t(1) << 20;

/// What the lines of texts are.
enum class LineFormat : uint8_t {
  /// JSON objects if the file's name ends in .jsonl; otherwise texts.
  ByName,
  Text,
  JsonLines,
};

/// A line that was read.
struct Line {
  /// The line itself, or the "text" of its object. Valid until the next call.
  std::string_view text;
  /// The reason why there is no text, with the line's place: too long, not UTF-8, or not an object
  /// with a text.
  Status status = {};
};

/// A line of a block. Owns its text.
struct Text {
  std::string text;
  Status status;
  /// The name of the line in messages.
  std::string where;

  /// Returns the line's failure, given the problem with its text.
  Status failure(const Status &problem) const {
    return status.ok() ? problem.annotate(where) : status;
  }
};

/// Returns the name in messages of `count` lines that failed together, of which `first` is the
/// first: "texts.txt:3 and 4 after it". At least one.
std::string placesFrom(std::string first, size_t count);

/// Returns whether a line has nothing but spaces and tabs.
bool isBlank(std::string_view line);

/// Reads one stream once. Move-only. Lines end in LF or CRLF; the last may lack its end. A byte
/// order mark before the first line is skipped. A line that cannot be used is a failure of that
/// line, and reading continues after it; a call fails only if the stream cannot be read further.
class LineReader {
public:
  /// Opens a file, or standard input for "-". Lines are bytes, such as token ids.
  static Result<LineReader> open(const std::string &path);
  /// As open(), for texts, which are UTF-8.
  static Result<LineReader> openTexts(const std::string &path, LineFormat format);

  LineReader(LineReader &&other) noexcept;
  LineReader &operator=(LineReader &&) = delete;
  ~LineReader();

  /// Returns the next line without its end; nullopt at the end of the file, and after a signal.
  Result<std::optional<Line>> next();
  /// As next(), for commands that do not accept empty texts: skips blank lines.
  Result<std::optional<Line>> nextText();
  /// Fills `texts` with the next blockTexts lines, or fewer if they are long; leaves it empty at
  /// the end. A stream without any line is an error.
  Status nextBlock(std::vector<Text> &texts);

  /// Waits at most `milliseconds` and returns whether next() would return without waiting; a signal
  /// ends the wait early.
  Result<bool> ready(int milliseconds);

  /// Returns the name of the stream in messages: its path, or "standard input".
  const std::string &name() const { return title; }
  /// Return the place of the line read last, such as "texts.txt:3", and its number.
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
  // The bytes read; those before `begin` have been returned, those before `searched` have no line
  // feed.
  std::string buffer;
  size_t begin = 0;
  size_t searched = 0;
  // Whether the beginning of the current line was discarded because the line is too long.
  bool tooLong = false;
  // Whether lines are texts, whether each is in an object, and the text of the one read last.
  bool areTexts = false;
  bool hasRecords = false;
  std::string text;
};

/// Opens the input of a model: texts in this format, or lines of token ids.
inline Result<LineReader> openSources(const std::string &path, bool areTokens, LineFormat format) {
  return areTokens ? LineReader::open(path) : LineReader::openTexts(path, format);
}

/// Returns the number of lines of a regular file, which can be read again; nullopt for a pipe or
/// terminal.
Result<std::optional<int64_t>> countTexts(const std::string &path);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_LINEREADER_H
