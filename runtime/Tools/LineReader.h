// SPDX-License-Identifier: Apache-2.0
///
/// A file or standard input, line by line, in constant memory. Lines end in LF or CRLF; the last
/// may lack its end. A byte order mark before the first line is not part of it.
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

/// Reads one stream once. Move-only.
class LineReader {
public:
  /// Opens a file, or standard input for "-".
  static Result<LineReader> open(const std::string &path);
  /// The same for texts: a line of a .jsonl file is an object, and what next() gives is its "text".
  static Result<LineReader> openTexts(const std::string &path);

  LineReader(LineReader &&other) noexcept;
  LineReader &operator=(LineReader &&) = delete;
  ~LineReader();

  /// The next line without its end, valid until the next call; nothing at the end of the file.
  Result<std::optional<std::string_view>> next();
  /// The same; blank lines, and records of blank texts, are passed over.
  Result<std::optional<std::string_view>> nextText();

  /// Whether next() would answer without waiting, after at most `milliseconds` of waiting for it;
  /// a signal ends the wait early.
  Result<bool> ready(int milliseconds);

  /// What messages call the stream: its path, or "standard input".
  const std::string &name() const { return title; }
  /// What messages call the line read last: "texts.txt:3".
  std::string where() const;

private:
  LineReader(std::string title, int descriptor, bool owned)
      : title(std::move(title)), descriptor(descriptor), owned(owned) {}
  Status fill();
  Result<std::optional<std::string_view>> nextLine();
  Result<std::string_view> textIn(std::string_view found);

  std::string title;
  int descriptor = -1;
  bool owned = false;
  bool ended = false;
  int64_t line = 0;
  // Bytes read; those before `begin` have been handed out.
  std::string buffer;
  size_t begin = 0;
  // Whether lines are objects, and the text of the one read last.
  bool hasRecords = false;
  std::string text;
};

/// Opens what a model reads: texts, or lines of token ids.
inline Result<LineReader> openSources(const std::string &path, bool areTokens) {
  return areTokens ? LineReader::open(path) : LineReader::openTexts(path);
}

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINEREADER_H
