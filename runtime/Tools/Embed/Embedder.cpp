// SPDX-License-Identifier: Apache-2.0
///
/// A block of texts is one batch.
#include "runtime/Tools/Embed/Embedder.h"

#include "runtime/Tools/Models/ModelEntries.h"

namespace heddle::tools {

Result<Embedder> Embedder::create(const std::string &model, const ExecutionOptions &options) {
  HEDDLE_ASSIGN(const Model loaded, loadModel(model, options.isa));
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseEntry(loaded, "embed"));
  HEDDLE_ASSIGN(const PortInfo *input, chooseIds(loaded, *entry));
  HEDDLE_TRY(checkTokenizer(loaded, "one to embed texts"));
  HEDDLE_ASSIGN(Session session, Session::create(loaded, {.threads = options.threads}));
  HEDDLE_ASSIGN(const int64_t width, session.embeddingWidth());
  return Embedder(std::move(session), *entry, *input, width);
}

/// The tokens of a text, or why they cannot be embedded.
Result<std::vector<int32_t>> Embedder::tokensOf(std::string_view text) const {
  HEDDLE_ASSIGN(std::vector<int32_t> tokens, session.model().tokenize(text));
  HEDDLE_TRY(checkText(*entry, *input, tokens));
  return tokens;
}

/// Fills in the tokens of block.texts, and why a text has none.
void Embedder::tokenize(EmbeddedTexts &block, LineErrors &errors) const {
  block.lengths.clear();
  block.tokens.clear();
  for (size_t i = 0; i < block.texts.size(); ++i) {
    Text &text = block.texts[i];
    const Result<std::vector<int32_t>> tokens =
        text.status.ok() ? tokensOf(text.text) : text.status;
    if (tokens.ok()) {
      block.lengths.push_back(static_cast<int32_t>(tokens->size()));
      block.tokens.insert(block.tokens.end(), tokens->begin(), tokens->end());
      continue;
    }
    text.status = text.failure(tokens.status());
    if (!errors.goOn(text.status)) {
      block.texts.resize(i);
      return;
    }
  }
}

Status Embedder::embed(EmbeddedTexts &block, LineErrors &errors) {
  tokenize(block, errors);
  block.embeddings.resize(block.lengths.size() * static_cast<size_t>(columns));
  const Input ids{input->name, block.tokens};
  const Output output{entry->outputs.front().name, block.embeddings};
  return session.run("embed", block.lengths, {&ids, 1}, {&output, 1});
}

} // namespace heddle::tools
