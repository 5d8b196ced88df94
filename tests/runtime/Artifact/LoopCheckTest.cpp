// SPDX-License-Identifier: Apache-2.0
///
/// Loops of a manifest: a valid one is accepted, every change that makes it invalid is rejected
/// with its message.
#include "formats/Binary/ManifestCheck.h"

#include "heddle/Abi.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

using namespace heddle;
using namespace heddle::fixture;
using manifest::Dimension;
using manifest::Location;

static EntrySpec &encode(ModelSpec &spec) { return spec.entries[0]; }

/// The numbers of the ordered spaces.
enum Spaces : uint8_t { Steps = 2, Ranks = 3 };
/// Buffers: rows by step, the carried value, the other result of a step, and the initial value.
enum Buffers : uint32_t { Rows = 10, Carried, Given, Initial };
/// Dispatches: one before the loop, and the two in it.
enum Dispatches : uint32_t { Order = 4, Begin, Step, Other };

/// Returns the entry "encode" with a loop of two dispatches after the others.
static ModelSpec looping() {
  ModelSpec spec = model();
  EntrySpec &entry = encode(spec);
  entry.spaces.emplace_back(0, static_cast<uint8_t>(RowSpaceKind::Steps));
  entry.spaces.emplace_back(0, static_cast<uint8_t>(RowSpaceKind::Ranks));
  constexpr uint64_t bytes = width * sizeof(float);
  entry.arena.emplace_back(3 * bytes, Steps, 0);
  entry.arena.emplace_back(bytes, Ranks, 0);
  const auto add = [&](uint8_t space, uint64_t place) {
    entry.buffers.push_back({Location::Arena,
                             ElementType::F32,
                             {Dimension(0, space, false), Dimension(width, 0, false)},
                             SizeTerms{{place * bytes, space, 0}},
                             0});
  };
  add(Steps, 0);
  add(Steps, 1);
  add(Steps, 2);
  add(Ranks, 0);
  const auto dispatch = [&](const std::string &name, std::vector<manifest::Operand> operands,
                            uint8_t rows) {
    entry.dispatches.push_back({name, 3, -1, std::move(operands), rows, 4, 2, 0, 0});
    entry.dispatches.back().spaces = {rows};
  };
  dispatch("order", {{Rows, 0}, {6, 0}}, Steps);
  dispatch("begin", {{Initial, 0}, {9, 0}}, Ranks);
  dispatch("step", {{Carried, 0}, {Rows, 0}, {Carried, 0}, {4, 0}}, Steps);
  dispatch("other", {{Given, 0}, {Carried, 0}}, Steps);
  entry.loops = {{Step, 2, Steps, {{Step, 2, Initial + 1}}}};
  return spec;
}

static Status check(const ModelSpec &spec) {
  const std::string bytes = serialize(spec, 0);
  // Aligned as in a file.
  std::vector<uint64_t> copy((bytes.size() + 7) / 8 + 8);
  auto *const start =
      reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(copy.data()) + 63) / 64 * 64);
  std::memcpy(start, bytes.data(), bytes.size());
  return checkManifest({start, bytes.size()}, {.weightsSize = spec.actualWeightsSize});
}

namespace {
struct Case {
  const char *name;
  std::function<void(EntrySpec &)> change;
  const char *message;
};
} // namespace

class HostileLoop : public testing::TestWithParam<Case> {};

TEST_P(HostileLoop, IsRefused) {
  ModelSpec spec = looping();
  ASSERT_EQ(check(spec).message(), "");
  GetParam().change(encode(spec));
  const Status status = check(spec);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

static const Case cases[] = {
    {"empty", [](auto &e) { e.loops[0].count = 0; },
     "loop 0: 0 dispatches from 6 on, expected some of those from 0 to 8"},
    {"beyond", [](auto &e) { e.loops[0].count = 3; }, "3 dispatches from 6 on"},
    {"far", [](auto &e) { e.loops[0].first = UINT32_MAX; }, "2 dispatches from 4294967295 on"},
    {"twice", [](auto &e) { e.loops.push_back(e.loops[0]); },
     "loop 1: 2 dispatches from 6 on, expected some of those from 8 to 8"},
    {"tokens", [](auto &e) { e.loops[0].rows = tokensSpace; },
     "rows of space 0, expected one in the order of time"},
    {"ranks", [](auto &e) { e.loops[0].rows = Ranks; }, "rows of space 3, expected one in"},
    {"noSpace", [](auto &e) { e.loops[0].rows = 9; }, "rows of space 9, expected one in"},
    {"otherRows", [](auto &e) { e.dispatches[Other].rows = tokensSpace; },
     "dispatch 7 over rows of space 0, expected 2"},
    {"readsTokens", [](auto &e) { e.dispatches[Step].operands[1] = {6, 0}; },
     "operand 1 of dispatch 6, expected parameters, caches that are read and buffers"},
    {"dispatchBefore", [](auto &e) { e.loops[0].earlier = {{Order, 1, 0}, {Step, 2, 0}}; },
     "an operand of dispatch 4 a step before, expected one of 2 from 6 on"},
    {"written", [](auto &e) { e.loops[0].earlier = {{Step, 0, 0}, {Step, 2, 0}}; },
     "operand 0 of dispatch 6 a step before, expected one that is read, 1 to 3"},
    {"noOperand", [](auto &e) { e.loops[0].earlier.emplace_back(Step, 4, 0); },
     "operand 4 of dispatch 6 a step before"},
    {"notOfTheLoop", [](auto &e) { e.loops[0].earlier.emplace_back(Step, 1, 0); },
     "buffer 10 a step before, expected rows of one size that a dispatch of the loop"},
    {"notEarlier", [](auto &e) { e.loops[0].earlier.clear(); },
     "reads buffer 11, which no dispatch before it writes"},
    {"noInitial", [](auto &e) { e.loops[0].earlier = {{Step, 2, 1000}}; },
     "buffer 999 before the first step, expected rows of sequences as wide as buffer 11"},
    {"initialOfSteps", [](auto &e) { e.loops[0].earlier = {{Step, 2, Rows + 1}}; },
     "buffer 10 before the first step"},
    {"initialNotWritten", [](auto &e) { e.dispatches[Begin] = e.dispatches[Order]; },
     "buffer 13 before the first step"},
};
INSTANTIATE_TEST_SUITE_P(Loops, HostileLoop, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Loops, MayBeginWithZeros) {
  ModelSpec spec = looping();
  encode(spec).loops[0].earlier = {{Step, 2, 0}};
  EXPECT_EQ(check(spec).message(), "");
}

/// Buffers of a second, concurrent loop: its carried and initial values.
enum MoreBuffers : uint32_t { Beside = Initial + 1, BesideInitial };
enum MoreDispatches : uint32_t { BesideStep = Other + 1 };

/// Returns the same with a concurrent loop of one dispatch, and room for its buffers.
static ModelSpec sideBySide() {
  ModelSpec spec = looping();
  EntrySpec &entry = encode(spec);
  constexpr uint64_t bytes = width * sizeof(float);
  for (manifest::SizeTerm &term : entry.arena) {
    if (term.rows() == Steps) {
      term = manifest::SizeTerm(4 * bytes, Steps, 0);
    } else if (term.rows() == Ranks) {
      term = manifest::SizeTerm(2 * bytes, Ranks, 0);
    }
  }
  entry.buffers.push_back(entry.buffers[Given]);
  entry.buffers[Beside].offset = SizeTerms{{3 * bytes, Steps, 0}};
  entry.buffers[Initial].offset = SizeTerms{{4 * bytes, Steps, 0}};
  entry.buffers.push_back(entry.buffers[Initial]);
  entry.buffers[BesideInitial].offset = SizeTerms{{4 * bytes, Steps, 0}, {bytes, Ranks, 0}};
  // Before the loops, at the place of the first one's initial value.
  entry.dispatches.insert(entry.dispatches.begin() + Begin + 1, entry.dispatches[Begin]);
  entry.dispatches[Begin + 1].operands[0] = {BesideInitial, 0};
  entry.dispatches.push_back(entry.dispatches[Step + 1]);
  entry.dispatches.back().operands = {{Beside, 0}, {Rows, 0}, {Beside, 0}, {4, 0}};
  entry.loops = {{Step + 1, 2, Steps, {{Step + 1, 2, Initial + 1}}},
                 {BesideStep + 1, 1, Steps, {{BesideStep + 1, 2, BesideInitial + 1}}, true}};
  return spec;
}

TEST(Loops, MayRunSideBySide) { EXPECT_EQ(check(sideBySide()).message(), ""); }

class HostileGroup : public testing::TestWithParam<Case> {};

TEST_P(HostileGroup, IsRefused) {
  ModelSpec spec = sideBySide();
  GetParam().change(encode(spec));
  const Status status = check(spec);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

static const Case groups[] = {
    {"first", [](auto &e) { e.loops[0].beside = true; },
     "loop 0: beside the one before it, expected a loop whose dispatches end at 7, got none"},
    {"tooMany",
     [](auto &e) {
       // Their number is rejected before their buffers are compared.
       for (uint32_t i = 0; i < 63; ++i) {
         e.dispatches.push_back(e.dispatches[Other + 1]);
         e.dispatches.back().operands = {{Given, 0}, {Rows, 0}};
         e.loops.push_back({BesideStep + 2 + i, 1, Steps, {}, true});
       }
     },
     "loop 64: beside 64 others, expected at most 64 side by side"},
    {"apart", [](auto &e) { e.loops[0].count = 1; },
     "loop 1: beside the one before it, expected a loop whose dispatches end at 9"},
    {"reads", [](auto &e) { e.dispatches[BesideStep + 1].operands[1] = {Given, 0}; },
     "loop 1: buffer 12 overlaps buffer 12 of loop 0, which runs beside it, and one of them is"},
    {"writesTheSame", [](auto &e) { e.buffers[Beside].offset = e.buffers[Carried].offset; },
     "loop 1: buffer 14 overlaps buffer 11 of loop 0"},
    {"overWhatIsRead", [](auto &e) { e.buffers[Beside].offset = e.buffers[Rows].offset; },
     "loop 1: buffer 14 overlaps buffer 10 of loop 0"},
    {"underWhatIsRead", [](auto &e) { e.buffers[Rows].offset = e.buffers[Given].offset; },
     "loop 1: buffer 10 overlaps buffer 12 of loop 0"},
    {"overTheBeginning", [](auto &e) { e.buffers[Initial].offset = e.buffers[Beside].offset; },
     "loop 1: buffer 14 overlaps buffer 13 of loop 0"},
};
INSTANTIATE_TEST_SUITE_P(Loops, HostileGroup, testing::ValuesIn(groups),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Loops, OfThousandsOfBuffersAreCheckedInLittleTime) {
  ModelSpec spec = sideBySide();
  EntrySpec &entry = encode(spec);
  constexpr uint32_t more = 20'000;
  constexpr uint64_t bytes = width * sizeof(float);
  // Each loop reads its own result into separate buffers, alternately, and so does the next.
  const auto last = static_cast<uint32_t>(entry.dispatches.size());
  for (uint32_t loop = 0; loop < 2; ++loop) {
    const uint32_t place = loop == 0 ? entry.loops[1].first : last + more;
    const uint32_t source = loop == 0 ? uint32_t(Carried) : uint32_t(Beside);
    for (uint32_t i = 0; i < more; ++i) {
      const auto buffer = static_cast<uint32_t>(entry.buffers.size());
      entry.buffers.push_back(entry.buffers[Given]);
      entry.buffers.back().offset =
          SizeTerms{{(6 + 2 * i + loop) * bytes, Steps, 0}, {2 * bytes, Ranks, 0}};
      entry.dispatches.insert(entry.dispatches.begin() + place + i, entry.dispatches[Other + 1]);
      entry.dispatches[place + i].operands = {{buffer, 0}, {source, 0}};
    }
  }
  entry.loops[0].count += more;
  entry.loops[1].first += more;
  entry.loops[1].count += more;
  entry.loops[1].earlier = {{BesideStep + 1 + more, 2, BesideInitial + 1}};
  for (manifest::SizeTerm &term : entry.arena) {
    if (term.rows() == Steps) {
      term = manifest::SizeTerm((6 + 2 * more) * bytes, Steps, 0);
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(check(spec).message(), "");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  // Comparing all pairs would be 400 million comparisons.
  EXPECT_LT(time.count(), 10);
  entry.buffers.back().offset = entry.buffers[entry.buffers.size() - more - 1].offset;
  EXPECT_NE(check(spec).message().find("which runs beside it"), std::string::npos)
      << check(spec).message();
}

TEST(Loops, SideBySideMayReadTheSame) {
  ModelSpec spec = sideBySide();
  encode(spec).loops[1].earlier = {{BesideStep + 1, 2, Initial + 1}};
  EXPECT_EQ(check(spec).message(), "");
}

/// Rows as long as the maximum number of keys: the carried and the initial value.
static ModelSpec carryingKeys() {
  ModelSpec spec = looping();
  EntrySpec &entry = encode(spec);
  for (const auto &[buffer, space] : {std::pair{Carried, Steps}, std::pair{Initial, Ranks}}) {
    entry.buffers[buffer].shape = {Dimension(0, space, false), Dimension(2, 0, false),
                                   Dimension(0, tokensSpace, true)};
    entry.buffers[buffer].offset = SizeTerms{{0, space, tokensSpace + 1}};
    entry.arena.emplace_back(HEDDLE_ALIGNMENT, space, tokensSpace + 1);
  }
  return spec;
}

TEST(Loops, CarryNumbersOfKeysFromWhereTheyBegin) {
  EXPECT_EQ(check(carryingKeys()).message(), "");
  ModelSpec zeros = carryingKeys();
  encode(zeros).loops[0].earlier = {{Step, 2, 0}};
  EXPECT_NE(check(zeros).message().find(
                "buffer 11 a step before, expected one that is read before the first step"),
            std::string::npos)
      << check(zeros).message();
  ModelSpec narrow = carryingKeys();
  ModelSpec rows = looping();
  encode(narrow).buffers[Initial] = encode(rows).buffers[Initial];
  EXPECT_NE(check(narrow).message().find("buffer 13 before the first step, expected rows of "
                                         "sequences as wide as buffer 11"),
            std::string::npos)
      << check(narrow).message();
}
