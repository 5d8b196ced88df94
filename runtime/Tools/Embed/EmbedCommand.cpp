// SPDX-License-Identifier: Apache-2.0
///
/// Embeds the lines of a file in blocks, as JSON lines or as a matrix.
#include "runtime/Tools/Commands.h"

#include "heddle/ElementType.h"
#include "runtime/Tools/Embed/Embedder.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"

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
  declareTexts(list, options);
  list.output("--output", options.output,
              "Embeddings: .jsonl has {\"text\", \"tokens\", \"embedding\"} a line, .npy a matrix "
              "[texts, width] of float32, - is standard output")
      .endings(outputEndings, "a .jsonl or .npy file, or - for standard output");
  declareOnError(list, options.onError, "it gets {\"text\", \"error\"}, in a matrix a row of NaN");
  declareExecution(list, options);
}

/// The header has the magic string, version, length of the description, and the description: a
/// Python literal, padded with spaces and terminated by a line feed.
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
/// Writes embeddings in one of the two formats.
class EmbeddingWriter {
public:
  /// `total` is the number of texts, which a matrix needs before its first row. If it is unknown (a
  /// pipe), the matrix is kept in memory until the end.
  EmbeddingWriter(OutputStream stream, bool matrix, int64_t width, std::optional<int64_t> total)
      : stream(std::move(stream)), matrix(matrix), width(width), total(total) {}

  Status write(const EmbeddedTexts &block);
  /// Ends a run at the end of `reader`, or after a failure, a line or a signal that ended it.
  Status finish(const LineReader &reader, LineErrors &errors, const Status &failure);

private:
  Status writeRows(const EmbeddedTexts &block);

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

/// Writes rows of a matrix. A text without an embedding gets a row of NaN, so that rows correspond
/// to lines and no sum or product mistakes it for a number.
Status EmbeddingWriter::writeRows(const EmbeddedTexts &block) {
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

Status EmbeddingWriter::write(const EmbeddedTexts &block) {
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
    // A partial matrix is useless: its header has the number of rows.
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

Status execute(const EmbedOptions &options) {
  const bool matrix = options.output.ends_with(".npy");
  HEDDLE_ASSIGN(LineReader reader, LineReader::openTexts(options.input, options.inputFormat));
  HEDDLE_ASSIGN(Embedder embedder, Embedder::create(options.model, options));
  std::optional<int64_t> total;
  if (matrix) {
    HEDDLE_ASSIGN(total, countTexts(options.input));
  }
  HEDDLE_ASSIGN(OutputStream stream, OutputStream::open(options.output));
  EmbeddingWriter writer(std::move(stream), matrix, embedder.width(), total);
  LineErrors errors(options.onError, reader.name());
  Progress progress("texts", options.json);
  noteInterruptions();
  EmbeddedTexts block;
  Status failure;
  while (!errors.stopped() && !interrupted()) {
    failure = reader.nextBlock(block.texts);
    if (!failure.ok() || block.texts.empty()) {
      break;
    }
    failure = embedder.embed(block, errors);
    if (!failure.ok()) {
      failure = failure.annotate(placesFrom(block.texts.front().where, block.texts.size()));
      break;
    }
    HEDDLE_TRY(writer.write(block));
    progress.update(reader.number(), total);
  }
  return writer.finish(reader, errors, failure);
}

} // namespace heddle::tools
