// SPDX-License-Identifier: Apache-2.0
///
/// Runs texts through the tokenizer and the entry "embed" of a model, for the commands that embed.
#ifndef HEDDLE_RUNTIME_TOOLS_EMBED_EMBEDDER_H
#define HEDDLE_RUNTIME_TOOLS_EMBED_EMBEDDER_H

#include "heddle/Session.h"
#include "runtime/Tools/Embed/RunSize.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// Some texts, and the concatenated tokens and embeddings of those that could be used.
struct EmbeddedTexts {
  std::vector<Text> texts;
  std::vector<int32_t> lengths;
  std::vector<int32_t> tokens;
  /// [lengths, width].
  std::vector<float> embeddings;
};

/// A session for one model.
class Embedder {
public:
  static Result<Embedder> create(const std::string &model, const ExecutionOptions &options);

  /// Returns the number of floats of an embedding.
  int64_t width() const { return columns; }
  /// Embeds block.texts. A text that cannot be used gets its failure, which is reported to
  /// `errors`; if one ends the run, it and all later texts are removed. A signal removes the texts
  /// that were not embedded.
  Status embed(EmbeddedTexts &block, LineErrors &errors);

private:
  Embedder(Session session, const EntryInfo &entry, const PortInfo &input, int64_t columns)
      : session(std::move(session)), entry(&entry), input(&input), columns(columns) {}
  Result<std::vector<int32_t>> tokensOf(std::string_view text) const;
  void tokenize(EmbeddedTexts &block, LineErrors &errors) const;
  Result<size_t> runSome(EmbeddedTexts &block, size_t first, size_t firstToken);

  Session session;
  RunSize runSize;
  // Parts of the model, which the session keeps alive.
  const EntryInfo *entry;
  const PortInfo *input;
  int64_t columns;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_EMBED_EMBEDDER_H
