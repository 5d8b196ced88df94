// SPDX-License-Identifier: Apache-2.0
///
/// Writes the parts of BERT's tokenizer.json.
#include "formats/Tokenizer/WordPieces.h"

namespace heddle {

nlohmann::json wordPieceTokenizer(const WordPieces &words) {
  nlohmann::json ids = nlohmann::json::object();
  for (size_t i = 0; i < words.pieces.size(); ++i) {
    ids[words.pieces[i]] = i;
  }
  std::vector<std::string> special = words.special;
  special.insert(special.end(), {words.unknown, words.begin, words.end});
  nlohmann::json added = nlohmann::json::array();
  for (const std::string &token : special) {
    added.push_back({{"id", ids[token]},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  nlohmann::json accents;
  if (words.stripAccents) {
    accents = *words.stripAccents;
  }
  nlohmann::json json = {{"added_tokens", std::move(added)},
                         {"normalizer",
                          {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", words.splitsChinese},
                           {"strip_accents", std::move(accents)},
                           {"lowercase", words.lowerCase}}},
                         {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                         {"post_processor",
                          {{"type", "BertProcessing"},
                           {"sep", nlohmann::json::array({words.end, ids[words.end]})},
                           {"cls", nlohmann::json::array({words.begin, ids[words.begin]})}}},
                         {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}}};
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", words.unknown},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", 100},
                   {"vocab", std::move(ids)}};
  return json;
}

} // namespace heddle
