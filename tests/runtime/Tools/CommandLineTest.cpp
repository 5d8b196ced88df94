// SPDX-License-Identifier: Apache-2.0
///
/// Every command of the real program on the test model: its output.
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::tools {

using nlohmann::json;

namespace {
struct CommandLineTest : testing::Test {
  CommandLineTest() {
    model = folder / "model.so";
    const Status status = fixture::write(fixture::model(), model);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// Returns the records of an output in JSON lines.
  static std::vector<json> records(const std::string &lines) {
    std::vector<json> list;
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
      list.push_back(json::parse(line, nullptr, false));
      EXPECT_FALSE(list.back().is_discarded()) << line;
    }
    return list;
  }

  /// Returns embeddings computed by the library, text after text.
  std::vector<float> embeddings(const std::vector<std::string> &texts) const {
    std::vector<float> values(texts.size() * fixture::width);
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    Session session = *Session::create(*Model::load(model));
    EXPECT_TRUE(session.embed(views, values).ok());
    return values;
  }

  TemporaryFolder folder;
  std::string model;
};
} // namespace

TEST_F(CommandLineTest, EmbedLines) {
  const std::vector<std::string> texts = {"a b c", "", "hello z"};
  const std::string input = folder.write("texts.txt", "a b c\r\n\nhello z");
  const Outcome outcome = runHeddle({"embed", model, "--input", input});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "");
  const std::vector<json> lines = records(outcome.output);
  ASSERT_EQ(lines.size(), 3U);
  std::vector<float> values;
  for (size_t line = 0; line < lines.size(); ++line) {
    EXPECT_EQ(lines[line]["text"], texts[line]);
    EXPECT_EQ(lines[line].size(), 3U);
    const auto tokens = lines[line]["tokens"].get<std::vector<int32_t>>();
    EXPECT_EQ(tokens, *Model::load(model)->tokenize(texts[line]));
    const auto row = lines[line]["embedding"].get<std::vector<float>>();
    values.insert(values.end(), row.begin(), row.end());
  }
  // Bit by bit: a batch of three, and one text at a time.
  EXPECT_EQ(values, embeddings(texts));
  EXPECT_EQ(
      outcome.output,
      runHeddle({"embed", model, "--input", "-", "--threads", "2"}, {"a b c\n\nhello z\n"}).output);
  // Standard input has no name that says what its lines are.
  EXPECT_EQ(outcome.output,
            runHeddle({"embed", model, "--input", "-", "--input-format", "jsonl"},
                      {"{\"text\": \"a b c\"}\n{\"text\": \"\"}\n{\"text\": \"hello z\"}\n"})
                .output);
  // Whatever the name of the file.
  const std::string other = folder.write("notes.md", "a b c\n\nhello z\n");
  EXPECT_EQ(outcome.output, runHeddle({"embed", model, "--input", other}).output);
  EXPECT_EQ(runHeddle({"tokenize", model, "--input", input}).output,
            runHeddle({"tokenize", model, "--input", other}).output);
}

TEST_F(CommandLineTest, EmbedMatrix) {
  std::string lines;
  std::vector<std::string> texts;
  for (int text = 0; text < 2500; ++text) {
    texts.push_back(std::string(1, static_cast<char>('a' + text % 26)) + (text % 3 ? " b" : ""));
    lines += json{{"text", texts.back()}}.dump() + '\n';
  }
  const std::string input = folder.write("texts.jsonl", lines);
  const std::string output = folder / "out.npy";
  const Outcome outcome = runHeddle({"embed", model, "--input", input, "--output", output});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output + outcome.error, "");
  const std::string bytes = folder.read("out.npy");
  const std::vector<float> expected = embeddings(texts);
  const size_t size = expected.size() * sizeof(float);
  ASSERT_EQ(bytes.size(), 128 + size);
  EXPECT_NE(bytes.find("'shape': (2500, 32), }"), std::string::npos);
  EXPECT_EQ(std::memcmp(bytes.data() + 128, expected.data(), size), 0);
  // From a stream, whose end is not known at the beginning.
  std::string plain;
  for (const std::string &text : texts) {
    plain += text + '\n';
  }
  const std::string streamed = folder / "streamed.npy";
  ASSERT_EQ(runHeddle({"embed", model, "--input", "-", "--output", streamed}, {plain}).code, 0);
  EXPECT_EQ(folder.read("streamed.npy"), bytes);
}

TEST_F(CommandLineTest, EmbedToFile) {
  const std::string output = folder / "out.jsonl";
  const Outcome shown = runHeddle({"embed", model, "--input", "-"}, {"a\nb\n"});
  const Outcome outcome =
      runHeddle({"embed", model, "--input", "-", "--output", output, "--json"}, {"a\nb\n"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(folder.read("out.jsonl"), shown.output);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model.so", "out.jsonl"}));
}

TEST_F(CommandLineTest, EmbedOnEveryTarget) {
  const std::vector<std::string> targets = Model::load(model)->targets();
  for (const std::string &isa : machineTargets()) {
    if (std::find(targets.begin(), targets.end(), isa) == targets.end()) {
      continue;
    }
    const Outcome outcome = runHeddle({"embed", model, "--input", "-", "--isa", isa}, {"a b\n"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    EXPECT_EQ(records(outcome.output).size(), 1U);
  }
}

TEST_F(CommandLineTest, SimilarityOfTexts) {
  const std::vector<std::string> texts = {"a b c", "hello z", "a b", "a b c"};
  const std::vector<float> rows = embeddings(texts);
  const auto cosine = [&](size_t other) {
    double product = 0, own = 0, others = 0;
    for (size_t i = 0; i < fixture::width; ++i) {
      const double x = rows[i], y = rows[other * fixture::width + i];
      product += x * y;
      own += x * x;
      others += y * y;
    }
    return product / std::sqrt(own * others);
  };
  const Outcome outcome =
      runHeddle({"similarity", model, texts[0], texts[1], texts[2], texts[3], "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::vector<json> lines = records(outcome.output);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["text"], texts[3]);
  EXPECT_NEAR(lines[0]["similarity"], 1, 1e-6);
  double last = 1.1;
  for (const json &line : lines) {
    const auto which =
        std::find(texts.begin() + 1, texts.end(), line["text"].get<std::string>()) - texts.begin();
    EXPECT_NEAR(line["similarity"], cosine(static_cast<size_t>(which)), 1e-6) << line;
    EXPECT_LE(line["similarity"], last);
    last = line["similarity"];
  }
  // From a file, and only the best; an unusable line is skipped.
  const std::string file = folder.write("texts.txt", "hello z\n\xff\na b c\na b\n");
  const Outcome ranked = runHeddle({"similarity", model, "a b c", "--input", file, "--top", "1"});
  EXPECT_EQ(ranked.code, 1);
  EXPECT_EQ(ranked.output, "1.0000\ta b c\n");
  EXPECT_NE(ranked.error.find(file + ":2: "), std::string::npos) << ranked.error;
  EXPECT_NE(ranked.error.find("1 of 4 lines could not be used"), std::string::npos) << ranked.error;
  const Outcome found =
      runHeddle({"similarity", model, "a b c", "--input", "-", "--json"}, {"hello z\na b c\n"});
  ASSERT_EQ(records(found.output).size(), 2U) << found.error;
  EXPECT_EQ(records(found.output)[0]["line"], 2);
  const Outcome bad = runHeddle({"similarity", model, "a", "\xff"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.output, "");
  EXPECT_NE(bad.error.find("heddle: TEXT 2: "), std::string::npos) << bad.error;
  EXPECT_EQ(runHeddle({"similarity", model, "a", "--input", file, "--on-error", "stop"}).output,
            "");
}

TEST_F(CommandLineTest, Tokenize) {
  const Outcome outcome = runHeddle({"tokenize", model, "--input", "-"}, {"a \"b\"\n\n"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::vector<json> lines = records(outcome.output);
  ASSERT_EQ(lines.size(), 2U);
  const Model loaded = *Model::load(model);
  EXPECT_EQ(lines[0], (json{{"text", "a \"b\""}, {"tokens", *loaded.tokenize("a \"b\"")}}));
  EXPECT_EQ(lines[1], (json{{"text", ""}, {"tokens", *loaded.tokenize("")}}));
}

namespace {
/// Writes tensors of ids, runs the model on them, and reads the output.
struct RunTest : CommandLineTest {
  template <typename T>
  void add(const std::string &name, ElementType dtype, std::vector<int64_t> shape,
           const std::vector<T> &values) {
    const auto bytes = std::as_bytes(std::span(values));
    storage.emplace_back(bytes.begin(), bytes.end());
    tensors.push_back({name, dtype, std::move(shape), storage.back()});
  }

  Outcome run(std::vector<std::string> more = {}) {
    const std::string in = folder / "in.safetensors";
    EXPECT_TRUE(writeSafetensors(in, tensors).ok());
    std::vector<std::string> arguments = {"run", model,       "--inputs",
                                          in,    "--outputs", folder / "out.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runHeddle(arguments);
  }

  /// Returns a written output, which must have this shape.
  std::vector<float> output(const std::string &name, const std::vector<int64_t> &shape) {
    const SafetensorsFile file = *SafetensorsFile::open(folder / "out.safetensors");
    for (const SafetensorsTensor &tensor : file.tensors()) {
      if (tensor.name == name) {
        EXPECT_EQ(tensor.shape, shape);
        EXPECT_EQ(tensor.dtype, ElementType::F32);
        std::vector<float> values(tensor.bytes.size() / sizeof(float));
        std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
        return values;
      }
    }
    ADD_FAILURE() << "no output " << name;
    return {};
  }

  /// Returns last_hidden_state of one sequence, computed by the library.
  std::vector<float> states(const std::vector<int32_t> &ids, const std::vector<int32_t> &types) {
    std::vector<float> values(ids.size() * fixture::width);
    const auto length = static_cast<int32_t>(ids.size());
    const std::vector<Input> inputs = {{"input_ids", ids}, {"token_type_ids", types}};
    const Output wanted{"last_hidden_state", values};
    Session session = *Session::create(*Model::load(model));
    const Status status = session.run("encode", {&length, 1}, inputs, {&wanted, 1});
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }

  std::vector<std::vector<std::byte>> storage;
  std::vector<SafetensorsTensor> tensors;
};
} // namespace

static std::vector<float> joined(std::vector<std::vector<float>> parts) {
  std::vector<float> all;
  for (const std::vector<float> &part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST_F(RunTest, PaddedRowsAreZero) {
  add<int64_t>("input_ids", ElementType::I64, {3, 4}, {5, 6, 0, 0, -1, 7, 8, 9, 1, 2, 3, 4});
  add<int32_t>("attention_mask", ElementType::I32, {3, 4}, {1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1});
  add<int32_t>("token_type_ids", ElementType::I32, {3, 4}, {0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0});
  const Outcome outcome = run();
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output + outcome.error, "");
  const std::vector<float> zero(fixture::width, 0.0F);
  EXPECT_EQ(output("last_hidden_state", {3, 4, fixture::width}),
            joined({states({5, 6}, {0, 1}), zero, zero, zero, states({7, 8, 9}, {1, 1, 0}),
                    states({1, 2, 3, 4}, {0, 0, 0, 0})}));
  EXPECT_EQ(output("pooler_output", {3, fixture::width}).size(), 3U * fixture::width);
}

TEST_F(RunTest, WithoutMaskAllCount) {
  add<int32_t>("input_ids", ElementType::I32, {2, 2}, {5, 6, 7, 8});
  ASSERT_EQ(run({"--entry", "encode", "--threads", "2"}).code, 0);
  EXPECT_EQ(output("last_hidden_state", {2, 2, fixture::width}),
            joined({states({5, 6}, {0, 0}), states({7, 8}, {0, 0})}));
}

TEST_F(RunTest, EndToEnd) {
  add<int32_t>("input_ids", ElementType::I32, {4}, {5, 6, 7, 8});
  add<int32_t>("lengths", ElementType::I32, {2}, {3, 1});
  ASSERT_EQ(run().code, 0);
  EXPECT_EQ(output("last_hidden_state", {4, fixture::width}),
            joined({states({5, 6, 7}, {0, 0, 0}), states({8}, {0})}));
  EXPECT_EQ(output("pooler_output", {2, fixture::width}).size(), 2U * fixture::width);
}

TEST_F(RunTest, OtherTensorsAreIgnoredWithANote) {
  add<int32_t>("input_ids", ElementType::I32, {1, 2}, {5, 6});
  add<float>("pooler_output", ElementType::F32, {1, 2}, {1, 2});
  const Outcome outcome = run();
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.error,
            "heddle: note: tensor \"pooler_output\" is no input of entry \"encode\": ignored\n");
  EXPECT_EQ(output("last_hidden_state", {1, 2, fixture::width}), states({5, 6}, {0, 0}));
}

TEST_F(RunTest, OtherEntry) {
  add<int32_t>("input_ids", ElementType::I32, {1, 2}, {5, 6});
  ASSERT_EQ(run({"--entry", "embed"}).code, 0);
  EXPECT_EQ(output("embedding", {1, fixture::width}).size(), size_t(fixture::width));
}

TEST_F(CommandLineTest, BenchLines) {
  const std::string lengths = folder.write("lengths", "3\n17\n1\n");
  const Outcome outcome = runHeddle(
      {"bench", model, "--shapes", "2x16", "--lengths", lengths, "--roofline", "--profile"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  // A busy machine is said, and nothing else.
  EXPECT_TRUE(outcome.error.empty() || outcome.error.starts_with("heddle: note: the runs of "))
      << outcome.error;
  // The machine, and for each of two batches: the time, 4 kernels, 3 dispatches.
  std::vector<json> shapes;
  int kernels = 0;
  int dispatches = 0;
  double share = 0;
  const std::vector<json> lines = records(outcome.output);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0]["kind"], "machine");
  EXPECT_GT(lines[0]["peak_gflops"], 0);
  EXPECT_GT(lines[0]["bandwidth_gb_per_s"], 0);
  for (const json &line : lines) {
    EXPECT_EQ(line["engine"], "heddle");
    EXPECT_EQ(line["threads"], 1);
    const std::string kind = line.value("kind", "");
    kernels += kind == "kernel";
    dispatches += kind == "dispatch";
    if (kind == "kernel") {
      share += line["share"].get<double>();
    } else if (kind.empty()) {
      shapes.push_back(line);
    }
  }
  EXPECT_GT(kernels, 0);
  EXPECT_EQ(dispatches, 2 * 3);
  EXPECT_NEAR(share, 2.0, 0.01);
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[0]["shape"], "2x16");
  EXPECT_EQ(shapes[0]["tokens"], 32);
  EXPECT_EQ(shapes[0]["precision"], "f32");
  EXPECT_EQ(shapes[0]["isa"], Model::load(model)->isa());
  EXPECT_EQ(shapes[1]["shape"], "lengths");
  EXPECT_EQ(shapes[1]["tokens"], 21);
  for (const json &line : shapes) {
    const double milliseconds = line["ms"];
    const double rate = line["tokens_per_s"];
    EXPECT_GT(milliseconds, 0);
    EXPECT_GT(rate, 0);
    EXPECT_GE(line["gflops"], 0);
    EXPECT_GE(line["fraction_of_peak"], 0);
    EXPECT_LE(line["fraction_of_peak"], 1);
  }
}

// Zeros of a mask would hide everything.
TEST_F(CommandLineTest, InfoOfAMask) {
  fixture::ModelSpec masked = fixture::model();
  fixture::PortSpec &mask = masked.entries[0].inputs[1];
  ASSERT_TRUE(mask.optional);
  mask.pad = 0;
  const std::string path = folder / "masked.so";
  ASSERT_TRUE(fixture::write(masked, path).ok());
  const Outcome text = runHeddle({"info", path});
  EXPECT_NE(text.output.find("token_type_ids: i32 [tokens], values 0 to 1, no padding when left "
                             "out\n"),
            std::string::npos)
      << text.output << text.error;
}

TEST_F(CommandLineTest, Info) {
  const Outcome text = runHeddle({"info", model});
  ASSERT_EQ(text.code, 0) << text.error;
  for (const char *part :
       {"entry encode", "entry embed", "input_ids: i32 [tokens], values 0 to 49",
        "token_type_ids: i32 [tokens], values 0 to 1, zeros when left out",
        "last_hidden_state: f32 [tokens, 32]", "pooler_output: f32 [sequences, 32]",
        "at most 300 tokens a sequence", "targets     x86-64-v3, x86-64-v4", "WordPiece"}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << "\nin\n" << text.output;
  }
  const Outcome machine = runHeddle({"info", model, "--json"});
  ASSERT_EQ(machine.code, 0) << machine.error;
  const std::vector<json> lines = records(machine.output);
  ASSERT_EQ(lines.size(), 1U);
  const json &info = lines[0];
  const Model loaded = *Model::load(model);
  EXPECT_EQ(info["precision"], "f32");
  EXPECT_EQ(info["targets"], (json{"x86-64-v3", "x86-64-v4"}));
  EXPECT_EQ(info["this_machine"], loaded.isa());
  EXPECT_EQ(info["parameters"], 4);
  EXPECT_EQ(info["parameter_values"],
            (fixture::words + fixture::types + fixture::width + 1) * fixture::width);
  EXPECT_EQ(info["weights_bytes"], loaded.weightsSize());
  EXPECT_EQ(info["tokenizer"]["kind"], "WordPiece");
  EXPECT_EQ(info["source_hash"], loaded.sourceHash());
  EXPECT_EQ(info["producer"], loaded.producer());
  ASSERT_EQ(info["entries"].size(), 2U);
  const json &encode = info["entries"][0];
  EXPECT_EQ(encode["name"], "encode");
  EXPECT_EQ(encode["inputs"][0], (json{{"name", "input_ids"},
                                       {"element", "i32"},
                                       {"shape", {"tokens"}},
                                       {"limit", 50},
                                       {"optional", false}}));
  EXPECT_EQ(encode["outputs"][1]["shape"], (json{"sequences", 32}));
  EXPECT_EQ(encode["max_length"], 300);
  EXPECT_EQ(encode["arena_bytes_per_token"], 256);
}

TEST_F(CommandLineTest, InfoAndBenchSayWhatWasKept) {
  fixture::ModelSpec spec = fixture::model();
  spec.precision = "int4";
  spec.kept = {{"attention.self", "int8", 18, 1269504}, {"layer.4", "bf16", 1, 12}};
  const std::string path = folder / "kept.so";
  ASSERT_EQ(fixture::write(spec, path).message(), "");
  const Outcome text = runHeddle({"info", path});
  for (const char *part :
       {", int4\n", "kept        attention.self in int8: 18 tensors, 1269504 bytes\n",
        "kept        layer.4 in bf16: 1 tensor, 12 bytes\n"}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << "\nin\n" << text.output;
  }
  const json info = records(runHeddle({"info", path, "--json"}).output).at(0);
  EXPECT_EQ(info["kept"][1],
            (json{{"layers", "layer.4"}, {"precision", "bf16"}, {"tensors", 1}, {"bytes", 12}}));
  const std::vector<std::string> kept = {"attention.self=int8", "layer.4=bf16"};
  const json line =
      records(runHeddle({"bench", path, "--shapes", "1x2", "--runs", "1"}).output).back();
  EXPECT_EQ(line["precision"], "int4");
  EXPECT_EQ(line["kept"], kept);
  const Outcome profile = runHeddle({"profile", path, "--shapes", "1x2", "--runs", "1", "--json"});
  EXPECT_EQ(json::parse(profile.output)["kept"], kept) << profile.error;
  const Outcome shown = runHeddle({"profile", path, "--shapes", "1x2", "--runs", "1"});
  EXPECT_NE(shown.output.find(": int4, attention.self=int8, layer.4=bf16, x86-64"),
            std::string::npos)
      << shown.output;
}

TEST_F(CommandLineTest, Verify) {
  const Outcome text = runHeddle({"verify", model});
  EXPECT_EQ(text.code, 0) << text.error;
  EXPECT_EQ(text.output.substr(0, 4 + model.size()), "ok: " + model);
  const Outcome machine = runHeddle({"verify", model, "--json"});
  const std::vector<json> lines = records(machine.output);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["ok"], true);
  EXPECT_EQ(lines[0]["parameters"], 4);
}

} // namespace heddle::tools
