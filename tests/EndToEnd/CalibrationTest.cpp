// SPDX-License-Identifier: Apache-2.0
///
/// heddlec --calibration: results come closer to those of f32, the output is the same with any
/// number of threads, and messages report the effect.
#include "compiler/Compile.h"
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Generation.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/formats/Quantized/QuantizedFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <nlohmann/json.hpp>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

namespace heddle {
namespace {

const std::string textFile = HEDDLE_TEST_DATA "/EndToEnd/Inputs/texts.txt";
const std::string dates = HEDDLE_TEST_DATA "/../examples/dates";

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// A BERT with a tokenizer that has as many words as the model.
class CalibrationTest : public HeddlecTest {
protected:
  CalibrationTest() {
    std::filesystem::create_directory(bert);
    for (const char *name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(tiny + "/" + name, bert + "/" + name);
    }
    writeTokenizer(bert, 211);
  }

  /// Writes the tokenizer of a model with `words` words, the first of a larger model's. Models that
  /// continue prompts add no tokens around them.
  static void writeTokenizer(const std::string &folder, int words, bool isAround = true) {
    nlohmann::json tokenizer = nlohmann::json::parse(
        readBytes(HEDDLE_TEST_DATA "/oracles/tokenizers/wordpiece/tokenizer.json"));
    nlohmann::json kept = nlohmann::json::object();
    for (const auto &[word, id] : tokenizer["model"]["vocab"].items()) {
      if (id < words) {
        kept[word] = id;
      }
    }
    tokenizer["model"]["vocab"] = kept;
    if (!isAround) {
      tokenizer["post_processor"] = nullptr;
    }
    std::ofstream(folder + "/tokenizer.json") << tokenizer;
  }

  /// Copies an oracle and adds a tokenizer.
  std::string withTokenizer(const std::string &oracle, int words, bool isAround) const {
    const std::string folder = inputs / std::filesystem::path(oracle).filename().string();
    std::filesystem::create_directory(folder);
    for (const char *name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(HEDDLE_TEST_DATA "/oracles/" + oracle + "/" + name,
                                 folder + "/" + name);
    }
    writeTokenizer(folder, words, isAround);
    return folder;
  }

  /// Returns the log-probabilities of targets, each after its source or the beginning of a prompt.
  static std::vector<float> scoresOf(const std::string &binary,
                                     const std::vector<ScoringRequest> &requests) {
    const Result<Model> model = Model::load(binary);
    EXPECT_TRUE(model.ok()) << model.status().message();
    Result<Generator> generator = Generator::create(*model);
    const Result<std::vector<std::vector<float>>> scored = generator->score(requests);
    EXPECT_TRUE(scored.ok()) << scored.status().message();
    std::vector<float> all;
    for (const std::vector<float> &each : *scored) {
      all.insert(all.end(), each.begin(), each.end());
    }
    return all;
  }

  /// Writes lines of digits and signs, which even the smallest vocabulary contains.
  std::string writeDigits() const {
    std::mt19937 random(3);
    std::string lines;
    for (int line = 0; line < 60; ++line) {
      for (uint32_t left = random() % 20 + 2; left > 0; --left) {
        lines += "0123456789+-*#"[random() % 14];
        lines += ' ';
      }
      lines += '\n';
    }
    return inputs.write("digits.txt", lines);
  }

  /// Returns a request for a binary of `model` at a path.
  CompileRequest requestFor(const std::string &model, const std::string &precision,
                            const std::string &calibration) const {
    CompileRequest request = cachedRequest();
    request.path = model;
    request.precision = precision;
    request.calibration = calibration;
    request.targets = {"x86-64-v3"};
    request.output = inputs / (precision + (calibration.empty() ? "" : ".calibrated") + ".so");
    return request;
  }

  static std::string compiled(const CompileRequest &request) {
    const CompileResult result = compile(request);
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    return request.output;
  }

  /// Calibrates a model's int4 codes with texts and returns the decision for each matrix: its
  /// scores come clearly closer to those of f32, with the same bytes in several passes over the
  /// texts.
  std::vector<Decision> calibrate(const std::string &model, const std::string &texts,
                                  const std::vector<ScoringRequest> &requests) const {
    const std::vector<float> exact = scoresOf(compiled(requestFor(model, "f32", "")), requests);
    const std::vector<float> rounded = scoresOf(compiled(requestFor(model, "int4", "")), requests);
    CompileRequest request = requestFor(model, "int4", texts);
    request.report = ReportForm::Json;
    CompileResult result = compile(request);
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_LT(squaredDifference(scoresOf(request.output, requests), exact),
              0.8 * squaredDifference(rounded, exact));
    const std::string expected = readBytes(request.output);
    request.calibrationBytes = 1;
    EXPECT_EQ(readBytes(compiled(request)), expected);
    std::erase_if(result.decisions,
                  [](const Decision &each) { return each.pass != "compensate-weights"; });
    return std::move(result.decisions);
  }

  /// Returns rows for the texts.
  static std::vector<float> embeddings(const std::string &binary) {
    const Result<Model> model = Model::load(binary);
    EXPECT_TRUE(model.ok()) << model.status().message();
    Result<Session> session = Session::create(*model);
    const std::vector<std::string> lines = linesOf(readBytes(textFile));
    const std::vector<std::string_view> texts(lines.begin(), lines.end());
    std::vector<float> rows(texts.size() * static_cast<size_t>(*session->embeddingWidth()));
    EXPECT_TRUE(session->embed(texts, rows).ok());
    return rows;
  }

  static double squaredDifference(const std::vector<float> &a, const std::vector<float> &b) {
    return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                                 [](double x, double y) { return (x - y) * (x - y); });
  }

  /// Writes the same BERT with the matrices of its layers in 4-bit codes, each row with a scale and
  /// a zero point, which differ from those of any precision.
  std::string writeCoded(const TemporaryFolder &folder) const {
    const Result<SafetensorsFile> file = SafetensorsFile::open(bert + "/model.safetensors");
    EXPECT_TRUE(file.ok());
    std::mt19937 random(5);
    QuantizedFolder coded;
    for (const SafetensorsTensor &tensor : file->tensors()) {
      const std::string name(tensor.name);
      if (name.starts_with("encoder.layer.") && tensor.shape.size() == 2) {
        const CodedMatrix matrix = randomCodes(4, tensor.shape[0], tensor.shape[1], 0, random);
        addPacked(coded, name.substr(0, name.rfind(".weight")), matrix, /*hasZeros=*/true);
      } else {
        const auto *const bytes = reinterpret_cast<const char *>(tensor.bytes.data());
        coded.tensors[name] = {tensor.dtype, tensor.shape, std::string(bytes, tensor.bytes.size())};
      }
    }
    const std::string config = readBytes(bert + "/config.json");
    const size_t begin = config.find('{') + 1;
    coded.config = config.substr(begin, config.rfind('}') - begin);
    coded.quantization = compressedConfig(4, "channel", 0, false, false, "pack-quantized");
    std::filesystem::copy_file(bert + "/tokenizer.json", folder / "tokenizer.json");
    return coded.write(folder);
  }

  TemporaryFolder inputs;
  const std::string bert = inputs / "bert";
};

TEST_F(CalibrationTest, BringsResultsNearerToThoseOfF32) {
  const std::vector<float> exact = embeddings(compiled(requestFor(bert, "f32", "")));
  for (const auto &[precision, most] :
       {std::pair("int4", 0.75), {"int4-g64", 0.75}, {"int8-weights", 0.85}}) {
    const std::string rounded = compiled(requestFor(bert, precision, ""));
    const std::string calibrated = compiled(requestFor(bert, precision, textFile));
    EXPECT_LT(squaredDifference(embeddings(calibrated), exact),
              most * squaredDifference(embeddings(rounded), exact))
        << precision;
    EXPECT_NEAR(static_cast<double>(readBytes(calibrated).size()),
                static_cast<double>(readBytes(rounded).size()), 4096)
        << precision;
  }
}

// A model that continues prompts reads the texts as prompts.
TEST_F(CalibrationTest, BringsScoresOfPromptsNearerToThoseOfF32) {
  const std::string chat = HEDDLE_TEST_DATA "/../examples/chat/model";
  const std::string inF32 = compiled(requestFor(chat, "f32", ""));
  const Result<Model> model = Model::load(inF32);
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<ScoringRequest> requests;
  for (const std::string &line : linesOf(readBytes(textFile))) {
    constexpr int64_t most = 100;
    ScoringRequest request{.target = *model->tokenize(line, most), .addsEnd = false};
    if (request.target.size() > 1) {
      request.prefix = {request.target.front()};
      request.target.erase(request.target.begin());
      requests.push_back(std::move(request));
    }
  }
  const std::vector<float> exact = scoresOf(inF32, requests);
  const std::string rounded = compiled(requestFor(chat, "int4", ""));
  const std::string calibrated = compiled(requestFor(chat, "int4", textFile));
  EXPECT_GT(exact.size(), 1000U);
  EXPECT_LT(squaredDifference(scoresOf(calibrated, requests), exact),
            0.85 * squaredDifference(scoresOf(rounded, requests), exact));
}

/// Returns random requests for a vocabulary.
std::vector<ScoringRequest> randomRequests(int vocabulary, bool haveSources) {
  std::mt19937 random(11);
  std::vector<ScoringRequest> requests;
  for (int i = 0; i < 40; ++i) {
    ScoringRequest request{.addsEnd = false};
    request.target = randomTokens(random, random() % 20 + 5, vocabulary);
    (haveSources ? request.source : request.prefix) =
        randomTokens(random, haveSources ? random() % 20 + 1 : 1, vocabulary);
    requests.push_back(std::move(request));
  }
  return requests;
}

// Each expert is calibrated with the rows that chose it.
TEST_F(CalibrationTest, CalibratesExperts) {
  const std::string model = withTokenizer("mixtral-tiny", 108, /*isAround=*/false);
  size_t experts = 0;
  for (const Decision &decision :
       calibrate(model, textFile, randomRequests(100, /*haveSources=*/false))) {
    if (decision.where.find("experts") != std::string::npos) {
      EXPECT_TRUE(decision.taken) << decision.text;
      ++experts;
    }
  }
  // Three matrices of each of three layers, for all experts.
  EXPECT_EQ(experts, 9U);
}

// The inputs of recurrent steps in encoders and decoders are observed in the order of texts.
TEST_F(CalibrationTest, CalibratesRecurrences) {
  const std::string model = withTokenizer("recurrent/lstm-general", 29, /*isAround=*/true);
  size_t steps = 0;
  for (const Decision &decision :
       calibrate(model, writeDigits(), randomRequests(29, /*haveSources=*/true))) {
    EXPECT_TRUE(decision.taken) << decision.where << ": " << decision.text;
    steps += decision.where.ends_with("hidden.weight") ? 1 : 0;
  }
  // Two layers each, in the encoder and in the decoder.
  EXPECT_EQ(steps, 4U);
}

// With any number of threads, and whether or not the moments fit into memory at once.
TEST_F(CalibrationTest, GivesTheSameBytes) {
  CompileRequest request = requestFor(bert, "int4", textFile);
  const std::string expected = readBytes(compiled(request));
  EXPECT_EQ(readBytes(compiled(request)), expected);
  std::vector<std::string> steps;
  request.onStep = [&](std::string_view step) { steps.emplace_back(step); };
  // Less than one matrix needs.
  request.calibrationBytes = 1;
  EXPECT_EQ(readBytes(compiled(request)), expected);
  const auto isOfSecondPass = [](const std::string &step) {
    return step.starts_with("calibration: 250 of 250 texts, pass 2 of ");
  };
  EXPECT_TRUE(std::ranges::any_of(steps, isOfSecondPass));
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const std::string alone = readBytes(compiled(request));
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_EQ(alone, expected);
}

TEST_F(CalibrationTest, SaysWhatItDid) {
  CompileRequest request = requestFor(bert, "int4", textFile);
  request.report = ReportForm::Json;
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  // Four products for each layer, with query, key and value as one, and the pooler.
  size_t chosen = 0;
  for (const Decision &decision : result.decisions) {
    if (decision.pass == "compensate-weights") {
      ASSERT_TRUE(decision.taken) << decision.where;
      ASSERT_TRUE(decision.text.starts_with("squared errors of products on 250 texts fall to "))
          << decision.text;
      const double percent = std::stod(decision.text.substr(decision.text.rfind(" to ") + 4));
      EXPECT_GT(percent, 0);
      EXPECT_LT(percent, 90);
      ++chosen;
    }
  }
  EXPECT_EQ(chosen, 13);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_TRUE(std::ranges::any_of(result.notes, [](const std::string &note) {
    return note.starts_with("13 matrices calibrated by 250 texts of ");
  }));
  // Texts of 40 tokens, the maximum of the model.
  EXPECT_TRUE(std::ranges::any_of(result.notes, [](const std::string &note) {
    return note.starts_with(textFile + ": ") &&
           note.ends_with(" texts have as many tokens as the model takes, or were cut to that");
  }));
  const tools::Outcome info = tools::runHeddle({"info", request.output});
  EXPECT_NE(info.output.find("\ncalibration 13 matrices by 250 texts, "), std::string::npos)
      << info.output;
}

TEST_F(CalibrationTest, ReadsRecordsLikeLines) {
  nlohmann::json record;
  std::string records = "\n", lines = "\xef\xbb\xbf";
  for (const std::string &line : linesOf(readBytes(textFile))) {
    record["text"] = line;
    records += record.dump() + "\n";
    lines += line + "\r\n\r\n";
  }
  const std::string expected = compiled(requestFor(bert, "int4", textFile));
  const std::vector<float> rows = embeddings(expected);
  for (const std::string &file :
       {inputs.write("texts.jsonl", records), inputs.write("lines.txt", lines)}) {
    EXPECT_EQ(embeddings(compiled(requestFor(bert, "int4", file))), rows) << file;
  }
}

// Its decoder is calibrated with the texts that the model generates in f32.
TEST_F(CalibrationTest, CalibratesDecoders) {
  std::string texts;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string &line : linesOf(readBytes(dates + "/heldout.tsv"))) {
    const size_t tab = line.find('\t');
    texts += line.substr(0, tab) + "\n";
    pairs.emplace_back(line.substr(0, tab), line.substr(tab + 1));
    if (pairs.size() == 60) {
      break;
    }
  }
  const std::string file = inputs.write("dates.txt", texts);
  const std::string model = dates + "/model";
  const std::string inF32 = compiled(requestFor(model, "f32", ""));
  std::vector<ScoringRequest> requests;
  {
    const Result<Model> loaded = Model::load(inF32);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const Result<Generator> generator = Generator::create(*loaded);
    for (const auto &[source, target] : pairs) {
      requests.push_back({*generator->encodeSource(source), *generator->encodeTarget(target)});
    }
  }
  const std::vector<float> exact = scoresOf(inF32, requests);
  const std::vector<float> rounded = scoresOf(compiled(requestFor(model, "int4", "")), requests);
  CompileRequest request = requestFor(model, "int4", file);
  request.report = ReportForm::Json;
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_LT(squaredDifference(scoresOf(request.output, requests), exact),
            0.8 * squaredDifference(rounded, exact));
  for (const char *part : {"encoder", "decoder"}) {
    EXPECT_TRUE(std::ranges::any_of(result.decisions, [&](const Decision &decision) {
      return decision.pass == "compensate-weights" && decision.taken &&
             decision.where.find(part) != std::string::npos;
    })) << part;
  }
}

// The inputs of its products are observed in f32, even if a kept layer is less precise than the
// rest.
TEST_F(CalibrationTest, GoesWithKeptLayers) {
  CompileRequest request = requestFor(bert, "int4", "");
  request.keep = {"layer.0.attention.self.query=int8", "layer.2=bf16"};
  const std::vector<float> exact = embeddings(compiled(requestFor(bert, "f32", "")));
  const double rounded = squaredDifference(embeddings(compiled(request)), exact);
  request.calibration = textFile;
  EXPECT_LT(squaredDifference(embeddings(compiled(request)), exact), 0.85 * rounded);
  // Four products of two layers, and the pooler's.
  const tools::Outcome info = tools::runHeddle({"info", request.output});
  EXPECT_NE(info.output.find("\ncalibration 9 matrices by 250 texts, "), std::string::npos)
      << info.output;
  EXPECT_NE(info.output.find("layer.0.attention.self.query"), std::string::npos) << info.output;
}

// Codes of a file are converted by way of the numbers that they represent.
TEST_F(CalibrationTest, GoesWithQuantisedFiles) {
  const TemporaryFolder folder;
  const std::string coded = writeCoded(folder);
  const std::vector<float> exact = embeddings(compiled(requestFor(coded, "f32", "")));
  const std::vector<float> rounded = embeddings(compiled(requestFor(coded, "int4-g8", "")));
  const std::string calibrated = compiled(requestFor(coded, "int4-g8", textFile));
  EXPECT_LT(squaredDifference(embeddings(calibrated), exact),
            0.85 * squaredDifference(rounded, exact));
}

// --- errors ----------------------------------------------------------------------------------

TEST_F(CalibrationTest, RefusesWhatItCannotServe) {
  expectUsage({"m", "-o", "x.so", "--calibration=texts.txt"},
              "--calibration chooses codes of weights, which need a --precision of 8 or 4 bits, "
              "such as int4, got none: codes of a model's files stay as they are");
  expectUsage({"m", "-o", "x.so", "--precision=f32", "--calibration=texts.txt"},
              "--calibration chooses codes of weights, of which --precision \"f32\" has none, "
              "expected one of 8 or 4 bits, such as int4");
  expectUsage({"m", "-o", "x.so", "--precision=bf16", "--calibration=texts.txt"},
              "--calibration chooses codes of weights, of which --precision \"bf16\" has none, "
              "expected one of 8 or 4 bits, such as int4");
  expectUsage({"m", "-o", "x", "--precision=int4", "--stop-after=dataflow", "--calibration=t"},
              "--calibration is for a binary, expected -o and all phases, got dataflow as the last "
              "one");
  expectUsage({"m", "--precision=int8", "--report=r.json", "--calibration=t"},
              "--calibration is for a binary, expected -o and all phases, got dataflow as the last "
              "one");
  expectUsage({"m.mlir", "-o", "x.so", "--precision=int4", "--start-at=kernels", "--calibration=t"},
              "--calibration needs the phase dataflow, which is before --start-at=kernels");
  expectUsage({"m", "-o", "x.so", "--calibration"},
              "--calibration has no value, expected one after it");
}

TEST_F(CalibrationTest, RefusesFilesThatAreNoTexts) {
  const auto expectFile = [&](const std::string &name, const std::string &content,
                              const std::string &message) {
    const std::string path = inputs.write(name, content);
    expectError({bert, "-o", work / "x.so", "--precision=int4", "--calibration=" + path},
                path + message);
  };
  expectError({bert, "-o", work / "x.so", "--precision=int4", "--calibration=nowhere.txt"},
              "nowhere.txt: cannot open: No such file or directory");
  expectFile("empty.txt", "", ": the file is empty");
  expectFile("blank.txt", "\n \n\t\r\n",
             ": has 0 texts, expected at least 16, one a line, like those that the model will "
             "read");
  expectFile("few.txt", "one\ntwo\n\nthree",
             ": has 3 texts, expected at least 16, one a line, like those that the model will "
             "read");
  std::string records;
  for (int i = 0; i < 16; ++i) {
    records += i == 7 ? "{\"text\": \" \\t\"}\n" : "{\"text\": \"one\"}\n";
  }
  expectFile("blank.jsonl", records,
             ": has 15 texts, expected at least 16, one a line, like those that the model will "
             "read");
  expectFile("binary.txt",
             "text\n\x7f"
             "ELF\xff\n",
             ":2: byte 5 is 0xff, expected UTF-8");
  expectFile("zero.txt", std::string("a\0b\n", 4),
             ":1: byte 2 is zero, expected a file of texts, one a line");
  expectFile("texts.jsonl", "{\"text\": 1}\n",
             ":1: found an object of 1, expected an object such as {\"text\": \"...\"}");
  expectFile("list.jsonl", "[\"text\"]\n",
             ":1: found a list of 1, expected an object such as {\"text\": \"...\"}");
}

TEST_F(CalibrationTest, RefusesModelsThatItCannotRun) {
  const std::vector<std::string> options = {"-o", work / "x.so", "--precision=int4",
                                            "--calibration=" + textFile};
  const auto with = [&](const std::string &model) {
    std::vector<std::string> arguments = {model};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  };
  expectError(with(tiny), tiny + ": has no tokenizer, expected one for --calibration, which runs "
                                 "the model on texts");
  for (const auto &[output, report] :
       {std::pair("none/x.so", "r.json"), std::pair("x.so", "none/r.json")}) {
    const tools::Outcome outcome =
        heddlec({bert, "-o", work / output, "--report=" + (work / report), "--precision=int4",
                 "--calibration=" + textFile});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.error.find("/none/"), std::string::npos) << outcome.error;
    // Detected before the texts are run.
    EXPECT_EQ(outcome.error.find("calibrated"), std::string::npos) << outcome.error;
  }
}

TEST_F(CalibrationTest, RefusesMomentsThatAreNoNumbers) {
  const std::string path = bert + "/model.safetensors";
  const Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok());
  // The norm before the first layer makes rows whose squares are infinite.
  std::vector<SafetensorsTensor> tensors = file->tensors();
  const auto norm = std::ranges::find(tensors, "embeddings.LayerNorm.weight",
                                      [](const SafetensorsTensor &each) { return each.name; });
  ASSERT_NE(norm, tensors.end());
  const std::vector<float> huge(norm->bytes.size() / sizeof(float), 1e30F);
  norm->bytes = std::as_bytes(std::span(huge));
  ASSERT_TRUE(writeSafetensors(path, tensors).ok());
  expectError({bert, "-o", work / "x.so", "--precision=int4", "--calibration=" + textFile},
              textFile + ": what encoder.layer.0.attention.self is multiplied with on these texts, "
                         "or its squares, are no finite numbers of f32");
}

} // namespace
} // namespace heddle
