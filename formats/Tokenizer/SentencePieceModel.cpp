// SPDX-License-Identifier: Apache-2.0
///
/// The file is a protocol buffer. This code walks only the messages that hold character rules; the
/// library checks everything else.
#include "formats/Tokenizer/SentencePieceModel.h"

#include "formats/Tokenizer/CharsMap.h"

#include <exception>
#include <fmt/format.h>
#include <new>
#include <optional>
#include <sentencepiece_processor.h>

// Exported by the library, but not declared in its installed headers.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
} // namespace sentencepiece::logging

namespace heddle {

namespace {

/// The fields of one message, in order.
class MessageReader {
public:
  struct Field {
    uint64_t number;
    // The contents of a field with bytes; empty for numbers.
    std::string_view bytes;
  };

  explicit MessageReader(std::string_view message) : rest(message) {}

  bool atEnd() const { return rest.empty(); }
  /// Returns the next field; nullopt if it is truncated or of a kind that no model has.
  std::optional<Field> next();

private:
  std::optional<uint64_t> number();

  std::string_view rest;
};

} // namespace

std::optional<uint64_t> MessageReader::number() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    value |= uint64_t(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<MessageReader::Field> MessageReader::next() {
  const std::optional<uint64_t> tag = number();
  if (!tag) {
    return std::nullopt;
  }
  std::optional<uint64_t> length;
  switch (*tag & 7) {
  case 0:
    return number() ? std::optional(Field{*tag >> 3, {}}) : std::nullopt;
  case 1:
    length = 8;
    break;
  case 2:
    length = number();
    break;
  case 5:
    length = 4;
    break;
  default:
    return std::nullopt;
  }
  if (!length || *length > rest.size()) {
    return std::nullopt;
  }
  const Field field{*tag >> 3, rest.substr(0, *length)};
  rest.remove_prefix(*length);
  return field;
}

static Status damaged(std::string_view where) {
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("sentencepiece: {} is cut off or damaged", where));
}

/// Checks the character rules of a normalizer, which are empty or a CharsMap.
static Status checkNormalizer(std::string_view message) {
  constexpr uint64_t charsMapField = 2;
  for (MessageReader reader(message); !reader.atEnd();) {
    const std::optional<MessageReader::Field> field = reader.next();
    if (!field) {
      return damaged("a normalizer of the model");
    }
    if (field->number == charsMapField && !field->bytes.empty()) {
      HEDDLE_TRY_WITH(CharsMap::load(field->bytes).status(), "sentencepiece");
    }
  }
  return {};
}

static Status checkModel(std::string_view bytes) {
  constexpr uint64_t normalizerField = 3;
  constexpr uint64_t denormalizerField = 5;
  for (MessageReader reader(bytes); !reader.atEnd();) {
    const std::optional<MessageReader::Field> field = reader.next();
    if (!field) {
      return damaged("the model");
    }
    if (field->number == normalizerField || field->number == denormalizerField) {
      HEDDLE_TRY(checkNormalizer(field->bytes));
    }
  }
  return {};
}

/// Calls the library and turns its result or exception into a Status.
template <typename Call> static Status callLibrary(Call call) {
  std::string message;
  try {
    const sentencepiece::util::Status status = call();
    if (status.ok()) {
      return {};
    }
    message = status.error_message();
  } catch (const std::bad_alloc &) {
    // Not an error of the model; the caller reports it.
    throw;
  } catch (const std::exception &error) {
    message = error.what();
  }
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("sentencepiece: the library cannot use the model: {}", message));
}

Result<SentencePieceModel> SentencePieceModel::load(std::string_view bytes) {
  HEDDLE_TRY(checkModel(bytes));
  // The library logs to standard error; errors are returned as statuses anyway.
  static const bool silent = [] {
    constexpr int nothing = 4;
    sentencepiece::logging::SetMinLogLevel(nothing);
    return true;
  }();
  static_cast<void>(silent);
  const auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  HEDDLE_TRY(callLibrary([&] { return processor->LoadFromSerializedProto(bytes); }));
  SentencePieceModel result;
  result.processor = processor;
  return result;
}

int32_t SentencePieceModel::size() const { return processor->GetPieceSize(); }
const std::string &SentencePieceModel::piece(int32_t id) const { return processor->IdToPiece(id); }
int32_t SentencePieceModel::find(std::string_view piece) const {
  return processor->PieceToId(piece);
}
bool SentencePieceModel::isControl(int32_t id) const { return processor->IsControl(id); }
int32_t SentencePieceModel::unknownId() const { return processor->unk_id(); }
int32_t SentencePieceModel::beginId() const { return processor->bos_id(); }
int32_t SentencePieceModel::endId() const { return processor->eos_id(); }

Status SentencePieceModel::encode(std::string_view text, std::vector<int32_t> &ids) const {
  std::vector<int> found;
  HEDDLE_TRY(callLibrary([&] { return processor->Encode(text, &found); }));
  ids.insert(ids.end(), found.begin(), found.end());
  return {};
}

Result<std::string> SentencePieceModel::decode(std::span<const int32_t> ids) const {
  std::string text;
  const std::vector<int> wanted(ids.begin(), ids.end());
  HEDDLE_TRY(callLibrary([&] { return processor->Decode(wanted, &text); }));
  return text;
}

Result<std::string> SentencePieceModel::decode(const std::vector<std::string> &pieces) const {
  std::string text;
  HEDDLE_TRY(callLibrary([&] { return processor->Decode(pieces, &text); }));
  return text;
}

} // namespace heddle
