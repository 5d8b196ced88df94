// SPDX-License-Identifier: Apache-2.0
///
/// A file or standard input, line by line, in constant memory; the one reader of all commands.
/// Lines end in LF or CRLF; the last may lack its end. A byte order mark before the first line is
/// not part of it.
#ifndef HEDDLE_RUNTIME_TOOLS_LINEREADER_H
#define HEDDLE_RUNTIME_TOOLS_LINEREADER_H

#include "heddle/Status.h"
#include "runtime/Tools/TextRecord.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// The longest line that is read, in bytes.
inline constexpr size_t lineLimit = size_t(16) << 20;

/// A line that was read.
struct Line {
  /// What it says: itself, or the "text" of the record that it is. Valid until the next call.
  std::string_view text;
  /// Why it says nothing, with its place: too long, not UTF-8, no record.
  Status status = {};
};

/// Reads one stream once. Move-only. A line that cannot be used is the line's failure, after which
/// reading goes on; only what ends the stream is a failure of a call.
class LineReader {
public:
  /// Opens a file, or standard input for "-".
  static Result<LineReader> open(const std::string &path);
  /// The same for texts, which are UTF-8: a line of a .jsonl file is an object, and what it says is
  /// its "text".
  static Result<LineReader> openTexts(const std::string &path);

  LineReader(LineReader &&other) noexcept;
  LineReader &operator=(LineReader &&) = delete;
  ~LineReader();

  /// The next line without its end; nothing at the end of the file, and once a signal was noted.
  Result<std::optional<Line>> next();
  /// The same; blank lines, and records of blank texts, are passed over.
  Result<std::optional<Line>> nextText();

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

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINEREADER_H
