// SPDX-License-Identifier: Apache-2.0
///
/// The two limits of a gain, from costs given here and from those of a program.
#include "compiler/Cost/PredictedGain.h"
#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "compiler/Remarks/Report.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

namespace {

using heddle::EntryCosts;
using heddle::EntryTotals;
using heddle::KeyPlace;
using heddle::PredictedGain;

/// Returns the costs of a decoder step with self-attention, cross-attention and a state.
EntryCosts decoder() {
  EntryCosts entry;
  entry.name = "decode";
  entry.readsCaches = true;
  entry.dispatches.resize(5);
  entry.dispatches[0].flopsPerToken = 1000;
  entry.dispatches[0].reads = {4000, 16, 0, 0};
  entry.dispatches[1].flopsPerTokenKey = 20;
  entry.dispatches[1].keys = KeyPlace::WrittenCache;
  entry.dispatches[1].reads = {0, 0, 8, 0};
  entry.dispatches[2].flopsPerTokenKey = 30;
  entry.dispatches[2].keys = KeyPlace::ReadCache;
  entry.dispatches[2].reads = {0, 0, 12, 0};
  entry.dispatches[3].flopsPerTokenKey = 7;
  entry.dispatches[4].keys = KeyPlace::WrittenCache;
  entry.dispatches[4].reads = {0, 0, 0, 100};
  entry.weightBytes = 5000;
  entry.caches = {{"self", 8, 0, true}, {"cross", 12, 0, false}, {"sum", 0, 100, true}};
  return entry;
}

EntryCosts encoder() {
  EntryCosts entry;
  entry.name = "encode";
  entry.dispatches.resize(2);
  entry.dispatches[0].flopsPerToken = 1000;
  entry.dispatches[0].reads = {4000, 16, 0, 0};
  entry.dispatches[1].flopsPerTokenKey = 10;
  entry.weightBytes = 5000;
  entry.caches = {{"cross", 12, 0, true}};
  return entry;
}

std::string jsonOf(const PredictedGain &gain) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.array([&] { heddle::writeGain(json, gain); });
  return text;
}

TEST(PredictedGainTest, addsUpAStep) {
  const EntryTotals totals(decoder());
  EXPECT_EQ(totals.flops({1, 24, 24}), 1000u + 24 * 20 + 24 * 30 + 7);
  EXPECT_EQ(totals.bytes({1, 24, 24}), 4000u + 16 + 24 * 8 + 24 * 12 + 100);
  EXPECT_EQ(totals.flops({2, 200, 24}), 2 * (1000u + 200 * 20 + 24 * 30 + 2 * 7));
  EXPECT_EQ(totals.bytes({2, 200, 24}), 4000u + 2 * 16 + 200 * 8 + 24 * 12 + 100);
}

TEST(PredictedGainTest, countsActivationsInTheLastLimitOnly) {
  EntryCosts before = decoder(), after = decoder();
  before.activationBytesPerToken = 300;
  before.activationBytesPerTokenAndRow = 2;
  before.activationBytesPerTokenAndHistory = 4;
  before.activationBytesPerTokenAndSource = 6;
  after.activationBytesPerToken = 100;
  EXPECT_EQ(EntryTotals(before).traffic({2, 200, 24}),
            EntryTotals(before).bytes({2, 200, 24}) +
                2 * (uint64_t(300) + 2 * 2 + 200 * 4 + 24 * 6));
  const heddle::EntryGain entry = heddle::predictGain({before}, {after}).entries[0];
  EXPECT_EQ(entry.sizes[0].arithmetic, 1.0);
  EXPECT_EQ(entry.sizes[0].memory, 1.0);
  EXPECT_EQ(entry.sizes[0].traffic, (4596.0 + 300 + 2 + 24 * 4 + 24 * 6) / (4596.0 + 100));
}

TEST(PredictedGainTest, dividesBeforeByAfter) {
  EntryCosts after = decoder();
  after.dispatches[0].flopsPerToken = 500;
  after.dispatches[0].reads.weightBytes = 2000;
  const PredictedGain gain = heddle::predictGain({encoder(), decoder()}, {encoder(), after});
  ASSERT_EQ(gain.entries.size(), 2u);
  const heddle::EntryGain &encode = gain.entries[0], &decode = gain.entries[1];
  EXPECT_FALSE(encode.isDecoder);
  ASSERT_EQ(encode.sizes.size(), 2u);
  EXPECT_EQ(encode.sizes[1].size.rows, 128u);
  EXPECT_EQ(encode.sizes[1].arithmetic, 1.0);
  EXPECT_EQ(encode.sizes[1].memory, 1.0);
  EXPECT_TRUE(decode.isDecoder);
  ASSERT_EQ(decode.sizes.size(), 2u);
  EXPECT_EQ(decode.sizes[0].arithmetic, 2207.0 / 1707);
  EXPECT_EQ(decode.sizes[0].memory, 4596.0 / 2596);
  EXPECT_EQ(decode.sizes[1].arithmetic, 5727.0 / 5227);
  EXPECT_EQ(decode.sizes[1].memory, 6004.0 / 4004);
}

TEST(PredictedGainTest, countsWholeSequencesOfOtherEntries) {
  const EntryTotals totals(encoder());
  EXPECT_EQ(totals.flops({16, 0, 0}), 16u * (1000 + 16 * 10));
  // A cache that is only appended to is not read.
  EXPECT_EQ(totals.cacheBytesPerToken, 12u);
  EXPECT_EQ(totals.bytes({16, 0, 0}), 4000u + 16 * 16);
}

TEST(PredictedGainTest, leavesOutWhatFewRunsExecute) {
  EntryCosts entry = decoder();
  entry.dispatches[1].isUsual = false;
  EXPECT_EQ(EntryTotals(entry).flopsPerTokenAndHistory, 0u);
  EXPECT_EQ(EntryTotals(entry).cacheBytesReadPerHistory, 0u);
}

TEST(PredictedGainTest, aCacheOfThreeReadersIsReadThreeTimes) {
  EntryCosts before = decoder(), after = decoder();
  for (EntryCosts *entry : {&before, &after}) {
    entry->dispatches.insert(entry->dispatches.end(), 2, entry->dispatches[2]);
  }
  before.caches.insert(before.caches.end(), 2, before.caches[1]);
  const heddle::EntryGain entry = heddle::predictGain({before}, {after}).entries[0];
  EXPECT_EQ(entry.before.cacheBytesPerSourceToken, 36u);
  EXPECT_EQ(entry.after.cacheBytesPerSourceToken, 12u);
  EXPECT_EQ(entry.after.cacheBytesReadPerSource, 36u);
  EXPECT_EQ(entry.after.bytes({1, 24, 24}), 4000u + 16 + 24 * 8 + 24 * 36 + 100);
  EXPECT_EQ(entry.sizes[0].memory, 1.0);
}

TEST(PredictedGainTest, noSizeExceedsWhatTheEntryTakes) {
  const auto sizes = [](EntryCosts entry, int64_t maxLength) {
    entry.maxLength = maxLength;
    std::vector<std::vector<uint64_t>> found;
    const PredictedGain predicted = heddle::predictGain({entry}, {entry});
    for (const heddle::GainAt &gain : predicted.entries[0].sizes) {
      found.push_back({gain.size.rows, gain.size.history, gain.size.source});
    }
    return found;
  };
  using Sizes = std::vector<std::vector<uint64_t>>;
  EXPECT_EQ(sizes(decoder(), 0), (Sizes{{1, 24, 24}, {1, 200, 24}}));
  EXPECT_EQ(sizes(decoder(), 200), (Sizes{{1, 24, 24}, {1, 200, 24}}));
  EXPECT_EQ(sizes(decoder(), 64), (Sizes{{1, 24, 24}, {1, 64, 24}}));
  EXPECT_EQ(sizes(decoder(), 20), (Sizes{{1, 20, 20}}));
  EXPECT_EQ(sizes(encoder(), 0), (Sizes{{16, 0, 0}, {128, 0, 0}}));
  EXPECT_EQ(sizes(encoder(), 40), (Sizes{{16, 0, 0}, {40, 0, 0}}));
  EXPECT_EQ(sizes(encoder(), 16), (Sizes{{16, 0, 0}}));
}

TEST(PredictedGainTest, entriesOfOneProgramOnlyHaveNone) {
  EXPECT_TRUE(heddle::predictGain({encoder()}, {decoder()}).entries.empty());
}

TEST(PredictedGainTest, writesElementsOfAReport) {
  EntryCosts after = encoder();
  after.dispatches[0].flopsPerToken = 840;
  after.dispatches[0].reads.weightBytes = 3000;
  after.caches[0].bytesPerToken = 4;
  EXPECT_EQ(
      jsonOf(heddle::predictGain({encoder()}, {after})),
      R"([{"pass":"predicted-gain","where":"encode","taken":true,)"
      R"("what":"1.16 times as fast as without the passes where arithmetic limits, 1.31 where )"
      R"(memory does, with 16 tokens; 1.08 where arithmetic limits, 1.20 where memory does, with )"
      R"(128 tokens","savings":{"flops_per_token":0,"weight_bytes":0,)"
      R"("activation_bytes_per_token":0,"cache_bytes_per_token":0,"flops_per_token_and_key":0},)"
      R"("before":{"flops_per_token":1000,"flops_per_token_and_row":10,)"
      R"("flops_per_token_and_history":0,"flops_per_token_and_source":0,"weight_bytes":5000,)"
      R"("cache_bytes_per_token":12,"cache_bytes_per_source_token":0,"state_bytes_per_sequence":0,)"
      R"("weight_bytes_read":4000,"lookup_bytes_per_token":16,"cache_bytes_read_per_history":0,)"
      R"("cache_bytes_read_per_source":0,"state_bytes_read":0,"activation_bytes_per_token":0,)"
      R"("activation_bytes_per_token_and_row":0,"activation_bytes_per_token_and_history":0,)"
      R"("activation_bytes_per_token_and_source":0},)"
      R"("after":{"flops_per_token":840,"flops_per_token_and_row":10,)"
      R"("flops_per_token_and_history":0,"flops_per_token_and_source":0,"weight_bytes":5000,)"
      R"("cache_bytes_per_token":4,"cache_bytes_per_source_token":0,"state_bytes_per_sequence":0,)"
      R"("weight_bytes_read":3000,"lookup_bytes_per_token":16,"cache_bytes_read_per_history":0,)"
      R"("cache_bytes_read_per_source":0,"state_bytes_read":0,"activation_bytes_per_token":0,)"
      R"("activation_bytes_per_token_and_row":0,"activation_bytes_per_token_and_history":0,)"
      R"("activation_bytes_per_token_and_source":0},)"
      R"("predicted":[{"tokens":16,"arithmetic":1.1599999999999999,"memory":1.3071253071253071,)"
      R"("memory_with_activations":1.3071253071253071},)"
      R"({"tokens":128,"arithmetic":1.0754716981132075,"memory":1.1980982567353406,)"
      R"("memory_with_activations":1.1980982567353406}]}])");
  EXPECT_EQ(
      jsonOf({{}, "no \"reason\""}),
      R"([{"pass":"predicted-gain","where":"the program","taken":false,"reason":"no \"reason\"",)"
      R"("savings":{"flops_per_token":0,"weight_bytes":0,"activation_bytes_per_token":0,)"
      R"("cache_bytes_per_token":0,"flops_per_token_and_key":0}}])");
}

TEST(PredictedGainTest, nothingLeftHasNoNumber) {
  EntryCosts nothing;
  nothing.name = "encode";
  const PredictedGain gain = heddle::predictGain({encoder()}, {nothing});
  ASSERT_EQ(gain.entries.size(), 1u);
  EXPECT_EQ(gain.entries[0].sizes[0].arithmetic, std::nullopt);
  EXPECT_NE(jsonOf(gain).find(R"("arithmetic":null,"memory":null)"), std::string::npos);
  EXPECT_NE(jsonOf(gain).find("nothing is left to do"), std::string::npos);
  // If only some numbers exist, the text gives those.
  nothing.dispatches.resize(1);
  nothing.dispatches[0].reads.weightBytes = 3404;
  EXPECT_NE(jsonOf(heddle::predictGain({encoder()}, {nothing}))
                .find(R"("1.25 times as fast as without the passes where memory limits, with 16 )"
                      R"(tokens; 1.78 where memory limits, with 128 tokens")"),
            std::string::npos)
      << jsonOf(heddle::predictGain({encoder()}, {nothing}));
  nothing.dispatches[0] = {};
  nothing.dispatches[0].flopsPerToken = 500;
  EXPECT_NE(jsonOf(heddle::predictGain({encoder()}, {nothing}))
                .find(R"("2.32 times as fast as without the passes where arithmetic limits, with )"
                      R"(16 tokens; 4.56 where arithmetic limits, with 128 tokens")"),
            std::string::npos)
      << jsonOf(heddle::predictGain({encoder()}, {nothing}));
  nothing.dispatches.clear();
  EXPECT_EQ(heddle::predictGain({nothing}, {nothing}).entries[0].sizes[0].arithmetic, 1.0);
}

/// Returns the costs of a program after only the lowering passes.
EntryCosts costsOf(const std::string &entry) {
  mlir::MLIRContext context;
  heddle::registerDialects(context);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(transformer.parameter @w : tensor<8x8xf32> from "w"
         transformer.parameter @table : tensor<5x8xf32> from "table"
      )" + entry,
      &context);
  EXPECT_TRUE(module);
  heddle::PipelineOptions options;
  options.disabledPasses = heddle::optionalPasses();
  mlir::PassManager manager(&context);
  heddle::buildPhase(manager, heddle::Phase::Fused, options);
  heddle::buildPhase(manager, heddle::Phase::Dataflow, options);
  EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
  const std::vector<EntryCosts> costs = heddle::programCosts(*module);
  return costs.empty() ? EntryCosts() : costs.front();
}

TEST(PredictedGainTest, readsParametersByTheDispatchAndTablesByTheRow) {
  const EntryCosts costs = costsOf(R"(
    func.func @encode(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
        -> (tensor<?x8xf32> {transformer.name = "states"}) {
      %0 = transformer.gather @table[%ids] : tensor<?x8xf32>
      %1 = transformer.linear %0, @w : tensor<?x8xf32> -> tensor<?x8xf32>
      %2 = transformer.linear %1, @w : tensor<?x8xf32> -> tensor<?x8xf32>
      %3 = transformer.linear %0, @w : tensor<?x8xf32> -> tensor<?x8xf32> loc("dead")
      return %2 : tensor<?x8xf32>
    })");
  // Both products read the parameter. It is stored as a panel of 48 columns, but only rows of eight
  // columns count as read.
  const EntryTotals totals(costs);
  EXPECT_EQ(totals.weightBytesRead, 2u * 4 * 8 * 8);
  EXPECT_EQ(totals.weightBytes, 4u * 8 * 48 + 4 * 5 * 8);
  EXPECT_EQ(totals.lookupBytesPerToken, 4u * 8);
  EXPECT_FALSE(costs.readsCaches);
  // An id is read and a row written, then twice a row is read and a row written. Unused operations
  // are not run.
  EXPECT_EQ(costs.activationBytesPerToken, (4u + 32) + 2 * (32 + 32));
  EXPECT_EQ(totals.flopsPerToken, 2u * 2 * 8 * 8);
}

TEST(PredictedGainTest, tellsHistoryFromSource) {
  const EntryCosts costs = costsOf(R"(
    func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"},
                      %rows: !transformer.segments,
                      %memory: !transformer.segments {transformer.name = "memory"},
                      %own: !transformer.cache<8> {transformer.name = "own"},
                      %other: !transformer.cache<8> {transformer.name = "other"})
        -> (tensor<?x8xf32> {transformer.name = "states"},
            tensor<?x2x?xf32> {transformer.name = "probabilities"},
            !transformer.cache<8> {transformer.name = "own"}) {
      %x = transformer.gather @table[%ids] : tensor<?x8xf32>
      %seen = transformer.history %rows
      %written = transformer.append %own, %x in(%rows) : !transformer.cache<8>
      %k = transformer.cached %written in(%seen) : !transformer.cache<8> -> tensor<?x8xf32>
      %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
      %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
      %s = transformer.contract "thd,khd->thk" %q, %kh in(%rows, %seen) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
      %p = transformer.softmax %s in(%seen) : tensor<?x2x?xf32>
      %a = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %seen) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
      %m = transformer.cached %other in(%memory) : !transformer.cache<8> -> tensor<?x8xf32>
      %mh = transformer.split_heads %m : tensor<?x8xf32> -> tensor<?x2x4xf32>
      %s2 = transformer.contract "thd,khd->thk" %a, %mh in(%rows, %memory) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
      %p2 = transformer.softmax %s2 in(%memory) : tensor<?x2x?xf32>
      %y = transformer.merge_heads %a : tensor<?x2x4xf32> -> tensor<?x8xf32>
      return %y, %p2, %written : tensor<?x8xf32>, tensor<?x2x?xf32>, !transformer.cache<8>
    })");
  EXPECT_TRUE(costs.readsCaches);
  // The scores over the source are an optional output, which few runs request.
  std::vector<std::pair<KeyPlace, bool>> products;
  for (const heddle::DispatchCosts &dispatch : costs.dispatches) {
    if (dispatch.flopsPerTokenKey > 0) {
      EXPECT_EQ(dispatch.flopsPerTokenKey, 2u * 8);
      products.emplace_back(dispatch.keys, dispatch.isUsual);
    }
  }
  EXPECT_EQ(products, (std::vector<std::pair<KeyPlace, bool>>{{KeyPlace::WrittenCache, true},
                                                              {KeyPlace::WrittenCache, true},
                                                              {KeyPlace::ReadCache, false}}));
  EXPECT_EQ(EntryTotals(costs).cacheBytesPerToken, 32u);
  EXPECT_EQ(EntryTotals(costs).cacheBytesPerSourceToken, 32u);
  // Both products read it; the softmax in between only uses the number of keys, and appending does
  // not read.
  EXPECT_EQ(EntryTotals(costs).cacheBytesReadPerHistory, 64u);
  EXPECT_EQ(EntryTotals(costs).cacheBytesReadPerSource, 0u);
}

} // namespace
