// SPDX-License-Identifier: Apache-2.0
///
/// Everything that the kernels read is sent in one piece. The lists of the step's own blocks were
/// sent before: each row has an unused block, which it takes unless it is the first to continue the
/// last block of a hypothesis.
#include "runtime/Session/BeamOrders.h"

#include "formats/Binary/Layout.h"
#include "runtime/Session/ChunkMemory.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle {

static constexpr size_t histories = 0, states = 1;

void BeamOrders::bind(const DeviceProgram &program, const OrderedCaches &ofHistories,
                      const OrderedCaches &ofStates) {
  order = program.ownKernel(OwnKernel::OrderHypotheses);
  copyBlocks = program.ownKernel(OwnKernel::CopyBlocks);
  caches = {ofHistories, ofStates};
}

void BeamOrders::clear() {
  searches.clear();
  sums.clear();
  tokens.clear();
  parentBlocks.clear();
  parents.clear();
  slots = 0;
  longest = 0;
}

/// Returns a pointer that fill() replaces by an address.
template <typename Element> static const Element *offsetOf(const std::vector<Element> &list) {
  return reinterpret_cast<const Element *>(list.size() * sizeof(Element));
}

void BeamOrders::add(const BeamOrder &search, const Selections &before, int64_t firstRow,
                     int64_t length) {
  const auto hypotheses = static_cast<int64_t>(search.hypotheses.size());
  HeddleOrderedSearch &own = searches.emplace_back();
  own = {.pairs = before.pairsOf(search.firstRow),
         .pitch = static_cast<int64_t>(before.pitch),
         .chunks = before.chunks,
         // Other rows of the step before may need more.
         .best = std::min(before.best, search.tokensOfRow()),
         .hypotheses = hypotheses,
         .wanted = search.wanted,
         .width = search.width,
         .refills = search.refillsPlaces ? 1 : 0,
         .sums = offsetOf(sums),
         .ends = offsetOf(tokens),
         .end_count = static_cast<int64_t>(search.ends.size()),
         .banned = nullptr,
         .banned_count = static_cast<int64_t>(search.banned.size()),
         .first_row = firstRow,
         .first_slot = slots,
         .whole_blocks = length / HEDDLE_BLOCK,
         .has_partial = length % HEDDLE_BLOCK != 0 ? 1 : 0};
  sums.insert(sums.end(), search.sums.begin(), search.sums.end());
  tokens.insert(tokens.end(), search.ends.begin(), search.ends.end());
  own.banned = offsetOf(tokens);
  tokens.insert(tokens.end(), search.banned.begin(), search.banned.end());
  slots += search.width;
}

void BeamOrders::addParent(std::span<const int32_t> history, int32_t state) {
  const int64_t first = searches.back().first_slot;
  const int64_t slot =
      parents.empty() || parents.back().slot < first ? first : parents.back().slot + 1;
  parents.push_back({slot, parentBlocks.size(), state});
  parentBlocks.insert(parentBlocks.end(), history.begin(), history.end());
  longest = std::max(longest, static_cast<int64_t>(history.size()));
}

Status BeamOrders::reserve(DeviceStream &stream) {
  uint64_t end = 0;
  const auto take = [&](uint64_t bytes) {
    return std::exchange(end, alignUp(end + bytes, HEDDLE_ALIGNMENT));
  };
  const auto listBytes = [&](int64_t ofSlot) {
    return static_cast<uint64_t>(slots * ofSlot) * sizeof(int32_t);
  };
  take(searches.size() * sizeof(HeddleOrderedSearch));
  layout.caches = take(caches.size() * sizeof(HeddleOrderedBlocks));
  layout.sums = take(sums.size() * sizeof(double));
  layout.tokens = take(tokens.size() * sizeof(int32_t));
  layout.parents[histories] = take(listBytes(longest));
  layout.parents[states] = take(listBytes(1));
  layout.sent = end;
  for (uint64_t &copies : layout.copies) {
    copies = take(listBytes(2));
  }
  return stream.grow(memory, end);
}

/// Returns the lists of one kind of caches; nothing if the model has none.
HeddleOrderedBlocks BeamOrders::blocksOf(size_t kind, const ChunkMemory &chunk) const {
  const OrderedCaches &own = caches[kind];
  if (own.stride == 0) {
    return {};
  }
  const CacheRows &rows = chunk.sentRows(*own.rows);
  const auto listAt = [&](uint64_t offset) {
    return reinterpret_cast<int32_t *>(memory.data() + offset);
  };
  return {const_cast<int32_t *>(rows.blocks), rows.blocksPitch,
          listAt(layout.parents[kind]),       kind == histories ? longest : 1,
          listAt(layout.copies[kind]),        own.memory,
          static_cast<int64_t>(own.stride)};
}

/// Writes what the kernels read.
void BeamOrders::fill(std::byte *staged, const ChunkMemory &chunk) {
  const auto addressOf = [&](uint64_t begin, auto offset) {
    return reinterpret_cast<decltype(offset)>(memory.data() + begin +
                                              std::bit_cast<uintptr_t>(offset));
  };
  auto *const to = reinterpret_cast<HeddleOrderedSearch *>(staged);
  for (size_t i = 0; i < searches.size(); ++i) {
    to[i] = searches[i];
    to[i].sums = addressOf(layout.sums, searches[i].sums);
    to[i].ends = addressOf(layout.tokens, searches[i].ends);
    to[i].banned = addressOf(layout.tokens, searches[i].banned);
  }
  auto *const blocks = reinterpret_cast<HeddleOrderedBlocks *>(staged + layout.caches);
  for (size_t kind = 0; kind < caches.size(); ++kind) {
    blocks[kind] = blocksOf(kind, chunk);
  }
  std::copy(sums.begin(), sums.end(), reinterpret_cast<double *>(staged + layout.sums));
  std::copy(tokens.begin(), tokens.end(), reinterpret_cast<int32_t *>(staged + layout.tokens));
  const auto listAt = [&](size_t kind) {
    return reinterpret_cast<int32_t *>(staged + layout.parents[kind]);
  };
  // Slots of a search beyond its hypotheses have none.
  std::fill_n(listAt(histories), slots * longest, 0);
  std::fill_n(listAt(states), slots, 0);
  for (size_t i = 0; i < parents.size(); ++i) {
    const size_t end = i + 1 < parents.size() ? parents[i + 1].first : parentBlocks.size();
    std::copy(parentBlocks.begin() + static_cast<std::ptrdiff_t>(parents[i].first),
              parentBlocks.begin() + static_cast<std::ptrdiff_t>(end),
              listAt(histories) + parents[i].slot * longest);
    listAt(states)[parents[i].slot] = parents[i].state;
  }
}

void BeamOrders::run(DeviceStream &stream, const Run &run, const ChunkMemory &chunk) {
  std::byte *const staged = stream.stage(0, memory.data(), layout.sent);
  if (staged == nullptr) {
    return;
  }
  fill(staged, chunk);
  stream.send(0);
  const auto blocksAt = [&](size_t kind) -> void * {
    return memory.data() + layout.caches + kind * sizeof(HeddleOrderedBlocks);
  };
  const auto launch = [&](const DeviceKernel *kernel, void *const *operands, int64_t rows,
                          int64_t columns) {
    const HeddleKernelContext context = {operands, nullptr, nullptr};
    stream.launch(0, {kernel, nullptr, &context, {0, rows}, {0, columns}, 1, 0}, nullptr);
  };
  void *const operands[] = {memory.data(), chunk.inputAddress(run.idsInput), blocksAt(histories),
                            blocksAt(states)};
  launch(order, operands, static_cast<int64_t>(searches.size()), 1);
  for (size_t kind = 0; kind < caches.size(); ++kind) {
    if (caches[kind].stride != 0) {
      void *const blocks[] = {blocksAt(kind)};
      launch(copyBlocks, blocks, slots,
             piecesOf(static_cast<int64_t>(caches[kind].stride), blockPieceBytes));
    }
  }
}

} // namespace heddle
