// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a SentencePiece model and, after "\n\n\n", a text: a packed model loads, and
/// its ids can be decoded.
#include "formats/Tokenizer/SentencePieceImport.h"
#include "runtime/Tokenizer/Tokenizer.h"
#include "tests/Fuzzing/RecordMutation.h"

using namespace heddle;
using fuzzing::require;

static constexpr std::string_view modelEnd = "\n\n\n";

/// Mutates the fields of the model, or the bytes of the text.
static void mutateSentencePiece(std::string &input, fuzzing::Choice &choice) {
  const size_t at = std::min(input.rfind(modelEnd), input.size());
  if (at < input.size() && choice.oneIn(6)) {
    fuzzing::changePart(input, at + modelEnd.size(), input.size(), fuzzing::changeBytes, choice);
  } else {
    fuzzing::changePart(input, 0, at, fuzzing::mutateProtobuf, choice);
  }
}

HEDDLE_FUZZ_MUTATION(mutateSentencePiece)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const size_t at = std::min(input.rfind(modelEnd), size);
  flatbuffers::FlatBufferBuilder builder;
  const auto root =
      packSentencePiece(builder, input.substr(0, at), {}, {.modelLength = 64}, "input");
  if (!root.ok()) {
    require(root.status().message().starts_with("input: "));
    return 0;
  }
  builder.Finish(*root);
  flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize());
  require(verifier.VerifyBuffer<manifest::Tokenizer>(nullptr));
  const Result<Tokenizer> tokenizer =
      Tokenizer::load(flatbuffers::GetRoot<manifest::Tokenizer>(builder.GetBufferPointer()));
  require(tokenizer.ok());
  const Result<std::vector<int32_t>> ids =
      tokenizer->encode(input.substr(std::min(at + modelEnd.size(), size)));
  if (ids.ok()) {
    require(ids->size() <= tokenizer->maxLength());
    require(tokenizer->decode(*ids).ok());
  }
  return 0;
}
