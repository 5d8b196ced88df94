// SPDX-License-Identifier: Apache-2.0
///
/// The instructions at which the lanes of a warp, or the threads of a warpgroup, wait for each
/// other.
#ifndef HEDDLE_TESTS_EMULATOR_MEETINGS_H
#define HEDDLE_TESTS_EMULATOR_MEETINGS_H

#include "tests/Emulator/Blocks.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::emulator {

/// The state of the instructions at which lanes of a warp wait for each other.
struct Warp {
  /// The instruction at which a lane waits, the mask of the lanes that take part, and its data.
  struct Lane {
    const char *instruction = nullptr;
    uint32_t mask = 0;
    void *own = nullptr;
  };
  Lane lanes[warpLanes];
  /// The mask of waiting lanes.
  uint32_t waiting = 0;
  /// Whether all waiting lanes wait at the same instruction, with the same mask.
  bool areAlike = false;
};

/// The same for a warpgroup, whose threads all take part.
struct Warpgroup {
  const char *instruction = nullptr;
  int waiting = 0;
  void *threads[warpgroupThreads] = {};
};

/// The warps and warpgroups of the running block.
struct Meetings {
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;

  void begin(int threads);
  /// Describes a deadlock at an instruction: "31 threads of warp 1 wait at ldmatrix, which 1 never
  /// reach". Empty if nobody waits at one.
  std::string describe() const;
};
Meetings &meetings();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_MEETINGS_H
