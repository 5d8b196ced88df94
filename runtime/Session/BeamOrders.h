// SPDX-License-Identifier: Apache-2.0
///
/// The beginning of a step that continues beam searches before the host knows their hypotheses: a
/// device with kernels for that (heddle/HypothesisOrder.h) orders the continuations, completes ids
/// and lists of blocks, and copies the blocks that several hypotheses continue.
#ifndef HEDDLE_RUNTIME_SESSION_BEAMORDERS_H
#define HEDDLE_RUNTIME_SESSION_BEAMORDERS_H

#include "heddle/HypothesisOrder.h"
#include "runtime/Session/Decoder.h"
#include "runtime/Session/Projection.h"
#include "runtime/Session/Run.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// The blocks of hypotheses in caches of one kind: their lists in a step, and their memory.
struct OrderedCaches {
  const CacheRows *rows = nullptr;
  std::byte *memory = nullptr;
  /// In bytes; 0 if steps have no such caches.
  uint64_t stride = 0;
};

/// Describes the searches of one step after another; keeps its memory.
class BeamOrders final : public RunHead {
public:
  /// Sets the kernels and the caches, which must not move.
  void bind(const DeviceProgram &program, const OrderedCaches &histories,
            const OrderedCaches &states);
  /// Returns whether the program has the kernels.
  bool canOrder() const { return order != nullptr && copyBlocks != nullptr; }

  /// Forgets the searches of the last step.
  void clear();
  bool empty() const { return searches.empty(); }
  /// Adds a search, whose hypotheses `before` selects tokens for. Its extensions begin at row
  /// `firstRow` of the step; `length` is the number of tokens of each hypothesis.
  void add(const BeamOrder &search, const Selections &before, int64_t firstRow, int64_t length);
  /// Adds the blocks of the next hypothesis of the last search: those of its history, and its
  /// state.
  void addParent(std::span<const int32_t> history, int32_t state);
  /// Ends the description of the step. Fails only if memory runs out.
  Status reserve(DeviceStream &stream);

  void run(DeviceStream &stream, const Run &run, const ChunkMemory &chunk) override;

private:
  /// Offsets in `memory`: what is sent, and behind that what kernels write.
  struct Layout {
    uint64_t caches, sums, tokens, sent;
    std::array<uint64_t, 2> parents, copies;
  };

  void fill(std::byte *staged, const ChunkMemory &chunk);
  HeddleOrderedBlocks blocksOf(size_t kind, const ChunkMemory &chunk) const;

  const DeviceKernel *order = nullptr;
  const DeviceKernel *copyBlocks = nullptr;
  /// Those of histories, then of states.
  std::array<OrderedCaches, 2> caches;
  /// Their pointers to lists are offsets until they are sent.
  std::vector<HeddleOrderedSearch> searches;
  std::vector<double> sums;
  std::vector<int32_t> tokens;
  /// The blocks of each hypothesis, and the first of its list.
  std::vector<int32_t> parentBlocks;
  struct Parent {
    int64_t slot;
    size_t first;
    int32_t state;
  };
  std::vector<Parent> parents;
  int64_t slots = 0;
  int64_t longest = 0;
  Layout layout = {};
  DeviceMemory memory;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_BEAMORDERS_H
