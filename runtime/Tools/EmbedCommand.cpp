// SPDX-License-Identifier: Apache-2.0
///
/// heddle embed: texts in blocks through the tokenizer and the entry "embed".
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/JsonRecord.h"
#include "runtime/Tools/Npy.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/Progress.h"
#include "runtime/Tools/TextReader.h"

#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

namespace {
/// A model, and what its entry "embed" takes and gives.
struct Embedder {
  Session session;
  std::string input;
  std::string output;
  int64_t width = 0;
};

/// Some texts with their tokens and embeddings.
struct Block {
  std::vector<std::string> texts;
  std::vector<int32_t> lengths;
  std::vector<int32_t> tokens;
  /// [texts, width].
  std::vector<float> embeddings;
};

/// Embeddings on their way out, in one of the two formats.
class EmbeddingWriter {
public:
  /// `total` is the number of texts, which a matrix needs before its first row. Where it is not
  /// known (a pipe), the matrix is kept until the end.
  EmbeddingWriter(OutputStream stream, bool matrix, int64_t width, std::optional<int64_t> total)
      : stream(std::move(stream)), matrix(matrix), width(width), total(total) {}

  Status write(const Block &block);
  Status finish(const TextReader &reader, const std::string &input);

private:
  OutputStream stream;
  bool matrix;
  int64_t width;
  std::optional<int64_t> total;
  bool headerWritten = false;
  std::vector<float> kept;
};
} // namespace

static std::string_view bytesOf(std::span<const float> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size_bytes()};
}

Status EmbeddingWriter::write(const Block &block) {
  if (matrix && !total) {
    kept.insert(kept.end(), block.embeddings.begin(), block.embeddings.end());
    return {};
  }
  if (matrix) {
    if (!std::exchange(headerWritten, true)) {
      HEDDLE_TRY(stream.write(npyHeader(*total, width)));
    }
    return stream.write(bytesOf(block.embeddings));
  }
  std::string lines;
  std::span<const int32_t> tokens = block.tokens;
  for (size_t text = 0; text < block.texts.size(); ++text) {
    const auto length = static_cast<size_t>(block.lengths[text]);
    const auto columns = static_cast<size_t>(width);
    appendRecord(lines, block.texts[text], tokens.first(length),
                 std::span(block.embeddings).subspan(text * columns, columns));
    tokens = tokens.subspan(length);
  }
  return stream.write(lines);
}

Status EmbeddingWriter::finish(const TextReader &reader, const std::string &input) {
  if (matrix && total && reader.count() != *total) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} texts, expected the {} it had at the start: the file "
                                    "changed while it was read",
                                    input, reader.count(), *total));
  }
  if (matrix && !total) {
    HEDDLE_TRY(stream.write(npyHeader(reader.count(), width)));
    HEDDLE_TRY(stream.write(bytesOf(kept)));
  }
  return stream.finish();
}

static Result<Embedder> makeEmbedder(const EmbedOptions &options) {
  HEDDLE_ASSIGN(const Model model, Model::load(options.model, {.isa = options.isa}));
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseEntry(model, "embed"));
  HEDDLE_ASSIGN(const PortInfo *input, chooseInput(model, *entry));
  HEDDLE_TRY(checkTokenizer(model, "one to embed texts"));
  HEDDLE_ASSIGN(Session session, Session::create(model, {.threads = options.threads}));
  HEDDLE_ASSIGN(const int64_t width, session.embeddingWidth());
  return Embedder{std::move(session), input->name, entry->outputs.front().name, width};
}

/// Fills tokens and embeddings of block.texts.
static Status embed(Embedder &embedder, Block &block) {
  block.lengths.clear();
  block.tokens.clear();
  for (const std::string &text : block.texts) {
    HEDDLE_ASSIGN(const std::vector<int32_t> tokens, embedder.session.model().tokenize(text));
    block.lengths.push_back(static_cast<int32_t>(tokens.size()));
    block.tokens.insert(block.tokens.end(), tokens.begin(), tokens.end());
  }
  block.embeddings.resize(block.texts.size() * static_cast<size_t>(embedder.width));
  const Input input{embedder.input, block.tokens};
  const Output output{embedder.output, block.embeddings};
  return embedder.session.run("embed", block.lengths, {&input, 1}, {&output, 1});
}

Status execute(const EmbedOptions &options) {
  const bool matrix = options.output.ends_with(".npy");
  HEDDLE_ASSIGN(TextReader reader, TextReader::open(options.input));
  HEDDLE_ASSIGN(Embedder embedder, makeEmbedder(options));
  std::optional<int64_t> total;
  if (matrix) {
    HEDDLE_ASSIGN(total, countTexts(options.input));
  }
  HEDDLE_ASSIGN(OutputStream stream, OutputStream::open(options.output));
  EmbeddingWriter writer(std::move(stream), matrix, embedder.width, total);
  Progress progress("texts", options.json);
  Block block;
  while (true) {
    HEDDLE_TRY(reader.nextBlock(block.texts));
    if (block.texts.empty()) {
      return writer.finish(reader, options.input);
    }
    HEDDLE_TRY(embed(embedder, block));
    HEDDLE_TRY(writer.write(block));
    progress.update(reader.count(), total);
  }
}

} // namespace heddle::tools
