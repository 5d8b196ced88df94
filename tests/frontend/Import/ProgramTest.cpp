// SPDX-License-Identifier: Apache-2.0
///
/// Import of programs in text.
#include "frontend/Import/Import.h"

#include "tests/formats/Quantized/QuantizedFolder.h"
#include "tests/frontend/Builder/PrintedModule.h"
#include "tests/frontend/Import/ModelFolder.h"
#include "tests/frontend/Import/ShownLines.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace heddle {

/// A program with one table and one weight.
static constexpr const char *goodProgram = R"(
module attributes {transformer.model_type = "mine"} {
  transformer.parameter @words : tensor<9x4xf32> from "w.words"
  transformer.parameter @places : tensor<7x4xf32> from "w.places"
  transformer.parameter @dense : tensor<2x4xf32> from "w.dense"
  func.func @run(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
      -> (tensor<?x2xf32> {transformer.name = "y"}) {
    %0 = transformer.gather @words[%ids] : tensor<?x4xf32>
    %1 = transformer.positions %rows {offset = 3 : i64}
    %2 = transformer.gather @places[%1] : tensor<?x4xf32>
    %3 = transformer.add %0, %2 : tensor<?x4xf32>, tensor<?x4xf32>
    %4 = transformer.linear %3, @dense : tensor<?x4xf32> -> tensor<?x2xf32>
    return %4 : tensor<?x2xf32>
  }
})";

/// A program and its weights in a temporary folder.
class ProgramTest : public testing::Test {
protected:
  ProgramTest() {
    path = folder.write("m.mlir", goodProgram);
    writeWeights({zeros("w.words", {9, 4}), zeros("w.places", {7, 4}), zeros("w.dense", {2, 4})});
  }

  SafetensorsTensor zeros(std::string name, std::vector<int64_t> shape,
                          ElementType dtype = ElementType::F32) {
    const size_t bytes = *byteSize(dtype, shape);
    return {std::move(name), dtype, std::move(shape), std::span(room).first(bytes)};
  }
  void writeWeights(const std::vector<SafetensorsTensor> &tensors) {
    const Status status = writeSafetensors(folder / "m.safetensors", tensors);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// Replaces text of the program.
  void edit(const std::string &from, const std::string &to) {
    std::string text = goodProgram;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder.write("m.mlir", text.replace(at, from.size(), to));
  }
  std::string message() {
    mlir::MLIRContext context;
    return withoutShownLines(std::string(importModel(context, path).status().message()));
  }

  TemporaryFolder folder;
  std::string path;
  std::vector<std::byte> room = std::vector<std::byte>(4096);
};

TEST_F(ProgramTest, ComesWithItsWeightsAndTokenizer) {
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->modelType, "mine");
  EXPECT_EQ(model->positions, 4);
  EXPECT_EQ(model->checkpoint->names().size(), 3u);
  EXPECT_FALSE(model->tokenizer);
  folder.write("m.tokenizer.json", "{}");
  const Result<ImportedModel> again = importModel(context, path);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->tokenizer->file.path(), folder / "m.tokenizer.json");
  EXPECT_FALSE(again->tokenizer->maxLength);
  EXPECT_NE(model->sourceHash, again->sourceHash);
}

TEST_F(ProgramTest, PositionsOfBlocksAreThoseOfTheirTokens) {
  edit("%1 = transformer.positions %rows", "%b = transformer.blocks %rows, 3\n"
                                           "    %1 = transformer.positions %b");
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->positions, 12);
}

TEST_F(ProgramTest, WhatAFamilyWroteCanBeReadAgain) {
  ModelFolder bert;
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, bert.path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::string text = printed(**&model->module);
  bert.files().write("model.mlir", text);
  const Result<ImportedModel> again = importModel(context, bert / "model.mlir");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(printed(**&again->module), text);
  EXPECT_EQ(again->positions, 40);
}

TEST_F(ProgramTest, ErrorsOfTheParserHaveTheirPlace) {
  folder.write("m.mlir", "module {\n  transformer.parameter @a : tensor<2xf32> form \"a\"\n}\n");
  EXPECT_TRUE(message().starts_with(path + ":2:")) << message();
  folder.write("m.mlir", "module {\n  unknown.op\n}\n");
  EXPECT_TRUE(message().starts_with(path + ":2:")) << message();
  folder.write("m.mlir", "\x7f\x45LF");
  EXPECT_TRUE(message().starts_with(path + ":1:1: error: ")) << message();
}

TEST_F(ProgramTest, ErrorsOfTheVerifierHaveTheirPlace) {
  edit("-> tensor<?x2xf32>\n", "-> tensor<?x3xf32>\n");
  EXPECT_TRUE(message().starts_with(path + ":")) << message();
  edit("@dense : tensor<2x4xf32>", "@dense : tensor<3x4xf32>");
  EXPECT_EQ(message(),
            path +
                ":12:10: error: 'transformer.linear' op expects weight '@dense' of shape 2x4, got "
                "3x4\n" +
                path + ":5:3: note: the parameter is defined here");
}

TEST_F(ProgramTest, TensorsMustFit) {
  const std::string weights = folder / "m.safetensors";
  writeWeights({zeros("w.words", {9, 4}), zeros("w.places", {7, 4})});
  EXPECT_EQ(message(), weights + ": tensor \"w.dense\" is missing, expected one of shape [2, 4]");
  writeWeights({zeros("w.words", {9, 4}), zeros("w.places", {7, 4}), zeros("w.dense", {4, 2})});
  EXPECT_EQ(message(), weights + ": tensor \"w.dense\" has shape [4, 2], expected [2, 4]");
  writeWeights({zeros("w.words", {9, 4}), zeros("w.places", {7, 4}),
                zeros("w.dense", {2, 4}, ElementType::I64)});
  EXPECT_EQ(message(), weights + ": tensor \"w.dense\" has type I64, expected F32, F16 or BF16");
  std::filesystem::remove(weights);
  EXPECT_EQ(message(), path + ": has no weights, expected \"m.safetensors\" or a model's weights "
                              "(model.safetensors) beside it, or its folder by --weights FOLDER");
}

TEST_F(ProgramTest, TensorsThatNobodyNamesAreNoted) {
  std::vector<SafetensorsTensor> tensors = {zeros("w.words", {9, 4}), zeros("w.places", {7, 4}),
                                            zeros("w.dense", {2, 4}), zeros("w.more", {1})};
  writeWeights(tensors);
  mlir::MLIRContext context;
  Result<ImportedModel> model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->notes.front(), "tensors the model does not use: w.more");
  for (char letter = 'a'; letter < 'k'; ++letter) {
    tensors.push_back(zeros(std::string("w.") + letter, {1}));
  }
  writeWeights(tensors);
  model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->notes.front(), "tensors the model does not use: w.a, w.b, w.c, w.d, w.e, w.f, "
                                  "w.g, w.h and 3 more");
}

/// Weights with the file names of a model folder.
TEST_F(ProgramTest, WeightsAndTokenizersOfTheModelsFolder) {
  std::filesystem::rename(folder / "m.safetensors", folder / "model.safetensors");
  folder.write("tokenizer.json", "{}");
  mlir::MLIRContext context;
  Result<ImportedModel> model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->checkpoint->names().size(), 3u);
  ASSERT_TRUE(model->tokenizer);
  EXPECT_EQ(model->tokenizer->file.path(), folder / "tokenizer.json");
  // Files with the program's own name take precedence.
  folder.write("m.tokenizer.json", "{}");
  model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->tokenizer->file.path(), folder / "m.tokenizer.json");

  TemporaryFolder elsewhere;
  const std::string program = elsewhere.write("p.mlir", goodProgram);
  EXPECT_FALSE(importModel(context, program).ok());
  model = importModel(context, program, folder.path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->tokenizer->file.path(), folder / "tokenizer.json");
  // A file provides only weights.
  model = importModel(context, program, folder / "model.safetensors");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_FALSE(model->tokenizer);
  TemporaryFolder empty;
  EXPECT_EQ(importModel(context, program, empty.path()).status().message(),
            empty.path() + ": no weights in it, expected model.safetensors, "
                           "model.safetensors.index.json or model.bin");
  // The message names the format of unsupported weights.
  empty.write("pytorch_model.bin", "PK");
  EXPECT_NE(
      importModel(context, program, empty.path()).status().message().find("pytorch_model.bin"),
      std::string_view::npos);
  EXPECT_FALSE(importModel(context, program, folder / "absent").ok());
}

TEST_F(ProgramTest, SaysWhatItsFolderSaidOfTexts) {
  edit("transformer.model_type = \"mine\"",
       "transformer.max_length = 3 : i64, transformer.tokenizer = [\"a.spm\", \"b.json\"]");
  mlir::MLIRContext context;
  Result<ImportedModel> model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->notes.front(),
            "no tokenizer beside the program, which names a.spm, b.json: the model takes ids only; "
            "give its folder by --weights FOLDER");
  folder.write("tokenizer.json", R"({"normalizer": {"lowercase": false}})");
  model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->tokenizer->maxLength, 3);
  edit("transformer.model_type = \"mine\"", "transformer.max_length = 300 : i64");
  model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->tokenizer->maxLength, 4);
  EXPECT_EQ(model->notes.front(), "\"transformer.max_length\" is 300, but the model has 4 "
                                  "positions: texts are cut there");
  edit("transformer.model_type = \"mine\"", "transformer.lower_case");
  EXPECT_EQ(message(), folder /
                           "tokenizer.json: the normalizer keeps upper case, but the program has "
                           "\"transformer.lower_case\", expected \"lowercase\": true");
}

TEST_F(ProgramTest, CallsAreInlined) {
  edit("  func.func @run(", "  func.func private @start(%ids: tensor<?xi32>) -> tensor<?x4xf32> {\n"
                            "    %0 = transformer.gather @words[%ids] : tensor<?x4xf32>\n"
                            "    return %0 : tensor<?x4xf32>\n  }\n"
                            "  func.func @run(");
  std::ifstream stream(path);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  const std::string gather = "%0 = transformer.gather @words[%ids] : tensor<?x4xf32>\n    %1";
  const size_t at = text.find(gather);
  ASSERT_NE(at, std::string::npos);
  folder.write("m.mlir", text.replace(at, gather.size(),
                                      "%0 = call @start(%ids) : (tensor<?xi32>) -> "
                                      "tensor<?x4xf32>\n    %1"));
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::string inlined = printed(**&model->module);
  EXPECT_EQ(inlined.find("call"), std::string::npos) << inlined;
  EXPECT_EQ(inlined.find("private"), std::string::npos) << inlined;
  EXPECT_NE(inlined.find("gather @words"), std::string::npos) << inlined;
  folder.write("m.mlir", text.replace(text.find("%0 = transformer.gather @words"),
                                      std::string("%0 = transformer.gather @words[%ids]").size(),
                                      "%0 = call @start(%ids)")
                             .replace(text.find(" : tensor<?x4xf32>\n    return %0"),
                                      std::string(" : tensor<?x4xf32>").size(),
                                      " : (tensor<?xi32>) -> tensor<?x4xf32>"));
  EXPECT_EQ(message(), path + ":6:3: error: 'func.func' op calls itself, or a function that does, "
                              "expected calls that end");
}

TEST_F(ProgramTest, EntriesNeedNames) {
  const struct {
    const char *from, *to, *expected;
  } cases[] = {
      {" {transformer.name = \"ids\"}", "",
       "'func.func' op expects \"transformer.name\" on argument 0, a string"},
      {" {transformer.name = \"y\"}", "",
       "'func.func' op expects \"transformer.name\" on result 0, a string"},
      {"%rows: !transformer.segments)", "%rows: !transformer.segments, %last: tensor<?xi32>)",
       "'func.func' op expects argument 2, after its segments, to be a cache or state, got '"
       "tensor<?xi32>'"},
      {", %rows", ", %more: tensor<?xi64>, %rows",
       "'func.func' op expects argument 1 to be ids, tensor<?xi32>, or rows, tensor<?xWxf32>, "
       "got 'tensor<?xi64>'"},
      {", %rows", ", %more: tensor<?x4xbf16>, %rows",
       "'func.func' op expects argument 1 to be ids, tensor<?xi32>, or rows, tensor<?xWxf32>, "
       "got 'tensor<?x4xbf16>'"},
      {", %rows", ", %more: tensor<?x2x2xf32>, %rows",
       "'func.func' op expects argument 1 to be ids, tensor<?xi32>, or rows, tensor<?xWxf32>, "
       "got 'tensor<?x2x2xf32>'"},
      {", %rows", ", %more: tensor<?x4xf32>, %rows",
       "'func.func' op expects \"transformer.name\" on argument 1, a string"},
      {", %rows", ", %more: tensor<?xi32> {transformer.name = \"ids\"}, %rows",
       "'func.func' op expects distinct names, got \"ids\" again"},
  };
  for (const auto &item : cases) {
    edit(item.from, item.to);
    EXPECT_EQ(message(), path + ":6:3: error: " + item.expected);
  }
  folder.write("m.mlir",
               "module {\n  func.func @f(%a: !transformer.segments) {\n    return\n  }\n}\n");
  EXPECT_EQ(message(), path + ":2:3: error: 'func.func' op expects at least one result");
  folder.write("m.mlir",
               "module {\n  func.func private @f(!transformer.segments) -> tensor<?x2xf32>\n}\n");
  EXPECT_EQ(message(), path + ":2:3: error: 'func.func' op expects a body");
  folder.write("m.mlir", "module {\n  func.func @f(%x: tensor<?x2xf32> {transformer.name = \"x\"}) "
                         "-> (tensor<?x2xf32> {transformer.name = \"y\"}) {\n"
                         "    return %x : tensor<?x2xf32>\n  }\n}\n");
  EXPECT_EQ(message(), path + ":2:3: error: 'func.func' op expects segments after its inputs");
  folder.write("m.mlir",
               "module {\n  func.func @f(%a: !transformer.segments) -> !transformer.segments {\n"
               "    return %a : !transformer.segments\n  }\n}\n");
  EXPECT_EQ(message(),
            path + ":2:3: error: 'func.func' op expects result 0 to be rows, tensor<?xWxf32>, "
                   "scores, tensor<?xHx?xf32>, or a cache or state, got '!transformer.segments'");
  folder.write("m.mlir", "module {\n}\n");
  EXPECT_EQ(message(), path + ":1:1: error: the program has no func.func, expected an entry");
}

TEST_F(ProgramTest, ScoresAreResultsOfEntriesWithCaches) {
  std::string text = goodProgram;
  const std::string type = "tensor<?x2xf32> {", last = "return %4 : tensor<?x2xf32>";
  text.replace(text.find(last), last.size(),
               "%h = transformer.split_heads %3 : tensor<?x4xf32> -> tensor<?x1x4xf32>\n"
               "    %s = transformer.contract \"thd,khd->thk\" %h, %h in(%rows, %rows) : "
               "tensor<?x1x4xf32>, tensor<?x1x4xf32> -> tensor<?x1x?xf32>\n"
               "    return %s : tensor<?x1x?xf32>");
  text.replace(text.find(type), type.size(), "tensor<?x1x?xf32> {");
  folder.write("m.mlir", text);
  EXPECT_EQ(message(),
            path +
                ":6:3: error: 'func.func' op expects result 0 to be rows, tensor<?xWxf32>, got "
                "scores, which only an entry with caches hands out, or one that observes them\n" +
                path + ":15:5: note: it is returned here");
}

TEST_F(ProgramTest, AsManyPortsAsABinaryHas) {
  std::string inputs;
  for (int i = 0; i < 1025; ++i) {
    inputs += fmt::format(", %i{0}: tensor<?xi32> {{transformer.name = \"i{0}\"}}", i);
  }
  edit(", %rows", inputs + ", %rows");
  EXPECT_EQ(message(), path + ":6:3: error: 'func.func' op has 1026 inputs, expected at most 1024");
  std::string caches;
  for (int i = 0; i < 1025; ++i) {
    caches += fmt::format(", %c{0}: !transformer.cache<2> {{transformer.name = \"c{0}\"}}", i);
  }
  edit("%rows: !transformer.segments", "%rows: !transformer.segments" + caches);
  EXPECT_EQ(message(),
            path + ":6:3: error: 'func.func' op has 1025 caches and states, expected at most 1024");
}

TEST_F(ProgramTest, CachesAreResultsWhenAppendedTo) {
  const std::string head = "module {\n  func.func @f(%x: tensor<?xi32> {transformer.name = \"x\"}, "
                           "%rows: !transformer.segments, ";
  const std::string cache = "!transformer.cache<2> {transformer.name = \"c\"}";
  const struct {
    std::string text, expected;
  } cases[] = {
      {head + "%c: " + cache + ") -> (" + cache +
           ") {\n    return %c : !transformer.cache<2>\n  }\n}\n",
       "'func.func' op expects result 0, a cache, to be the argument of its name, appended to"},
      {head + "%c: !transformer.cache<2>) -> (" + cache +
           ") {\n    return %c : !transformer.cache<2>\n  }\n}\n",
       "'func.func' op expects \"transformer.name\" on argument 2, a string"},
      {head + "%y: tensor<?xi32> {transformer.name = \"y\"}) {\n    return\n  }\n}\n",
       "'func.func' op expects argument 2, after its segments, to be a cache or state, got '"
       "tensor<?xi32>'"},
  };
  for (const auto &item : cases) {
    folder.write("m.mlir", item.text);
    EXPECT_EQ(message(), path + ":2:3: error: " + item.expected);
  }
  folder.write(
      "m.mlir",
      "module {\n"
      "  func.func private @g(%rows: !transformer.segments, %c: !transformer.cache<3> "
      "{transformer.name = \"c\"}) -> (tensor<?x3xf32> {transformer.name = \"y\"}) {\n"
      "    %y = transformer.cached %c in(%rows) : !transformer.cache<3> -> tensor<?x3xf32>\n"
      "    return %y : tensor<?x3xf32>\n  }\n"
      "  func.func @f(%rows: !transformer.segments, %c: " +
          cache +
          ") -> (tensor<?x2xf32> {transformer.name = \"y\"}) {\n"
          "    %y = transformer.cached %c in(%rows) : !transformer.cache<2> -> "
          "tensor<?x2xf32>\n    return %y : tensor<?x2xf32>\n  }\n}\n");
  EXPECT_EQ(message(), path + ":6:3: error: 'func.func' op expects cache \"c\" of type "
                              "'!transformer.cache<3>', as in another entry, got "
                              "'!transformer.cache<2>'");
}

TEST_F(ProgramTest, WhatIsAppendedIsReturned) {
  folder.write("m.mlir",
               "module {\n  transformer.parameter @w : tensor<9x2xf32> from \"w\"\n"
               "  func.func @f(%i: tensor<?xi32> {transformer.name = \"i\"}, %rows: "
               "!transformer.segments, %c: !transformer.cache<2> {transformer.name = \"c\"}) -> "
               "(tensor<?x2xf32> {transformer.name = \"y\"}) {\n"
               "    %x = transformer.gather @w[%i] : tensor<?x2xf32>\n"
               "    %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<2>\n"
               "    return %x : tensor<?x2xf32>\n  }\n}\n");
  EXPECT_EQ(message(),
            path + ":5:11: error: 'transformer.append' op appends to a cache that its entry "
                   "does not return, expected it among the results");
}

TEST_F(ProgramTest, StatesAreResultsWhenAccumulatedInto) {
  const std::string head =
      "module {\n  transformer.parameter @w : tensor<9x2xf32> from \"w\"\n"
      "  func.func @f(%i: tensor<?xi32> {transformer.name = \"i\"}, %rows: !transformer.segments, "
      "%s: !transformer.state<2> {transformer.name = \"s\"}) -> ";
  const std::string rows = "tensor<?x2xf32> {transformer.name = \"y\"}";
  const std::string state = "!transformer.state<2> {transformer.name = \"s\"}";
  const std::string body = ") {\n    %x = transformer.gather @w[%i] : tensor<?x2xf32>\n"
                           "    %s1 = transformer.accumulate %s, %x in(%rows) : "
                           "!transformer.state<2>\n";
  const std::string both = "return %x, %s1 : tensor<?x2xf32>, !transformer.state<2>\n  }\n";
  writeWeights({zeros("w", {9, 2})});
  folder.write("m.mlir", head + "(" + rows + ", " + state + body + both + "}\n");
  EXPECT_EQ(message(), "");
  folder.write("m.mlir", head + "(" + rows + body + "    return %x : tensor<?x2xf32>\n  }\n}\n");
  EXPECT_EQ(message(), path + ":5:11: error: 'transformer.accumulate' op changes a state that its "
                              "entry does not return, expected it among the results");
  folder.write("m.mlir",
               head + "(" + state + ") {\n    return %s : !transformer.state<2>\n  }\n}\n");
  EXPECT_EQ(message(),
            path + ":3:3: error: 'func.func' op expects result 0, a state, to be the argument "
                   "of its name, changed");
  folder.write("m.mlir", head + "(" + rows + ", " + state + body + both +
                             "  func.func @g(%rows: !transformer.segments, %c: "
                             "!transformer.cache<2> {transformer.name = \"s\"}) -> (" +
                             rows +
                             ") {\n    %y = transformer.cached %c in(%rows) : "
                             "!transformer.cache<2> -> tensor<?x2xf32>\n"
                             "    return %y : tensor<?x2xf32>\n  }\n}\n");
  EXPECT_EQ(message(), path + ":8:3: error: 'func.func' op expects state \"s\" of type "
                              "'!transformer.state<2>', as in another entry, got "
                              "'!transformer.cache<2>'");
  const std::string given = "  func.func @g(%rows: !transformer.segments, %s: " + state + ") -> (" +
                            rows +
                            ") {\n    %y = transformer.load %s {given} : !transformer.state<2>\n"
                            "    return %y : tensor<?x2xf32>\n  }\n}\n";
  folder.write("m.mlir", head + "(" + rows + ", " + state + body + both + given);
  EXPECT_EQ(message(), path +
                           ":9:10: error: 'transformer.load' op reads what another entry has given "
                           "in state \"s\", expected one that stores it");
  folder.write("m.mlir", head + "(" + rows + ", " + state +
                             ") {\n    %x = transformer.gather @w[%i] : tensor<?x2xf32>\n"
                             "    %m = transformer.pool mean %x in(%rows) : tensor<?x2xf32>\n"
                             "    %s1 = transformer.store %s, %m : !transformer.state<2>\n" +
                             both + given);
  EXPECT_EQ(message(), "");
}

TEST_F(ProgramTest, LaterPhasesMayHaveLostParameters) {
  edit("transformer.parameter @dense : tensor<2x4xf32> from \"w.dense\"",
       "transformer.parameter @dense : tensor<2x4xf32> = zeros()");
  EXPECT_EQ(message(), "");
}

TEST_F(ProgramTest, DerivedParametersDoNotExcuseEntries) {
  std::string text = goodProgram;
  text.replace(text.find("  func.func"), 0,
               "  transformer.parameter @more : tensor<2x4xf32> = zeros()\n");
  const std::string name = " {transformer.name = \"y\"}";
  folder.write("m.mlir", text.erase(text.find(name), name.size()));
  EXPECT_EQ(message(),
            path + ":7:3: error: 'func.func' op expects \"transformer.name\" on result 0, a "
                   "string");
}

TEST_F(ProgramTest, ModulesInsideAreForKernelsOnly) {
  edit("  func.func", "  module @\"x86-64-v3\" {\n  }\n  func.func");
  EXPECT_EQ(message(),
            path + ":6:3: error: 'builtin.module' op is inside a program of func.func, expected "
                   "such modules only beside a dataflow.graph, with the code of its "
                   "kernels");
  const std::string graph =
      "module {\n  dataflow.graph @f(%i: !dataflow.buffer<[tokens], i32> {dataflow.name = \"i\", "
      "dataflow.limit = 4 : i64}) {\n    dataflow.output\n  }\n";
  folder.write("m.mlir", graph + "  module @\"x86-64-v3\" {\n  func.func private @k()\n  }\n}\n");
  EXPECT_EQ(message(), "");
  folder.write("m.mlir", graph + "  module @\"x86-64-v3\" {\n    transformer.parameter @w : "
                                 "tensor<4xf32> from \"w\"\n  }\n}\n");
  EXPECT_EQ(message(),
            path + ":6:5: error: 'transformer.parameter' op is inside a module of the program, "
                   "expected only code of kernels there");
  folder.write("m.mlir", graph + "  module @\"x86-64-v3\" {\n    dataflow.graph @g() {\n"
                                 "      dataflow.output\n    }\n  }\n}\n");
  EXPECT_EQ(message(), path + ":6:5: error: 'dataflow.graph' op is inside a module of the program, "
                              "expected only code of kernels there");
  folder.write("m.mlir", graph + "  module @a {\n    module @b {\n    }\n  }\n}\n");
  EXPECT_EQ(message(),
            path + ":6:5: error: 'builtin.module' op is inside a module of the program, expected "
                   "only code of kernels there");
}

TEST_F(ProgramTest, NamesAreText) {
  const std::string expected = ", expected UTF-8 without control characters";
  edit("\"ids\"", R"("i\1B")");
  EXPECT_EQ(message(),
            path + R"(:6:3: error: 'func.func' op has argument 0 named "i\x1b")" + expected);
  edit("\"y\"", R"("\C2\9B")");
  EXPECT_TRUE(message().ends_with(expected)) << message();
  edit("\"y\"", R"("\FF")");
  EXPECT_EQ(message(),
            path + R"(:6:3: error: 'func.func' op has result 0 named "\xff")" + expected);
  edit("@run", R"(@"r\0A")");
  EXPECT_EQ(message(), path + R"(:6:3: error: 'func.func' op has an entry named "r\n")" + expected);
  edit("\"y\"", "\"größe\"");
  EXPECT_EQ(message(), "");
}

TEST_F(ProgramTest, EmptyAndAbsentFilesAreRefused) {
  folder.write("m.mlir", "");
  EXPECT_TRUE(message().starts_with(path + ": ")) << message();
  std::filesystem::remove(path);
  EXPECT_EQ(message(), path + ": no such file or folder");
}

/// Returns how many kilobytes of a file are resident in this process, over all its mappings.
static int64_t residentKilobytes(const std::string &path) {
  std::ifstream maps("/proc/self/smaps");
  int64_t sum = 0;
  bool isOfFile = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') != std::string::npos && line.find(':') > line.find(' ')) {
      isOfFile = line.ends_with(path);
    } else if (isOfFile && line.starts_with("Rss:")) {
      sum += std::stoll(line.substr(4));
    }
  }
  return sum;
}

// The codes of all tensors are read, one tensor at a time.
TEST(CodesTest, TheirPagesAreReleased) {
  std::mt19937 random(3);
  constexpr int64_t size = 1024;
  QuantizedFolder coded;
  coded.quantization = compressedConfig(8, "channel", 0, true, true, "int-quantized");
  addBytes(coded, "a", randomCodes(8, size, size, 0, random));
  addBytes(coded, "b", randomCodes(8, size, size, 0, random));
  const TemporaryFolder place;
  const std::string weights = coded.write(place);
  const std::string rows = "tensor<?x1024xf32>";
  const std::string program = place.write(
      "m.mlir",
      "transformer.parameter @a.codes : tensor<1024x1024x!transformer.quantized<i8, row>> from "
      "\"a.weight\"\n"
      "transformer.parameter @a : tensor<1024x1024xf32> = convert(@a.codes)\n"
      "transformer.parameter @b : tensor<1024x1024xf32> from \"b.weight\"\n"
      "func.func @run(%x: " +
          rows + " {transformer.name = \"x\"}, %rows: !transformer.segments) -> (" + rows +
          " {transformer.name = \"y\"}) {\n  %0 = transformer.linear %x, @a : " + rows + " -> " +
          rows + "\n  %1 = transformer.linear %0, @b : " + rows + " -> " + rows +
          "\n  return %1 : " + rows + "\n}\n");
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, program, weights);
  ASSERT_TRUE(model.ok()) << model.status().message();
  // Each of the two tensors has a megabyte.
  EXPECT_LT(residentKilobytes("model.safetensors"), 512);
}

} // namespace heddle
