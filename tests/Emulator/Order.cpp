// SPDX-License-Identifier: Apache-2.0
///
/// Vector clocks.
#include "tests/Emulator/Order.h"

#include <algorithm>

namespace heddle::emulator {

Order &order() {
  static Order order;
  return order;
}

void Order::begin(int count, bool isBlockChecked, bool isUsed) {
  threads = count;
  isChecked = isBlockChecked;
  wasWanted = false;
  periods.assign(size_t(count) + mostBarriers, 1);
  clocks.clear();
  if (isUsed && isChecked) {
    createClocks();
  }
}

void Order::use() {
  wasWanted = true;
  if (!isUsed() && isChecked) {
    createClocks();
  }
}

void Order::createClocks() {
  const size_t agents = periods.size();
  clocks.assign(agents, Clock(agents));
  for (size_t agent = 0; agent < agents; ++agent) {
    clocks[agent][agent] = periods[agent];
  }
}

bool Order::isBefore(int agent, uint32_t time, int thread) const {
  return agent == thread || (isUsed() && clocks[size_t(thread)][size_t(agent)] >= time);
}

uint32_t Order::tick(int agent) {
  const uint32_t past = periods[size_t(agent)]++;
  if (isUsed()) {
    clocks[size_t(agent)][size_t(agent)] = past + 1;
  }
  return past;
}

static void join(Clock &clock, const Clock &other) {
  for (size_t agent = 0; agent < clock.size(); ++agent) {
    clock[agent] = std::max(clock[agent], other[agent]);
  }
}

void Order::release(int thread, Clock &to) {
  if (!isUsed()) {
    return;
  }
  join(to, clocks[size_t(thread)]);
  tick(thread);
}

void Order::acquire(int thread, const Clock &from) {
  if (isUsed()) {
    join(clocks[size_t(thread)], from);
  }
}

void Order::tell(int thread, int agent, uint32_t time) {
  uint32_t &known = clocks[size_t(thread)][size_t(agent)];
  known = std::max(known, time);
}

Clock Order::commonOf(int first, int count) const {
  if (!isUsed()) {
    return {};
  }
  Clock common = clocks[size_t(first)];
  for (int thread = first + 1; thread < first + count; ++thread) {
    for (size_t agent = 0; agent < common.size(); ++agent) {
      common[agent] = std::min(common[agent], clocks[size_t(thread)][agent]);
    }
  }
  return common;
}

} // namespace heddle::emulator
