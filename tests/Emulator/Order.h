// SPDX-License-Identifier: Apache-2.0
///
/// The order of events in a block whose threads synchronise by mbarriers: which events of other
/// threads come before the present of a thread. Barriers of all threads are counted separately, by
/// SharedMemory.
#ifndef HEDDLE_TESTS_EMULATOR_ORDER_H
#define HEDDLE_TESTS_EMULATOR_ORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::emulator {

/// For each agent, the time of its last event that is known.
using Clock = std::vector<uint32_t>;

/// Agents are the threads of the block, followed by its mbarriers, which stand for the bulk copies
/// that complete on them.
class Order {
public:
  /// More mbarriers than a kernel has.
  static constexpr int mostBarriers = 64;

  /// Begins a block. Nothing is ordered between barriers unless `isUsed`, or from `use()` on,
  /// before whose first call no event is remembered; in a block that is not checked, nothing ever
  /// is.
  void begin(int threads, bool isChecked, bool isUsed);
  void use();
  bool isUsed() const { return !clocks.empty(); }
  /// Returns whether threads of the block have called use().
  bool isWanted() const { return wasWanted; }

  bool isThread(int agent) const { return agent < threads; }
  int agentOf(int barrier) const { return threads + barrier; }
  /// Returns the time of an event of an agent that happens now.
  uint32_t now(int agent) const { return periods[size_t(agent)]; }
  /// Returns whether an event comes before the present of a thread.
  bool isBefore(int agent, uint32_t time, int thread) const;
  /// Ends a period of an agent: later events have a later time. Returns the time of the period.
  uint32_t tick(int agent);

  /// Adds what a thread knows to a clock, and ends its period; and the reverse.
  void release(int thread, Clock &to);
  void acquire(int thread, const Clock &from);
  /// Lets a thread know an event.
  void tell(int thread, int agent, uint32_t time);
  /// Returns what all threads of a range know.
  Clock commonOf(int first, int count) const;
  /// Returns a clock that knows nothing.
  Clock nothing() const { return Clock(clocks.size()); }

private:
  void createClocks();

  int threads = 0;
  bool isChecked = true, wasWanted = false;
  /// The present of each agent, from 1 on.
  std::vector<uint32_t> periods;
  /// By agent; empty until use().
  std::vector<Clock> clocks;
};

/// Returns the order of events in the running block.
Order &order();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_ORDER_H
