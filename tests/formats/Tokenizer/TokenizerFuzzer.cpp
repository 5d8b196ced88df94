// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a tokenizer.json and, after a NUL, a text: an imported tokenizer verifies and
/// loads; an encoded text is within the limit and can be decoded.
#include "base/Utf8.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/TokenizerImport.h"
#include "runtime/Tokenizer/TextStream.h"
#include "runtime/Tokenizer/Tokenizer.h"
#include "tests/Fuzzing/JsonMutation.h"

using namespace heddle;
using fuzzing::require;

/// Mutates the JSON of the tokenizer, or the bytes of the text.
static void mutateTokenizer(std::string &input, fuzzing::Choice &choice) {
  const size_t end = std::min(input.find('\0'), input.size());
  if (end < input.size() && choice.oneIn(6)) {
    fuzzing::changePart(input, end + 1, input.size(), fuzzing::changeBytes, choice);
  } else {
    fuzzing::changePart(input, 0, end, fuzzing::mutateJson, choice);
  }
}

HEDDLE_FUZZ_MUTATION(mutateTokenizer)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const size_t end = std::min(input.find('\0'), size);
  const Result<nlohmann::json> json = parseJson(input.substr(0, end), "input");
  if (!json.ok()) {
    return 0;
  }
  flatbuffers::FlatBufferBuilder builder;
  const auto root = packTokenizer(builder, *json, "input", std::nullopt, 64);
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
  const std::string_view text = input.substr(std::min(end + 1, size));
  const Result<std::vector<int32_t>> ids = tokenizer->encode(text);
  if (!ids.ok()) {
    return 0;
  }
  require(ids->size() <= tokenizer->maxLength());
  require(tokenizer->typeIds(ids->size()).size() == ids->size());
  require(tokenizer->decode(*ids).ok());
  require(tokenizer->decode(*ids, false).ok());
  TextStream stream(*tokenizer);
  std::string streamed;
  for (const int32_t id : *ids) {
    streamed += *stream.add(id);
    require(validUtf8Prefix(streamed) == streamed.size());
  }
  require(streamed + *stream.finish() == *tokenizer->decode(*ids));
  const Result<Tokenizer::Pair> pair = tokenizer->encodePair(text, text);
  require(!pair.ok() ||
          (pair->ids.size() == pair->typeIds.size() && pair->ids.size() <= tokenizer->maxLength()));
  return 0;
}
