// SPDX-License-Identifier: Apache-2.0
///
/// Splits a stream into lines, and extracts the text of each.
#include "runtime/Tools/Lines/LineReader.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"
#include "runtime/Tools/Lines/OutputStream.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
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

static constexpr std::string_view expectedObject = R"(expected an object such as {"text": "..."})";

std::string placesFrom(std::string first, size_t count) {
  return count == 1 ? first : fmt::format("{} and {} after it", first, count - 1);
}

bool isBlank(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

/// Returns the "text" of a line such as {"text": "..."}. `where` is the name of the line in
/// messages.
static Result<std::string> textOfRecord(std::string_view line, const std::string &where) {
  if (isBlank(line)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the line is empty, {}", where, expectedObject));
  }
  HEDDLE_ASSIGN(const nlohmann::json record, parseJson(line, where));
  if (!record.is_object()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: found {}, {}", where,
                                                     describeJson(record), expectedObject));
  }
  const auto text = record.find("text");
  if (text == record.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no key \"text\", {}", where, expectedObject));
  }
  if (!text->is_string()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: \"text\" is {}, expected a string", where,
                                                     describeJson(*text)));
  }
  return text->get<std::string>();
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

Result<LineReader> LineReader::openTexts(const std::string &path, LineFormat format) {
  HEDDLE_ASSIGN(LineReader reader, open(path));
  reader.areTexts = true;
  reader.hasRecords =
      format == LineFormat::JsonLines || (format == LineFormat::ByName && path.ends_with(".jsonl"));
  return reader;
}

LineReader::LineReader(LineReader &&other) noexcept
    : title(std::move(other.title)), descriptor(other.descriptor),
      owned(std::exchange(other.owned, false)), ended(other.ended), line(other.line),
      buffer(std::move(other.buffer)), begin(other.begin), searched(other.searched),
      tooLong(other.tooLong), areTexts(other.areTexts), hasRecords(other.hasRecords),
      text(std::move(other.text)) {}

LineReader::~LineReader() {
  if (owned) {
    ::close(descriptor);
  }
}

std::string LineReader::where() const { return fmt::format("{}:{}", title, line); }

/// Appends the bytes of the next read.
Status LineReader::fill() {
  searched -= begin;
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

/// Reads until the line at `begin` has its end at `searched`, or the stream ends. Returns whether
/// that is so; false if nothing arrived for `milliseconds`.
Result<bool> LineReader::hasLine(int milliseconds) {
  while (true) {
    const size_t end = buffer.find('\n', searched);
    searched = std::min(end, buffer.size());
    if (end != std::string::npos || ended) {
      return true;
    }
    // A line may have no end at all, as in /dev/zero.
    if (interrupted()) {
      return false;
    }
    if (searched - begin > lineLimit) {
      // Only the end of this line is still needed.
      tooLong = true;
      begin = searched;
    }
    pollfd waiting = {descriptor, POLLIN, 0};
    const int count = ::poll(&waiting, 1, milliseconds);
    if (count < 0 && errno != EINTR) {
      return cannot("read", title, errno);
    }
    if (count <= 0) {
      return false;
    }
    HEDDLE_TRY(fill());
    milliseconds = 0;
  }
}

Result<bool> LineReader::ready(int milliseconds) { return hasLine(milliseconds); }

/// Returns the line that hasLine() found, as it is in the file.
std::string_view LineReader::takeLine() {
  const std::string_view found = std::string_view(buffer).substr(begin, searched - begin);
  begin = std::min(searched + 1, buffer.size());
  searched = begin;
  ++line;
  return found;
}

/// Returns a line and its text.
Line LineReader::lineOf(std::string_view found) {
  if (std::exchange(tooLong, false) || found.size() > lineLimit) {
    return {{},
            HEDDLE_ERROR(InvalidArgument, fmt::format("{}: the line is longer than {} bytes, "
                                                      "expected a shorter text",
                                                      where(), lineLimit))};
  }
  const std::string problem = areTexts ? describeInvalidUtf8(found) : std::string();
  if (!problem.empty()) {
    return {{}, HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {}", where(), problem))};
  }
  if (line == 1 && found.starts_with(byteOrderMark)) {
    found.remove_prefix(byteOrderMark.size());
  }
  if (found.ends_with('\r')) {
    found.remove_suffix(1);
  }
  if (!hasRecords) {
    return {found};
  }
  Result<std::string> said = textOfRecord(found, where());
  if (!said.ok()) {
    return {{}, said.status()};
  }
  text = std::move(*said);
  return {text};
}

/// Returns the next line as it is in the file; nullopt at the end.
Result<std::optional<std::string_view>> LineReader::nextLine() {
  while (true) {
    HEDDLE_ASSIGN(const bool there, hasLine(waitMilliseconds));
    if (there) {
      break;
    }
    // The rest of the next line is missing.
    if (interrupted()) {
      return std::optional<std::string_view>();
    }
  }
  if (begin == buffer.size() && !tooLong) {
    return std::optional<std::string_view>();
  }
  return std::optional(takeLine());
}

Result<std::optional<Line>> LineReader::next() {
  HEDDLE_ASSIGN(const std::optional<std::string_view> found, nextLine());
  return found ? std::optional(lineOf(*found)) : std::nullopt;
}

Result<std::optional<Line>> LineReader::nextText() {
  while (true) {
    HEDDLE_ASSIGN(const std::optional<Line> line, next());
    if (!line || !line->status.ok() || !isBlank(line->text)) {
      return line;
    }
  }
}

Status LineReader::nextBlock(std::vector<Text> &texts) {
  texts.clear();
  size_t bytes = 0;
  while (texts.size() < blockTexts && bytes < blockBytes) {
    HEDDLE_ASSIGN(const std::optional<Line> found, next());
    if (!found) {
      break;
    }
    bytes += found->text.size();
    texts.push_back({std::string(found->text), found->status, where()});
  }
  if (line == 0 && !interrupted()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: no texts, expected at least one", title));
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
