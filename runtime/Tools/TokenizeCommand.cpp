// SPDX-License-Identifier: Apache-2.0
///
/// heddle tokenize: texts to ids, without running the model.
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/JsonRecord.h"
#include "runtime/Tools/OutputStream.h"
#include "runtime/Tools/Progress.h"
#include "runtime/Tools/TextReader.h"

#include <fmt/format.h>

namespace heddle::tools {

Status execute(const TokenizeOptions &options) {
  HEDDLE_ASSIGN(TextReader reader, TextReader::open(options.input));
  HEDDLE_ASSIGN(const Model model, Model::load(options.model, {.isa = {}, .describeOnly = true}));
  if (!model.hasTokenizer()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: the model has no tokenizer, expected one to tokenize texts",
                    options.model));
  }
  OutputStream output = OutputStream::standard();
  Progress progress("texts", options.json);
  std::vector<std::string> texts;
  std::string lines;
  while (true) {
    HEDDLE_TRY(reader.nextBlock(texts));
    if (texts.empty()) {
      return output.finish();
    }
    lines.clear();
    for (const std::string &text : texts) {
      HEDDLE_ASSIGN(const std::vector<int32_t> tokens, model.tokenize(text));
      appendRecord(lines, text, tokens);
    }
    HEDDLE_TRY(output.write(lines));
    progress.update(reader.count(), std::nullopt);
  }
}

} // namespace heddle::tools
