// SPDX-License-Identifier: Apache-2.0
///
/// Splits a file into texts.
#include "compiler/Calibration/Texts.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <fmt/format.h>
#include <string_view>
#include <xxhash.h>

namespace heddle {

static constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";

static bool isBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Returns the "text" of a line of a .jsonl file.
static Result<std::string> textOfRecord(std::string_view line, const std::string &where) {
  HEDDLE_ASSIGN(const nlohmann::json record, parseJson(line, where));
  const auto text = record.is_object() ? record.find("text") : record.end();
  if (!record.is_object() || text == record.end() || !text->is_string()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format(R"({}: found {}, expected an object such as {{"text": "..."}})",
                                    where, describeJson(record)));
  }
  return text->get<std::string>();
}

/// Returns the text of a line, or describes what is wrong with it.
static Result<std::string> textOf(std::string_view line, bool isRecord, const std::string &where) {
  if (const std::string invalid = describeInvalidUtf8(line); !invalid.empty()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {}", where, invalid));
  }
  if (const size_t zero = line.find('\0'); zero != std::string_view::npos) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: byte {} is zero, expected a file of texts, one a line", where, zero + 1));
  }
  return isRecord ? textOfRecord(line, where) : std::string(line);
}

Result<CalibrationTexts> readCalibrationTexts(const std::string &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  const bool hasRecords = path.ends_with(".jsonl");
  CalibrationTexts texts{path, {}, {}};
  std::string_view rest = file.text();
  rest.remove_prefix(rest.starts_with(byteOrderMark) ? byteOrderMark.size() : 0);
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    if (isBlank(line)) {
      continue;
    }
    HEDDLE_ASSIGN(std::string text, textOf(line, hasRecords, fmt::format("{}:{}", path, number)));
    // A record may have an empty text too, which gives no rows.
    if (!isBlank(text)) {
      texts.texts.push_back(std::move(text));
    }
  }
  if (texts.texts.size() < fewestTexts) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: has {} texts, expected at least {}, one a line, like those "
                    "that the model will read",
                    path, texts.texts.size(), fewestTexts));
  }
  const XXH128_hash_t hash = XXH3_128bits(file.bytes().data(), file.bytes().size());
  texts.hash = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  return texts;
}

} // namespace heddle
