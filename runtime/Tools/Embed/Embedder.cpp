// SPDX-License-Identifier: Apache-2.0
///
/// Runs a block of texts through the model in short batches.
#include "runtime/Tools/Embed/Embedder.h"

#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <chrono>
#include <numeric>
#include <span>

namespace heddle::tools {

Result<Embedder> Embedder::create(const std::string &model, const ExecutionOptions &options) {
  HEDDLE_ASSIGN(const Model loaded, loadModel(model, options));
  HEDDLE_ASSIGN(const EntryInfo *entry,
                requireEntry(loaded, "embed", "embed texts", "a model of sentence embeddings"));
  HEDDLE_ASSIGN(const PortInfo *input, chooseIds(loaded, *entry));
  HEDDLE_TRY(checkTokenizer(loaded, "one to embed texts"));
  HEDDLE_ASSIGN(Session session, Session::create(loaded, {.threads = options.threads}));
  HEDDLE_ASSIGN(const int64_t width, session.embeddingWidth());
  return Embedder(std::move(session), *entry, *input, width);
}

/// Returns the tokens of a text, or the reason why they cannot be embedded.
Result<std::vector<int32_t>> Embedder::tokensOf(std::string_view text) const {
  HEDDLE_ASSIGN(std::vector<int32_t> tokens, session.model().tokenize(text));
  HEDDLE_TRY(checkText(*entry, *input, tokens));
  return tokens;
}

/// Sets the tokens of block.texts, and the failures of texts that have none.
void Embedder::tokenize(EmbeddedTexts &block, LineErrors &errors) const {
  block.lengths.clear();
  block.tokens.clear();
  for (size_t i = 0; i < block.texts.size(); ++i) {
    if (interrupted()) {
      block.texts.resize(i);
      return;
    }
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

/// Embeds texts from `first` on, as many as fit one run, and returns their number.
Result<size_t> Embedder::runSome(EmbeddedTexts &block, size_t first, size_t firstToken) {
  size_t end = first;
  int64_t tokens = 0;
  while (end < block.lengths.size() &&
         (end == first || tokens + block.lengths[end] <= runSize.tokens())) {
    tokens += block.lengths[end++];
  }
  const auto width = static_cast<size_t>(columns);
  const auto lengths = std::span(block.lengths).subspan(first, end - first);
  const Input ids{input->name,
                  std::span(block.tokens).subspan(firstToken, static_cast<size_t>(tokens))};
  const Output output{entry->outputs.front().name,
                      std::span(block.embeddings).subspan(first * width, lengths.size() * width)};
  const auto begin = std::chrono::steady_clock::now();
  HEDDLE_TRY(session.run("embed", lengths, {&ids, 1}, {&output, 1}));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  runSize.took(tokens, time.count());
  return lengths.size();
}

/// Truncates the list after the first `embedded` texts that have an embedding.
static void cut(std::vector<Text> &texts, size_t embedded) {
  size_t end = 0;
  for (size_t seen = 0; end < texts.size(); ++end) {
    seen += texts[end].status.ok() ? 1 : 0;
    if (seen > embedded) {
      break;
    }
  }
  texts.resize(end);
}

Status Embedder::embed(EmbeddedTexts &block, LineErrors &errors) {
  tokenize(block, errors);
  block.embeddings.resize(block.lengths.size() * static_cast<size_t>(columns));
  size_t done = 0;
  size_t tokens = 0;
  while (done < block.lengths.size() && !interrupted()) {
    HEDDLE_ASSIGN(const size_t count, runSome(block, done, tokens));
    tokens =
        std::accumulate(block.lengths.begin() + static_cast<std::ptrdiff_t>(done),
                        block.lengths.begin() + static_cast<std::ptrdiff_t>(done + count), tokens);
    done += count;
  }
  cut(block.texts, done);
  block.lengths.resize(done);
  block.tokens.resize(tokens);
  block.embeddings.resize(done * static_cast<size_t>(columns));
  return {};
}

} // namespace heddle::tools
