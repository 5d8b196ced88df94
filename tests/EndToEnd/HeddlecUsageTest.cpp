// SPDX-License-Identifier: Apache-2.0
///
/// heddlec's command line: every error in it, and the targets and phases that it accepts.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

struct UsageCase {
  const char *name;
  std::vector<std::string> arguments;
  std::string message;

  friend void PrintTo(const UsageCase &usageCase, std::ostream *stream) {
    *stream << usageCase.name;
  }
};

const char *const phases = "expected one of model, fused, dataflow, kernels, llvm, asm, so";

const std::vector<UsageCase> usageCases = {
    {"NoInput",
     {"-o", "x.so"},
     "no INPUT, expected a model folder, a GGUF or ONNX file, or a program FILE.mlir"},
    {"NothingAtAll",
     {},
     "no INPUT, expected a model folder, a GGUF or ONNX file, or a program FILE.mlir"},
    {"EmptyInput",
     {"", "-o", "x.so"},
     "no INPUT, expected a model folder, a GGUF or ONNX file, or a program FILE.mlir"},
    {"TwoInputs", {"m", "n", "-o", "x.so"}, "unexpected argument \"n\""},
    {"InputsBehindTheMark", {"-o", "x.so", "--", "-m", "--n"}, "unexpected argument \"--n\""},
    {"UnknownOption", {"m", "-o", "x.so", "--frob"}, "unexpected argument \"--frob\""},
    {"UnknownOptionWithValue", {"m", "--frob=1", "-o", "x.so"}, "unexpected argument \"--frob=1\""},
    {"NearAnOption",
     {"m", "--emti=model"},
     "unexpected argument \"--emti=model\", did you mean --emit?"},
    {"NearAPhase",
     {"m", "--emit=modle"},
     "--emit is \"modle\", expected one of model, fused, dataflow, kernels, llvm, asm, so; did you "
     "mean \"model\"?"},
    {"NearAPass",
     {"m", "-o", "x.so", "--disable-pass=fuse-atention"},
     fmt::format("--disable-pass is \"fuse-atention\", expected one of {}; did you mean "
                 "\"fuse-attention\"?",
                 fmt::join(passNames(), ", "))},
    {"NoOutput", {"m"}, "no output, expected -o OUT.so, --emit=PHASE or --report=FILE"},
    {"EmptyOutput",
     {"m", "-o", ""},
     "no output, expected -o OUT.so, --emit=PHASE or --report=FILE"},
    {"NoOutputToEmit",
     {"m", "--emit=so"},
     "--emit=so is the binary, which is not printed, expected -o OUT.so"},
    {"NoOutputToStop",
     {"m", "--stop-after=so"},
     "--stop-after=so is the binary, which is not printed, expected -o OUT.so"},
    {"TwoOutputs", {"m", "-o", "x", "-o", "y"}, "-o is given more than once, expected it once"},
    {"OutputWithoutValue", {"m", "-o"}, "-o has no value, expected one after it"},
    {"OptionForAValue",
     {"m", "--report", "-o", "x.so"},
     "--report has no value, expected one after it"},
    {"EmptyValue",
     {"m", "--target=", "-o", "x.so"},
     "--target has no value, expected one after it"},
    {"UnknownTarget",
     {"m", "-o", "x.so", "--target=arm"},
     "unknown target \"arm\", expected native or some of x86-64-v3, x86-64-v4, "
     "x86-64-v4-vnni, x86-64-v4-bf16, x86-64-v4-amx, sm_80, sm_90a"},
    {"UnknownTargetInAList",
     {"m", "-o", "x.so", "--target=x86-64-v3,x86-64-v9"},
     "unknown target \"x86-64-v9\", expected native or some of x86-64-v3, x86-64-v4, "
     "x86-64-v4-vnni, x86-64-v4-bf16, x86-64-v4-amx, sm_80, sm_90a"},
    {"EmptyTargetInAList",
     {"m", "-o", "x.so", "--target=x86-64-v3,,x86-64-v4"},
     "unknown target \"\", expected native or some of x86-64-v3, x86-64-v4, "
     "x86-64-v4-vnni, x86-64-v4-bf16, x86-64-v4-amx, sm_80, sm_90a"},
    {"PanelsOfATarget",
     {"m", "-o", "x.so", "--target=x86-64-v3:20"},
     "target \"x86-64-v3\" has panels of \"20\" columns, expected a multiple of 8 up to 128"},
    {"PanelsOfAGpu",
     {"m", "-o", "x.so", "--target=sm_80:20"},
     "target \"sm_80\" has panels of \"20\" columns, expected a multiple of 8 up to 128"},
    {"AssemblerWithoutGpu",
     {"m", "-o", "x.so", "--target=x86-64-v3", "--ptxas=ptxas"},
     "--ptxas is for kernels of GPUs, got targets x86-64-v3"},
    {"AssemblerWithoutBinary",
     {"m", "--emit=asm", "--target=sm_80", "--ptxas=/nonexistent"},
     "--ptxas is for a binary, expected -o and all phases, got asm as the last one"},
    {"TargetTwice",
     {"m", "-o", "x.so", "--target=x86-64-v4,x86-64-v3,x86-64-v4"},
     "--target names the target \"x86-64-v4\" twice, expected each once"},
    {"GpuTwice",
     {"m", "-o", "x.so", "--target=sm_80,sm_80"},
     "--target names the target \"sm_80\" twice, expected each once"},
    {"Tf32WithoutGpu",
     {"m", "-o", "x.so", "--target=x86-64-v3,x86-64-v4", "--precision=tf32"},
     "precision \"tf32\" is of products on GPUs, expected a target of one among --target, such as "
     "sm_80, got x86-64-v3, x86-64-v4"},
    {"LayersInTf32WithoutGpu",
     {"m", "-o", "x.so", "--keep=layer.1=tf32x3", "--target=x86-64-v3"},
     "precision \"tf32x3\" is of products on GPUs, expected a target of one among --target, such "
     "as sm_80, got x86-64-v3"},
    {"PanelsOfATargetWithoutNumber",
     {"m", "-o", "x.so", "--target=x86-64-v4:"},
     "target \"x86-64-v4\" has panels of \"\" columns, expected a multiple of 16 up to 128"},
    {"TwoPanelsOfATarget",
     {"m", "-o", "x.so", "--target=x86-64-v3:16,x86-64-v3"},
     "target \"x86-64-v3\" is asked for with panels of 16 and of 48 columns, expected one width"},
    {"Precision",
     {"m", "-o", "x.so", "--precision=bf17"},
     "--precision is \"bf17\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, "
     "bf16, int8, "
     "int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536; did you mean \"bf16\"?"},
    {"Cache",
     {"m", "-o", "x.so", "--cache=bf17"},
     "--cache is \"bf17\", expected one of f32, bf16, int8; did you mean \"bf16\"?"},
    {"CacheWithoutItsPhase",
     {"p.mlir", "--start-at=dataflow", "-o", "x.so", "--cache=bf16"},
     "--cache=bf16 is done in the phase fused, which is not among those from dataflow to so"},
    {"Emit", {"m", "--emit=ir"}, "--emit is \"ir\", "},
    {"StopAfter", {"m", "--stop-after=ir"}, "--stop-after is \"ir\", "},
    {"StartAt", {"p.mlir", "--start-at=ir", "-o", "x.so"}, "--start-at is \"ir\", "},
    {"StartAtTheEnd",
     {"p.mlir", "--start-at=so", "-o", "x.so"},
     "--start-at is \"so\", expected a phase whose input is a program: model to asm"},
    {"StartAtOfAFolder",
     {"m", "--start-at=fused", "-o", "x.so"},
     "--start-at needs a program, got \"m\", expected a file .mlir"},
    {"WeightsForAFolder",
     {"m", "--weights=w", "-o", "x.so"},
     "--weights is for a program, got \"m\", expected a file .mlir"},
    {"EmitAfterTheEnd",
     {"m", "--emit=llvm", "--stop-after=fused"},
     "--emit=llvm is after --stop-after=fused"},
    {"EmitBeforeTheStart",
     {"p.mlir", "--emit=fused", "--start-at=llvm", "-o", "x.so"},
     "--emit=fused is before --start-at=llvm"},
    {"StartAfterTheEnd",
     {"p.mlir", "--start-at=llvm", "--stop-after=fused"},
     "--start-at=llvm is after the last phase, fused"},
    {"UnknownPass",
     {"m", "-o", "x.so", "--disable-pass=fuse-everything"},
     fmt::format("--disable-pass is \"fuse-everything\", expected one of {}",
                 fmt::join(passNames(), ", "))},
    {"PassBeforeTheStart",
     {"p.mlir", "--start-at=dataflow", "-o", "x.so", "--disable-pass=fuse-attention"},
     "--disable-pass=fuse-attention is of the phase fused, which is before --start-at=dataflow"},
    {"ValueThatEndsInAnEqualsSign",
     {"m", "--weights=w=", "-o", "x.so"},
     "--weights is for a program, got \"m\", expected a file .mlir"},
    {"TextLengthOfWords",
     {"m", "-o", "x.so", "--text-length=4k"},
     "--text-length is \"4k\", expected a number from 1 to 16777216"},
    {"TextLengthOfNothing",
     {"m", "-o", "x.so", "--text-length=0"},
     "--text-length is \"0\", expected a number from 1 to 16777216"},
    {"TextLengthThatIsHuge",
     {"m", "-o", "x.so", "--text-length", "99999999999999999999"},
     "--text-length is \"99999999999999999999\", expected a number from 1 to 16777216"},
    {"PrecisionOfNothing",
     {"m", "-o", "x.so", "--precision", ""},
     "--precision is \"\", expected one of f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, "
     "int8, int8-g128, int4 or int4-gN, N a multiple of 8 up to 65536"},
    {"WeightsOfNothing",
     {"p.mlir", "-o", "x.so", "--weights", ""},
     "--weights is empty, expected a value"},
    {"CodeCacheOfNothing",
     {"m", "-o", "x.so", "--code-cache", ""},
     "--code-cache is empty, expected a value"},
    {"SharingOfNoKind",
     {"m", "-o", "x.so", "--share-attention=1,5"},
     "--share-attention has \"1\" before any kind, expected for example self:1,5"},
    {"SharingOfUnknownKind",
     {"m", "-o", "x.so", "--share-attention=decoder:1,5"},
     "--share-attention has kind \"decoder\", expected encoder, self or cross"},
    {"SharingOfAKindTwice",
     {"m", "-o", "x.so", "--share-attention=self:1,5,self:6"},
     "--share-attention has kind \"self\" again, expected it once"},
    {"SharingOfNoNumber",
     {"m", "-o", "x.so", "--share-attention=self:1,five"},
     "--share-attention has \"five\" as the size of a block, expected a number from 1 to 100000"},
    {"SharingOfANegativeNumber",
     {"m", "-o", "x.so", "--share-attention=self:-1"},
     "--share-attention has \"-1\" as the size of a block, expected a number from 1 to 100000"},
    {"SharingOfNothing",
     {"m", "-o", "x.so", "--share-attention="},
     "--share-attention has no value, expected one after it"},
    {"SharingAfterItsPhase",
     {"p.mlir", "--start-at=dataflow", "-o", "x.so", "--share-attention=self:2"},
     "--share-attention is done in the phase fused, which is not among those from dataflow to so"},
    {"SharingBeforeItsPhase",
     {"m", "--emit=model", "--share-attention=self:2"},
     "--share-attention is done in the phase fused, which is not among those from model to model"},
};

class HeddlecUsageTest : public HeddlecTest, public testing::WithParamInterface<UsageCase> {};

TEST_P(HeddlecUsageTest, GivesItsMessage) {
  std::string message = GetParam().message;
  expectUsage(GetParam().arguments, message.ends_with(", ") ? message + phases : message);
}

INSTANTIATE_TEST_SUITE_P(Heddlec, HeddlecUsageTest, testing::ValuesIn(usageCases),
                         [](const auto &info) { return info.param.name; });

TEST_F(HeddlecTest, HelpAndVersion) {
  tools::Outcome help = heddlec({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.error, "");
  for (const char *option :
       {"-o", "--target", "--precision", "--keep", "--cache", "--emit", "--stop-after",
        "--start-at", "--report", "--disable-pass", "--weights"}) {
    EXPECT_NE(help.output.find(option), std::string::npos) << option;
  }
  // The possible values, each with its description.
  for (const char *line :
       {"\n  dataflow                a graph of dispatches with its memory plan\n",
        "\n  so                      the compiled model, which is only written to -o\n",
        "--target LIST=x86-64-v3 and what suits --precision, see below\n",
        "\n  x86-64-v3               processors with vectors of 8 f32 numbers; in every binary by "
        "default\n",
        "\n  x86-64-v4               processors with vectors of 16 f32 numbers; by default for "
        "f32, "
        "bf16-weights, int8-weights\n",
        "\n  x86-64-v4-vnni          processors with vectors of 16 f32 numbers, products of 8-bit "
        "integers; by default for int8, int8-g128, int4, files that quantise rows\n",
        "\n  x86-64-v4-bf16          processors with vectors of 16 f32 numbers, products of 8-bit "
        "integers and of bf16; by default for bf16\n",
        "\n  x86-64-v4-amx           processors with vectors of 16 f32 numbers, products of 8-bit "
        "integers and of bf16, on the tile registers of AMX; by default for bf16, int8, int8-g128, "
        "files that quantise rows\n",
        "\n  native ", "\n  bf16-weights            weights stored",
        "\nCaches of --cache:\n  f32                     keys and values as"}) {
    EXPECT_NE(help.output.find(line), std::string::npos) << line << help.output;
  }
  for (const std::string &pass : passNames()) {
    EXPECT_NE(help.output.find("\n  " + pass + " "), std::string::npos) << pass;
  }
  EXPECT_NE(help.output.find("\n\n'man heddlec' has this where Heddle is installed; "
                             "docs/glossary.md explains the words.\n"),
            std::string::npos)
      << help.output;
  tools::Outcome version = heddlec({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.output.starts_with("heddlec ")) << version.output;
}

/// Returns the targets of a binary, separated by spaces.
std::string targetsOf(const std::string &path) {
  auto model = Model::load(path, {.describeOnly = true});
  EXPECT_TRUE(model.ok()) << model.status().message();
  std::string names;
  for (const std::string &target : model.ok() ? model->targets() : std::vector<std::string>()) {
    names += (names.empty() ? "" : " ") + target;
  }
  return names;
}

TEST_F(HeddlecTest, TargetsComeInOneOrder) {
  // The defaults that the help states.
  EXPECT_EQ(targetsOf(compileByDefault(tiny)), "x86-64-v3 x86-64-v4");
  EXPECT_EQ(targetsOf(compileByDefault(tiny, {"--precision=int8"})),
            "x86-64-v3 x86-64-v4-vnni x86-64-v4-amx");
  EXPECT_EQ(targetsOf(compileByDefault(tiny, {"--precision=int4"})), "x86-64-v3 x86-64-v4-vnni");
  EXPECT_EQ(targetsOf(compileByDefault(tiny, {"--precision=bf16"})),
            "x86-64-v3 x86-64-v4-bf16 x86-64-v4-amx");
  EXPECT_EQ(targetsOf(compileModel(tiny, {"--target=x86-64-v4,x86-64-v3"})), "x86-64-v3 x86-64-v4");
  // Whatever this machine is, it has one of both.
  EXPECT_EQ(targetsOf(compileModel(tiny, {"--target=native,x86-64-v4,x86-64-v3"})),
            "x86-64-v3 x86-64-v4");
  EXPECT_EQ(targetsOf(compileModel(tiny, {"--target=x86-64-v3"})), "x86-64-v3");
}

// An option without effect is a user error.
TEST_F(HeddlecTest, TextLengthNeedsPositionsThatDependOnIt) {
  const std::string output = work.path() + "/x.so";
  for (const char *const name : {"bert-tiny", "llama-tiny"}) {
    const std::string model = HEDDLE_TEST_DATA "/oracles/" + std::string(name);
    expectError({model, "-o", output, "--text-length", "64"},
                "--text-length is 64, expected none: " + model +
                    " is no model folder whose rotary positions depend on the length of texts, as "
                    "those of the types \"dynamic\" and \"longrope\" do");
  }
}

TEST_F(HeddlecTest, StaticNeedsConstantsOfOpenSizes) {
  const std::string output = work.path() + "/x.so";
  for (const char *const name : {"bert-tiny", "onnx/bert/dynamo-sdpa-op18.onnx"}) {
    const std::string model = HEDDLE_TEST_DATA "/oracles/" + std::string(name);
    expectError({model, "-o", output, "--static"},
                "--static is given, but " + model +
                    " is no ONNX graph in which the exporter made constants of open sizes");
  }
}

// Features that only products of some precisions use count for these.
TEST_F(HeddlecTest, NativeIsTheBestOfThisMachine) {
  const std::vector<std::string> machine = machineTargets();
  const auto bestOf = [&](const std::vector<std::string> &targets) {
    return *std::find_first_of(machine.begin(), machine.end(), targets.begin(), targets.end());
  };
  EXPECT_EQ(targetsOf(compileModel(tiny, {"--target=native"})), bestOf({"x86-64-v4", "x86-64-v3"}));
  EXPECT_EQ(targetsOf(compileModel(tiny, {"--target=native", "--precision=int8"})),
            bestOf({"x86-64-v4-amx", "x86-64-v4-vnni", "x86-64-v4", "x86-64-v3"}));
  EXPECT_EQ(targetsOf(compileModel(tiny, {"--target=native", "--precision=bf16"})),
            bestOf({"x86-64-v4-amx", "x86-64-v4-bf16", "x86-64-v4", "x86-64-v3"}));
}

} // namespace
} // namespace heddle
