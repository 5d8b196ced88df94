// SPDX-License-Identifier: Apache-2.0
///
/// User errors, through the real program: the exit code, the message, and that no file is left
/// partly written.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace heddle::tools {

namespace {
struct BadInputTest : testing::Test {
  BadInputTest() {
    model = folder / "model.so";
    EXPECT_TRUE(fixture::write(fixture::model(), model).ok());
    texts = folder.write("texts.txt", "a b\nc\n");
    ids = writeIds("ids.safetensors", {1, 2}, {5, 6});
  }

  /// Writes a variant of the valid model.
  std::string writeModel(const std::string &name, const fixture::ModelSpec &spec) {
    EXPECT_TRUE(fixture::write(spec, folder / name).ok());
    return folder / name;
  }

  std::string writeIds(const std::string &name, std::vector<int64_t> shape,
                       const std::vector<int32_t> &values, const std::vector<int32_t> &mask = {}) {
    const auto bytesOf = [](const std::vector<int32_t> &list) {
      return std::as_bytes(std::span(list));
    };
    std::vector<SafetensorsTensor> tensors = {
        {"input_ids", ElementType::I32, shape, bytesOf(values)}};
    if (!mask.empty()) {
      tensors.push_back({"attention_mask", ElementType::I32, shape, bytesOf(mask)});
    }
    EXPECT_TRUE(writeSafetensors(folder / name, tensors).ok());
    return folder / name;
  }

  /// Expects exit code 1, nothing on standard output, no new file, and one line on standard error:
  /// "heddle: ", followed by the message without the name of the folder.
  void expectError(const std::vector<std::string> &arguments, const std::string &message,
                   const ProcessOptions &options = {}) {
    const std::vector<std::string> before = folder.names();
    const Outcome outcome = runHeddle(arguments, options);
    std::string seen = outcome.error;
    const std::string prefix = folder.path() + "/";
    for (size_t at = 0; (at = seen.find(prefix)) != std::string::npos;) {
      seen.erase(at, prefix.size());
    }
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(seen.substr(0, 8), "heddle: ");
    EXPECT_NE(seen.find(message), std::string::npos) << "expected " << message << "\nseen " << seen;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 1) << seen;
    EXPECT_EQ(folder.names(), before);
  }

  void expectUsage(const std::vector<std::string> &arguments, const std::string &error) {
    const Outcome outcome = runHeddle(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(outcome.error, error);
  }

  TemporaryFolder folder;
  std::string model;
  std::string texts;
  std::string ids;
};
} // namespace

TEST_F(BadInputTest, Usage) {
  expectUsage({}, "heddle: no command, expected one of embed, similarity, "
                  "rerank, tokenize, generate, chat, "
                  "score, analyze, compare, "
                  "run, bench, profile, info, verify\n"
                  "heddle: try 'heddle --help'\n");
  expectUsage({"frobnicate"},
              "heddle: unknown command \"frobnicate\", expected one of embed, similarity, "
              "rerank, tokenize, generate, chat, score, "
              "analyze, compare, run, bench, profile, info, verify\nheddle: try 'heddle --help'\n");
  expectUsage({"embed", model},
              "heddle: --input FILE is missing\nheddle: try 'heddle embed --help'\n");
  expectUsage({"run", model, "--inputs", ids},
              "heddle: --outputs FILE is missing\nheddle: try 'heddle run --help'\n");
  expectUsage(
      {"bench", model, "--shapes", "1"},
      "heddle: --shapes: shape \"1\" is not two positive numbers, expected SENTENCESxTOKENS "
      "such as 32x128\nheddle: try 'heddle bench --help'\n");
  expectUsage({"info", model, "--threads", "2"},
              "heddle: unexpected argument \"--threads\"\nheddle: try 'heddle info --help'\n");
  // A file without a name, and a name that ends in "=".
  expectUsage({"generate", model, "--input", texts, "--output", ""},
              "heddle: --output has no value, expected one after it\n"
              "heddle: try 'heddle generate --help'\n");
  expectUsage({"generate", model, "--input", texts, "--output="},
              "heddle: --output has no value, expected one after it\n"
              "heddle: try 'heddle generate --help'\n");
  const Outcome named = runHeddle({"info", model, "--name=out="});
  EXPECT_NE(named.error.find("unexpected argument \"--name=out=\""), std::string::npos);
  const Outcome help = runHeddle({"embed", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.error, "");
  EXPECT_NE(help.output.find("--input"), std::string::npos);
}

TEST_F(BadInputTest, Models) {
  const std::vector<std::vector<std::string>> commands = {
      {"embed", "--input", texts},
      {"tokenize", "--input", texts},
      {"run", "--inputs", ids, "--outputs", folder / "out"},
      {"bench", "--shapes", "1x2"},
      {"info"},
      {"verify"}};
  const auto everywhere = [&](const std::string &path, const std::string &message) {
    for (std::vector<std::string> command : commands) {
      command.push_back(path);
      expectError(command, message);
    }
  };
  everywhere(folder / "absent.so", "absent.so: cannot open: No such file or directory");
  everywhere(folder.write("empty.so", ""), "empty.so: the file is empty");
  everywhere(folder.write("text.so", "this is no model, but long enough for the header of an ELF"
                                     " file, whose first sixty-four bytes say what it is\n"),
             "text.so: ");
  const std::string bytes = fixture::readBytes(model);
  everywhere(folder.write("half.so", bytes.substr(0, bytes.size() / 2)), "half.so: ");
  std::filesystem::create_directory(folder / "folder.so");
  everywhere(folder / "folder.so", "folder.so: is a directory, expected a file");
}

TEST_F(BadInputTest, DamagedWeights) {
  std::string bytes = fixture::readBytes(model);
  const std::string weights = fixture::weights(fixture::model());
  const size_t at = bytes.find(weights.substr(0, 256));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 70] = static_cast<char>(bytes[at + 70] ^ 1);
  const std::string damaged = folder.write("damaged.so", bytes);
  expectError({"verify", damaged}, "damaged.so: ");
  expectError({"verify", damaged, "--json"}, "words");
  EXPECT_EQ(runHeddle({"info", damaged}).code, 0);
}

TEST_F(BadInputTest, ModelsWithoutWhatIsNeeded) {
  fixture::ModelSpec bare = fixture::model();
  bare.tokenizer = false;
  const std::string silent = writeModel("bare.so", bare);
  expectError({"embed", silent, "--input", texts},
              "heddle: bare.so: the model has no tokenizer, expected one to embed texts\n");
  expectError({"tokenize", silent, "--input", texts},
              "heddle: bare.so: the model has no tokenizer, expected one to tokenize texts\n");
  fixture::ModelSpec encoder = fixture::model();
  encoder.entries.pop_back();
  expectError({"embed", writeModel("encoder.so", encoder), "--input", texts},
              "heddle: encoder.so: the model does not embed texts: it has no entry \"embed\", "
              "expected a model of sentence embeddings; heddle run --entry encode runs this one\n");
  expectError({"rerank", "--query", "a", "--input", texts, model},
              "the model does not classify: it has no entry \"classify\", expected a "
              "cross-encoder; heddle run --entry encode runs this one\n");
}

TEST_F(BadInputTest, EntriesWithoutInput) {
  fixture::ModelSpec idle = fixture::model();
  for (fixture::EntrySpec &entry : idle.entries) {
    entry.inputs[0].optional = true;
  }
  const std::string path = writeModel("idle.so", idle);
  const std::string expected = " needs no input, expected one that gives the batch its shape\n";
  expectError({"embed", path, "--input", texts}, "heddle: idle.so: entry \"embed\"" + expected);
  expectError({"bench", path, "--shapes", "1x2"}, "heddle: idle.so: entry \"encode\"" + expected);
  expectError({"run", path, "--inputs", ids, "--outputs", folder / "o"},
              "heddle: idle.so: entry \"encode\"" + expected);
}

TEST_F(BadInputTest, EntriesAndTargets) {
  const auto expectOption = [&](const std::vector<std::string> &arguments,
                                const std::string &message) {
    expectUsage(arguments,
                "heddle: " + message + "\nheddle: try 'heddle " + arguments[0] + " --help'\n");
  };
  const std::string entry =
      "--entry \"decode\": " + model + ": no entry \"decode\", expected one of encode, embed";
  expectOption({"run", model, "--entry", "decode", "--inputs", ids, "--outputs", folder / "o"},
               entry);
  expectOption({"bench", model, "--entry", "decode", "--shapes", "1x2"}, entry);
  expectOption({"profile", model, "--entry", "decode", "--shapes", "1x2"}, entry);
  const std::string none = "abacus";
  for (const std::vector<std::string> &command :
       {std::vector<std::string>{"embed", model, "--input", texts},
        {"run", model, "--inputs", ids, "--outputs", folder / "o"},
        {"bench", model, "--shapes", "1x2"},
        {"profile", model, "--shapes", "1x2"},
        {"analyze", model, "--input", texts},
        {"compare", model, model, "--input", texts}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--isa", none});
    const Outcome outcome = runHeddle(arguments);
    EXPECT_EQ(outcome.code, 2) << command[0];
    EXPECT_EQ(outcome.error.find("heddle: --isa \"abacus\": " + model + ": "), 0U) << outcome.error;
    // An invalid model remains the cause.
    arguments[1] = folder / "absent.so";
    EXPECT_EQ(runHeddle(arguments).code, 1) << command[0];
  }
}

TEST_F(BadInputTest, Texts) {
  const auto both = [&](const std::string &path, const std::string &message) {
    for (std::vector<std::string> command :
         {std::vector<std::string>{"embed", model, "--input", path},
          {"embed", model, "--input", path, "--output", folder / "out.npy"},
          {"tokenize", model, "--input", path}}) {
      command.insert(command.end(), {"--on-error", "stop"});
      expectError(command, message);
    }
  };
  both(folder / "absent.txt", "heddle: absent.txt: cannot open: No such file or directory\n");
  both(folder.write("empty.txt", ""), "heddle: empty.txt: no texts, expected at least one\n");
  both("-", "heddle: standard input: no texts, expected at least one\n");
  both(folder.write("latin.txt", "na\xefve\n"),
       "heddle: latin.txt:1: byte 3 is 0xef, expected UTF-8\n");
  both(folder.write("cut.jsonl", "{\"text\": \"b\n"), "heddle: cut.jsonl:1: ");
  both(folder.write("key.jsonl", "{\"body\": \"a\"}\n"),
       "heddle: key.jsonl:1: no key \"text\", expected an object such as {\"text\": \"...\"}\n");
  both(folder.write("type.jsonl", "{\"text\": [1]}\n"), "heddle: type.jsonl:1: \"text\" is ");
  both(folder.write("list.jsonl", "[]\n"), "heddle: list.jsonl:1: found ");
}

TEST_F(BadInputTest, LateErrorsLeaveNoHalfFile) {
  std::string lines;
  for (int line = 0; line < 3000; ++line) {
    lines += "a b c\n";
  }
  const std::string late = folder.write("late.txt", lines + "\xff\na\n");
  const std::string good = folder.write("good.txt", lines);
  folder.write("kept.jsonl", "old");
  folder.write("kept.npy", "old");
  const std::string message = "heddle: late.txt:3001: byte 1 is 0xff, expected UTF-8";
  expectError(
      {"embed", model, "--input", late, "--output", folder / "kept.npy", "--on-error", "stop"},
      message + "\n");
  const std::vector<std::string> before = folder.names();
  const Outcome outcome = runHeddle(
      {"embed", model, "--input", late, "--output", folder / "kept.jsonl", "--on-error", "stop"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("; answers so far are in "), std::string::npos) << outcome.error;
  EXPECT_EQ(folder.names().size(), before.size() + 1);
  EXPECT_EQ(folder.read("kept.jsonl.partial"), runHeddle({"embed", model, "--input", good}).output);
  EXPECT_EQ(folder.read("kept.jsonl"), "old");
  EXPECT_EQ(folder.read("kept.npy"), "old");
}

/// An unusable line is answered with its error, the others as if it did not exist.
TEST_F(BadInputTest, BadLinesAmongTexts) {
  const std::string input = folder.write("mixed.txt", "a b\n\xff\nc\n");
  const std::string good = folder.write("good.txt", "a b\nc\n");
  for (const char *command : {"embed", "tokenize"}) {
    const Outcome outcome = runHeddle({command, model, "--input", input});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.error, "heddle: " + input + ":2: byte 1 is 0xff, expected UTF-8\nheddle: " +
                                 input + ": 1 of 3 lines could not be used\n");
    const std::string expected = runHeddle({command, model, "--input", good}).output;
    const size_t second = expected.find('\n') + 1;
    EXPECT_EQ(outcome.output, expected.substr(0, second) + R"({"text": "", "error": ")" + input +
                                  ":2: byte 1 is 0xff, expected UTF-8\"}\n" +
                                  expected.substr(second));
  }
}

/// Rows correspond to their lines: an unusable line has a row of NaN.
TEST_F(BadInputTest, BadLinesInAMatrix) {
  const std::string input = folder.write("mixed.txt", "a b\n\xff\nc\n");
  const std::string good = folder.write("good.txt", "a b\nc\n");
  for (const bool piped : {false, true}) {
    const Outcome outcome =
        runHeddle({"embed", model, "--input", piped ? "-" : input, "--output", folder / "out.npy"},
                  {.input = piped ? "a b\n\xff\nc\n" : ""});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.error.find("1 of 3 lines could not be used"), std::string::npos);
    runHeddle({"embed", model, "--input", good, "--output", folder / "good.npy"});
    const std::string bytes = folder.read("out.npy");
    const std::string expected = folder.read("good.npy");
    constexpr size_t header = 128;
    constexpr size_t row = fixture::width * sizeof(float);
    ASSERT_EQ(bytes.size(), header + 3 * row);
    EXPECT_NE(bytes.find("'shape': (3, 32), }"), std::string::npos);
    EXPECT_EQ(bytes.substr(header, row), expected.substr(header, row));
    EXPECT_EQ(bytes.substr(header + 2 * row), expected.substr(header + row));
    for (size_t column = 0; column < fixture::width; ++column) {
      float value = 0;
      std::memcpy(&value, bytes.data() + header + row + column * sizeof(float), sizeof(float));
      EXPECT_TRUE(std::isnan(value)) << column;
    }
  }
}

/// One text that is too long for the model does not affect the others.
TEST_F(BadInputTest, TextsThatAreTooLong) {
  fixture::ModelSpec spec = fixture::model();
  for (fixture::EntrySpec &entry : spec.entries) {
    entry.maxLength = 4;
  }
  const std::string small = writeModel("small.so", spec);
  const Outcome outcome = runHeddle({"embed", small, "--input", "-"}, {.input = "a\na b c d\nb\n"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 3);
  EXPECT_NE(outcome.error.find("standard input:2: text has 6 tokens, expected at most 4, the "
                               "positions of the model\n"),
            std::string::npos)
      << outcome.error;
}

TEST_F(BadInputTest, NoSpaceForTheOutput) {
  const std::string full = "standard output: cannot write: No space left on device\n";
  const ProcessOptions device = {.outputPath = "/dev/full"};
  expectError({"embed", model, "--input", texts}, "heddle: " + full, device);
  expectError({"tokenize", model, "--input", texts}, "heddle: " + full, device);
  expectError({"bench", model, "--shapes", "1x2"}, "heddle: " + full, device);
  expectError({"info", model}, "heddle: " + full, device);
  expectError({"verify", model}, "heddle: " + full, device);
  expectError({"--help"}, "heddle: " + full, device);
  const ProcessOptions limited = {.fileLimit = 100};
  for (const char *name : {"out.jsonl", "out.npy"}) {
    expectError({"embed", model, "--input", texts, "--output", folder / name},
                std::string("heddle: ") + name + ": cannot write: File too large\n", limited);
  }
  expectError({"run", model, "--inputs", ids, "--outputs", folder / "out.safetensors"},
              "heddle: out.safetensors: cannot write: File too large\n", limited);
}

/// Only standard output may lose its reader without an error.
TEST_F(BadInputTest, UnreadErrorsHideNoFailure) {
  const std::string input = folder.write("mixed.txt", "a b\n\xff\nc\n");
  const ProcessOptions unread = {.errorUnread = true};
  for (const char *command : {"embed", "tokenize"}) {
    const std::vector<std::string> arguments = {command, model, "--input", input};
    EXPECT_EQ(runHeddle(arguments, unread).code, 1);
    EXPECT_EQ(runHeddle(arguments, {.outputPath = "/dev/full", .errorUnread = true}).code, 1);
  }
  const std::string full = folder / "full.jsonl";
  std::filesystem::create_symlink("/dev/full", full);
  EXPECT_EQ(runHeddle({"embed", model, "--input", input, "--output", full}, unread).code, 1);
}

/// A signal ends the command even within an endless line.
TEST_F(BadInputTest, EndlessLinesCanBeInterrupted) {
  const std::string zero = folder / "zero.txt";
  std::filesystem::create_symlink("/dev/zero", zero);
  for (const char *command : {"embed", "tokenize"}) {
    const Outcome outcome =
        runHeddle({command, model, "--input", zero},
                  {.processorSeconds = 20, .signal = SIGTERM, .signalAfter = 300'000});
    EXPECT_EQ(outcome.code, -SIGTERM);
  }
}

TEST_F(BadInputTest, OutputsThatCannotBe) {
  const std::string nowhere = folder / "absent/out.jsonl";
  expectError({"embed", model, "--input", texts, "--output", nowhere},
              "heddle: absent/out.jsonl: cannot create: No such file or directory\n");
  std::filesystem::create_directory(folder / "folder.npy");
  expectError({"embed", model, "--input", texts, "--output", folder / "folder.npy"},
              "heddle: folder.npy: is a directory, expected a file to write\n");
  expectError({"run", model, "--inputs", ids, "--outputs", folder / "absent/o"},
              "heddle: absent/o: cannot create: No such file or directory\n");
}

TEST_F(BadInputTest, Tensors) {
  const auto run = [&](const std::string &inputs, const std::string &message) {
    expectError({"run", model, "--inputs", inputs, "--outputs", folder / "out"}, message);
  };
  run(folder / "absent.safetensors",
      "heddle: absent.safetensors: cannot open: No such file or directory\n");
  run(folder.write("text.safetensors", "no tensors at all"),
      "heddle: text.safetensors: 17 bytes long, the first 8 say that the header has "
      "8030883942550761326, expected at most 100000000: not a safetensors file\n");
  const std::string whole = folder.read("ids.safetensors");
  run(folder.write("cut.safetensors", whole.substr(0, whole.size() - 1)),
      "heddle: cut.safetensors: ");
  run(writeIds("large.safetensors", {1, 2}, {5, 50}),
      "heddle: large.safetensors: tensor \"input_ids\": row 1, column 2 is 50, expected 0 to 49\n");
  run(writeIds("hole.safetensors", {1, 3}, {5, 6, 7}, {1, 0, 1}),
      "heddle: hole.safetensors: tensor \"attention_mask\": row 1 has a hole: 0 at column 2 and 1 "
      "again at column 3, expected the ones of a row to stand together\n");
  run(writeIds("none.safetensors", {0, 3}, {}),
      "heddle: none.safetensors: tensor \"input_ids\": shape [0, 3] has no tokens, expected at "
      "least one\n");
  run(writeIds("long.safetensors", {1, 301}, std::vector<int32_t>(301, 5)),
      "heddle: long.safetensors: entry \"encode\": sequence 1 has 301 tokens, ");
  run(writeIds("deep.safetensors", {1, 1, 2}, {5, 6}),
      "heddle: deep.safetensors: tensor \"input_ids\" has shape [1, 1, 2], expected [sequences, "
      "length] or [tokens]\n");
}

TEST_F(BadInputTest, Benches) {
  expectUsage({"bench", model, "--shapes", "1x2,1x301"},
              "heddle: --shapes: 1x301 has sequences of 301 tokens, expected at most 300, the "
              "positions of the model\nheddle: try 'heddle bench --help'\n");
  expectError({"bench", model, "--lengths", folder.write("long", "301\n")},
              "heddle: lengths: entry \"encode\": sequence 1 has 301 tokens, ");
  expectError({"bench", model, "--lengths", folder / "absent"},
              "heddle: absent: cannot open: No such file or directory\n");
  expectError({"bench", model, "--lengths", folder.write("words", "one\n")},
              "heddle: words:1: \"one\" is not a length, expected a positive number of tokens\n");
  expectError({"bench", model, "--lengths", folder.write("nothing", "")},
              "heddle: nothing: no lengths, expected one a line\n");
}

} // namespace heddle::tools
