// SPDX-License-Identifier: Apache-2.0
///
/// The cost of operations per token if their rows are tokens, blocks of tokens or sentences.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Pipeline.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace {

constexpr llvm::StringLiteral program = R"mlir(
  transformer.parameter @table : tensor<9x12xf32> from "table"
  transformer.parameter @w : tensor<12x12xf32> from "w"
  func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
      -> (tensor<?x12xf32> {transformer.name = "out"}) {
    %pairs = transformer.blocks %rows, 2
    %blocks = transformer.blocks %pairs, 5
    %x = transformer.gather @table[%ids] : tensor<?x12xf32>
    %tokens = transformer.linear %x, @w : tensor<?x12xf32> -> tensor<?x12xf32> loc("tokens")
    %pooled = transformer.pool mean %tokens in(%rows) to(%blocks) : tensor<?x12xf32>
    %linear = transformer.linear %pooled, @w : tensor<?x12xf32> -> tensor<?x12xf32> loc("blocks")
    %at = transformer.positions %pairs
    %places = transformer.gather @table[%at] : tensor<?x12xf32>
    %scaled = transformer.scale %places, 2.000000e+00 : tensor<?x12xf32> loc("pairs")
    %q = transformer.split_heads %tokens : tensor<?x12xf32> -> tensor<?x3x4xf32>
    %k = transformer.split_heads %linear : tensor<?x12xf32> -> tensor<?x3x4xf32>
    %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %blocks) : tensor<?x3x4xf32>, tensor<?x3x4xf32> -> tensor<?x3x?xf32> loc("scores")
    %p = transformer.softmax %s in(%blocks) : tensor<?x3x?xf32>
    %c = transformer.contract "khd,thk->thd" %k, %p in(%rows, %blocks) : tensor<?x3x4xf32>, tensor<?x3x?xf32> -> tensor<?x3x4xf32> loc("values")
    %m = transformer.merge_heads %c : tensor<?x3x4xf32> -> tensor<?x12xf32>
    %y = transformer.add %m, %x : tensor<?x12xf32>, tensor<?x12xf32> loc("sum")
    %one = transformer.pool max %y in(%rows) : tensor<?x12xf32>
    %out = transformer.linear %one, @w : tensor<?x12xf32> -> tensor<?x12xf32> loc("sentences")
    return %out : tensor<?x12xf32>
  }
)mlir";

class OperationCostTest : public testing::Test {
protected:
  OperationCostTest() {
    heddle::registerDialects(context);
    module = parseSourceString<ModuleOp>(program, &context);
  }

  /// Returns the operation with this name.
  Operation *find(llvm::StringRef name) {
    Operation *found = nullptr;
    module->walk([&](Operation *operation) {
      auto location = dyn_cast<NameLoc>(operation->getLoc());
      found = location && location.getName() == name ? operation : found;
    });
    EXPECT_TRUE(found) << name.str();
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OperationCostTest, RowsThatAreNoTokensAreSpreadOverTokens) {
  ASSERT_TRUE(module);
  const int64_t products = int64_t{2} * 12 * 12;
  for (const char *name : {"tokens", "blocks", "sentences"}) {
    EXPECT_EQ(heddle::flopsPerRow(find(name)), products) << name;
  }
  EXPECT_EQ(heddle::flopsPerToken(find("tokens")), products);
  EXPECT_EQ(heddle::flopsPerToken(find("blocks")), 29); // 288 per 10 tokens
  EXPECT_EQ(heddle::flopsPerToken(find("pairs")), 6);
  EXPECT_EQ(heddle::flopsPerToken(find("sum")), 12);
  EXPECT_EQ(heddle::flopsPerToken(find("sentences")), 0);
}

TEST_F(OperationCostTest, KeysThatAreNoTokensAreSpreadOverTokens) {
  ASSERT_TRUE(module);
  EXPECT_EQ(heddle::flopsPerTokenAndKey(find("scores")), 3); // 24 per 10 tokens
  EXPECT_EQ(heddle::flopsPerTokenAndKey(find("values")), 3);
  EXPECT_EQ(heddle::flopsPerTokenAndKey(find("sum")), 0);
}

TEST_F(OperationCostTest, RowsFollowFromSegments) {
  ASSERT_TRUE(module);
  EXPECT_EQ(heddle::rowsOf(find("tokens")->getResult(0)).text(), "tokens");
  EXPECT_EQ(heddle::rowsOf(find("blocks")->getResult(0)).text(), "blocks(tokens, 10)");
  EXPECT_EQ(heddle::rowsOf(find("values")->getResult(0)).text(), "tokens");
  EXPECT_EQ(heddle::rowsOf(find("sentences")->getResult(0)).text(), "sequences");
}

} // namespace
