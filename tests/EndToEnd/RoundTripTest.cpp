// SPDX-License-Identifier: Apache-2.0
///
/// Programs in text as inputs: from a model's folder to its text after each phase and from there to
/// a binary, which has the code and the weights of the folder's own, bit by bit.
#include "formats/Binary/ElfFile.h"
#include "tests/EndToEnd/HeddlecRun.h"

#include "tests/EndToEnd/CompiledModel.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

namespace heddle {
namespace {

using nlohmann::json;

const std::vector<std::string> phases = {"model", "fused", "dataflow", "kernels", "llvm"};

/// A model's folder, and the phases whose texts are compiled to a binary: all of them if every kind
/// of attribute occurs, otherwise the first and the last, because the texts between are equal.
struct RoundTripCase {
  const char *folder;
  std::vector<std::string> toBinaries = {"model", "llvm"};
  std::vector<std::string> options = {};

  friend void PrintTo(const RoundTripCase &roundTrip, std::ostream *stream) {
    *stream << roundTrip.folder;
  }
};

class RoundTrip : public HeddlecTest, public testing::WithParamInterface<RoundTripCase> {
protected:
  const std::string folder = std::string(HEDDLE_TEST_DATA "/") + GetParam().folder;

  /// Runs heddlec for one target, successfully.
  tools::Outcome compile(std::vector<std::string> arguments) const {
    arguments.emplace_back("--target=x86-64-v3");
    tools::Outcome outcome = heddlec(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    EXPECT_EQ(withoutNotes(outcome.error), "");
    return outcome;
  }

  /// Compiles the folder to text or a binary. Options apply to passes, which run after the first
  /// text.
  tools::Outcome compileFolder(std::vector<std::string> arguments) const {
    if (arguments.front() != "--emit=model") {
      arguments.insert(arguments.end(), GetParam().options.begin(), GetParam().options.end());
    }
    arguments.insert(arguments.begin(), folder);
    return compile(std::move(arguments));
  }

  /// Returns the contents of a section of a binary.
  static std::string section(const std::string &binary, std::string_view name) {
    const Result<ElfFile> file = ElfFile::parse(std::as_bytes(std::span(binary)));
    EXPECT_TRUE(file.ok()) << file.status().message();
    const Result<ElfSection> found = file->findSection(name);
    EXPECT_TRUE(found.ok()) << found.status().message();
    const std::span<const std::byte> bytes = file->contents(*found);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
  }

  /// Returns the output of `heddle info` for a binary except what may differ: its size, the hash of
  /// its source, and the passes that ran.
  static json facts(const std::string &binary) {
    const tools::Outcome outcome = tools::runHeddle({"info", binary, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    json info = json::parse(outcome.output, nullptr, false);
    for (const char *key : {"file", "file_bytes", "source_hash", "report_summary", "path"}) {
      info.erase(key);
    }
    return info;
  }
};

/// Returns the results of a binary: the outputs of an encoder, or the scores of a decoder.
std::string outputsOf(const std::string &binary, bool generates, const TemporaryFolder &files) {
  if (!generates) {
    std::string bytes;
    for (const auto &[name, values] : runBinary(binary, randomSentences(6, 9, 30, 1))) {
      bytes += name + ":";
      bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
    }
    return bytes;
  }
  const tools::Outcome outcome =
      tools::runHeddle({"score", binary, "--tokens", "--format", "jsonl", "--source",
                        files.write("s.txt", "5 7 8 4\n7\n8 3 3 6 1 6\n"), "--target",
                        files.write("t.txt", "6 3 8\n4 4 8 7 1\n5\n")});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  return outcome.output;
}

/// Returns a program without its locations: the ends of loops, which MLIR does not print, get
/// locations in the text when parsed.
std::string withoutLocations(const std::string &text) {
  std::istringstream stream(text);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#loc")) {
      for (size_t at = 0; (at = line.find(" loc(#loc", at)) != std::string::npos;) {
        line.erase(at, line.find(')', at) + 1 - at);
      }
      kept += line + "\n";
    }
  }
  return kept;
}

TEST_P(RoundTrip, TextsLeadToTheFoldersBinary) {
  std::map<std::string, std::string> texts;
  for (const std::string &phase : phases) {
    texts[phase] = work.write(phase + ".mlir", compileFolder({"--emit=" + phase}).output);
  }
  // From the text of a phase to the next one's.
  for (size_t i = 0; i + 1 < phases.size(); ++i) {
    std::vector<std::string> arguments = {texts[phases[i]], "--weights", folder,
                                          "--emit=" + phases[i + 1]};
    if (phases[i] == "model") {
      arguments.insert(arguments.end(), GetParam().options.begin(), GetParam().options.end());
    }
    const std::string next = compile(std::move(arguments)).output;
    const std::string expected = readBytes(texts[phases[i + 1]]);
    EXPECT_TRUE(phases[i] == "kernels" ? withoutLocations(next) == withoutLocations(expected)
                                       : next == expected)
        << phases[i] << " to " << phases[i + 1];
  }
  const std::string own = work / "own.so";
  compileFolder({"-o", own});
  const std::string bytes = readBytes(own);
  const json ownFacts = facts(own);
  const bool generates = !ownFacts.value("generation", json()).is_null();
  const std::string outputs = outputsOf(own, generates, work);
  EXPECT_FALSE(outputs.empty());
  for (const std::string &phase : GetParam().toBinaries) {
    const std::string binary = work / phase + ".so";
    compile({texts[phase], "--weights", folder, "-o", binary});
    const std::string found = readBytes(binary);
    for (std::string_view name : {".text", ".rodata", ".heddle.weights"}) {
      EXPECT_TRUE(section(found, name) == section(bytes, name)) << phase << " " << name;
    }
    EXPECT_EQ(facts(binary), ownFacts) << phase;
    EXPECT_TRUE(outputsOf(binary, generates, work) == outputs) << phase;
    // From the model, all passes ran: only the hash differs, and the checksum over it.
    if (phase == "model") {
      ASSERT_EQ(found.size(), bytes.size());
      size_t differing = 0;
      for (size_t i = 0; i < bytes.size(); ++i) {
        differing += bytes[i] != found[i] ? 1 : 0;
      }
      EXPECT_LE(differing, 32u + 8u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RoundTrip,
    testing::Values(RoundTripCase{"oracles/bert-tiny", phases},
                    RoundTripCase{"oracles/distilbert-tiny"}, RoundTripCase{"oracles/roberta-tiny"},
                    RoundTripCase{"oracles/bart-tiny"}, RoundTripCase{"oracles/nllb-tiny"},
                    RoundTripCase{"oracles/marian-tiny", phases}, RoundTripCase{"oracles/t5-tiny"},
                    RoundTripCase{"oracles/san"}, RoundTripCase{"oracles/san-average"},
                    RoundTripCase{"oracles/transformer-post"},
                    RoundTripCase{
                        "oracles/transformer-pre", {"fused"}, {"--share-attention=self:3"}},
                    RoundTripCase{"oracles/weighted"}, RoundTripCase{"oracles/weighted-shared-ffn"},
                    RoundTripCase{"formats/CTranslate2/models/tied-i8"},
                    RoundTripCase{"formats/CTranslate2/models/separate"}),
    [](const auto &info) {
      std::string name = info.param.folder;
      name = name.substr(name.rfind('/') + 1);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// A sentence encoder: its folder specifies the truncation of texts and lower case in the
/// tokenizer.
class SentenceRoundTrip : public HeddlecTest {
protected:
  SentenceRoundTrip() {
    std::filesystem::copy(tiny, folder.path(), std::filesystem::copy_options::recursive);
    std::filesystem::copy(HEDDLE_TEST_DATA "/oracles/tokenizers/wordpiece/tokenizer.json",
                          folder / "tokenizer.json");
    std::filesystem::create_directory(folder / "1_Pooling");
    folder.write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
    folder.write("sentence_bert_config.json", R"({"max_seq_length": 7, "do_lower_case": true})");
    folder.write("modules.json", R"([
      {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"idx": 2, "name": "2", "path": "2_Normalize",
       "type": "sentence_transformers.models.Normalize"}])");
  }

  /// Compiles successfully and returns the binary.
  std::string compile(std::vector<std::string> arguments) {
    const std::string binary = work / fmt::format("{}.so", count++);
    arguments.insert(arguments.end(), {"--target=x86-64-v3", "-o", binary});
    const tools::Outcome outcome = heddlec(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return binary;
  }

  /// Returns the ids of a text that is longer than the model allows.
  std::string idsOf(const std::string &binary) const {
    const tools::Outcome outcome =
        tools::runHeddle({"tokenize", binary, "--input", "-"},
                         {.input = "A cat sat on the mat and then it SLEPT.\n"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.output;
  }

  TemporaryFolder folder;
  int count = 0;
};

TEST_F(SentenceRoundTrip, LimitsAndTokenizerAreThoseOfTheFolder) {
  const std::string own = compile({folder.path()});
  const std::string ids = idsOf(own);
  EXPECT_NE(ids, "");
  const Ragged batch = randomSentences(5, 7, 200, 3);
  const auto embeddings = runBinary(own, batch, "", 1, "embed");
  // Positions, which limit texts too, are another attribute in a graph.
  for (const char *phase : {"model", "dataflow"}) {
    const std::string emit = std::string("--emit=") + phase;
    const tools::Outcome text = heddlec({folder.path(), emit});
    ASSERT_EQ(text.code, 0) << text.error;
    TemporaryFolder beside;
    const std::string program = beside.write("model.mlir", text.output);
    EXPECT_EQ(idsOf(compile({program, "--weights", folder.path()})), ids) << phase;
    std::filesystem::copy(folder / "model.safetensors", beside / "model.safetensors");
    std::filesystem::copy(folder / "tokenizer.json", beside / "tokenizer.json");
    const std::string binary = compile({program});
    EXPECT_EQ(idsOf(binary), ids) << phase;
    EXPECT_TRUE(runBinary(binary, batch, "", 1, "embed") == embeddings) << phase;
  }
}

TEST_F(SentenceRoundTrip, ATokenizerThatIsNotThereIsNoted) {
  const tools::Outcome text = heddlec({folder.path(), "--emit=model"});
  ASSERT_EQ(text.code, 0) << text.error;
  const std::string program = work.write("model.mlir", text.output);
  std::filesystem::copy(folder / "model.safetensors", work / "model.safetensors");
  const tools::Outcome outcome = heddlec({program, "--emit=fused"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error,
            "heddlec: note: no tokenizer beside the program, which names tokenizer.json: the model "
            "takes ids only; give its folder by --weights FOLDER\n");
}

} // namespace
} // namespace heddle
