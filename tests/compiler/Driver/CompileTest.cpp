// SPDX-License-Identifier: Apache-2.0
///
/// The compiler as a library, as a program without MLIR calls it: the results of requests, and the
/// messages about invalid ones.
#include "compiler/Compile.h"

#include "frontend/Builder/ModelBuilder.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/base/ThreadShortage.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace heddle {
namespace {

const std::string tiny = HEDDLE_TEST_DATA "/oracles/bert-tiny";

std::string bytesOf(const std::string &path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// A small program with two chained linear layers, and its tensors.
class CompileTest : public testing::Test {
protected:
  CompileTest() {
    ModelBuilder model("test");
    Entry entry = model.entry("encode");
    const Scope scope = model.scope("layer");
    const Tensor x = scope.gather("words", entry.input("ids"), 50, 24);
    const Tensor inner = scope.linear("inner", x, 16).activate(transformer::Activation::Relu);
    entry.output("y", scope.linear("outer", inner, 24) + x);
    for (const Parameter &parameter : model.parameters()) {
      size_t count = 1;
      for (const int64_t size : parameter.shape()) {
        count *= static_cast<size_t>(size);
      }
      values.emplace_back(count, 0.25F);
      request.tensors.push_back({parameter.symbol(), parameter.shape(), values.back()});
    }
    const Result<std::string> text = model.text();
    EXPECT_TRUE(text.ok()) << text.status().message();
    request.program = *text;
    request.targets = {"x86-64-v3"};
  }

  /// Expects a request to fail with this message and without a result.
  static void expectError(const CompileRequest &wrong, const std::string &message) {
    const CompileResult result = compile(wrong);
    EXPECT_EQ(result.status.message(), message);
    EXPECT_EQ(result.binary, "");
  }

  TemporaryFolder folder;
  CompileRequest request;
  std::vector<std::vector<float>> values;
};

TEST_F(CompileTest, GivesBytes) {
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.binary.substr(0, 4), "\x7f"
                                        "ELF");
  EXPECT_EQ(result.notes, std::vector<std::string>{"no tokenizer: the model takes ids only"});
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_TRUE(result.decisions.empty());
  EXPECT_EQ(result.report, "");
}

TEST_F(CompileTest, GivesTheSameBytesInAFile) {
  const CompileResult inMemory = compile(request);
  request.output = folder / "model.so";
  const CompileResult inAFile = compile(request);
  ASSERT_TRUE(inAFile.status.ok()) << inAFile.status.message();
  EXPECT_EQ(inAFile.binary, "");
  EXPECT_TRUE(bytesOf(request.output) == inMemory.binary);
}

TEST_F(CompileTest, NamesTensorsThatAreNotFinite) {
  std::vector<std::string> told;
  request.onRemark = [&](RemarkKind kind, std::string_view text) {
    if (kind == RemarkKind::Warning) {
      told.emplace_back(text);
    }
  };
  values[2].back() = -std::numeric_limits<float>::infinity();
  const std::string one = ": tensor \"" + request.tensors[2].name +
                          "\" has numbers that are NaN or infinite, expected finite ones: results "
                          "may be NaN";
  CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_TRUE(result.warnings.front().ends_with(one)) << result.warnings.front();
  EXPECT_EQ(told, result.warnings);
  for (std::vector<float> &each : values) {
    each.front() = std::numeric_limits<float>::quiet_NaN();
  }
  result = compile(request);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_NE(result.warnings.front().find("has numbers that are NaN or infinite, and so have 4 "
                                         "more, expected finite ones"),
            std::string::npos)
      << result.warnings.front();
}

TEST_F(CompileTest, TakesAFolder) {
  CompileRequest model;
  model.path = tiny;
  model.targets = {"native"};
  model.report = ReportForm::Page;
  const CompileResult result = compile(model);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_GT(result.binary.size(), 100'000U);
  EXPECT_NE(result.report.find("<title>"), std::string::npos);
}

TEST_F(CompileTest, ReportsDecisionsAndTexts) {
  request.report = ReportForm::Json;
  request.texts = {Phase::Model, Phase::Fused};
  request.stopAfter = Phase::Fused;
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.binary, "");
  ASSERT_EQ(result.texts.size(), 2U);
  EXPECT_EQ(result.texts[1].first, Phase::Fused);
  EXPECT_NE(result.texts[0].second.find("transformer.gather"), std::string::npos);
  EXPECT_EQ(result.texts[0].second.find("transformer.phase"), std::string::npos);
  EXPECT_NE(result.texts[1].second.find("transformer.phase = \"fused\""), std::string::npos);
  ASSERT_FALSE(result.decisions.empty());
  for (const Decision &decision : result.decisions) {
    EXPECT_NE(result.report.find(decision.where), std::string::npos) << decision.where;
  }
}

TEST_F(CompileTest, StartsWhereATextEnds) {
  const CompileResult whole = compile(request);
  request.texts = {Phase::Dataflow};
  request.stopAfter = Phase::Dataflow;
  const CompileResult half = compile(request);
  ASSERT_TRUE(half.status.ok()) << half.status.message();
  request.program = half.texts.front().second;
  request.texts.clear();
  request.stopAfter = Phase::SharedObject;
  const CompileResult rest = compile(request);
  ASSERT_TRUE(rest.status.ok()) << rest.status.message();
  // The files differ only in the summary of the passes that ran.
  EXPECT_NEAR(static_cast<double>(rest.binary.size()), static_cast<double>(whole.binary.size()),
              1000);
}

TEST_F(CompileTest, NoTemporaryFolder) {
  const char *const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", (folder / "none").c_str(), /*overwrite=*/1);
  expectError(request, "no temporary folder for the binary: No such file or directory");
  request.output = folder / "model.so";
  expectError(request, "no temporary folder for the linker: No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(request.output));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), /*overwrite=*/1);
}

/// Covers contexts, targets and the linker, which threads could share by mistake.
TEST_F(CompileTest, SeveralThreads) {
  std::vector<CompileRequest> requests(4, request);
  requests[1].targets = {"x86-64-v3", "x86-64-v4"};
  requests[2].disabledPasses = optionalPasses();
  requests[3].report = ReportForm::Json;
  std::vector<std::string> alone;
  for (const CompileRequest &one : requests) {
    alone.push_back(compile(one).binary);
    EXPECT_NE(alone.back(), "");
  }
  std::vector<std::thread> threads;
  std::vector<int> equal(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        equal[i] += compile(requests[i]).binary == alone[i] ? 1 : 0;
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(equal, std::vector<int>(requests.size(), 3));
}

TEST_F(CompileTest, NoThreadsToStart) {
  const CompileResult usual = compile(request);
  const ThreadShortage shortage;
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.binary, usual.binary);
}

/// A cache saves time: where it cannot be written, the binary is the same.
TEST_F(CompileTest, CachesThatCannotBeWritten) {
  const CompileResult usual = compile(request);
  // A folder in which nobody can make a file.
  request.codeCache = "/proc/self";
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.binary, usual.binary);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_TRUE(result.warnings[0].starts_with("codeCache: " + request.codeCache + "/"));
  EXPECT_TRUE(result.warnings[0].ends_with(
      ".o: cannot create: No such file or directory: what is not kept is compiled again next time"))
      << result.warnings[0];
}

TEST_F(CompileTest, CachesThatAreFilesAreFoundOutFirst) {
  request.codeCache = folder.write("file", "x");
  bool hasCompiled = false;
  request.onStep = [&](std::string_view step) { hasCompiled |= step == "fused"; };
  expectError(request, "codeCache: " + request.codeCache + ": is a file, expected a folder");
  EXPECT_FALSE(hasCompiled);
}

TEST_F(CompileTest, TellsWhatGoesOnAndPrintsNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  std::string steps, remarks, texts;
  request.report = ReportForm::Json;
  request.texts = {Phase::Model};
  request.onStep = [&](std::string_view step) { (steps += step) += "; "; };
  request.onRemark = [&](RemarkKind kind, std::string_view text) {
    EXPECT_EQ(kind, RemarkKind::Note);
    remarks += text;
  };
  request.onText = [&](Phase, std::string_view text) {
    texts += text;
    return Status();
  };
  const CompileResult result = compile(request);
  CompileRequest wrong = request;
  wrong.program = "nothing";
  EXPECT_FALSE(compile(wrong).status.ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_TRUE(steps.starts_with("model; costs without the passes; model; fused; dataflow; kernels; "
                                "llvm; asm; so; "))
      << steps;
  EXPECT_EQ(remarks, "no tokenizer: the model takes ids only");
  EXPECT_NE(texts, "");
  EXPECT_TRUE(result.texts.empty());
}

/// The binary is written last: if a callback fails, there is none.
TEST_F(CompileTest, AFailureOfTheCallerEndsIt) {
  request.output = folder / "model.so";
  request.texts = {Phase::Fused};
  request.onText = [](Phase, std::string_view) { return HEDDLE_ERROR(InputOutput, "disk full"); };
  expectError(request, "disk full");
  request.texts.clear();
  request.report = ReportForm::Json;
  request.onReport = [](std::string_view) { return HEDDLE_ERROR(InputOutput, "no paper"); };
  expectError(request, "no paper");
  EXPECT_FALSE(std::filesystem::exists(request.output));
}

/// The bias in bf16, which represents 0.25 exactly.
TEST_F(CompileTest, TensorsOfOtherTypes) {
  const CompileResult inF32 = compile(request);
  const std::vector<uint16_t> halves(16, 0x3E80);
  request.tensors[2] = {
      "layer.inner.bias", {16}, ElementType::BF16, std::as_bytes(std::span(halves))};
  request.texts = {Phase::Model};
  const CompileResult inBf16 = compile(request);
  ASSERT_TRUE(inBf16.status.ok()) << inBf16.status.message();
  EXPECT_EQ(inBf16.binary.size(), inF32.binary.size());
}

TEST_F(CompileTest, WrongTensors) {
  CompileRequest wrong = request;
  wrong.tensors.pop_back();
  expectError(wrong, "program: tensor \"layer.outer.bias\" is missing, expected one of shape [24]");
  wrong = request;
  wrong.tensors.back().shape = {12, 2};
  expectError(wrong, "program: tensor \"layer.outer.bias\" has shape [12, 2], expected [24]");
  wrong.tensors.back().shape = {25};
  expectError(wrong, "program: tensor \"layer.outer.bias\": 96 bytes, expected [25] items of f32");
  wrong = request;
  wrong.tensors[1].type = ElementType::I32;
  expectError(wrong, "program: tensor \"layer.inner.weight\" has type I32, expected F32, F16 or "
                     "BF16");
  wrong = request;
  wrong.tensors.clear();
  expectError(wrong,
              "program: has no weights, expected tensors, or a file or folder that has them");
}

TEST_F(CompileTest, WrongPrograms) {
  request.name = "mine";
  request.program = "func.func @encode() {";
  const std::string message(compile(request).status.message());
  EXPECT_TRUE(message.starts_with("mine:1:")) << message;
}

struct RequestCase {
  const char *name;
  void (*spoil)(CompileRequest &);
  const char *message;
};

void PrintTo(const RequestCase &each, std::ostream *stream) { *stream << each.name; }

class WrongRequestTest : public CompileTest, public testing::WithParamInterface<RequestCase> {};

TEST_P(WrongRequestTest, GivesItsMessage) {
  GetParam().spoil(request);
  EXPECT_EQ(checkRequest(request).message(), GetParam().message);
  expectError(request, GetParam().message);
}

const RequestCase requestCases[] = {
    {"NoInput", [](auto &r) { r.program.clear(); }, "no input, expected a path or a program"},
    {"TwoInputs", [](auto &r) { r.path = "m"; }, "a path and a program, expected one of them"},
    {"TensorsForAPath",
     [](auto &r) {
       r.program.clear();
       r.path = "m.mlir";
     },
     "tensors are for a program in memory, got \"m.mlir\""},
    {"WeightsAndTensors", [](auto &r) { r.weights = "w"; },
     "weights and tensors, expected one of them"},
    {"Precision", [](auto &r) { r.precision = "int3"; },
     "precision is \"int3\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, "
     "int8, "
     "int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you mean \"int8\"?"},
    {"GroupOfAPrecision", [](auto &r) { r.precision = "int4-g12"; },
     "precision is \"int4-g12\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, "
     "bf16, int8, "
     "int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you mean \"int8-g128\"?"},
    {"LargestGroupOfAPrecision", [](auto &r) { r.precision = "int4-g65544"; },
     "precision is \"int4-g65544\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, "
     "bf16, int8, "
     "int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536"},
    {"PrecisionWithoutGroup", [](auto &r) { r.precision = "int4-g"; },
     "precision is \"int4-g\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, "
     "bf16, int8, "
     "int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you mean \"int4\"?"},
    {"PrecisionAndWord", [](auto &r) { r.precision = "int4-g3x"; },
     "precision is \"int4-g3x\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, "
     "bf16, int8, "
     "int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536"},
    {"Cache", [](auto &r) { r.cache = "int3"; },
     "cache is \"int3\", expected one of f32, bf16, int8; did you mean \"int8\"?"},
    {"KeptWithoutPrecision", [](auto &r) { r.keep = {"layer.1=int8", "layer.2"}; },
     "keep is \"layer.2\", expected LAYERS=PRECISION, for example attention.self=int8"},
    {"KeptInAnUnknownPrecision", [](auto &r) { r.keep = {"a=b=int3"}; },
     "keep is \"a=b=int3\", whose precision is \"int3\", expected one of f32, tf32x3, tf32, "
     "bf16-weights, "
     "int8-weights, bf16, int8, int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you "
     "mean \"int8\"?"},
    {"KeptWithoutLayers", [](auto &r) { r.keep = {"=int8"}; },
     "keep is \"=int8\", where the pattern \"\" has an empty part, expected names of layers, for "
     "example layer.4,layer.5"},
    {"KeptAfterTheLastPhase",
     [](auto &r) {
       r.keep = {"layer.1=int8"};
       r.stopAfter = Phase::Fused;
     },
     "keep is done in the phase dataflow, which is not among those from model to fused"},
    {"KeptBeforeTheFirstPhase",
     [](auto &r) {
       r.keep = {"layer.1=int8"};
       r.startAt = Phase::Kernels;
     },
     "keep is done in the phase dataflow, which is not among those from kernels to so"},
    {"Sharing", [](auto &r) { r.sharing = "1,5"; },
     "sharing has \"1\" before any kind, expected for example self:1,5"},
    {"Target", [](auto &r) { r.targets = {"z80"}; },
     "unknown target \"z80\", expected native or some of x86-64-v3, x86-64-v4, "
     "x86-64-v4-vnni, x86-64-v4-bf16, x86-64-v4-amx, sm_80, sm_90a"},
    {"Analysis", [](auto &r) { r.analysis = "a.json"; },
     "analysis is shown by report=Page, which is not asked for"},
    {"StartAtTheEnd", [](auto &r) { r.startAt = Phase::SharedObject; },
     "startAt is \"so\", expected a phase whose input is a program: model to asm"},
    {"StartAfterTheEnd",
     [](auto &r) {
       r.startAt = Phase::Llvm;
       r.stopAfter = Phase::Fused;
     },
     "startAt=llvm is after the last phase, fused"},
    {"TextAfterTheEnd",
     [](auto &r) {
       r.stopAfter = Phase::Fused;
       r.texts = {Phase::Llvm};
     },
     "texts=llvm is after stopAfter=fused"},
    {"TextBeforeTheStart",
     [](auto &r) {
       r.startAt = Phase::Llvm;
       r.texts = {Phase::Fused};
     },
     "texts=fused is before startAt=llvm"},
    {"PassOfAnEarlierPhase",
     [](auto &r) {
       r.startAt = Phase::Dataflow;
       r.disabledPasses = {"fuse-attention"};
     },
     "disabledPasses=fuse-attention is of the phase fused, which is before startAt=dataflow"},
    {"TextOfTheBinary", [](auto &r) { r.texts = {Phase::SharedObject}; },
     "texts=so is the binary, which is no text"},
};

INSTANTIATE_TEST_SUITE_P(Compile, WrongRequestTest, testing::ValuesIn(requestCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace heddle
