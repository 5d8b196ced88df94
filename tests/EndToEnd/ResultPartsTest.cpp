// SPDX-License-Identifier: Apache-2.0
///
/// Kernels write any part of a result into separate memory, with the given stride, and nothing
/// outside it: every dispatch of an encoder is computed as a whole, and again part by part.
#include "formats/Binary/SymbolicSize.h"
#include "heddle/Abi.h"
#include "runtime/Artifact/Artifact.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace heddle {
namespace {

/// The pattern of memory that must not be written.
constexpr uint32_t untouched = 0xFF812345;

/// A manual run of one entry, with separate memory for each buffer.
struct ByHand {
  ByHand(const Artifact &artifact, const Ragged &batch);

  const manifest::Buffer &bufferOf(const manifest::Operand &operand) const {
    return *entry.buffers()->Get(operand.buffer());
  }
  int64_t rowsOf(const manifest::Dispatch &dispatch) const {
    return work.spaces[dispatch.grid()->rows()].rows;
  }
  /// Runs a dispatch for a range of its work, writing to `result`.
  void run(const manifest::Dispatch &dispatch, HeddleResult result, Range rows, Range columns);

  const Artifact &artifact;
  const manifest::Entry &entry;
  WorkSize work;
  std::unique_ptr<DeviceStream> stream = *hostDevice()->createStream(1);
  /// The rows of each space.
  struct Lists {
    std::vector<int32_t> offsets = {0}, sequenceOf, positions;
    HeddleRows rows;
  };
  std::vector<Lists> lists;
  // Includes the padding that kernels may read.
  std::vector<std::vector<float>> buffers;
  std::vector<float> scratch;
};

ByHand::ByHand(const Artifact &artifact, const Ragged &batch)
    : artifact(artifact), entry(*artifact.manifest().entries()->Get(0)) {
  const std::vector<RowSpace> table = spacesOf(entry);
  const int64_t longest = *std::max_element(batch.lengths.begin(), batch.lengths.end());
  work.count(table, {batch.lengths}, longest);
  lists.resize(table.size());
  for (size_t space = 0; space < table.size(); ++space) {
    Lists &list = lists[space];
    for (size_t i = 0; i < batch.lengths.size(); ++i) {
      const int64_t count = table[space].rowsOf(batch.lengths[i]);
      list.sequenceOf.insert(list.sequenceOf.end(), count, static_cast<int32_t>(i));
      list.offsets.push_back(list.offsets.back() + static_cast<int32_t>(count));
      for (int32_t position = 0; position < count; ++position) {
        list.positions.push_back(position);
      }
    }
    list.rows = {work.spaces[space].rows,
                 work.spaces[space].longest,
                 list.offsets.data(),
                 list.sequenceOf.data(),
                 list.positions.data(),
                 nullptr,
                 nullptr,
                 nullptr};
  }
  buffers.resize(entry.buffers()->size());
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i) {
    const manifest::Buffer &buffer = *entry.buffers()->Get(i);
    if (buffer.location() != manifest::Location::Parameter) {
      buffers[i].resize(*bufferSize(buffer)->symbolic.evaluate(work) / sizeof(float) + 64);
    }
    if (buffer.location() == manifest::Location::Input && buffer.index() == 0) {
      std::memcpy(buffers[i].data(), batch.ids.data(), batch.ids.size() * sizeof(int32_t));
    }
  }
  uint64_t most = 0;
  for (const manifest::Kernel *kernel : *artifact.manifest().kernels()) {
    most = std::max(most, kernel->scratch() + kernel->scratch_per_longest() * longest);
  }
  scratch.resize(most / sizeof(float) + 64);
}

void ByHand::run(const manifest::Dispatch &dispatch, HeddleResult result, Range rows,
                 Range columns) {
  std::vector<void *> operands = {&result};
  for (uint32_t i = 1; i < dispatch.operands()->size(); ++i) {
    const manifest::Operand &operand = *dispatch.operands()->Get(i);
    const manifest::Buffer &buffer = bufferOf(operand);
    std::byte *base = reinterpret_cast<std::byte *>(buffers[operand.buffer()].data());
    if (buffer.location() == manifest::Location::Parameter) {
      base = const_cast<std::byte *>(
          artifact.program()->parameter(buffer.parameters()->Get(artifact.isaNumber())));
    }
    operands.push_back(base + operand.byte_offset());
  }
  std::vector<const HeddleRows *> spaces;
  for (uint8_t space : *dispatch.spaces()) {
    spaces.push_back(&lists[space].rows);
  }
  const HeddleKernelContext context{operands.data(), spaces.data(), scratch.data()};
  const DeviceProgram &program = *artifact.program();
  const DeviceKernel *finish =
      dispatch.finish_kernel() < 0
          ? nullptr
          : &program.kernel(static_cast<uint32_t>(dispatch.finish_kernel()));
  stream->launch(0,
                 {&program.kernel(dispatch.kernel()), finish, &context, rows, columns, 1,
                  scratch.size() * sizeof(float)},
                 nullptr);
}

/// A rectangle of a result: rows, and elements of each.
struct Part {
  Range rows, elements;
};

/// Computes a part and compares it with the whole, and checks that its surroundings are unchanged.
void expectPart(ByHand &model, const manifest::Dispatch &dispatch, const Part &part, Range rows,
                Range columns, int64_t gap) {
  const manifest::Operand &operand = *dispatch.operands()->Get(0);
  const int64_t wholeStride = RowElements::of(model.bufferOf(operand)).evaluate(model.work);
  const int64_t height = part.rows.end - part.rows.begin;
  const int64_t width = part.elements.end - part.elements.begin;
  const int64_t stride = width + gap;
  std::vector<uint32_t> memory(static_cast<size_t>((height + 2) * stride), untouched);
  const HeddleResult result{memory.data() + stride, part.rows.begin, part.elements.begin, stride};
  model.run(dispatch, result, rows, columns);
  const std::vector<float> &whole = model.buffers[operand.buffer()];
  for (int64_t row = -1; row <= height; ++row) {
    for (int64_t column = 0; column < stride; ++column) {
      uint32_t expected = untouched;
      if (row >= 0 && row < height && column < width) {
        const int64_t place = (part.rows.begin + row) * wholeStride + part.elements.begin + column;
        std::memcpy(&expected, &whole[static_cast<size_t>(place)], sizeof expected);
      }
      ASSERT_EQ(memory[static_cast<size_t>((row + 1) * stride + column)], expected)
          << dispatch.name()->str() << ", row " << row << ", column " << column;
    }
  }
}

/// Computes the whole, then bands of rows and, if the manifest specifies what columns compute,
/// columns.
void expectParts(ByHand &model, const manifest::Dispatch &dispatch) {
  const manifest::Grid &grid = *dispatch.grid();
  const manifest::Operand &operand = *dispatch.operands()->Get(0);
  const manifest::Buffer &buffer = model.bufferOf(operand);
  const int64_t stride = RowElements::of(buffer).evaluate(model.work);
  const int64_t rows = model.rowsOf(dispatch);
  const manifest::TargetColumns &work = *grid.columns()->Get(model.artifact.isaNumber());
  const auto columns = static_cast<int64_t>(work.count());
  // Keys that a sequence does not have are unchanged.
  std::vector<float> &whole = model.buffers[operand.buffer()];
  for (float &value : whole) {
    std::memcpy(&value, &untouched, sizeof value);
  }
  model.run(dispatch, {whole.data(), 0, 0, stride}, {0, rows}, {0, columns});
  const manifest::Dimension &first = *buffer.shape()->Get(0);
  if (first.constant() != 0 || first.longest() || first.space() != grid.rows()) {
    // Its rows are not those of the grid.
    const auto height = static_cast<int64_t>(*bufferSize(buffer)->symbolic.evaluate(model.work) /
                                             sizeof(float) / stride);
    expectPart(model, dispatch, {{0, height}, {0, stride}}, {0, rows}, {0, columns}, 5);
    return;
  }
  const int64_t cuts[] = {0, std::min<int64_t>(rows, 3), (rows + 3) / 2, rows};
  for (size_t i = 0; i + 1 < std::size(cuts); ++i) {
    const Range band{std::min(cuts[i], rows), std::min(std::max(cuts[i], cuts[i + 1]), rows)};
    if (band.begin == band.end) {
      continue;
    }
    expectPart(model, dispatch, {band, {0, stride}}, band, {0, columns}, 3);
    const auto width = static_cast<int64_t>(work.elements());
    const auto group = static_cast<int64_t>(grid.group_elements());
    for (int64_t column = 0; width != 0 && dispatch.finish_kernel() < 0 && column < columns;
         ++column) {
      const int64_t inGroup = (group + width - 1) / width;
      const int64_t begin = column / inGroup * group + column % inGroup * width;
      const int64_t end = std::min(begin + width, (column / inGroup + 1) * group);
      expectPart(model, dispatch, {band, {begin, end}}, band, {column, column + 1}, 1);
    }
  }
}

class ResultParts : public testing::TestWithParam<bool> {};

TEST_P(ResultParts, AreThoseOfTheWhole) {
  const std::string path = compileModel(HEDDLE_TEST_DATA "/oracles/bert-tiny",
                                        GetParam() ? std::vector<std::string>() : withoutPasses());
  ASSERT_FALSE(path.empty());
  const Ragged batch = randomSentences(3, 20, 90, 7);
  for (const std::string &isa : runnableTargets(path)) {
    const auto artifact = Artifact::load(path, {.isa = isa}, hostDevice());
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    ByHand model(**artifact, batch);
    ASSERT_EQ(model.entry.caches() == nullptr ? 0 : model.entry.caches()->size(), 0u);
    for (const manifest::Dispatch *dispatch : *model.entry.dispatches()) {
      expectParts(model, *dispatch);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Passes, ResultParts, testing::Values(true, false),
                         [](const auto &info) { return info.param ? "With" : "Without"; });

} // namespace
} // namespace heddle
