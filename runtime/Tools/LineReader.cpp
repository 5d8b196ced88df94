// SPDX-License-Identifier: Apache-2.0
///
/// Cutting a stream into lines.
#include "runtime/Tools/LineReader.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace heddle::tools {

static constexpr size_t readSize = size_t(64) << 10;
static constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";

static Status cannot(std::string_view action, const std::string &name, int error) {
  const std::string message =
      fmt::format("{}: cannot {}: {}", name, action, std::generic_category().message(error));
  return error == ENOENT || error == ENOTDIR ? HEDDLE_ERROR(NotFound, message)
                                             : HEDDLE_ERROR(InputOutput, message);
}

Result<LineReader> LineReader::open(const std::string &path) {
  if (path == "-") {
    return LineReader("standard input", STDIN_FILENO, false);
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return cannot("open", path, errno);
  }
  return LineReader(path, descriptor, true);
}

Result<LineReader> LineReader::openTexts(const std::string &path) {
  HEDDLE_ASSIGN(LineReader reader, open(path));
  reader.hasRecords = path.ends_with(".jsonl");
  return reader;
}

LineReader::LineReader(LineReader &&other) noexcept
    : title(std::move(other.title)), descriptor(other.descriptor),
      owned(std::exchange(other.owned, false)), ended(other.ended), line(other.line),
      buffer(std::move(other.buffer)), begin(other.begin), hasRecords(other.hasRecords),
      text(std::move(other.text)) {}

LineReader::~LineReader() {
  if (owned) {
    ::close(descriptor);
  }
}

std::string LineReader::where() const { return fmt::format("{}:{}", title, line); }

/// Appends what the next read gives.
Status LineReader::fill() {
  buffer.erase(0, std::exchange(begin, 0));
  const size_t size = buffer.size();
  buffer.resize(size + readSize);
  ssize_t count = 0;
  do {
    count = ::read(descriptor, buffer.data() + size, readSize);
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  buffer.resize(size + static_cast<size_t>(count > 0 ? count : 0));
  if (count < 0) {
    return cannot("read", title, error);
  }
  ended = count == 0;
  return {};
}

Result<bool> LineReader::ready(int milliseconds) {
  while (!ended && buffer.find('\n', begin) == std::string::npos) {
    pollfd waiting = {descriptor, POLLIN, 0};
    const int count = ::poll(&waiting, 1, milliseconds);
    if (count < 0 && errno != EINTR) {
      return cannot("read", title, errno);
    }
    // Too long a line is for next() to refuse.
    if (count <= 0 || buffer.size() - begin > lineLimit) {
      return count > 0;
    }
    HEDDLE_TRY(fill());
    milliseconds = 0;
  }
  return true;
}

/// A line as it is in the file.
Result<std::optional<std::string_view>> LineReader::nextLine() {
  size_t searched = begin;
  size_t end = std::string::npos;
  while ((end = buffer.find('\n', searched)) == std::string::npos && !ended) {
    if (buffer.size() - begin > lineLimit) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}:{}: the line is longer than {} bytes, expected a shorter "
                                      "text",
                                      title, line + 1, lineLimit));
    }
    const size_t pending = buffer.size() - begin;
    HEDDLE_TRY(fill());
    searched = begin + pending;
  }
  if (end == std::string::npos && begin == buffer.size()) {
    return std::optional<std::string_view>();
  }
  std::string_view found = std::string_view(buffer).substr(
      begin, end == std::string::npos ? std::string::npos : end - begin);
  begin = end == std::string::npos ? buffer.size() : end + 1;
  if (++line == 1 && found.starts_with(byteOrderMark)) {
    found.remove_prefix(byteOrderMark.size());
  }
  if (found.ends_with('\r')) {
    found.remove_suffix(1);
  }
  return std::optional(found);
}

/// What a line says: itself, or the text of the record that it is.
Result<std::string_view> LineReader::textIn(std::string_view found) {
  if (!hasRecords) {
    return found;
  }
  HEDDLE_ASSIGN(text, textOfRecord(found, where()));
  return std::string_view(text);
}

Result<std::optional<std::string_view>> LineReader::next() {
  HEDDLE_ASSIGN(const std::optional<std::string_view> found, nextLine());
  if (!found) {
    return found;
  }
  HEDDLE_ASSIGN(const std::string_view said, textIn(*found));
  return std::optional(said);
}

Result<std::optional<std::string_view>> LineReader::nextText() {
  while (true) {
    HEDDLE_ASSIGN(const std::optional<std::string_view> found, nextLine());
    if (!found) {
      return found;
    }
    if (isBlank(*found)) {
      continue;
    }
    HEDDLE_ASSIGN(const std::string_view said, textIn(*found));
    if (!isBlank(said)) {
      return std::optional(said);
    }
  }
}

} // namespace heddle::tools
