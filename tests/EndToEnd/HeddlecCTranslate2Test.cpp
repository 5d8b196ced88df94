// SPDX-License-Identifier: Apache-2.0
///
/// CTranslate2 folders that heddlec rejects, each with one defect: the exit code, the message, and
/// that nothing is written.
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/formats/CTranslate2/SmallTransformer.h"

#include <functional>

namespace heddle {
namespace {

using Spoil = std::function<void(SmallTransformer &)>;

/// A folder with one defect; `{}` in the message is the folder. `spoil` changes the content before
/// it is written, `damage` afterwards.
struct CTranslate2Case {
  const char *name;
  const char *message;
  Spoil spoil;
  Spoil damage;

  friend void PrintTo(const CTranslate2Case &folderCase, std::ostream *stream) {
    *stream << folderCase.name;
  }
};

void nothing(SmallTransformer &) {}

/// Keeps that many bytes of model.bin.
Spoil truncate(size_t size) {
  return [=](SmallTransformer &small) { std::filesystem::resize_file(small.path(), size); };
}

/// Replaces bytes of model.bin.
Spoil overwrite(std::streamoff at, std::string bytes) {
  return [=](SmallTransformer &small) {
    std::fstream file(small.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at) << bytes;
  };
}

Spoil write(std::string file, std::string text) {
  return [=](SmallTransformer &small) { small.folder.write(file, text); };
}

Spoil remove(std::string file) {
  return [=](SmallTransformer &small) { std::filesystem::remove(small.folder / file); };
}

Spoil without(std::string variable) {
  return [=](SmallTransformer &small) { small.erase(variable); };
}

Spoil option(std::string name, int8_t value) {
  return [=](SmallTransformer &small) { small.option(name, value); };
}

const std::string words = "shared_vocabulary.txt";

const std::vector<CTranslate2Case> cases = {
    // model.bin itself
    {"Empty", "{}/model.bin: the file is empty", nothing, truncate(0)},
    {"ThreeBytes",
     "{}/model.bin: version: the file ends at byte 3, expected 4 more bytes from byte 0 on",
     nothing, truncate(3)},
    {"EndsInTheHeader",
     "{}/model.bin: specification: the file ends at byte 10, expected 16 more bytes from byte 6 on",
     nothing, truncate(10)},
    {"OfAnotherProgram",
     "{}/model.bin: version 67324752, expected a CTranslate2 model of version 2 to 6", nothing,
     overwrite(0, "PK\x03\x04")},
    {"Surplus", "{}/model.bin: 4 bytes follow the last variable, expected the end of the file",
     nothing,
     [](SmallTransformer &small) { std::ofstream(small.path(), std::ios::app) << "more"; }},
    {"AnotherSpecification",
     "{}/model.bin: the specification \"WhisperSpec\" is not supported, expected TransformerSpec, "
     "TransformerBase, TransformerBig",
     [](SmallTransformer &small) { small.file.specification = "WhisperSpec"; }, nothing},
    {"ALaterRevision",
     "{}/model.bin: revision 8 of TransformerSpec is not supported, expected 2 to 7",
     [](SmallTransformer &small) { small.file.revision = 8; }, nothing},
    {"VariableTwice", "{}/model.bin: variable \"decoder/projection/bias\" appears twice",
     [](SmallTransformer &small) { small.table("decoder/projection/bias", 5); }, nothing},
    {"AliasOfNothing", "{}/model.bin: alias \"a\": stands for \"gone\", which is not a variable",
     [](SmallTransformer &small) { small.file.aliases = {{"a", "gone"}}; }, nothing},
    {"QuantizedWithoutScale",
     "{}/model.bin: variable \"encoder/layer_0/ffn/linear_0/weight\": is I8, but there is no "
     "variable \"encoder/layer_0/ffn/linear_0/weight_scale\"",
     [](SmallTransformer &small) {
       small.erase("encoder/layer_0/ffn/linear_0/weight");
       small.file.add<int8_t>("encoder/layer_0/ffn/linear_0/weight", {6, 4}, ElementType::I8,
                              std::vector<int8_t>(24));
     },
     nothing},
    // Variables that do not match the model
    {"NoBias",
     "{}/model.bin: variable \"decoder/layer_0/attention/linear_1/bias\" is missing, expected one "
     "of shape [8]",
     without("decoder/layer_0/attention/linear_1/bias"), nothing},
    {"NoLayer",
     "{}/model.bin: variable \"encoder/layer_0/ffn/linear_0/weight\" is missing, expected at least "
     "one layer",
     without("encoder/layer_0/ffn/linear_0/weight"), nothing},
    {"AnotherShape",
     "{}/model.bin: variable \"decoder/projection/weight\" has shape [4, 4], expected [5, 4]",
     [](SmallTransformer &small) {
       small.erase("decoder/projection/weight");
       small.table("decoder/projection/weight", 4, 4);
     },
     nothing},
    {"SurplusVariable",
     "{}/model.bin: variable \"encoder/novelty\" is unused, expected only those of a Transformer",
     option("encoder/novelty", 1), nothing},
    {"HeadsDoNotDivide",
     "{}/model.bin: the option \"num_heads\" is 3, expected a divisor of the "
     "width 4",
     [](SmallTransformer &small) {
       small.option("encoder/num_heads", 3);
       small.option("decoder/num_heads", 3);
     },
     nothing},
    {"RelativePositions",
     "{}/model.bin: variable \"with_relative_position\" is 1: the option "
     "\"with_relative_position\" (relative positions) is not supported",
     option("with_relative_position", 1), nothing},
    {"RotaryPositions",
     "{}/model.bin: variable \"decoder/layer_0/rotary_dim\": the option \"rotary_dim\" (rotary "
     "embeddings) is not supported",
     option("decoder/layer_0/rotary_dim", 1), nothing},
    // Vocabularies
    {"NoVocabulary",
     "{}: has neither shared_vocabulary nor target_vocabulary, expected one as .json or .txt",
     nothing, remove(words)},
    {"NoSourceVocabulary", "{}: has no source_vocabulary, expected it as .json or .txt", nothing,
     [](SmallTransformer &small) {
       remove(words)(small);
       write("target_vocabulary.txt", "a\n")(small);
     }},
    {"EmptyVocabulary", "{}/shared_vocabulary.txt: the file is empty", nothing, write(words, "")},
    {"SmallerVocabulary",
     "{}/shared_vocabulary.txt: 4 tokens, but variable \"encoder/embeddings_0/weight\" of "
     "{}/model.bin has 5 rows, expected a row for each token",
     nothing, write(words, "<s>\n</s>\n<unk>\na\n")},
    {"LargerVocabulary",
     "{}/shared_vocabulary.txt: 6 tokens, but variable \"encoder/embeddings_0/weight\" of "
     "{}/model.bin has 5 rows, expected a row for each token",
     nothing, write(words, "<s>\n</s>\n<unk>\na\nb\nc\n")},
    {"VocabularyWithoutAnEnd",
     "{}/shared_vocabulary.txt: no token \"</s>\", which has to end a sentence", nothing,
     write(words, "<blank>\n<s>\na\nb\n")},
    {"VocabularyNotUtf8", "{}/shared_vocabulary.txt: line 2, byte 1 is 0xff, expected UTF-8",
     nothing, write(words, "<s>\n\xff\n</s>\na\n")},
    {"VocabularyNotJson", "{}/shared_vocabulary.json: not JSON at byte 5, near \"[\\\"a\\\"\"",
     nothing, write("shared_vocabulary.json", "[\"a\"")},
    {"VocabularyIsAnObject",
     "{}/shared_vocabulary.json: is an object of 1, expected a list of tokens", nothing,
     write("shared_vocabulary.json", "{\"a\": 0}")},
    {"TokenIsANumber", "{}/shared_vocabulary.json: token 2 is 7, expected a string", nothing,
     write("shared_vocabulary.json", "[\"a\", 7]")},
    // config.json
    {"ConfigIsAList", "{}/config.json: is a list of 0, expected an object", nothing,
     write("config.json", "[]")},
    {"ConfigOfAnotherEnd",
     "{}/shared_vocabulary.txt: no token \"<end>\", which has to end a sentence", nothing,
     write("config.json", "{\"eos_token\": \"<end>\"}")},
    {"ConfigHasAnotherOption",
     "{}/config.json: the option \"multi_query_attention\" is not supported", nothing,
     write("config.json", "{\"multi_query_attention\": true}")},
};

class HeddlecCTranslate2Test : public HeddlecTest,
                               public testing::WithParamInterface<CTranslate2Case> {};

TEST_P(HeddlecCTranslate2Test, GivesItsMessage) {
  SmallTransformer small;
  GetParam().spoil(small);
  small.folder.write("model.bin", small.file.file());
  GetParam().damage(small);
  std::string message = GetParam().message;
  const std::string folder = small.folder.path();
  for (size_t at = 0; (at = message.find("{}", at)) != std::string::npos; at += folder.size()) {
    message.replace(at, 2, folder);
  }
  expectError({folder, "-o", work / "out.so"}, message);
}

INSTANTIATE_TEST_SUITE_P(Heddlec, HeddlecCTranslate2Test, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle
