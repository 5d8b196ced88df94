// SPDX-License-Identifier: Apache-2.0
///
/// A program in the report's page: groups by layer, equal layers, and data that cannot terminate
/// its HTML element.
#include "compiler/ReportPage/ProgramGraph.h"
#include "compiler/Pipeline.h"
#include "compiler/ReportPage/ReportPage.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace {

using heddle::EntryGraph;

class ProgramGraphTest : public testing::Test {
protected:
  ProgramGraphTest() { heddle::registerDialects(context); }

  /// Returns the only entry of a program with the parameters @a and @b [8, 8] and these operations.
  EntryGraph read(const std::string &operations) {
    const std::string text = R"(
      module {
        transformer.parameter @a : tensor<8x8xf32> from "a"
        transformer.parameter @b : tensor<8x8xf32> from "b"
        func.func @encode(%x: tensor<?x8xf32> {transformer.name = "rows"},
                          %r: !transformer.segments) -> (tensor<?x8xf32> {transformer.name = "y"}) {
      )" + operations + "}}";
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    std::vector<EntryGraph> entries = heddle::programGraph(*module);
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? EntryGraph() : entries.front();
  }

  /// Returns a graph with two layers, of which the second is given.
  EntryGraph twoLayers(const std::string &second) {
    return read(R"(
      %0 = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.0.up")
      %1 = transformer.add %0, %x : tensor<?x8xf32>, tensor<?x8xf32> loc("layers.0.sum")
    )" + second +
                "return %3 : tensor<?x8xf32>");
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(ProgramGraphTest, layersAreUpToTheFirstNumber) {
  EXPECT_EQ(heddle::layerPrefix("encoder.layers.3.ffn.inner"), "encoder.layers.3");
  EXPECT_EQ(heddle::layerPrefix("decoder.block.11.layer.0.SelfAttention"), "decoder.block.11");
  EXPECT_EQ(heddle::layerPrefix("layer.7"), "layer.7");
  EXPECT_EQ(heddle::layerPrefix("embeddings.LayerNorm"), "");
  EXPECT_EQ(heddle::layerPrefix("conv2d.weight"), "");
  EXPECT_EQ(heddle::layerPrefix(""), "");
}

TEST_F(ProgramGraphTest, readsOperationsUnderTheirNames) {
  EntryGraph entry = twoLayers(R"(
    %2 = transformer.scale %1, 5.000000e-01 : tensor<?x8xf32> loc("after.scale")
    %3 = transformer.activate relu %2 : tensor<?x8xf32> loc("after.relu")
  )");
  EXPECT_EQ(entry.name, "encode");
  // The segments are not a node, because nearly every operation reads them.
  ASSERT_EQ(entry.nodes.size(), 5u);
  EXPECT_EQ(entry.nodes[0].op, "argument");
  EXPECT_EQ(entry.nodes[0].name, "rows");
  EXPECT_EQ(entry.nodes[1].op, "linear");
  EXPECT_EQ(entry.nodes[1].name, "layers.0.up");
  EXPECT_EQ(entry.nodes[1].type, "[t, 8]");
  EXPECT_EQ(entry.nodes[1].parameters, std::vector<std::string>{"a"});
  EXPECT_EQ(entry.nodes[1].weightBytes, 8 * 8 * 4);
  EXPECT_EQ(entry.nodes[1].flopsPerToken, 2 * 8 * 8);
  EXPECT_EQ(entry.nodes[2].inputs, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(entry.nodes[3].detail, "factor = 5.000000e-01");
  EXPECT_EQ(entry.nodes[4].detail, "function = relu");
  EXPECT_EQ(entry.results, std::vector<size_t>{4});
  ASSERT_EQ(entry.groups.size(), 2u);
  EXPECT_EQ(entry.groups[0].key, "layers.0");
  EXPECT_TRUE(entry.groups[0].isLayer);
  EXPECT_EQ(entry.groups[0].nodes, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(entry.groups[1].key, "after layers.0");
  EXPECT_EQ(entry.groups[1].title, "after");
  EXPECT_FALSE(entry.groups[1].isLayer);
}

TEST_F(ProgramGraphTest, recognisesEqualLayers) {
  EntryGraph entry = twoLayers(R"(
    %2 = transformer.linear %1, @b : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.1.up")
    %3 = transformer.add %2, %1 : tensor<?x8xf32>, tensor<?x8xf32> loc("layers.1.sum")
  )");
  ASSERT_EQ(entry.groups.size(), 2u);
  EXPECT_EQ(entry.groups[1].equalTo, 0u);
}

TEST_F(ProgramGraphTest, layersThatDifferAreNotEqual) {
  const char *others[] = {
      // The operation, name, operand order, residual source, or number of operations differs.
      R"(%2 = transformer.linear %1, @b : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.1.up")
         %3 = transformer.multiply %2, %1 : tensor<?x8xf32> loc("layers.1.sum"))",
      R"(%2 = transformer.linear %1, @b : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.1.down")
         %3 = transformer.add %2, %1 : tensor<?x8xf32>, tensor<?x8xf32> loc("layers.1.sum"))",
      R"(%2 = transformer.linear %1, @b : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.1.up")
         %3 = transformer.add %1, %2 : tensor<?x8xf32>, tensor<?x8xf32> loc("layers.1.sum"))",
      R"(%2 = transformer.linear %1, @b : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.1.up")
         %3 = transformer.add %2, %0 : tensor<?x8xf32>, tensor<?x8xf32> loc("layers.1.sum"))",
      R"(%4 = transformer.scale %1, 5.0 : tensor<?x8xf32> loc("layers.1.up")
         %2 = transformer.linear %4, @b : tensor<?x8xf32> -> tensor<?x8xf32> loc("layers.1.up")
         %3 = transformer.add %2, %1 : tensor<?x8xf32>, tensor<?x8xf32> loc("layers.1.sum"))",
  };
  for (const char *text : others) {
    EntryGraph entry = twoLayers(std::string(text) + "\n");
    ASSERT_EQ(entry.groups.size(), 2u) << text;
    EXPECT_EQ(entry.groups[1].equalTo, 1u) << text;
  }
}

TEST_F(ProgramGraphTest, leavesOutWhatOnlyObservedResultsNeed) {
  const std::string text = R"(
    module {
      transformer.parameter @a : tensor<8x8xf32> from "a"
      func.func @encode(%x: tensor<?x8xf32> {transformer.name = "rows"},
                        %r: !transformer.segments)
          -> (tensor<?x8xf32> {transformer.name = "y"},
              tensor<?x8xf32> {transformer.name = "z", transformer.observed = "encoder"}) {
        %0 = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x8xf32> loc("both")
        %1 = transformer.activate relu %0 : tensor<?x8xf32> loc("result")
        %2 = transformer.activate tanh %0 : tensor<?x8xf32> loc("observed")
        %3 = transformer.activate silu %0 : tensor<?x8xf32> loc("dead")
        return %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
      }
    })";
  context.loadAllAvailableDialects();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  EntryGraph entry = heddle::programGraph(*module).front();
  std::vector<std::string> names;
  for (const heddle::GraphNode &node : entry.nodes) {
    names.push_back(node.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"rows", "both", "result", "dead"}));
  EXPECT_EQ(entry.results, std::vector<size_t>{2});
}

TEST_F(ProgramGraphTest, programsWithoutNamesAreOneGroup) {
  EntryGraph entry = read(R"(
    %0 = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>)");
  ASSERT_EQ(entry.groups.size(), 1u);
  EXPECT_EQ(entry.groups[0].title, "operations");
}

TEST(ReportPage, dataCannotEndItsElement) {
  EXPECT_EQ(heddle::escapedForPage(R"({"name": "</script><!-- & x"})"),
            R"({"name": "\u003c/script\u003e\u003c!-- \u0026 x"})");
}

} // namespace
