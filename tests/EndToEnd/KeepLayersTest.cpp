// SPDX-License-Identifier: Apache-2.0
///
/// heddlec --keep: layers of another precision than the rest. Kept layers have the bits of their
/// precision, others those of the program's, however a request spells it; and every message about
/// patterns.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <list>
#include <map>
#include <ostream>
#include <span>

namespace heddle {
namespace {

using Arguments = std::vector<std::string>;

/// Returns the outputs on every target of this machine that both binaries have.
std::vector<std::map<std::string, std::vector<float>>> outputsOf(const std::string &binary,
                                                                 const std::string &other) {
  std::vector<std::map<std::string, std::vector<float>>> outputs;
  const std::vector<std::string> targets = runnableTargets(other);
  for (const std::string &isa : runnableTargets(binary)) {
    if (std::ranges::find(targets, isa) != targets.end()) {
      outputs.push_back(runBinary(binary, randomSentences(5, 17, 60, 3), isa, 2));
      EXPECT_FALSE(outputs.back().empty());
    }
  }
  EXPECT_FALSE(outputs.empty());
  return outputs;
}

/// Checks that two spellings of one model give the same bits.
void expectSame(const std::string &model, Arguments a, Arguments b) {
  // All targets of this machine, whatever the precisions would choose.
  std::string targets = "--target=";
  for (const std::string known :
       {"x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-bf16", "x86-64-v4-amx"}) {
    const std::vector<std::string> machine = machineTargets();
    if (std::ranges::find(machine, known) != machine.end()) {
      targets += (targets.ends_with('=') ? "" : ",") + known;
    }
  }
  a.push_back(targets);
  b.push_back(targets);
  // Attention follows the precision of the model, whatever layers are kept. Without a kernel of its
  // own it is not of bf16.
  const auto asksForBf16 = [](const std::string &argument) { return argument.ends_with("=bf16"); };
  if (std::ranges::any_of(a, asksForBf16) || std::ranges::any_of(b, asksForBf16)) {
    a.emplace_back("--disable-pass=fuse-attention");
    b.emplace_back("--disable-pass=fuse-attention");
  }
  const std::string first = compileModel(model, a), second = compileModel(model, b);
  ASSERT_FALSE(first.empty() || second.empty());
  EXPECT_EQ(outputsOf(first, second), outputsOf(second, first));
}

struct KeepCase {
  const char *model;
  const char *precision;
  /// Patterns for everything that precisions affect: for one part of the model, and for the rest.
  const char *part, *rest;
};

void PrintTo(const KeepCase &each, std::ostream *stream) {
  *stream << each.model << " " << each.precision;
}

class KeepLayersTest : public testing::TestWithParam<KeepCase> {
protected:
  const std::string model = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam().model);
  const std::string precision = GetParam().precision;
  const std::string part = GetParam().part, rest = GetParam().rest;
};

TEST_P(KeepLayersTest, HaveTheBitsOfTheirPrecision) {
  // Keeping all of it is the same as all of it in that precision, and vice versa.
  expectSame(model, {"--keep=" + part + "," + rest + "=" + precision},
             {"--precision=" + precision});
  expectSame(model, {"--precision=" + precision, "--keep=" + part + "," + rest + "=f32"}, {});
  // Keeping a part, or all but that part.
  expectSame(model, {"--keep=" + part + "=" + precision},
             {"--precision=" + precision, "--keep=" + rest + "=f32"});
}

INSTANTIATE_TEST_SUITE_P(Oracles, KeepLayersTest,
                         testing::Values(KeepCase{"bert-tiny", "bf16", "layer.1",
                                                  "embeddings,layer.0,layer.2,pooler"},
                                         KeepCase{"bert-tiny", "int4-g8", "layer.1",
                                                  "embeddings,layer.0,layer.2,pooler"},
                                         KeepCase{"bert-tiny", "int8", "attention",
                                                  "embeddings,intermediate,layer.*.output,pooler"},
                                         KeepCase{"transformer-pre", "int8", "encoder", "decoder"},
                                         KeepCase{"weighted", "int8", "encoder", "decoder,shared"}),
                         [](const auto &info) {
                           std::string name = std::string(info.param.model) + info.param.precision;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// Returns a copy of a model in which the matrices of one layer are rounded to bf16.
std::string roundedModel(const std::string &model, const std::string &copy,
                         const std::string &layer) {
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(model + "/config.json", copy + "/config.json");
  auto file = SafetensorsFile::open(model + "/model.safetensors");
  EXPECT_TRUE(file.ok());
  std::list<std::vector<float>> values;
  std::vector<SafetensorsTensor> tensors;
  for (SafetensorsTensor each : file->tensors()) {
    if (each.shape.size() == 2 && each.name.find(layer) != std::string_view::npos) {
      std::vector<float> &rounded = values.emplace_back(each.bytes.size() / sizeof(float));
      std::memcpy(rounded.data(), each.bytes.data(), each.bytes.size());
      for (float &value : rounded) {
        uint32_t bits = std::bit_cast<uint32_t>(value);
        bits += 0x7FFF + ((bits >> 16) & 1);
        value = std::bit_cast<float>(bits & 0xFFFF0000U);
      }
      each.bytes = std::as_bytes(std::span(rounded));
    }
    tensors.push_back(each);
  }
  EXPECT_TRUE(writeSafetensors(copy + "/model.safetensors", tensors).ok());
  return copy;
}

class HeddlecKeep : public HeddlecTest {};

// Three precisions in one program, and two with the same storage but different products.
TEST_F(HeddlecKeep, MayBeOfSeveralPrecisions) {
  const std::string rest = "embeddings,layer.0,layer.2,pooler";
  expectSame(tiny, {"--precision=int4", "--keep=layer.1=int8", "--keep=" + rest + "=bf16"},
             {"--precision=bf16", "--keep=layer.1=int8"});
  expectSame(tiny, {"--precision=bf16", "--keep=layer.1=bf16-weights"},
             {"--precision=bf16-weights", "--keep=" + rest + "=bf16"});
}

// f32 except for one layer: the bits of a checkpoint in which that layer is rounded.
TEST_F(HeddlecKeep, RoundsTheLayerAlone) {
  const std::string rounded =
      compileModel(roundedModel(tiny, work / "rounded", "encoder.layer.1."));
  const std::string kept = compileModel(tiny, {"--keep=encoder.layer.1=bf16-weights"});
  EXPECT_EQ(outputsOf(kept, rounded), outputsOf(rounded, kept));
  const std::string wide = compileModel(tiny);
  EXPECT_NE(outputsOf(kept, wide), outputsOf(wide, kept));
}

// A binary has code for the targets with instructions for the products of each precision.
TEST_F(HeddlecKeep, ChoosesTargets) {
  const auto targetsOf = [&](const Arguments &arguments) {
    const Result<Model> model =
        Model::load(compileByDefault(tiny, arguments), {.isa = {}, .describeOnly = true});
    return model.ok() ? model->targets() : Arguments{std::string(model.status().message())};
  };
  EXPECT_EQ(targetsOf({"--keep=layer.0=int8"}),
            (Arguments{"x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-amx"}));
  EXPECT_EQ(targetsOf({"--precision=int8", "--keep=layer.0=bf16"}),
            (Arguments{"x86-64-v3", "x86-64-v4-vnni", "x86-64-v4-bf16", "x86-64-v4-amx"}));
  EXPECT_EQ(targetsOf({"--keep=layer.0=bf16-weights"}), (Arguments{"x86-64-v3", "x86-64-v4"}));
}

// Kept layers are recorded in the binary, and reported by programs that run it.
TEST_F(HeddlecKeep, IsSaidByBinaries) {
  const Result<Model> model =
      Model::load(compileModel(tiny, {"--precision=int4", "--keep=attention.self=int8",
                                      "--keep=layer.1.output,layer.2.output=bf16"}),
                  {.isa = {}, .describeOnly = true});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->precision(), "int4");
  const std::vector<KeptLayersInfo> &kept = model->keptLayers();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].layers, "attention.self");
  EXPECT_EQ(kept[0].precision, "int8");
  // Queries, keys and values of three layers of width 72, with one scale per row.
  EXPECT_EQ(kept[0].tensors, 9);
  EXPECT_EQ(kept[0].bytes, 9 * 72 * (72 + 4));
  EXPECT_EQ(kept[2].layers, "layer.2.output");
  EXPECT_EQ(kept[2].precision, "bf16");
  EXPECT_EQ(kept[2].tensors, 1);
  EXPECT_EQ(kept[2].bytes, 2 * 72 * 100);
}

// Patterns of one precision may overlap: a tensor counts for each, its bytes for the first.
TEST_F(HeddlecKeep, MayOverlap) {
  const std::string first = "--keep=layer.0,layer.1=int8";
  const std::string second = "--keep=attention.self,*.layer.1.*=int8";
  const Result<Model> model =
      Model::load(compileModel(tiny, {first, second}), {.isa = {}, .describeOnly = true});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<KeptLayersInfo> &kept = model->keptLayers();
  ASSERT_EQ(kept.size(), 4U);
  const int64_t layerBytes = 4 * 72 * (72 + 4) + 100 * (72 + 4) + 72 * (100 + 4);
  for (const auto &[i, tensors, bytes] : {std::tuple{0, 6, layerBytes},
                                          {1, 6, layerBytes},
                                          {2, 9, int64_t{3} * 72 * (72 + 4)},
                                          {3, 6, int64_t{0}}}) {
    EXPECT_EQ(kept[i].tensors, tensors) << kept[i].layers;
    EXPECT_EQ(kept[i].bytes, bytes) << kept[i].layers;
  }
}

// Two names of one precision are one precision.
TEST_F(HeddlecKeep, KnowsNamesOfOnePrecision) {
  const Result<Model> model = Model::load(
      compileModel(tiny, {"--precision=int4", "--keep=query=int4-g32", "--keep=layer.0=int4"}),
      {.isa = {}, .describeOnly = true});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(model->keptLayers().size(), 2U);
  EXPECT_EQ(model->keptLayers()[0].tensors, 3);
  EXPECT_EQ(model->keptLayers()[1].tensors, 6);
  expectSame(tiny, {"--precision=int4", "--keep=query=int4-g32"}, {"--precision=int4"});
}

TEST_F(HeddlecKeep, RefusesWhatIsNoPattern) {
  const std::string out = work / "x.so";
  const std::string names =
      "f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, int8, int8-g128, int4 or "
      "int4-gN, N a multiple of 8 up to 65536";
  expectUsage({"--keep"}, "--keep has no value, expected one after it");
  expectUsage({tiny, "-o", out, "--keep=layer.0"},
              "--keep is \"layer.0\", expected LAYERS=PRECISION, for example attention.self=int8");
  expectUsage({tiny, "-o", out, "--keep=layer.0=int9"},
              "--keep is \"layer.0=int9\", whose precision is \"int9\", expected one of " + names +
                  "; did you mean \"int8\"?");
  expectUsage({tiny, "-o", out, "--keep=layer.0,=int8"},
              "--keep is \"layer.0,=int8\", where the pattern \"\" has an empty part, expected "
              "names of layers, for example layer.4,layer.5");
  expectUsage({tiny, "--stop-after=fused", "-o", out, "--keep=layer.0=int8"},
              "--keep is done in the phase dataflow, which is not among those from model to fused");
}

TEST_F(HeddlecKeep, RefusesPatternsThatDoNotFitTheModel) {
  const std::string out = work / "x.so";
  expectError({tiny, "-o", out, "--keep=atention.self=int8"},
              "--keep has \"atention.self\", which is in the name of none of 55 tensors, expected "
              "dotted parts of names such as \"embeddings.word_embeddings.weight\"; did you mean "
              "\"attention.self\"?");
  expectError({tiny, "-o", out, "--keep=*.*.*.*.*.*.*.*=int8"},
              "--keep has \"*.*.*.*.*.*.*.*\", a pattern of 8 dotted parts, and the names of "
              "tensors, such as \"embeddings.word_embeddings.weight\", have at most 7");
  expectError(
      {tiny, "-o", out, "--keep=layer.1=int8", "--keep=attention.self=bf16"},
      "--keep has \"layer.1=int8\" and \"attention.self=bf16\", which both match the tensor "
      "\"encoder.layer.1.attention.self.query.weight\", expected one precision for it");
  expectError({tiny, "-o", out, "--precision=int8", "--keep=LayerNorm=bf16"},
              "--keep: \"LayerNorm=bf16\" keeps nothing: no matrix of a product and no table that "
              "precisions differ in is made of what it matches");
  expectError({tiny, "-o", out, "--keep=query=int8"},
              "--keep: \"query=int8\" keeps nothing: \"encoder.layer.0.attention.self\" is stored "
              "as one matrix, and the precision of other parts of it is finer: f32");
  // The parts of a matrix are separate weights if they are not fused.
  EXPECT_EQ(heddlec({tiny, "-o", out, "--keep=query=int8", "--disable-pass=fuse-projections"}).code,
            0);
}

// A program in text records how its weights are stored, after the phase that decides it.
TEST_F(HeddlecKeep, IsSaidByPrograms) {
  const std::string program = work / "p.mlir", out = work / "x.so";
  ASSERT_EQ(heddlec({tiny, "--stop-after=dataflow", "-o", program, "--precision=int8",
                     "--keep=layer.1=bf16"})
                .code,
            0);
  expectError({program, "--weights", tiny, "-o", out, "--keep=layer.0=bf16"},
              program + ": is in the phase \"dataflow\", expected one in the phase \"model\" or "
                        "\"fused\" for --keep");
  expectError({program, "--weights", tiny, "-o", out, "--precision=bf16"},
              program + ": has weights in int8, expected those of --precision, bf16: weights are "
                        "stored in the phase \"dataflow\"");
  const std::string target = "--target=x86-64-v3";
  const std::string again = compileModel(program, {"--weights=" + tiny, target});
  const std::string direct =
      compileModel(tiny, {"--precision=int8", "--keep=layer.1=bf16", target});
  EXPECT_EQ(outputsOf(again, direct), outputsOf(direct, again));
}

// The requirements of products are in the text too: a binary of it has the same targets.
TEST_F(HeddlecKeep, KeepsTheTargetsOfPrograms) {
  const std::string program = work / "p.mlir";
  for (const Arguments &options :
       {Arguments{"--keep=layer.1=int8"}, Arguments{"--precision=int8", "--keep=layer.1=bf16"}}) {
    Arguments arguments = {tiny, "--stop-after=dataflow", "-o", program};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ASSERT_EQ(heddlec(arguments).code, 0);
    // Recompiled each time: the text differs, and its path does not.
    const std::string out = work / "again.so";
    ASSERT_EQ(heddlec({program, "--weights", tiny, "-o", out}).code, 0);
    const Result<Model> again = Model::load(out, {.isa = {}, .describeOnly = true});
    const Result<Model> direct =
        Model::load(compileByDefault(tiny, options), {.isa = {}, .describeOnly = true});
    ASSERT_TRUE(again.ok() && direct.ok());
    EXPECT_EQ(again->targets(), direct->targets());
    EXPECT_EQ(again->keptLayers().size(), 1U);
  }
}

// Invalid precisions in a text are rejected.
TEST_F(HeddlecKeep, RefusesPrecisionsOfProgramsThatThereAreNone) {
  const std::string out = work / "x.so";
  const auto expectText = [&](const std::string &says, const Arguments &options,
                              const std::string &message) {
    const std::string text = readBytes(HEDDLE_TEST_DATA "/EndToEnd/spellings/unscaled.mlir");
    const std::string program = work.write("p.mlir", text);
    work.write("p.safetensors",
               readBytes(HEDDLE_TEST_DATA "/EndToEnd/spellings/unscaled.safetensors"));
    const std::string next = work / "next.mlir";
    ASSERT_EQ(heddlec({program, "--stop-after=dataflow", "--precision=int8", "-o", next}).code, 0);
    std::string stored = readBytes(next);
    const std::string old = "transformer.precision = {kept = [], name = \"int8\"}";
    const size_t at = stored.find(old);
    ASSERT_NE(at, std::string::npos);
    work.write("p.mlir", stored.replace(at, old.size(), "transformer.precision = {" + says + "}"));
    Arguments arguments = {program, "-o", out};
    arguments.insert(arguments.end(), options.begin(), options.end());
    expectError(arguments, program + message);
  };
  const std::string names =
      "f32, tf32x3, tf32, bf16-weights, int8-weights, bf16, int8, int8-g128, int4 or "
      "int4-gN, N a multiple of 8 up to 65536";
  expectText("kept = [], name = \"foo\"", {},
             ": has weights in \"foo\", expected one of " + names + "; did you mean \"f32\"?");
  expectText(
      "kept = [{bytes = 8 : i64, layers = \"a\", precision = \"int9\", tensors = 1 : i64}], "
      "name = \"int8\"",
      {}, ": has weights kept in \"int9\", expected one of " + names + "; did you mean \"int8\"?");
  expectText("kept = [], name = \"\"", {},
             ": has weights as its files have them, expected files with weights in codes");
  expectText("kept = [], name = \"\"", {"--precision=int8"},
             ": has weights as its files have them, expected those of --precision, int8: weights "
             "are stored in the phase \"dataflow\"");
}

} // namespace
} // namespace heddle
