// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as the small configurations of a folder, each followed by a NUL: modules.json,
/// sentence_bert_config.json, 1_Pooling/config.json, config.json and generation_config.json. The
/// results are within the limits that the readers guarantee.
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "formats/Config/SentenceTransformers.h"
#include "tests/Fuzzing/JsonMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"

#include <array>
#include <cmath>
#include <filesystem>

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJsonDocuments)

static void readSentence(std::span<const std::string_view, 5> documents) {
  static const fuzzing::ScratchFolder folder;
  static const bool isMade = std::filesystem::create_directories(folder.path("1_Pooling"));
  require(isMade);
  folder.write("modules.json", documents[0]);
  folder.write("sentence_bert_config.json", documents[1]);
  folder.write("1_Pooling/config.json", documents[2]);
  const auto sentence = readSentenceTransformers(folder.path());
  if (!sentence.ok()) {
    return require(sentence.status().message().starts_with(folder.path()));
  }
  require(sentence->has_value());
  require((*sentence)->encoderFolder.starts_with(folder.path()));
  require((*sentence)->maxSequenceLength.value_or(1) > 0);
  require((*sentence)->width.value_or(1) > 0);
}

static void readSearch(std::string_view config, std::string_view generation) {
  constexpr int32_t vocabulary = 100;
  const Result<Config> model = Config::parse(config, "config");
  if (!model.ok()) {
    return;
  }
  std::optional<Config> search;
  if (Result<Config> parsed = Config::parse(generation, "generation"); parsed.ok()) {
    search = *std::move(parsed);
  }
  (void)generationNotes(*model, search, true);
  (void)readContinuation(*model, search, vocabulary);
  const Result<Generation> read = readGeneration(*model, search, vocabulary);
  if (!read.ok()) {
    const std::string_view message = read.status().message();
    return require(message.starts_with("config: ") || message.starts_with("generation: "));
  }
  for (const std::vector<int32_t> *ids : {&read->start, &read->end, &read->suppressed}) {
    for (const int32_t id : *ids) {
      require(id >= 0 && id < vocabulary);
    }
  }
  for (const int32_t id : {read->pad, read->forcedFirst, read->forcedLast}) {
    require(id >= -1 && id < vocabulary);
  }
  require(read->beams > 0 && read->maxLength >= 0 && read->minLength >= 0 &&
          read->noRepeatNgram >= 0);
  require(read->temperature > 0 && read->topK >= 0 && read->topP > 0 && read->topP <= 1);
  require(std::isfinite(read->lengthPenalty) && std::isfinite(read->repetitionPenalty));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  std::array<std::string_view, 5> documents;
  for (std::string_view &document : documents) {
    document = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(document.size() + 1, rest.size()));
  }
  readSentence(documents);
  readSearch(documents[3], documents[4]);
  return 0;
}
