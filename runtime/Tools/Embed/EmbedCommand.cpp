// SPDX-License-Identifier: Apache-2.0
///
/// Runs texts in blocks through the tokenizer and the entry "embed".
#include "runtime/Tools/Commands.h"

#include "heddle/ElementType.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <fmt/format.h>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

static constexpr std::string_view outputEndings[] = {".jsonl", ".npy"};

void declare(OptionList &list, EmbedOptions &options) {
  declareModel(list, options);
  declareTexts(list, options.input);
  list.output("--output", options.output,
              "Embeddings: .jsonl has {\"text\", \"tokens\", \"embedding\"} a line, .npy a matrix "
              "[texts, width] of float32, - is standard output")
      .endings(outputEndings, "a .jsonl or .npy file, or - for standard output");
  declareOnError(list, options.onError, "it gets {\"text\", \"error\"}, in a matrix a row of NaN");
  declareExecution(list, options);
}

/// Magic, version, length of the description, and the description: a Python literal, padded with
/// spaces and closed by a line feed.
std::string npyHeader(int64_t rows, int64_t columns) {
  constexpr std::string_view magic("\x93NUMPY\x01\x00", 8);
  constexpr size_t lengthBytes = 2;
  constexpr size_t alignment = 64;
  std::string description =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  infoOf(ElementType::F32).numpy, rows, columns);
  const size_t used = magic.size() + lengthBytes + description.size() + 1;
  description.append((alignment - used % alignment) % alignment, ' ');
  description += '\n';
  std::string header(magic);
  header += static_cast<char>(description.size() & 0xff);
  header += static_cast<char>(description.size() >> 8);
  return header + description;
}

namespace {
/// A session, with the input and the output width of the entry "embed".
struct Embedder {
  Session session;
  // Parts of the model, which the session keeps alive.
  const EntryInfo *entry = nullptr;
  const PortInfo *input = nullptr;
  int64_t width = 0;
};

/// Some texts, and the tokens and embeddings of those that can be used, end to end.
struct Block {
  std::vector<Text> texts;
  std::vector<int32_t> lengths;
  std::vector<int32_t> tokens;
  /// [lengths, width].
  std::vector<float> embeddings;
};

/// Writes embeddings in one of the two formats.
class EmbeddingWriter {
public:
  /// `total` is the number of texts, which a matrix needs before its first row. Where it is not
  /// known (a pipe), the matrix is kept until the end.
  EmbeddingWriter(OutputStream stream, bool matrix, int64_t width, std::optional<int64_t> total)
      : stream(std::move(stream)), matrix(matrix), width(width), total(total) {}

  Status write(const Block &block);
  /// Ends a run over all that `reader` has, or one that a failure, a line or a signal has ended.
  Status finish(const LineReader &reader, LineErrors &errors, const Status &failure);

private:
  Status writeRows(const Block &block);

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

/// Rows of a matrix. A text without an embedding has a row as well, so that rows stay those of
/// their lines: of NaN, which no sum or product takes for a number.
Status EmbeddingWriter::writeRows(const Block &block) {
  const auto columns = static_cast<size_t>(width);
  std::vector<float> rows;
  auto next = block.embeddings.begin();
  for (const Text &text : block.texts) {
    if (text.status.ok()) {
      rows.insert(rows.end(), next, next + width);
      next += width;
    } else {
      rows.insert(rows.end(), columns, std::numeric_limits<float>::quiet_NaN());
    }
  }
  if (!total) {
    kept.insert(kept.end(), rows.begin(), rows.end());
    return {};
  }
  if (!std::exchange(headerWritten, true)) {
    HEDDLE_TRY(stream.write(npyHeader(*total, width)));
  }
  return stream.write(bytesOf(rows));
}

Status EmbeddingWriter::write(const Block &block) {
  if (matrix) {
    return writeRows(block);
  }
  const auto columns = static_cast<size_t>(width);
  std::string lines;
  std::span<const int32_t> tokens = block.tokens;
  size_t row = 0;
  for (const Text &text : block.texts) {
    if (!text.status.ok()) {
      appendError(lines, text.text, text.status.message());
      continue;
    }
    const auto length = static_cast<size_t>(block.lengths[row]);
    appendRecord(lines, text.text, tokens.first(length),
                 std::span(block.embeddings).subspan(row * columns, columns));
    tokens = tokens.subspan(length);
    ++row;
  }
  return stream.write(lines);
}

Status EmbeddingWriter::finish(const LineReader &reader, LineErrors &errors,
                               const Status &failure) {
  if (!failure.ok() || errors.stopped() || interrupted()) {
    // The beginning of a matrix is of no use: its header says how many rows there are.
    return errors.finish(stream, reader.number(), failure, !matrix);
  }
  if (matrix && total && reader.number() != *total) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} texts, expected the {} it had at the start: the file "
                                    "changed while it was read",
                                    reader.name(), reader.number(), *total));
  }
  if (matrix && !total) {
    HEDDLE_TRY(stream.write(npyHeader(reader.number(), width)));
    HEDDLE_TRY(stream.write(bytesOf(kept)));
  }
  return errors.finish(stream, reader.number());
}

static Result<Embedder> makeEmbedder(const EmbedOptions &options) {
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options.isa));
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseEntry(model, "embed"));
  HEDDLE_ASSIGN(const PortInfo *input, chooseIds(model, *entry));
  HEDDLE_TRY(checkTokenizer(model, "one to embed texts"));
  HEDDLE_ASSIGN(Session session, Session::create(model, {.threads = options.threads}));
  HEDDLE_ASSIGN(const int64_t width, session.embeddingWidth());
  return Embedder{std::move(session), entry, input, width};
}

/// The tokens of a text, or why they cannot be embedded.
static Result<std::vector<int32_t>> tokensOf(const Embedder &embedder, std::string_view text) {
  HEDDLE_ASSIGN(std::vector<int32_t> tokens, embedder.session.model().tokenize(text));
  HEDDLE_TRY(checkText(*embedder.entry, *embedder.input, tokens));
  return tokens;
}

/// Fills in the tokens of block.texts, and why a text has none. Texts from one on that ends the run
/// are left out.
static void tokenize(const Embedder &embedder, Block &block, LineErrors &errors) {
  block.lengths.clear();
  block.tokens.clear();
  for (size_t i = 0; i < block.texts.size(); ++i) {
    Text &text = block.texts[i];
    const Result<std::vector<int32_t>> tokens =
        text.status.ok() ? tokensOf(embedder, text.text) : text.status;
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

static Status embed(Embedder &embedder, Block &block) {
  block.embeddings.resize(block.lengths.size() * static_cast<size_t>(embedder.width));
  const Input input{embedder.input->name, block.tokens};
  const Output output{embedder.entry->outputs.front().name, block.embeddings};
  return embedder.session.run("embed", block.lengths, {&input, 1}, {&output, 1});
}

Status execute(const EmbedOptions &options) {
  const bool matrix = options.output.ends_with(".npy");
  HEDDLE_ASSIGN(LineReader reader, LineReader::openTexts(options.input));
  HEDDLE_ASSIGN(Embedder embedder, makeEmbedder(options));
  std::optional<int64_t> total;
  if (matrix) {
    HEDDLE_ASSIGN(total, countTexts(options.input));
  }
  HEDDLE_ASSIGN(OutputStream stream, OutputStream::open(options.output));
  EmbeddingWriter writer(std::move(stream), matrix, embedder.width, total);
  LineErrors errors(options.onError, reader.name());
  Progress progress("texts", options.json);
  noteInterruptions();
  Block block;
  Status failure;
  while (!errors.stopped() && !interrupted()) {
    failure = reader.nextBlock(block.texts);
    if (!failure.ok() || block.texts.empty()) {
      break;
    }
    tokenize(embedder, block, errors);
    failure = embed(embedder, block);
    if (!failure.ok()) {
      break;
    }
    HEDDLE_TRY(writer.write(block));
    progress.update(reader.number(), total);
  }
  return writer.finish(reader, errors, failure);
}

} // namespace heddle::tools
