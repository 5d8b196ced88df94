// SPDX-License-Identifier: Apache-2.0
///
/// Remarks of passes are collected in a fixed order and written as JSON and as lines.
#include "compiler/Remarks/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

namespace {

using heddle::checkpointName;
using heddle::Report;
using mlir::Location;

class ReportTest : public testing::Test {
protected:
  Location named(llvm::StringRef name) {
    return mlir::NameLoc::get(mlir::StringAttr::get(&context, name));
  }
  Location fused(llvm::ArrayRef<Location> parts) { return mlir::FusedLoc::get(&context, parts); }
  Location inFile(unsigned line) {
    return mlir::FileLineColLoc::get(&context, "model.mlir", line, 3);
  }

  mlir::MLIRContext context;
};

TEST_F(ReportTest, namesTheCheckpointOfALocation) {
  EXPECT_EQ(checkpointName(named("encoder.layer.0.attention")), "encoder.layer.0.attention");
  EXPECT_EQ(checkpointName(mlir::UnknownLoc::get(&context)), "");
  EXPECT_EQ(checkpointName(inFile(4)), "");
  EXPECT_EQ(checkpointName(mlir::CallSiteLoc::get(inFile(1), named("pooler"))), "pooler");
}

TEST_F(ReportTest, namesTheCommonPrefixOfFusedLocations) {
  EXPECT_EQ(
      checkpointName(fused({named("layer.0.self.query"), inFile(2), named("layer.0.self.key")})),
      "layer.0.self");
  // A common prefix ends at a dot: that of layer.1 and layer.10 is "layer".
  EXPECT_EQ(checkpointName(fused({named("layer.1"), named("layer.10")})), "layer");
  EXPECT_EQ(checkpointName(fused({named("embeddings"), named("encoder")})), "embeddings");
}

TEST_F(ReportTest, placesWithoutANameArePositionsInTheText) {
  EXPECT_EQ(heddle::placeName(inFile(7)), "model.mlir:7:3");
  EXPECT_EQ(heddle::placeName(fused({inFile(7), named("pooler")})), "pooler");
}

TEST_F(ReportTest, describesAnOperationByItsKindAndPlace) {
  mlir::OwningOpRef<mlir::ModuleOp> ofPooler = mlir::ModuleOp::create(named("pooler"));
  mlir::OwningOpRef<mlir::ModuleOp> unnamed = mlir::ModuleOp::create(inFile(7));
  EXPECT_EQ(heddle::describe(*ofPooler), "builtin.module of pooler");
  EXPECT_EQ(heddle::describe(*unnamed), "builtin.module");
}

TEST_F(ReportTest, sortsByPassThenPlace) {
  Report report(context);
  heddle::reportTaken(named("layer.10.attention"), "fuse-attention", "12 heads");
  heddle::reportTaken(named("layer.2.attention"), "fuse-attention", "12 heads");
  heddle::reportTaken(named("layer.0"), "eliminate-dead", "an operation");
  std::vector<Report::Entry> entries = report.entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].where, "layer.2.attention");
  EXPECT_EQ(entries[1].where, "layer.10.attention");
  EXPECT_EQ(entries[2].pass, "eliminate-dead");
}

TEST_F(ReportTest, writesJson) {
  Report report(context);
  heddle::reportTaken(named("pooler"), "eliminate-dead", "2 parameters",
                      {.weightBytes = 64, .cacheBytesPerToken = 192, .flopsPerTokenAndKey = 96});
  heddle::reportDeclined(named("layer.0"), "fuse-attention", "not fused: \"why\"");
  std::string json;
  llvm::raw_string_ostream stream(json);
  report.writeJson(stream);
  EXPECT_EQ(json, R"([
  {
    "pass": "eliminate-dead",
    "where": "pooler",
    "taken": true,
    "what": "2 parameters",
    "savings": {
      "flops_per_token": 0,
      "weight_bytes": 64,
      "activation_bytes_per_token": 0,
      "cache_bytes_per_token": 192,
      "flops_per_token_and_key": 96
    }
  },
  {
    "pass": "fuse-attention",
    "where": "layer.0",
    "taken": false,
    "reason": "not fused: \"why\"",
    "savings": {
      "flops_per_token": 0,
      "weight_bytes": 0,
      "activation_bytes_per_token": 0,
      "cache_bytes_per_token": 0,
      "flops_per_token_and_key": 0
    }
  }
]
)");
}

TEST_F(ReportTest, anEmptyReportIsAnEmptyArray) {
  Report report(context);
  std::string json;
  llvm::raw_string_ostream stream(json);
  report.writeJson(stream);
  EXPECT_EQ(json, "[]\n");
  EXPECT_TRUE(report.summary().empty());
}

TEST_F(ReportTest, summarisesCountsThenWhatWasDeclined) {
  Report report(context);
  heddle::reportTaken(named("layer.0"), "fuse-attention", "12 heads",
                      {.flopsPerToken = 1,
                       .weightBytes = 2,
                       .activationBytesPerToken = 3,
                       .cacheBytesPerToken = 4,
                       .flopsPerTokenAndKey = 5});
  heddle::reportDeclined(named("layer.3.attention"), "fuse-attention",
                         "not fused: the scores have a second user (layer.4)");
  std::vector<std::string> lines = report.summary();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "fuse-attention: 1 of 2 taken, 1 flops per token saved, 2 bytes of weights "
                      "saved, 3 bytes of activations per token saved, 4 bytes of caches per token "
                      "saved, 5 flops per token and key saved");
  EXPECT_EQ(lines[1], "layer.3.attention: not fused: the scores have a second user (layer.4)");
}

TEST_F(ReportTest, leavesOutWhatIsReportedWhileItDoesNotListen) {
  Report report(context);
  heddle::reportTaken(named("first"), "pass", "made");
  report.listen(false);
  heddle::reportTaken(named("other"), "pass", "made");
  heddle::reportDeclined(named("other"), "pass", "why not");
  report.listen(true);
  heddle::reportTaken(named("last"), "pass", "made");
  ASSERT_EQ(report.entries().size(), 2U);
  EXPECT_EQ(report.entries()[0].where, "first");
  EXPECT_EQ(report.entries()[1].where, "last");
}

TEST_F(ReportTest, theContextMayOutliveTheReport) {
  {
    Report report(context);
  }
  heddle::reportTaken(named("layer.0"), "fuse-attention", "12 heads");
  Report later(context);
  heddle::reportTaken(named("layer.1"), "fuse-attention", "12 heads");
  EXPECT_EQ(later.entries().size(), 1u);
}

} // namespace
