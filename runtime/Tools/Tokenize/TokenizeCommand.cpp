// SPDX-License-Identifier: Apache-2.0
///
/// Converts texts to ids without running a model. The tokenizer is that of a compiled model, or a
/// file that a model may be compiled with.
#include "runtime/Tools/Commands.h"

#include "formats/Tokenizer/TokenizerFile.h"
#include "runtime/Tokenizer/Tokenizer.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <functional>

namespace heddle::tools {

namespace {

/// Returns the ids of a text.
using Encode = std::function<Result<std::vector<int32_t>>(std::string_view text)>;

/// The tokenizer of a file, and the table that holds it.
struct OpenTokenizer {
  std::vector<uint8_t> table;
  std::optional<Tokenizer> tokenizer;
};

} // namespace

/// Returns whether a name is that of a tokenizer.json or of a SentencePiece model.
static bool isTokenizerFile(std::string_view path) {
  return path.ends_with(".json") || path.ends_with(".spm") || path.ends_with(".model");
}

static Result<Encode> openFile(const std::string &path) {
  HEDDLE_ASSIGN(const TokenizerFile file, TokenizerFile::open(path));
  const auto open = std::make_shared<OpenTokenizer>();
  HEDDLE_ASSIGN(open->table, file.packAlone());
  Result<Tokenizer> tokenizer =
      Tokenizer::load(flatbuffers::GetRoot<manifest::Tokenizer>(open->table.data()));
  HEDDLE_TRY_WITH(tokenizer.status(), path);
  open->tokenizer.emplace(*std::move(tokenizer));
  return Encode([open](std::string_view text) { return open->tokenizer->encode(text); });
}

static Result<Encode> openModel(const std::string &path) {
  HEDDLE_ASSIGN(const Model model, Model::load(path, {.isa = {}, .describeOnly = true}));
  HEDDLE_TRY(checkTokenizer(model, "one to tokenize texts"));
  return Encode([model](std::string_view text) { return model.tokenize(text); });
}

void declare(OptionList &list, TokenizeOptions &options) {
  declareModel(list, options);
  declareTexts(list, options);
  declareOnError(list, options.onError, "it gets {\"text\", \"error\"}");
}

Status execute(const TokenizeOptions &options) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::openTexts(options.input, options.inputFormat));
  HEDDLE_ASSIGN(const Encode encode, isTokenizerFile(options.model) ? openFile(options.model)
                                                                    : openModel(options.model));
  OutputStream output = OutputStream::standard();
  LineErrors errors(options.onError, reader.name());
  Progress progress("texts", options.json);
  noteInterruptions();
  std::vector<Text> texts;
  std::string lines;
  while (!errors.stopped() && !interrupted()) {
    HEDDLE_TRY(reader.nextBlock(texts));
    if (texts.empty()) {
      break;
    }
    lines.clear();
    for (const Text &text : texts) {
      const Result<std::vector<int32_t>> tokens =
          text.status.ok() ? encode(text.text) : text.status;
      if (tokens.ok()) {
        appendRecord(lines, text.text, *tokens);
      } else if (const Status failure = text.failure(tokens.status()); errors.goOn(failure)) {
        appendError(lines, text.text, failure.message());
      } else {
        break;
      }
    }
    HEDDLE_TRY(output.write(lines));
    progress.update(reader.number(), std::nullopt);
  }
  return errors.finish(output, reader.number());
}

} // namespace heddle::tools
