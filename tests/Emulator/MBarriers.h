// SPDX-License-Identifier: Apache-2.0
///
/// The mbarriers of the running block, and the bulk copies that complete on them, as the PTX manual
/// defines both. A phase of an mbarrier is complete when all arrivals that it expects have happened
/// and all bytes that it expects have arrived.
#ifndef HEDDLE_TESTS_EMULATOR_MBARRIERS_H
#define HEDDLE_TESTS_EMULATOR_MBARRIERS_H

#include "tests/Emulator/Order.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace heddle::emulator {

/// A phase for which a thread waits: the one with this parity.
struct AwaitedPhase {
  uint64_t mbarrier;
  uint32_t parity;
};

/// Functions that return text return the description of an error, or an empty string.
class MBarriers {
public:
  /// Begins a block.
  void begin();

  std::string create(int thread, uint64_t address, uint32_t arrivals);
  std::string destroy(int thread, uint64_t address);
  std::string arrive(int thread, uint64_t address, uint32_t count, uint32_t bytes);
  /// Begins a copy of a thread from the GPU's memory to shared memory.
  std::string copy(int thread, uint64_t to, uint64_t from, uint32_t bytes, uint64_t address);
  /// Checks a wait; what isComplete() answers is then defined.
  std::string problemOfWait(int thread, const AwaitedPhase &phase) const;
  /// Returns whether a phase is complete: the last phase with that parity, not the current one.
  bool isComplete(const AwaitedPhase &phase) const;
  /// Lets a thread know what happened before a complete phase.
  void pass(int thread, const AwaitedPhase &phase) const;

  /// Lands one of the copies that threads wait for. Copies land no sooner than when nothing else
  /// can happen. Returns whether there was one; an error sets `problem`.
  bool landOne(const std::vector<AwaitedPhase> &awaited, std::mt19937_64 &random,
               std::string &problem);
  /// Describes the phase for which a thread waits: "phase 0 of the mbarrier at byte 64, which lacks
  /// 1 arrival and 512 bytes".
  std::string describe(const AwaitedPhase &phase) const;
  /// Returns an error if copies are in flight.
  std::string problemAtEnd() const;

private:
  struct MBarrier {
    int agent;
    uint32_t arrivals;
    uint32_t pending;
    /// The bytes that are expected and have not arrived.
    int64_t bytes = 0;
    /// The number of complete phases.
    uint32_t phase = 0;
    /// What is known by the current phase so far, and what by the complete ones.
    Clock arriving;
    Clock arrived;
  };
  struct Copy {
    uint64_t to;
    uint64_t from;
    uint32_t bytes;
    uint64_t mbarrier;
  };

  std::string problemOfUse(int thread, uint64_t address, bool isBulk) const;
  void endPhaseIfComplete(MBarrier &mbarrier);

  std::map<uint64_t, MBarrier> all;
  std::vector<Copy> copies;
  int created = 0;
};

/// Returns the mbarriers of the running block.
MBarriers &mbarriers();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_MBARRIERS_H
