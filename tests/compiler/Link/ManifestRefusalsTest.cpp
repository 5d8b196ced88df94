// SPDX-License-Identifier: Apache-2.0
///
/// Contents that a manifest cannot represent, and the representation of limit cases.
#include "tests/compiler/Link/PlannedProgram.h"

using namespace mlir;

namespace heddle {
namespace {

TEST_F(ManifestTest, RefusesAnArenaThatIsNotPlanned) {
  EXPECT_EQ(errorOf("arena = #dataflow.size<tokens = 576>, ", ""),
            "graph 'encode' has no arena: its memory is not planned");
}

/// Sizes may refer to spaces that no buffer has.
TEST_F(ManifestTest, WritesTheSpacesOfSizes) {
  std::string text = program.str();
  const std::string arena = "arena = #dataflow.size<tokens = 576>";
  text.replace(text.find(arena), arena.size(),
               "arena = #dataflow.size<tokens = 576, blocks(tokens, 2) = 64>");
  const manifest::Manifest *written = build(text, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const auto *spaces = written->entries()->Get(0)->spaces();
  ASSERT_EQ(spaces->size(), 3u);
  EXPECT_EQ(spaceOf(*spaces->Get(2)), RowSpace::tokens().blocks(2));
}

TEST_F(ManifestTest, RefusesMoreSpacesThanTheRuntimeTakes) {
  std::string sizes;
  for (int size = 2; size < 65; ++size) {
    sizes += ", blocks(tokens, " + std::to_string(size) + ") = 64";
  }
  EXPECT_EQ(errorOf("arena = #dataflow.size<tokens = 576>",
                    "arena = #dataflow.size<tokens = 576" + sizes + ">"),
            "graph 'encode' has more than 64 row spaces");
}

TEST_F(ManifestTest, RefusesAResultWithoutPlace) {
  EXPECT_EQ(errorOf(" at <tokens = 192>", ""),
            "'dataflow.dispatch' op has no place in the arena: its memory is not planned");
}

TEST_F(ManifestTest, RefusesAnInputThatIsNeitherIdsNorRows) {
  for (const std::string type : {"[tokens, 2, 2], f32", "[tokens, 4], bf16", "[sequences, 4], f32",
                                 "[tokens], f32", "[tokens], i64"}) {
    std::string text = R"mlir(
      dataflow.graph @g(%x: !dataflow.buffer<TYPE> {dataflow.name = "x"}) -> (!dataflow.buffer<TYPE> {dataflow.name = "y"}) attributes {arena = #dataflow.size<>} {
        dataflow.output %x : !dataflow.buffer<TYPE>
      })mlir";
    for (size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE")) {
      text.replace(at, 4, type);
    }
    error.clear();
    EXPECT_EQ(build(text, someInputs()), nullptr);
    EXPECT_EQ(error, "input 'x' of entry 'g' is '!dataflow.buffer<" + type +
                         ">', expected i32 ids of tokens with a limit, or f32 rows of tokens");
  }
}

TEST_F(ManifestTest, RefusesAnOutputThatNoDispatchWrites) {
  std::string text = R"mlir(
    dataflow.kernel @nest : () -> !dataflow.buffer<[tokens, longest], f32> computes #dataflow.nest<"->tk", none> {
      %0 = arith.constant 0.0 : f32
      dataflow.yield %0
    }
    dataflow.graph @g() -> (!dataflow.buffer<[tokens, longest], f32> {dataflow.name = "y"}, !dataflow.buffer<[tokens, longest], f32> {dataflow.name = "z"}) attributes {arena = #dataflow.size<>} {
      %0 = dataflow.dispatch @nest() : () -> !dataflow.buffer<[tokens, longest], f32>
      dataflow.output %0, %0 : !dataflow.buffer<[tokens, longest], f32>, !dataflow.buffer<[tokens, longest], f32>
    })mlir";
  EXPECT_EQ(build(text, someInputs()), nullptr);
  EXPECT_EQ(error, "graph 'g' outputs a value that no dispatch writes for it alone: its memory is "
                   "not planned");
}

TEST_F(ManifestTest, RefusesScoresAsOutput) {
  std::string text = R"mlir(
    dataflow.kernel @nest : () -> !dataflow.buffer<[tokens, longest], f32> computes #dataflow.nest<"->tk", none> {
      %0 = arith.constant 0.0 : f32
      dataflow.yield %0
    }
    dataflow.graph @g() -> (!dataflow.buffer<[tokens, longest], f32> {dataflow.name = "y"}) attributes {arena = #dataflow.size<>} {
      %0 = dataflow.dispatch @nest() : () -> !dataflow.buffer<[tokens, longest], f32>
      dataflow.output %0 : !dataflow.buffer<[tokens, longest], f32>
    })mlir";
  EXPECT_EQ(build(text, someInputs()), nullptr);
  EXPECT_EQ(error,
            "output 'y' of entry 'g' is '!dataflow.buffer<[tokens, longest], f32>', expected "
            "rows of constant width");
}

TEST_F(ManifestTest, UnusedParametersHaveNoBuffer) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  std::vector<uint32_t> parameters;
  for (const manifest::Buffer *buffer : *written->entries()->Get(0)->buffers()) {
    if (buffer->location() == manifest::Location::Parameter) {
      parameters.push_back(buffer->parameters()->Get(0));
    }
  }
  EXPECT_EQ(parameters, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(ManifestTest, RefusesColumnsThatBeginTooFarOn) {
  std::string text = R"mlir(
    dataflow.kernel @wide : () -> !dataflow.buffer<[tokens, 2147483648], f32> computes #dataflow.nest<"->te", none> {
      %0 = arith.constant 0.0 : f32
      dataflow.yield %0
    }
    dataflow.kernel @rows : (!dataflow.buffer<[tokens, 4] in 2147483648, f32>) -> !dataflow.buffer<[tokens, 4], f32> computes #dataflow.rows<width = 4> {
    ^bb0(%x: f32):
      dataflow.yield %x
    }
    dataflow.graph @g(%i: !dataflow.buffer<[tokens], i32> {dataflow.name = "i", dataflow.limit = 4 : i64}) -> (!dataflow.buffer<[tokens, 4], f32> {dataflow.name = "y"}) attributes {arena = #dataflow.size<tokens = 8589934592>} {
      %0 = dataflow.dispatch @wide() at <> : () -> !dataflow.buffer<[tokens, 2147483648], f32>
      %1 = dataflow.columns %0 from 1073741824 : !dataflow.buffer<[tokens, 2147483648], f32> -> !dataflow.buffer<[tokens, 4] in 2147483648, f32>
      %2 = dataflow.dispatch @rows(%1) : (!dataflow.buffer<[tokens, 4] in 2147483648, f32>) -> !dataflow.buffer<[tokens, 4], f32>
      dataflow.output %2 : !dataflow.buffer<[tokens, 4], f32>
    })mlir";
  EXPECT_EQ(build(text, someInputs()), nullptr);
  EXPECT_EQ(error,
            "'dataflow.dispatch' op reads columns from byte 4294967296 of a row, expected at "
            "most 4294967295");
}

TEST_F(ManifestTest, RefusesWhatTheRuntimeRefuses) {
  const std::string start = "the program gives a binary that the runtime would refuse: ";
  const struct {
    llvm::StringRef from, to, expected;
  } cases[] = {
      {"max_length = 512", "max_length = 4294967296",
       "entry \"encode\": longest sequence 4294967296, expected at most 2147483647"},
      {"tokens = 576", "tokens = 577",
       "entry \"encode\": arena 577 * tokens, expected multiples of 64"},
      {"tokens = 576", "tokens = 512",
       "entry \"encode\": buffer 2: ends at 576 * tokens, the arena has 512 * tokens"},
      {"at <tokens = 192>", "at <tokens = 16>",
       "entry \"encode\": buffer 2: offset 16 * tokens, expected multiples of 64"},
  };
  for (const auto &item : cases) {
    error.clear();
    builder.Clear();
    EXPECT_EQ(errorOf(item.from, item.to), start + item.expected.str());
  }
  ManifestInputs inputs = someInputs();
  inputs.finishName = [](llvm::StringRef) { return std::string("pool_mean_100"); };
  error.clear();
  builder.Clear();
  EXPECT_EQ(build(program, inputs), nullptr);
  EXPECT_EQ(error, start + "kernel \"pool_mean_100\" appears twice or has no name");
  inputs = someInputs();
  inputs.scratch = [](dataflow::KernelOp) { return ScratchSize{uint64_t(2) << 30, 0}; };
  error.clear();
  builder.Clear();
  EXPECT_EQ(build(program, inputs), nullptr);
  EXPECT_EQ(error, start + "kernel \"gather_96\": scratch memory of 2147483648 bytes and 0 per "
                           "row of the longest sequence, expected at most 1073741824 and 1048576");
}

TEST_F(ManifestTest, RefusesMorePortsThanTheRuntimeTakes) {
  std::string ports;
  for (int port = 0; port < 1024; ++port) {
    ports += ", %x" + std::to_string(port) +
             ": !dataflow.buffer<[tokens], i32> {dataflow.name = \"x" + std::to_string(port) +
             "\", dataflow.limit = 4 : i64}";
  }
  EXPECT_EQ(errorOf("dataflow.optional})", "dataflow.optional}" + ports + ")"),
            "the program gives a binary that the runtime would refuse: entry \"encode\": 1025 "
            "inputs and 2 outputs, expected at most 1024");
}

TEST_F(ManifestTest, RefusesPaddingThatIsNoToken) {
  for (const std::string pad : {"30 : i32", "-1 : i32", "\"0\"", "0 : i64"}) {
    error.clear();
    builder.Clear();
    EXPECT_EQ(errorOf("dataflow.optional})", "dataflow.optional, dataflow.pad = " + pad + "})"),
              "input 'input_ids' of entry 'encode' is padded with " + pad +
                  ", expected 0 to 29 in i32");
  }
}

TEST_F(ManifestTest, RefusesTensorsOfOtherFormsThanTheirRows) {
  const std::string start = "input \"input_ids\" of entry 'encode' has ";
  const std::pair<std::string, std::string> inputs[] = {
      {"dataflow.axes = [-1, -2]",
       "the axes [-1, -2], expected an i64 array with -2 for rows and 1 columns"},
      {"dataflow.axes = array<i64: -1, -2, 3>",
       "the axes array<i64: -1, -2, 3>, expected an i64 array with -2 for rows and 1 columns"},
      {"dataflow.axes = array<i64: -2, -2>",
       "the axes array<i64: -2, -2>, expected an i64 array with -2 for rows and 1 columns"},
      {"dataflow.rows = 0 : i64", "rows 0 : i64, expected an i64 of 1 to 2147483647, on an input"},
      {"dataflow.rows = 1 : i32", "rows 1 : i32, expected an i64 of 1 to 2147483647, on an input"},
      {"dataflow.after = \"past\"",
       "rows after \"past\", expected the name of an input, on an output"}};
  for (const auto &[attribute, message] : inputs) {
    error.clear();
    builder.Clear();
    EXPECT_EQ(errorOf("dataflow.optional})", "dataflow.optional, " + attribute + "})"),
              start + message);
  }
  error.clear();
  builder.Clear();
  EXPECT_EQ(
      errorOf("{dataflow.name = \"states\"}",
              "{dataflow.name = \"states\", dataflow.axes = array<i64: -1, 4, -2, 24>}"),
      "output \"states\" of entry 'encode' has the axes array<i64: -1, 4, -2, 24>, expected an "
      "i64 array with -2 for rows and 100 columns");
}

TEST_F(ManifestTest, RefusesAParameterWithoutPlace) {
  ManifestInputs inputs = someInputs();
  inputs.parameters.erase("norm");
  EXPECT_EQ(build(program, inputs), nullptr);
  EXPECT_EQ(error, "'transformer.parameter' op has no place in the weights");
}

} // namespace
} // namespace heddle
