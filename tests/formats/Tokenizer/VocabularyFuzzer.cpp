// SPDX-License-Identifier: Apache-2.0
///
/// A letter, then arbitrary bytes as a vocabulary of the corresponding kind: a list of words as
/// JSON or as text, the ids of a SentencePiece model's pieces, the configuration of one, or a model
/// whose pieces become ids by RoBERTa's rules. A packed vocabulary verifies and loads, and ids are
/// decoded.
#include "formats/Tokenizer/TokenizerFile.h"
#include "runtime/Tokenizer/Tokenizer.h"
#include "tests/Fuzzing/JsonMutation.h"
#include "tests/Fuzzing/RecordMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"
#include "tests/Fuzzing/TextMutation.h"

#include <filesystem>

using namespace heddle;
using fuzzing::require;

/// A kind of vocabulary: its folder, its file, and the SentencePiece models beside it.
struct Kind {
  char letter;
  const char *file;
  std::initializer_list<const char *> models;
};

static const Kind kinds[] = {
    {'j', "json/shared_vocabulary.json", {}},
    {'t', "text/shared_vocabulary.txt", {}},
    {'m', "marian/vocab.json", {"marian/source.spm", "marian/target.spm"}},
    {'p', "pieces/tokenizer_config.json", {"pieces/spiece.model"}},
    {'r', "roberta/sentencepiece.bpe.model", {}},
};

static const fuzzing::ScratchFolder &folders() {
  static const fuzzing::ScratchFolder folder;
  static const bool isMade = [] {
    std::string model = fuzzing::readWhole(HEDDLE_SENTENCEPIECE_MODEL);
    model.resize(model.rfind("\n\n\n"));
    for (const Kind &kind : kinds) {
      std::filesystem::create_directories(
          std::filesystem::path(folder.path(kind.file)).parent_path());
      for (const char *const file : kind.models) {
        folder.write(file, model);
      }
    }
    return true;
  }();
  static_cast<void>(isMade);
  return folder;
}

static void mutateVocabulary(std::string &input, fuzzing::Choice &choice) {
  if (input.size() < 2) {
    input = "t<unk>\n<s>\n</s>\na\nb\n";
  }
  fuzzing::Mutation mutation = fuzzing::mutateJson;
  if (input[0] == 't') {
    mutation = [](std::string &text, fuzzing::Choice &lines) {
      fuzzing::mutateText(text, {}, lines);
    };
  } else if (input[0] == 'r') {
    mutation = fuzzing::mutateProtobuf;
  }
  fuzzing::changePart(input, 1, input.size(), mutation, choice);
}

HEDDLE_FUZZ_MUTATION(mutateVocabulary)

/// Packs a tokenizer, encodes a text with it and decodes the ids.
static void use(const TokenizerFile &file, std::string_view text) {
  flatbuffers::FlatBufferBuilder builder;
  const auto root = file.pack(builder, {.modelLength = 64});
  if (!root.ok()) {
    return require(root.status().message().starts_with(folders().path()));
  }
  builder.Finish(*root);
  flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize());
  require(verifier.VerifyBuffer<manifest::Tokenizer>(nullptr));
  const Result<Tokenizer> tokenizer =
      Tokenizer::load(flatbuffers::GetRoot<manifest::Tokenizer>(builder.GetBufferPointer()));
  require(tokenizer.ok());
  if (const Result<std::vector<int32_t>> ids = tokenizer->encode(text); ids.ok()) {
    require(ids->size() <= tokenizer->maxLength());
    require(tokenizer->decode(*ids).ok());
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  for (const Kind &kind : kinds) {
    if (input.empty() || input[0] != kind.letter) {
      continue;
    }
    folders().write(kind.file, input.substr(1));
    const std::string path = folders().path(kind.file);
    const auto found = findTokenizers(path.substr(0, path.rfind('/')));
    if (!found.ok()) {
      require(found.status().message().starts_with(folders().path()));
      return 0;
    }
    require(found->source.has_value());
    // The end of the input serves as the text.
    const std::string_view text = input.substr(input.size() - std::min<size_t>(size, 40));
    use(*found->source, text);
    if (found->target) {
      use(*found->target, text);
    }
    return 0;
  }
  return -1;
}
