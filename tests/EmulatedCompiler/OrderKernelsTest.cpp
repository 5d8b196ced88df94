// SPDX-License-Identifier: Apache-2.0
///
/// The kernels that order hypotheses, on the emulated GPU: random searches have the rows that the
/// host's rules give, bit for bit, and nothing else is written. Blocks are copied whole.
#include "heddle/HypothesisOrder.h"
#include "heddle/Selection.h"

#include "tests/EmulatedCompiler/LaunchedKernel.h"
#include "tests/EmulatedCompiler/OrderedSearches.h"
#include "tests/EmulatedCompiler/PlantedDefects.h"
#include "tests/runtime/Artifact/OrderReference.h"

#include "llvm/Support/Regex.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <span>

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr llvm::StringLiteral kSelection = R"(
dataflow.kernel @select : (!dataflow.buffer<[tokens, 100], f32>, !dataflow.buffer<[tokens, 9], f32>) -> !dataflow.buffer<[tokens, 12], f32>
    computes #dataflow.select<columns = 100, piece = 48, count = 3> {
^bb0(%x: f32):
  dataflow.yield %x
}
)";
constexpr llvm::StringLiteral kCopy = R"(
dataflow.kernel @copy : (!dataflow.buffer<[tokens, 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.rows<width = 8> {
^bb0(%x: f32):
  dataflow.yield %x
}
)";

const Code &imageOf(llvm::StringRef program, const std::string &target) {
  static std::map<std::pair<std::string, std::string>, Code> images;
  Code &image = images[{program.str(), target}];
  if (image.empty()) {
    image = compileImage(program.str(), target);
  }
  return image;
}

template <typename Element> Element *pointer(uint64_t address) {
  return reinterpret_cast<Element *>(address);
}

std::vector<int32_t> fetchWords(EmulatedGpu &gpu, uint64_t address, size_t count) {
  const std::vector<float> numbers = gpu.fetch(address, count);
  std::vector<int32_t> words(count);
  std::memcpy(words.data(), numbers.data(), count * sizeof(int32_t));
  return words;
}

// --- launches ------------------------------------------------------------------------------------

constexpr int32_t kUnwritten = -77;

/// The blocks of one kind, as they are before a launch and as they are expected after it.
struct Blocks {
  size_t pitch, parentsPitch;
  std::vector<int32_t> blocks, parents, copies;
  uint64_t blocksAt = 0, copiesAt = 0;

  Blocks(size_t rows, size_t slots, size_t pitch, size_t parentsPitch)
      : pitch(pitch), parentsPitch(parentsPitch), blocks(rows * pitch),
        parents(slots * parentsPitch), copies(slots * 2, kUnwritten) {
    std::iota(blocks.begin(), blocks.end(), 1000);
    std::iota(parents.begin(), parents.end(), 500000);
  }
  uint64_t send(EmulatedGpu &gpu) {
    blocksAt = gpu.send(blocks);
    copiesAt = gpu.send(copies);
    const HeddleOrderedBlocks record = {pointer<int32_t>(blocksAt),
                                        int64_t(pitch),
                                        pointer<const int32_t>(gpu.send(parents)),
                                        int64_t(parentsPitch),
                                        pointer<int32_t>(copiesAt),
                                        nullptr,
                                        0};
    return gpu.send(&record, sizeof record);
  }
  void expect(size_t row, size_t firstSlot, size_t slot, size_t parent, bool isFirst, size_t whole,
              bool hasPartial) {
    const int32_t *const from = parents.data() + (firstSlot + parent) * parentsPitch;
    int32_t *const own = blocks.data() + row * pitch;
    std::copy_n(from, whole, own);
    int32_t *const copy = copies.data() + (firstSlot + slot) * 2;
    copy[0] = copy[1] = 0;
    if (hasPartial) {
      own[whole] = isFirst ? from[whole] : own[whole];
      copy[0] = from[whole];
      copy[1] = own[whole];
    }
  }
  /// Returns what a launch has left of the blocks and copies.
  Blocks fetch(EmulatedGpu &gpu) const {
    Blocks left = *this;
    if (blocksAt != 0) {
      left.blocks = fetchWords(gpu, blocksAt, blocks.size());
      left.copies = fetchWords(gpu, copiesAt, copies.size());
    }
    return left;
  }
};

/// All that a launch may write, and its report.
struct Outcome {
  std::vector<int32_t> ids;
  Blocks histories, states;
  std::string report = "";
};

/// Searches that a launch orders together.
class Launch {
public:
  explicit Launch(std::vector<Search> all) : searches(std::move(all)) {
    for (const Search &search : searches) {
      rows += search.rowsBefore;
      firstRows.push_back(rows);
      firstSlots.push_back(slots);
      rows += search.width;
      slots += search.width;
    }
    ++rows;
  }

  /// What there is before a launch. Without histories or states, their blocks stay as they are.
  Outcome before() const {
    return {std::vector<int32_t>(rows, kUnwritten), Blocks(rows, slots, 65, 62),
            Blocks(rows, slots, 2, 1)};
  }
  Outcome run(const Code &image, unsigned blocks, bool hasHistories, bool hasStates) const;
  /// Adds what a search is to leave.
  void expect(size_t number, Outcome &after, bool hasHistories, bool hasStates) const;
  void expectRight(const std::string &target, unsigned blocks, bool hasHistories,
                   bool hasStates) const;

  std::vector<Search> searches;
  std::vector<size_t> firstRows, firstSlots;
  size_t rows = 0, slots = 0;

private:
  HeddleOrderedSearch send(EmulatedGpu &gpu, size_t number) const;
};

HeddleOrderedSearch Launch::send(EmulatedGpu &gpu, size_t number) const {
  const Search &search = searches[number];
  const SearchInMemory own(search);
  const auto list = [&](const std::vector<int32_t> &tokens) {
    return tokens.empty() ? nullptr : pointer<const int32_t>(gpu.send(tokens));
  };
  HeddleOrderedSearch record = own.record;
  record.pairs = pointer<const void>(gpu.send(own.pairs));
  record.sums = pointer<const double>(gpu.send(own.sums));
  record.ends = list(search.ends);
  record.banned = list(search.banned);
  record.first_row = int64_t(firstRows[number]);
  record.first_slot = int64_t(firstSlots[number]);
  return record;
}

Outcome Launch::run(const Code &image, unsigned blocks, bool hasHistories, bool hasStates) const {
  EmulatedGpu gpu;
  gpu.load(image);
  std::vector<HeddleOrderedSearch> sent;
  for (size_t i = 0; i < searches.size(); ++i) {
    sent.push_back(send(gpu, i));
  }
  Outcome outcome = before();
  const uint64_t ids = gpu.send(outcome.ids);
  const HeddleOrderedBlocks none = {};
  const uint64_t nothing = gpu.send(&none, sizeof none);
  const KernelLaunch launch = {0,
                               int64_t(searches.size()),
                               0,
                               1,
                               blocks,
                               unsigned(hypothesisOrderThreads),
                               unsigned(hypothesisOrderShared)};
  const uint64_t record =
      gpu.sendLaunch({gpu.send(sent), ids, hasHistories ? outcome.histories.send(gpu) : nothing,
                      hasStates ? outcome.states.send(gpu) : nothing},
                     {ids}, launch);
  outcome.report = gpu.run(gpu.entry(hypothesisOrderEntry), record, launch);
  if (!outcome.report.empty()) {
    return outcome;
  }
  return {fetchWords(gpu, ids, rows), outcome.histories.fetch(gpu), outcome.states.fetch(gpu)};
}

void Launch::expect(size_t number, Outcome &after, bool hasHistories, bool hasStates) const {
  const Search &search = searches[number];
  const std::vector<Continuation> decided = decide(search);
  std::vector<bool> seen(search.hypotheses.size());
  for (size_t slot = 0; slot < search.width; ++slot) {
    const bool isFilled = slot < decided.size();
    const Continuation own = isFilled ? decided[slot] : Continuation{0, 0};
    const bool isFirst = isFilled && !seen[own.parent];
    seen[own.parent] = seen[own.parent] || isFilled;
    const size_t row = firstRows[number] + slot;
    after.ids[row] = own.token;
    if (hasHistories) {
      after.histories.expect(row, firstSlots[number], slot, own.parent, isFirst, search.wholeBlocks,
                             search.hasPartial);
    }
    if (hasStates) {
      after.states.expect(row, firstSlots[number], slot, own.parent, isFirst, 0, true);
    }
  }
}

void Launch::expectRight(const std::string &target, unsigned blocks, bool hasHistories,
                         bool hasStates) const {
  const Outcome outcome = run(imageOf(kSelection, target), blocks, hasHistories, hasStates);
  ASSERT_EQ(outcome.report, "");
  Outcome expected = before();
  for (size_t number = 0; number < searches.size(); ++number) {
    expect(number, expected, hasHistories, hasStates);
  }
  EXPECT_EQ(outcome.ids, expected.ids);
  EXPECT_EQ(outcome.histories.blocks, expected.histories.blocks);
  EXPECT_EQ(outcome.histories.copies, expected.histories.copies);
  EXPECT_EQ(outcome.states.blocks, expected.states.blocks);
  EXPECT_EQ(outcome.states.copies, expected.states.copies);
}

class OrderKernels : public testing::TestWithParam<std::string> {};

TEST_P(OrderKernels, OrderSearchesAsTheHostDoes) {
  Random random(7);
  constexpr size_t chunks[] = {1, 5, 33, 70};
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    std::vector<Search> searches;
    for (size_t i = random.from(1, 4); i > 0; --i) {
      const size_t hypotheses = random.isOneOf(4) ? 1 : random.from(1, 16);
      searches.push_back(random.search(hypotheses, random.from(1, 12), chunks[random.from(0, 3)]));
    }
    const auto blocks = unsigned(random.from(1, 5));
    Launch(searches).expectRight(GetParam(), blocks, !random.isOneOf(4), !random.isOneOf(3));
  }
}

/// The reference of these tests has the host's normalisers.
TEST(OrderReference, HasTheBitsOfTheHost) {
  Random random(9);
  for (int round = 0; round < 200; ++round) {
    const Hypothesis hypothesis = random.hypothesis(random.from(1, 90), 1);
    std::vector<float> pairs;
    for (const ExponentialSum &chunk : hypothesis.chunks) {
      pairs.insert(pairs.end(), {chunk.largest, chunk.sum});
    }
    EXPECT_EQ(OrderedContinuations::normalizer(pairs.data(), int64_t(hypothesis.chunks.size())),
              logSumExp(hypothesis.chunks));
  }
}

TEST_P(OrderKernels, OrderTheLargestSearches) {
  Random random(3);
  for (const auto &[hypotheses, best] : {std::pair(64, 16), std::pair(16, 64)}) {
    Search search = random.search(size_t(hypotheses), size_t(best), 3);
    for (const bool refills : {false, true}) {
      search.refills = refills;
      search.wanted = size_t(mostContinuations);
      Launch({search}).expectRight(GetParam(), 1, true, true);
    }
  }
}

/// The host refuses such logits. Rows continue some hypothesis, with a token of it.
TEST_P(OrderKernels, DamagedLogitsHarmNothingElse) {
  Random random(11);
  Search search = random.search(5, 8, 40);
  for (const float number : {std::nanf(""), kInfinity, -kInfinity}) {
    for (Hypothesis &each : search.hypotheses) {
      each.chunks[7] = {number, number};
      each.best[0].logit = number;
      each.best[1].logit = -number;
    }
    const Search sound = random.search(3, 5, 2);
    const Launch launch({sound, search, sound});
    const Outcome outcome = launch.run(imageOf(kSelection, GetParam()), 2, true, true);
    ASSERT_EQ(outcome.report, "");
    Outcome expected = launch.before();
    for (const size_t number : {0, 2}) {
      launch.expect(number, expected, true, true);
      for (size_t slot = 0; slot < sound.width; ++slot) {
        const size_t row = launch.firstRows[number] + slot;
        EXPECT_EQ(outcome.ids[row], expected.ids[row]);
      }
    }
    for (size_t slot = 0; slot < search.width; ++slot) {
      const int32_t token = outcome.ids[launch.firstRows[1] + slot];
      EXPECT_TRUE(token >= 0 && token < 18) << token;
      const auto parents =
          std::span(outcome.states.parents).subspan(launch.firstSlots[1], search.hypotheses.size());
      const int32_t from = outcome.states.copies[(launch.firstSlots[1] + slot) * 2];
      EXPECT_TRUE(std::ranges::find(parents, from) != parents.end()) << from;
    }
  }
}

TEST_P(OrderKernels, CopyBlocksThatDiffer) {
  constexpr size_t count = 9;
  const std::vector<int32_t> copies = {3, 3, 2, 7, 0, 0, 5, 8, 2, 1};
  // Those of some states are no multiple of 16.
  for (const size_t stride : {4U, 16U, 1036U, 2064U, 16384U, 18444U, 20496U, 45056U}) {
    for (const unsigned blocks : {2U, 40U}) {
      SCOPED_TRACE(stride);
      EmulatedGpu gpu;
      gpu.load(imageOf(kSelection, GetParam()));
      std::vector<int32_t> memory(count * stride / sizeof(int32_t));
      std::iota(memory.begin(), memory.end(), 1);
      const uint64_t memoryAt = gpu.send(memory);
      const HeddleOrderedBlocks sent = {nullptr,
                                        0,
                                        nullptr,
                                        0,
                                        pointer<int32_t>(gpu.send(copies)),
                                        pointer<void>(memoryAt),
                                        int64_t(stride)};
      const KernelLaunch launch = {0,
                                   int64_t(copies.size() / 2),
                                   0,
                                   (int64_t(stride) + blockPieceBytes - 1) / blockPieceBytes,
                                   blocks,
                                   unsigned(blockCopyThreads),
                                   unsigned(blockCopyShared)};
      const uint64_t record = gpu.sendLaunch({gpu.send(&sent, sizeof sent)}, {memoryAt}, launch);
      ASSERT_EQ(gpu.run(gpu.entry(blockCopyEntry), record, launch), "");
      for (size_t i = 0; i < copies.size(); i += 2) {
        const auto blockAt = [&](int32_t block) {
          return memory.begin() + std::ptrdiff_t(size_t(block) * stride / sizeof(int32_t));
        };
        std::copy_n(blockAt(copies[i]), stride / sizeof(int32_t), blockAt(copies[i + 1]));
      }
      EXPECT_EQ(fetchWords(gpu, memoryAt, memory.size()), memory);
    }
  }
}

TEST_P(OrderKernels, ExcludeElements) {
  for (const unsigned blocks : {1U, 3U}) {
    EmulatedGpu gpu;
    gpu.load(imageOf(kSelection, GetParam()));
    std::vector<float> logits(1000);
    std::iota(logits.begin(), logits.end(), 1.0F);
    const uint64_t logitsAt = gpu.send(logits);
    std::vector<int64_t> elements;
    for (int64_t element = 3; element < 1000; element += 7) {
      elements.push_back(element);
      logits[size_t(element)] = -kInfinity;
    }
    const KernelLaunch launch = {0,      int64_t(elements.size()),   0, 1,
                                 blocks, unsigned(exclusionThreads), 0};
    const uint64_t record = gpu.sendLaunch({logitsAt, gpu.send(elements)}, {logitsAt}, launch);
    ASSERT_EQ(gpu.run(gpu.entry(exclusionEntry), record, launch), "");
    EXPECT_EQ(gpu.fetch(logitsAt, logits.size()), logits);
  }
}

TEST_P(OrderKernels, OnlyImagesWithASelectionHaveThem) {
  const auto has = [&](llvm::StringRef program, const char *entry) {
    const Code &image = imageOf(program, GetParam());
    // As names of entries, which a zero ends.
    return std::string(image.begin(), image.end()).find(std::string(entry) + '\0') !=
           std::string::npos;
  };
  for (const char *const entry : {exclusionEntry, hypothesisOrderEntry, blockCopyEntry}) {
    EXPECT_TRUE(has(kSelection, entry)) << entry;
    EXPECT_FALSE(has(kCopy, entry)) << entry;
  }
}

/// Removes an operation of a kind from the kernel that orders, by its number.
template <typename Op> Code imageWithout(const std::string &target, size_t number, size_t count) {
  return compileImage(kSelection.str(), target, [&](mlir::ModuleOp module) {
    auto kernels = mlir::cast<mlir::ModuleOp>(mlir::SymbolTable::lookupSymbolIn(module, target));
    auto body = mlir::cast<mlir::LLVM::LLVMFuncOp>(
        mlir::SymbolTable::lookupSymbolIn(kernels, std::string(hypothesisOrderEntry) + "$body"));
    auto found = all<Op>(body);
    ASSERT_EQ(found.size(), count);
    found[number].erase();
  });
}

TEST_P(OrderKernels, NeedsAllBarriers) {
  Random random(5);
  const Launch launch({random.search(6, 9, 40), random.search(6, 9, 40)});
  const llvm::Regex report("(reads byte [0-9]+ of shared memory, which nobody has written|"
                           "race: (reads|writes) byte [0-9]+ of shared memory|"
                           "bytes that are in no allocation of the GPU)");
  const auto expectFound = [&](const Code &image) {
    const Outcome outcome = launch.run(image, 1, true, true);
    EXPECT_TRUE(report.match(outcome.report)) << outcome.report;
  };
  constexpr size_t barriers = 5, warpBarriers = 2;
  for (size_t number = 0; number < barriers; ++number) {
    SCOPED_TRACE(number);
    expectFound(imageWithout<mlir::NVVM::Barrier0Op>(GetParam(), number, barriers));
  }
  for (size_t number = 0; number < warpBarriers; ++number) {
    SCOPED_TRACE(number);
    expectFound(imageWithout<mlir::NVVM::SyncWarpOp>(GetParam(), number, warpBarriers));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, OrderKernels, testing::Values("sm_80", "sm_90a"));

} // namespace
} // namespace heddle
