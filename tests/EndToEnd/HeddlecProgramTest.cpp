// SPDX-License-Identifier: Apache-2.0
///
/// Programs in text that heddlec rejects: syntactic and semantic errors at file:line:column,
/// parameters that do not fit, and programs of another phase than --start-at names.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"

namespace heddle {
namespace {

const std::string spelling = HEDDLE_TEST_DATA "/EndToEnd/spellings/unscaled";

class HeddlecProgramTest : public HeddlecTest {
protected:
  HeddlecProgramTest() : program(source / "p.mlir") {
    source.write("p.mlir", readBytes(spelling + ".mlir"));
    source.write("p.safetensors", readBytes(spelling + ".safetensors"));
  }

  /// Replaces one text in the program.
  void edit(const std::string &from, const std::string &to) {
    std::string text = readBytes(spelling + ".mlir");
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    source.write("p.mlir", text.replace(at, from.size(), to));
  }

  void expectProgramError(const std::string &message, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {program, "-o", work / "out.so"});
    expectError(options, message);
  }

  /// Replaces the program by its form after a phase.
  void advance(const std::string &phase) {
    source.write("p.mlir", readBytes(spelling + ".mlir"));
    const std::string next = source / "next.mlir";
    tools::Outcome outcome = heddlec({program, "--stop-after=" + phase, "-o", next});
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    std::filesystem::rename(next, program);
  }

  TemporaryFolder source;
  std::string program;
};

TEST_F(HeddlecProgramTest, Syntax) {
  edit("transformer.softmax", "transformer.softmux");
  expectProgramError(program + ":25:8: error: custom op 'transformer.softmux' is unknown");
  edit("%p, %vh in(%rows, %rows)", "%p, %vh in(%rows %rows)");
  expectProgramError(program + ":26:60: error: expected ')'");
  source.write("p.mlir", "module {\n");
  expectProgramError(program + ":1:9: error: expected operation name in quotes");
  source.write("p.mlir", std::string("\0\xff\xfe", 3));
  expectProgramError(program + ":1:2: error: unexpected character");
  source.write("p.mlir", "");
  expectProgramError(program + ": the file is empty");
  source.write("p.mlir", std::string(200, '('));
  expectProgramError(program + ":1:1: error: expected operation name in quotes");
}

TEST_F(HeddlecProgramTest, LinesAreShown) {
  edit("transformer.softmax", "transformer.softmux");
  const std::string shown = "  %p = transformer.softmux %s in(%rows) : tensor<?x3x?xf32>\n"
                            "       ^\n";
  EXPECT_EQ(heddlec({program, "-o", work / "out.so"}).error,
            "heddlec: " + program + ":25:8: error: custom op 'transformer.softmux' is unknown\n" +
                shown);
  // For a line of a megabyte, only the surroundings of the position are shown.
  source.write("p.mlir", std::string(1000000, ' ') + "%0 = no.op" + std::string(1000000, ' '));
  const std::string error = heddlec({program, "-o", work / "out.so"}).error;
  EXPECT_NE(error.find("p.mlir:1:1000006: error: "), std::string::npos) << error.substr(0, 1000);
  EXPECT_NE(error.find("%0 = no.op  "), std::string::npos) << error.substr(0, 1000);
  EXPECT_LT(error.size(), 1000U);
}

TEST_F(HeddlecProgramTest, ShownCharactersAreWhole) {
  std::string accents;
  for (int i = 0; i < 100; ++i) {
    accents += "\u00e9";
  }
  // The 80 bytes before the position begin inside a character, and the 80 after it end in one.
  source.write("p.mlir", "func.func @\"" + accents + "\"  x");
  const std::string before = heddlec({program, "-o", work / "out.so"}).error;
  EXPECT_NE(before.find("\n\u00e9\u00e9"), std::string::npos) << before;
  EXPECT_NE(before.find("\u00e9\"  x\n"), std::string::npos) << before;
  source.write("p.mlir", "no.op \"" + accents + "\"");
  const std::string after = heddlec({program, "-o", work / "out.so"}).error;
  EXPECT_NE(after.find("\nno.op \"\u00e9"), std::string::npos) << after;
  EXPECT_NE(after.find("\u00e9\n^"), std::string::npos) << after;
}

TEST_F(HeddlecProgramTest, LaterPhasesSayWhere) {
  const std::string sum = "transformer.add %o, %x : tensor<?x24xf32>, tensor<?x24xf32>";
  edit(sum, sum + "\n  %f = transformer.contract \"ta,tb->ab\" %r, %x : tensor<?x24xf32>, "
                  "tensor<?x24xf32> -> tensor<24x24xf32>\n  %g = transformer.contract "
                  "\"ta,ab->tb\" %r, %f : tensor<?x24xf32>, tensor<24x24xf32> -> "
                  "tensor<?x24xf32>");
  expectProgramError(program + ":30:8: error: 'transformer.contract' op has a result without rows: "
                               "no kernel sums over the rows of a batch",
                     {"--disable-pass=eliminate-dead", "--disable-pass=eliminate-common"});
}

TEST_F(HeddlecProgramTest, SameFilesElsewhereGiveTheSameBytes) {
  namespace fs = std::filesystem;
  const std::string there = source / "d1/deeper";
  fs::create_directories(there);
  for (const char *name : {"p.mlir", "p.safetensors"}) {
    fs::copy_file(source / name, there + "/" + name);
  }
  const std::string first = work / "first", second = work / "second";
  for (const auto &[input, output] : {std::pair(program, first), {there + "/p.mlir", second}}) {
    const tools::Outcome outcome = heddlec({input, "-o", output + ".so", "--report", output});
    ASSERT_EQ(outcome.code, 0) << outcome.error;
  }
  EXPECT_EQ(readBytes(first + ".so"), readBytes(second + ".so"));
  EXPECT_EQ(readBytes(first), readBytes(second));
  EXPECT_EQ(readBytes(first + ".so").find(source.path()), std::string::npos);
}

TEST_F(HeddlecProgramTest, TooDeepForTheParser) {
  source.write("p.mlir", "module attributes {a.b = " + std::string(10000, '['));
  expectProgramError(program +
                     ":1:281: error: the text nests 257 levels deep, expected at most 256");
  const tools::Outcome opt = tools::runProgram("heddle-opt", {program});
  EXPECT_EQ(opt.code, 1);
  EXPECT_EQ(opt.error, "heddle-opt: " + program +
                           ":1:281: error: the text nests 257 levels deep, "
                           "expected at most 256\n");
}

TEST_F(HeddlecProgramTest, Verifiers) {
  edit("%qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>",
       "%qh, %kh in(%rows, %rows) : tensor<?x3x9xf32>");
  expectProgramError(program +
                     ":24:44: error: use of value '%qh' expects different type than prior uses: "
                     "'tensor<?x3x9xf32>' vs 'tensor<?x3x8xf32>'\n" +
                     program + ":21:3: note: prior use here");
  edit("epsilon = 1.0e-12", "epsilon = -1.0");
  expectProgramError(program +
                     ":30:8: error: 'transformer.layer_norm' op expects a finite epsilon of 0 "
                     "or more, got -1.000000e+00 : f32");
  edit("@query.weight,", "@absent.weight,");
  expectProgramError(
      program + ":18:8: error: 'transformer.linear' op expects weight '@absent.weight' to be a "
                "parameter, got no such symbol");
  edit("\"thd,khd->thk\"", "\"thd,khd->\"");
  expectProgramError(program +
                     ":24:8: error: 'transformer.contract' op expects a result of rank 0 for '', "
                     "got 'tensor<?x3x?xf32>'");
}

TEST_F(HeddlecProgramTest, Entries) {
  source.write("p.mlir", "module {}\n");
  expectProgramError(program + ":1:1: error: the program has no func.func, expected an entry");
  source.write("p.mlir", "func.func @f() { return }\n");
  expectProgramError(program + ":1:1: error: 'func.func' op expects segments after its inputs");
  edit("{transformer.name = \"input_ids\"}", "");
  expectProgramError(
      program +
      ":15:1: error: 'func.func' op expects \"transformer.name\" on argument 0, a string");
  edit("(tensor<?x24xf32> {transformer.name = \"last_hidden_state\"})", "tensor<?x24xf32>");
  expectProgramError(program +
                     ":15:1: error: 'func.func' op expects \"transformer.name\" on result 0, a "
                     "string");
}

TEST_F(HeddlecProgramTest, Parameters) {
  std::filesystem::remove(source / "p.safetensors");
  expectProgramError(program + ": has no weights, expected \"p.safetensors\" or a model's weights "
                               "(model.safetensors) beside it, or its folder by --weights FOLDER");
  source.write("p.safetensors", readBytes(spelling + ".safetensors").substr(0, 100));
  expectProgramError(source /
                     "p.safetensors: the header's length is 792, but only 92 bytes follow");
  source.write("p.safetensors", readBytes(spelling + ".safetensors"));
  edit("from \"norm.bias\"", "from \"norm.beta\"");
  expectProgramError(source /
                     "p.safetensors: tensor \"norm.beta\" is missing, expected one of shape [24]");
  edit("@norm.bias : tensor<24xf32> from \"norm.bias\"",
       "@norm.bias : tensor<24xf32> from \"query.weight\"");
  expectProgramError(source /
                     "p.safetensors: tensor \"query.weight\" has shape [24, 24], expected [24]");
}

TEST_F(HeddlecProgramTest, Tokenizer) {
  source.write("p.tokenizer.json", "{");
  expectProgramError(source / "p.tokenizer.json: not JSON at byte 2, near \"{\"");
}

TEST_F(HeddlecProgramTest, OtherPhases) {
  expectProgramError(
      program +
          ": has no kernel module, expected one named after a target, "
          "x86-64-v3, x86-64-v4, x86-64-v4-vnni, x86-64-v4-bf16, x86-64-v4-amx, sm_80, sm_90a, or "
          "--start-at=kernels or earlier",
      {"--start-at=llvm"});
  advance("kernels");
  const std::string found = program + ": has the kernel module \"x86-64-v3\"";
  expectProgramError(found + " already, expected --start-at=llvm or asm", {"--start-at=kernels"});
  expectProgramError(found + ", not in the llvm dialect yet, expected --start-at=llvm",
                     {"--start-at=asm"});
  advance("llvm");
  expectProgramError(found + " already, expected --start-at=llvm or asm", {"--start-at=fused"});
}

TEST_F(HeddlecProgramTest, TextsSayTheirPhase) {
  advance("dataflow");
  const std::string found = program + ": is in the phase \"dataflow\"";
  expectError({program, "--emit=fused"}, found + ", expected to be asked for that phase or a later "
                                                 "one, not for \"fused\"");
  expectError({program, "--emit=model", "-o", work / "out.so"},
              found + ", expected to be asked for that phase or a later one, not for \"model\"");
  expectError({program, "--share-attention=self:2", "-o", work / "out.so"},
              found + ", expected one in the phase \"model\" for --share-attention");
  expectError({program, "--cache=bf16", "-o", work / "out.so"},
              found + ", expected one in the phase \"model\" for --cache=bf16");
  expectError({program, "--disable-pass=fuse-attention", "-o", work / "out.so"},
              found + ", expected one in the phase \"model\" for --disable-pass=fuse-attention");
  expectError({program, "--disable-pass=plan-memory", "-o", work / "out.so"},
              found + ", expected one in the phase \"fused\" for --disable-pass=plan-memory");
  const tools::Outcome same = heddlec({program, "--emit=dataflow"});
  EXPECT_EQ(same.code, 0) << same.error;
  EXPECT_EQ(same.output, readBytes(program));
  std::string text = readBytes(program);
  const std::string said = "transformer.phase = \"dataflow\"";
  ASSERT_NE(text.find(said), std::string::npos);
  source.write("p.mlir",
               text.replace(text.find(said), said.size(), "transformer.phase = \"dataflaw\""));
  expectProgramError(program + ": \"transformer.phase\" is \"dataflaw\", expected a phase whose "
                               "result is a program: model, fused, dataflow, kernels or llvm");
  source.write("p.mlir", "module attributes {transformer.phase = \"asm\"} {\n" +
                             readBytes(spelling + ".mlir") + "}\n");
  expectProgramError(program + ": \"transformer.phase\" is \"asm\", expected a phase whose result "
                               "is a program: model, fused, dataflow, kernels or llvm");
}

TEST_F(HeddlecProgramTest, TargetsAreThoseOfTheKernels) {
  advance("kernels");
  expectProgramError(program + ": has the kernels of x86-64-v3, x86-64-v4, expected those of "
                               "--target, x86-64-v3: targets are chosen in the phase \"kernels\"",
                     {"--target=x86-64-v3"});
  const tools::Outcome outcome =
      heddlec({program, "--target=x86-64-v4,x86-64-v3", "-o", work / "out.so"});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
}

TEST_F(HeddlecProgramTest, WeightsFromElsewhere) {
  TemporaryFolder elsewhere;
  std::filesystem::rename(source / "p.safetensors", elsewhere / "any.safetensors");
  expectProgramError(elsewhere.path() + ": no weights in it, expected model.safetensors, "
                                        "model.safetensors.index.json or model.bin",
                     {"--weights", elsewhere.path()});
  const tools::Outcome outcome =
      heddlec({program, "--weights", elsewhere / "any.safetensors", "-o", work / "out.so"});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
}

} // namespace
} // namespace heddle
