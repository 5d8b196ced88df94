// SPDX-License-Identifier: Apache-2.0
///
/// Steps on the emulated GPU that select tokens: they agree with the logits of the same steps, for
/// rows with excluded tokens, rows that need their logits, and rows that nobody wants.
#include "runtime/Kernels/LogSumExp.h"
#include "runtime/Session/PagedDecoder.h"
#include "tests/runtime/Device/Cuda/GpuModel.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle;
using namespace heddle::fixture;

namespace {
class Selection : public testing::Test {
protected:
  void SetUp() override {
    Result<Model> loaded = loadOn("cuda", withDevice(selectingModel()), "selecting.so");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model.emplace(std::move(*loaded));
    createDecoder({.cacheBytes = 1 << 20});
  }
  void createDecoder(const SessionOptions &options) {
    Result<std::unique_ptr<PagedDecoder>> made = PagedDecoder::create(*model, options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    decoder = std::move(*made);
    source = encodeOne(*decoder, {4, 5, 6});
  }
  /// Decodes targets of new hypotheses, which are then released.
  void decode(const std::vector<Tokens> &targets, LogitsSink &sink) {
    std::vector<Extension> extensions;
    for (const Tokens &each : targets) {
      extensions.push_back({*decoder->start(source), each});
    }
    ASSERT_EQ(decoder->decode(extensions, sink).message(), "");
    for (const Extension &each : extensions) {
      decoder->release(each.hypothesis);
    }
  }

  /// Decodes rows, one of which needs its logits.
  void expectBothWays();

  std::optional<Model> model;
  std::unique_ptr<PagedDecoder> decoder;
  SourceId source{};
};

/// Leaves out rows.
class FewRows final : public SelectionRecorder {
public:
  bool wantsRow(int64_t row) const override { return row % 7 == 6; }
};
} // namespace

/// Compares the selection of a row with its logits.
static void expectSelected(const SelectionRecorder::Selected &selection, std::vector<float> logits,
                           int64_t best, const std::vector<int32_t> &excluded) {
  for (const int32_t token : excluded) {
    logits[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
  }
  const auto pieces = static_cast<size_t>(piecesOf(vocabulary, logitsChunk));
  ASSERT_EQ(selection.pieces.size(), 2 * pieces);
  ASSERT_EQ(selection.best.size(), static_cast<size_t>(best));
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t first = piece * logitsChunk;
    const auto count = std::min<int64_t>(logitsChunk, vocabulary - static_cast<int64_t>(first));
    const ExponentialSum sum = exponentialSum(logits.data() + first, count);
    EXPECT_EQ(selection.pieces[2 * piece], sum.largest);
    EXPECT_NEAR(selection.pieces[2 * piece + 1], sum.sum, 1e-5F * sum.sum);
  }
  std::vector<int32_t> order(vocabulary);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(-logits[static_cast<size_t>(a)], a) <
           std::pair(-logits[static_cast<size_t>(b)], b);
  });
  for (size_t rank = 0; rank < static_cast<size_t>(best); ++rank) {
    EXPECT_EQ(selection.best[rank].logit, logits[static_cast<size_t>(order[rank])]);
    EXPECT_EQ(selection.best[rank].token, order[rank]);
  }
}

TEST_F(Selection, AgreesWithTheLogits) {
  const std::vector<Tokens> targets = {{1, 7, 3}, {9}, {2, 2}, {30, 11, 5, 1}};
  Recorder logits;
  decode(targets, logits);
  for (const int64_t best : {0, 1, selected}) {
    for (const std::vector<int32_t> &excluded :
         {std::vector<int32_t>(), std::vector<int32_t>{0, 5, 1599, 1600, -1}}) {
      SelectionRecorder recorder;
      recorder.best = best;
      recorder.excluded = excluded;
      decode(targets, recorder);
      std::vector<int32_t> existing = excluded;
      std::erase_if(existing, [](int32_t token) { return token < 0 || token >= vocabulary; });
      ASSERT_EQ(recorder.selections.size(), 10U);
      for (int64_t row = 0; row < 10; ++row) {
        SCOPED_TRACE(row);
        expectSelected(recorder.selections[static_cast<size_t>(row)], logits.rows(row, 1), best,
                       existing);
      }
    }
  }
}

/// Also when launches are timed: then each copy is awaited, all to the same memory.
TEST_F(Selection, CopiesTheLogitsOfRowsThatNeedThem) {
  for (const bool isTimed : {false, true}) {
    SCOPED_TRACE(isTimed);
    createDecoder({.cacheBytes = 1 << 20, .profile = isTimed});
    expectBothWays();
  }
}

void Selection::expectBothWays() {
  const std::vector<Tokens> targets = {{1, 7, 3}, {9}, {2, 2}};
  Recorder logits;
  decode(targets, logits);
  SelectionRecorder recorder;
  recorder.copied = 3;
  recorder.excluded = {12};
  decode(targets, recorder);
  for (int64_t row = 0; row < 6; ++row) {
    SCOPED_TRACE(row);
    const SelectionRecorder::Selected &selection = recorder.selections[static_cast<size_t>(row)];
    if (row == recorder.copied) {
      EXPECT_TRUE(selection.pieces.empty());
      EXPECT_EQ(recorder.rows(row, 1), logits.rows(row, 1));
    } else {
      expectSelected(selection, logits.rows(row, 1), 2, {12});
    }
  }
}

TEST_F(Selection, SkipsRowsThatNobodyWants) {
  Tokens target(100);
  std::iota(target.begin(), target.end(), 1);
  Recorder logits;
  decode({target}, logits);
  FewRows few;
  decode({target}, few);
  for (int64_t row = 0; row < 100; ++row) {
    SCOPED_TRACE(row);
    const SelectionRecorder::Selected &selection = few.selections[static_cast<size_t>(row)];
    if (few.wantsRow(row)) {
      expectSelected(selection, logits.rows(row, 1), 2, {});
    } else {
      EXPECT_TRUE(selection.pieces.empty());
    }
  }
}

/// Expects a device not to offer a model's selection: the host reads the logits.
static void expectNotOffered(const std::string &device, const ModelSpec &spec,
                             const std::string &file) {
  const Result<Model> model = loadOn(device, withDevice(spec), file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(model->findEntry("decode")->selects);
  EXPECT_EQ(model->findEntry("decode")->outputs.size(), 2U);
  Result<std::unique_ptr<PagedDecoder>> decoder =
      PagedDecoder::create(*model, {.cacheBytes = 1 << 20});
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  SelectionRecorder recorder;
  const Tokens tokens = {1};
  const Extension extension{*(*decoder)->start(encodeOne(**decoder, {4, 5, 6})), tokens};
  ASSERT_EQ((*decoder)->decode({&extension, 1}, recorder).message(), "");
  EXPECT_EQ(recorder.offered, 0);
  EXPECT_TRUE(recorder.selections[0].pieces.empty());
  EXPECT_EQ(recorder.logits.size(), size_t(vocabulary));
}

/// The host reads the logits of a processor in place.
TEST(SelectionOnProcessors, IsNotOffered) {
  expectNotOffered("cpu", selectingModel(), "on-cpu.so");
}

TEST(SelectionOfOlderCompilers, IsNotOffered) {
  expectNotOffered("cuda", selectingAtOnceModel(), "older.so");
}
