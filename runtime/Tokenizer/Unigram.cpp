// SPDX-License-Identifier: Apache-2.0
///
/// Adds scores in double, from left to right, as the Hugging Face tokenizers library does, so that
/// ties are broken in the same way.
#include "runtime/Tokenizer/Unigram.h"

#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

static constexpr size_t unreached = static_cast<size_t>(-1);

Result<Unigram> Unigram::load(const manifest::Unigram &table) {
  // The difference between the score of an unknown character and that of the worst token.
  constexpr double unknownPenalty = 10;
  Unigram result;
  HEDDLE_ASSIGN(result.tokens, Vocabulary::load(*table.vocabulary()));
  const size_t count = result.tokens.size();
  if (table.scores()->size() != count) {
    return HEDDLE_ERROR(DataLoss, fmt::format("vocabulary: {} scores for {} tokens",
                                              table.scores()->size(), count));
  }
  result.trie = DoubleArray({reinterpret_cast<const char *>(table.trie()->data()),
                             table.trie()->size() * sizeof(uint32_t)});
  if (!result.trie.isSafe(static_cast<uint32_t>(count))) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("vocabulary: a trie of {} units points outside itself "
                                    "or its {} tokens",
                                    result.trie.size(), count));
  }
  result.scores = table.scores()->data();
  result.unknownScore = *std::min_element(result.scores, result.scores + count) - unknownPenalty;
  result.unknownId = static_cast<int32_t>(table.unknown_id());
  if (!result.tokens.indexOf(result.unknownId)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("vocabulary: no token has the unknown id {}", table.unknown_id()));
  }
  if (table.byte_fallback()) {
    result.byteTokens = findByteTokens(result.tokens);
  }
  return result;
}

/// Fills `nodes`, one for each byte of the word and one for its end.
void Unigram::findBest(std::string_view word, std::vector<Node> &nodes) const {
  nodes.assign(word.size() + 1, {0, unreached, 0});
  const auto reach = [&](size_t begin, size_t end, double score, int32_t id) {
    Node &node = nodes[end];
    if (node.begin == unreached || score > node.score) {
      node = {score, begin, id};
    }
  };
  size_t bytes = 0;
  for (size_t begin = 0; begin < word.size(); begin += bytes) {
    const double before = nodes[begin].score;
    bytes = firstCharacter(word.substr(begin)).bytes;
    bool known = false;
    DoubleArray::Place place = trie.root();
    for (size_t at = begin; at < word.size(); ++at) {
      if (!trie.step(place, static_cast<unsigned char>(word[at]))) {
        break;
      }
      if (place.endsKey) {
        const size_t index = trie.value(place);
        reach(begin, at + 1, scores[index] + before, tokens.idAt(index));
        known = known || at + 1 == begin + bytes;
      }
    }
    if (!known) {
      reach(begin, begin + bytes, unknownScore + before, unknownId);
    }
  }
}

/// Appends the ids of adjacent unknown characters: the token that they form together, if there is
/// one, otherwise their bytes.
void Unigram::appendUnknown(std::string_view text, std::vector<int32_t> &ids,
                            Scratch &scratch) const {
  if (const int32_t id = tokens.find(text); id >= 0) {
    ids.push_back(id);
    return;
  }
  scratch.bytes.clear();
  if (byteTokens && appendByteTokens(*byteTokens, text, scratch.bytes)) {
    ids.insert(ids.end(), scratch.bytes.begin(), scratch.bytes.end());
    return;
  }
  ids.push_back(unknownId);
}

void Unigram::appendWord(std::string_view word, std::vector<int32_t> &ids, Scratch &scratch) const {
  findBest(word, scratch.nodes);
  scratch.path.clear();
  for (size_t end = word.size(); end > 0; end = scratch.nodes[end].begin) {
    scratch.path.push_back(scratch.nodes[end]);
  }
  for (auto node = scratch.path.rbegin(); node != scratch.path.rend();) {
    if (node->id != unknownId) {
      ids.push_back(node->id);
      ++node;
      continue;
    }
    const size_t begin = node->begin;
    while (node != scratch.path.rend() && node->id == unknownId) {
      ++node;
    }
    const size_t end = node == scratch.path.rend() ? word.size() : node->begin;
    appendUnknown(word.substr(begin, end - begin), ids, scratch);
  }
}

} // namespace heddle
