// SPDX-License-Identifier: Apache-2.0
///
/// The tables of a model that generates: caches, and the defaults of generation.
#include "compiler/Link/Manifest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

constexpr llvm::StringLiteral program = R"mlir(
!ids = !dataflow.buffer<[tokens], i32>
!keys = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 4, longest], f32>
module attributes {transformer.generation = {start = array<i32: 1, 2>, end = array<i32: 3>, pad = 0 : i32, forced_first = -1 : i32, forced_last = 3 : i32, suppressed = array<i32: 0>, rules = "transformers", max_length = 20 : i32, num_beams = 4 : i32, length_penalty = 5.000000e-01 : f32, early_stopping = true, no_repeat_ngram = 3 : i32, repetition_penalty = 1.500000e+00 : f32, min_length = 2 : i32, never_stop_early = false, sample = true, temperature = 6.000000e-01 : f32, top_k = 40 : i32, top_p = 9.000000e-01 : f32, min_p = 1.250000e-01 : f32, context_length = 512 : i32}} {
  transformer.parameter @table : tensor<64x64xf32> from "table"
  dataflow.kernel @gather : (!ids, !dataflow.buffer<[64, 64], f32>) -> !rows computes #dataflow.gather<width = 64, lookups = 1> {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.kernel @scores : (!dataflow.buffer<[tokens, 4, 16], f32>, !dataflow.cache<[4, 16], f32, keys>) -> !scores computes #dataflow.nest<"thd,khd->thk", sum> {
  ^bb0(%q: f32, %k: f32):
    %0 = arith.mulf %q, %k : f32
    dataflow.yield %0
  }
  dataflow.graph @decode(%key: !keys {dataflow.name = "key"}, %ids: !ids {dataflow.name = "target", dataflow.limit = 64 : i64}) -> (!keys {dataflow.name = "key"}, !scores {dataflow.name = "attention"}, !rows {dataflow.name = "logits"}) attributes {arena = #dataflow.size<>} {
    %table = dataflow.parameter @table : !dataflow.buffer<[64, 64], f32>
    %x = dataflow.dispatch @gather(%ids, %table) : (!ids, !dataflow.buffer<[64, 64], f32>) -> !rows
    %k = dataflow.dispatch @append(%key, %x) changes [0] : (!keys, !rows) -> !keys
    %heads = dataflow.reshape %k : !keys -> !dataflow.cache<[4, 16], f32, keys>
    %q = dataflow.reshape %x : !rows -> !dataflow.buffer<[tokens, 4, 16], f32>
    %s = dataflow.dispatch @scores(%q, %heads) : (!dataflow.buffer<[tokens, 4, 16], f32>, !dataflow.cache<[4, 16], f32, keys>) -> !scores
    dataflow.output %k, %s, %x : !keys, !scores, !rows
  }
}
)mlir";

ManifestInputs someInputs() {
  ManifestInputs inputs;
  inputs.precision = "f32";
  inputs.targets = {{"x86-64-v3", 48, 6}};
  inputs.functionName = [](llvm::StringRef kernel, llvm::StringRef target) {
    return (kernel + "." + target).str();
  };
  inputs.launchShape = [](dataflow::KernelOp, const ManifestTarget &target) {
    return target.launch;
  };
  inputs.finishName = [](llvm::StringRef kernel) { return (kernel + ".finish").str(); };
  inputs.scratch = [](dataflow::KernelOp) { return ScratchSize{}; };
  inputs.parameters["table"] = {0, 16384, 1};
  inputs.weightsSize = 16384;
  return inputs;
}

class DecoderManifestTest : public ::testing::Test {
protected:
  DecoderManifestTest() {
    context.loadDialect<arith::ArithDialect, dataflow::DataflowDialect,
                        transformer::TransformerDialect>();
  }

  /// Builds the manifest of a program. Returns null after an error, whose message is in `error`.
  const manifest::Manifest *build(llvm::StringRef text, const ManifestInputs &inputs) {
    error.clear();
    builder.Clear();
    ScopedDiagnosticHandler handler(&context,
                                    [&](Diagnostic &diagnostic) { error += diagnostic.str(); });
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module || failed(buildManifest(*module, inputs, builder))) {
      return nullptr;
    }
    return manifest::GetManifest(builder.GetBufferPointer());
  }

  /// Returns the error for the program above with `from` replaced by `to`.
  std::string errorOf(llvm::StringRef from, llvm::StringRef to) {
    std::string text = program.str();
    size_t position = text.find(from.str());
    EXPECT_NE(position, std::string::npos) << from.str();
    text.replace(position, from.size(), to.str());
    EXPECT_EQ(build(text, someInputs()), nullptr);
    return error;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  flatbuffers::FlatBufferBuilder builder;
  std::string error;
};

TEST_F(DecoderManifestTest, DescribesCaches) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Entry *entry = written->entries()->Get(0);
  ASSERT_EQ(entry->caches()->size(), 1u);
  const manifest::CachePort *cache = entry->caches()->Get(0);
  EXPECT_EQ(cache->name()->str(), "key");
  EXPECT_EQ(cache->width(), 64u);
  EXPECT_EQ(cache->layout(), manifest::CacheLayout::Keys);
  EXPECT_TRUE(cache->written());
  const manifest::Buffer *buffer = entry->buffers()->Get(cache->buffer());
  EXPECT_EQ(buffer->location(), manifest::Location::Cache);
  EXPECT_EQ(buffer->index(), 0u);
  ASSERT_EQ(buffer->shape()->size(), 1u);
  EXPECT_EQ(buffer->shape()->Get(0)->constant(), 64u);
  // Caches are numbered separately from inputs and outputs.
  ASSERT_EQ(entry->inputs()->size(), 1u);
  EXPECT_EQ(entry->buffers()->Get(entry->inputs()->Get(0)->buffer())->index(), 0u);
  ASSERT_EQ(entry->outputs()->size(), 2u);
  EXPECT_EQ(entry->outputs()->Get(0)->name()->str(), "attention");
  EXPECT_TRUE(entry->outputs()->Get(0)->shape()->Get(2)->longest());
  EXPECT_EQ(entry->buffers()->Get(entry->outputs()->Get(1)->buffer())->index(), 1u);
}

TEST_F(DecoderManifestTest, AppendHasItsCacheOnce) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Entry *entry = written->entries()->Get(0);
  uint32_t cache = entry->caches()->Get(0)->buffer();
  const manifest::Dispatch *append = entry->dispatches()->Get(1);
  ASSERT_EQ(append->operands()->size(), 2u);
  EXPECT_EQ(append->operands()->Get(0)->buffer(), cache);
  EXPECT_EQ(append->operands()->Get(1)->buffer(), entry->outputs()->Get(1)->buffer());
  EXPECT_EQ(append->flops_per_row(), 0u);
  const manifest::Dispatch *scores = entry->dispatches()->Get(2);
  EXPECT_EQ(scores->operands()->Get(2)->buffer(), cache);
  EXPECT_EQ(scores->flops_per_row_key(), 2u * 64);
  // Scoring a row reads the keys that the run has appended, and modifies none.
  EXPECT_FALSE(append->row_by_row());
  EXPECT_TRUE(scores->row_by_row());
}

TEST_F(DecoderManifestTest, SaysHowItGenerates) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Generation *generation = written->generation();
  ASSERT_NE(generation, nullptr);
  ASSERT_EQ(generation->start()->size(), 2u);
  EXPECT_EQ(generation->start()->Get(1), 2);
  EXPECT_EQ(generation->end()->Get(0), 3);
  EXPECT_EQ(generation->pad(), 0);
  EXPECT_EQ(generation->forced_first(), -1);
  EXPECT_EQ(generation->forced_last(), 3);
  EXPECT_EQ(generation->suppressed()->Get(0), 0);
  EXPECT_EQ(generation->rules()->str(), "transformers");
  EXPECT_EQ(generation->max_length(), 20);
  EXPECT_EQ(generation->beams(), 4);
  EXPECT_EQ(generation->length_penalty(), 0.5f);
  EXPECT_TRUE(generation->early_stopping());
  EXPECT_EQ(generation->no_repeat_ngram(), 3);
  EXPECT_EQ(generation->repetition_penalty(), 1.5f);
  EXPECT_EQ(generation->min_length(), 2);
  EXPECT_FALSE(generation->never_stop_early());
  EXPECT_TRUE(generation->sample());
  EXPECT_EQ(generation->temperature(), 0.6f);
  EXPECT_EQ(generation->top_k(), 40);
  EXPECT_EQ(generation->top_p(), 0.9f);
  EXPECT_EQ(generation->min_p(), 0.125f);
  EXPECT_EQ(generation->context_length(), 512);
}

TEST_F(DecoderManifestTest, HasATokenizerOfTheTarget) {
  ManifestInputs inputs = someInputs();
  inputs.targetTokenizer = [](flatbuffers::FlatBufferBuilder &builder) {
    flatbuffers::Offset<void> model(builder.EndTable(builder.StartTable()));
    auto pieces = builder.CreateVectorOfStructs(std::vector<manifest::TemplatePiece>());
    return manifest::CreateTokenizer(builder, 0, manifest::Normalizer::NONE, 0,
                                     manifest::PreTokenizer::NONE, 0,
                                     manifest::TokenizerModel::NONE, model, pieces);
  };
  const manifest::Manifest *written = build(program, inputs);
  ASSERT_NE(written, nullptr) << error;
  EXPECT_EQ(written->tokenizer(), nullptr);
  EXPECT_NE(written->target_tokenizer(), nullptr);
}

TEST_F(DecoderManifestTest, RefusesASettingOfAnotherType) {
  const struct {
    llvm::StringRef from, to, expected;
  } cases[] = {
      {"pad = 0 : i32, ", "", "'pad', an i32, got none"},
      {"pad = 0 : i32", "pad = 0 : i64", "'pad', an i32, got 0 : i64"},
      {"length_penalty = 5.000000e-01 : f32", "length_penalty = 1.0 : f64",
       "'length_penalty', an f32, got 1.000000e+00 : f64"},
      {"early_stopping = true", "early_stopping = 2 : i32",
       "'early_stopping', true or false, got 2 : i32"},
      {"end = array<i32: 3>", "end = 3 : i32", "'end', an array<i32>, got 3 : i32"},
      {"rules = \"transformers\"", "rules = 1 : i32", "'rules', a string, got 1 : i32"},
  };
  for (const auto &item : cases) {
    EXPECT_EQ(errorOf(item.from, item.to),
              "'builtin.module' op expects 'transformer.generation' to have " +
                  item.expected.str());
  }
  std::string text = program.str();
  size_t begin = text.find("transformer.generation = ");
  text.replace(begin, text.find("}} {") + 1 - begin, "transformer.generation = 1 : i32");
  EXPECT_EQ(build(text, someInputs()), nullptr);
  EXPECT_EQ(error,
            "'builtin.module' op expects 'transformer.generation' to be a dictionary, got 1 : "
            "i32");
}

TEST_F(DecoderManifestTest, RefusesSettingsThatTheRuntimeRefuses) {
  const struct {
    llvm::StringRef from, to, expected;
  } cases[] = {
      {"start = array<i32: 1, 2>", "start = array<i32: 64>", "start token 64, expected 0 to 63"},
      {"end = array<i32: 3>", "end = array<i32: 64>", "end token 64, expected 0 to 63"},
      {"suppressed = array<i32: 0>", "suppressed = array<i32: -1>",
       "suppressed token -1, expected 0 to 63"},
      {"pad = 0", "pad = -2", "pad token -2, expected -1 to 63"},
      {"forced_first = -1", "forced_first = 64", "forced first token 64, expected -1 to 63"},
      {"forced_last = 3", "forced_last = 99", "forced last token 99, expected -1 to 63"},
      {"\"transformers\"", "\"mine\"",
       "rules \"mine\", expected paper, transformers or ctranslate2"},
      {"num_beams = 4", "num_beams = 0",
       "max_length 20, min_length 2, no_repeat_ngram 3 and beams 0, expected at least 0, 0, 0 and "
       "1 "
       "to 1024"},
      {"dataflow.limit = 64", "dataflow.limit = 30",
       "64 tokens can be generated, only 30 of them can be fed back"},
      {"1.500000e+00 : f32", "0.000000e+00 : f32",
       "length_penalty 0.5 and repetition_penalty 0, expected -10000 to 10000 and 1e-06 to "
       "1000000"},
      {"\"logits\"", "\"scores\"", "no entry \"decode\" with an input and an output \"logits\""},
  };
  for (const auto &item : cases) {
    EXPECT_EQ(errorOf(item.from, item.to),
              "the program gives a binary that the runtime would refuse: generation: " +
                  item.expected.str());
  }
}

TEST_F(DecoderManifestTest, RefusesCachesThatTheRuntimeRefuses) {
  const std::string start = "the program gives a binary that the runtime would refuse: ";
  const struct {
    llvm::StringRef graph, expected;
  } cases[] = {
      {R"mlir(dataflow.graph @read(%key: !dataflow.cache<[8], f32, rows> {dataflow.name = "key"}) -> () attributes {arena = #dataflow.size<>} {
        dataflow.output
      })mlir",
       "0 entries append to cache \"key\", expected one"},
      {R"mlir(dataflow.graph @read(%key: !dataflow.cache<[1048577], f32, rows> {dataflow.name = "key"}) -> () attributes {arena = #dataflow.size<>} {
        dataflow.output
      })mlir",
       "entry \"read\": cache \"key\": width 1048577, layout 1 and element type 0, expected 1 to "
       "1048576, at most 1 and at most 15"},
      {R"mlir(dataflow.graph @read(%key: !dataflow.cache<[8], f32, rows> {dataflow.name = "key"}) -> () attributes {arena = #dataflow.size<>} {
        dataflow.output
      }
      dataflow.graph @again(%key: !dataflow.cache<[9], f32, rows> {dataflow.name = "key"}) -> () attributes {arena = #dataflow.size<>} {
        dataflow.output
      })mlir",
       "cache \"key\" has 9 elements of f32 and layout 1 in entry \"again\", and 8 elements of f32 "
       "and layout 1 before it"},
  };
  for (const auto &item : cases) {
    EXPECT_EQ(build(item.graph, someInputs()), nullptr);
    EXPECT_EQ(error, start + item.expected.str());
  }
  std::string arguments;
  for (int cache = 0; cache <= 1024; ++cache) {
    arguments +=
        fmt::format("{0}%c{1}: !dataflow.cache<[8], f32, rows> {{dataflow.name = \"c{1}\"}}",
                    cache == 0 ? "" : ", ", cache);
  }
  EXPECT_EQ(build("dataflow.graph @many(" + arguments +
                      ") -> () attributes {arena = #dataflow.size<>} {\n dataflow.output\n}",
                  someInputs()),
            nullptr);
  EXPECT_EQ(error, start + "entry \"many\": 1025 caches, expected at most 1024");
}

} // namespace
} // namespace heddle
