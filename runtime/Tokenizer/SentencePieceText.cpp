// SPDX-License-Identifier: Apache-2.0
///
/// Maps the library's pieces to the rows of the model's embedding, and back.
#include "runtime/Tokenizer/SentencePieceText.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

Result<SentencePieceText> SentencePieceText::load(const manifest::SentencePiece &table) {
  const Result<SentencePieceModel> model = SentencePieceModel::load(
      {reinterpret_cast<const char *>(table.model()->data()), table.model()->size()});
  if (!model.ok()) {
    return HEDDLE_ERROR(DataLoss, std::string(model.status().message()));
  }
  SentencePieceText result(*model);
  if (table.vocabulary() == nullptr) {
    return result;
  }
  HEDDLE_ASSIGN(result.tokens, Vocabulary::load(*table.vocabulary()));
  const auto unknownId = static_cast<int32_t>(table.unknown_id());
  if (!result.tokens->indexOf(unknownId)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("vocabulary: no token has the unknown id {}", table.unknown_id()));
  }
  for (int32_t piece = 0; piece < model->size(); ++piece) {
    const int32_t id = result.tokens->find(model->piece(piece));
    result.idOfPiece.push_back(id < 0 ? unknownId : id);
  }
  return result;
}

Status SentencePieceText::appendText(std::string_view text, std::vector<int32_t> &ids) const {
  const size_t before = ids.size();
  HEDDLE_TRY(model.encode(text, ids));
  if (tokens) {
    for (size_t i = before; i < ids.size(); ++i) {
      ids[i] = idOfPiece[static_cast<size_t>(ids[i])];
    }
  }
  return {};
}

/// The library copies tokens that are not its pieces verbatim, including space marks.
static std::string withSpaces(std::string_view text) {
  constexpr std::string_view mark = "\u2581";
  std::string result;
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark)) {
    result += text.substr(0, at);
    result += ' ';
    text.remove_prefix(at + mark.size());
  }
  result += text;
  const size_t begin = std::min(result.find_first_not_of(' '), result.size());
  return result.substr(begin, result.find_last_not_of(' ') + 1 - begin);
}

Result<std::string> SentencePieceText::decode(std::span<const int32_t> ids) const {
  if (!tokens) {
    return model.decode(ids);
  }
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    pieces.emplace_back(tokens->text(id).value_or(std::string_view()));
  }
  HEDDLE_ASSIGN(const std::string decoded, model.decode(pieces));
  return withSpaces(decoded);
}

std::optional<std::string_view> SentencePieceText::text(int32_t id) const {
  if (tokens) {
    return tokens->text(id);
  }
  return id >= 0 && id < model.size() ? std::optional<std::string_view>(model.piece(id))
                                      : std::nullopt;
}

int32_t SentencePieceText::find(std::string_view token) const {
  if (tokens) {
    return tokens->find(token);
  }
  const int32_t id = model.find(token);
  return id >= 0 && model.piece(id) == token ? id : -1;
}

size_t SentencePieceText::size() const {
  return tokens ? tokens->size() : static_cast<size_t>(model.size());
}

} // namespace heddle
