// SPDX-License-Identifier: Apache-2.0
///
/// Lets lanes of a warp, and threads of a warpgroup, execute an instruction together.
#include "tests/Emulator/Meetings.h"

#include <bit>
#include <cstring>

namespace heddle::emulator {

Meetings &meetings() {
  static Meetings meetings;
  return meetings;
}

void Meetings::begin(int threads) {
  warps = std::vector<Warp>(size_t(threads + warpLanes - 1) / warpLanes);
  warpgroups = std::vector<Warpgroup>(size_t(threads + warpgroupThreads - 1) / warpgroupThreads);
}

std::string Meetings::describe() const {
  for (size_t number = 0; number < warps.size(); ++number) {
    const Warp &warp = warps[number];
    if (warp.waiting != 0) {
      const Warp::Lane &first = warp.lanes[std::countr_zero(warp.waiting)];
      const int there = std::popcount(warp.waiting & first.mask);
      return std::to_string(there) + " threads of warp " + std::to_string(number) + " wait at " +
             first.instruction + ", which " + std::to_string(std::popcount(first.mask) - there) +
             " never reach";
    }
  }
  for (size_t number = 0; number < warpgroups.size(); ++number) {
    const Warpgroup &warpgroup = warpgroups[number];
    if (warpgroup.waiting != 0) {
      return std::to_string(warpgroup.waiting) + " threads of warpgroup " + std::to_string(number) +
             " wait at " + warpgroup.instruction + ", which " +
             std::to_string(warpgroupThreads - warpgroup.waiting) + " never reach";
    }
  }
  return "";
}

/// Returns the error if a lane waits together with another one and their instructions or masks
/// differ.
static std::string problemBeside(const Warp::Lane &own, const Warp::Lane &other) {
  if (std::strcmp(own.instruction, other.instruction) != 0) {
    return std::string("comes to ") + own.instruction + " while lanes of its warp wait at " +
           other.instruction;
  }
  return own.mask == other.mask ? ""
                                : std::string("comes to ") + own.instruction +
                                      " with other lanes than those that wait there for it";
}

/// Records the thread's arrival. Returns whether it is valid.
static bool arrive(Warp &warp, int thread, const Warp::Lane &own) {
  const int lane = thread % warpLanes;
  // Usually all lanes wait at the same instruction, so that one comparison is enough.
  const Warp::Lane &first = warp.lanes[std::countr_zero(warp.waiting) % warpLanes];
  const bool isAlike = warp.waiting == 0 || (warp.areAlike && own.mask == first.mask &&
                                             own.instruction == first.instruction);
  std::string problem = (own.mask >> lane & 1) == 0 ? std::string("comes to ") + own.instruction +
                                                          " of other lanes than itself"
                                                    : "";
  for (int other = 0; !isAlike && problem.empty() && other < warpLanes; ++other) {
    const bool isWanted = ((own.mask >> other | warp.lanes[other].mask >> lane) & 1) != 0;
    if ((warp.waiting >> other & 1) != 0 && isWanted) {
      problem = problemBeside(own, warp.lanes[other]);
    }
  }
  if (!isRight(problem)) {
    return false;
  }
  warp.lanes[lane] = own;
  warp.waiting |= uint32_t(1) << lane;
  warp.areAlike = isAlike;
  return true;
}

/// Runs the instruction of lanes that have all arrived. Returns whether there was no error.
static bool runTogether(Warp &warp, uint32_t mask, WarpInstruction *together) {
  void *lanes[warpLanes];
  for (int lane = 0; lane < warpLanes; ++lane) {
    lanes[lane] = (mask >> lane & 1) != 0 ? warp.lanes[lane].own : nullptr;
  }
  warp.waiting &= ~mask;
  return isRight(together(lanes));
}

void meetLanes(const char *instruction, void *own, WarpInstruction *together, uint32_t mask) {
  const int thread = runningThread(instruction);
  const int number = thread / warpLanes;
  Warp &warp = meetings().warps[size_t(number)];
  if (!arrive(warp, thread, {instruction, mask, own})) {
    leaveKernel();
  }
  if ((warp.waiting & mask) != mask) {
    waitAtInstruction();
    return;
  }
  if (!runTogether(warp, mask, together)) {
    leaveKernel();
  }
  for (int lane = 0; lane < warpLanes; ++lane) {
    if ((mask >> lane & 1) != 0) {
      makeReady(number * warpLanes + lane);
    }
  }
}

/// Records the arrival of the running thread. Returns whether it is valid.
static bool arrive(Warpgroup &warpgroup, int thread, const char *instruction, void *own) {
  if (warpgroup.waiting != 0 && std::strcmp(warpgroup.instruction, instruction) != 0) {
    return isRight(std::string("comes to ") + instruction +
                   " while threads of its warpgroup wait at " + warpgroup.instruction);
  }
  warpgroup.instruction = instruction;
  warpgroup.threads[thread % warpgroupThreads] = own;
  ++warpgroup.waiting;
  return true;
}

void meetWarpgroup(const char *instruction, void *own, WarpgroupInstruction *together) {
  const int thread = runningThread(instruction);
  const int number = thread / warpgroupThreads;
  Warpgroup &warpgroup = meetings().warpgroups[size_t(number)];
  if (!arrive(warpgroup, thread, instruction, own)) {
    leaveKernel();
  }
  if (warpgroup.waiting != warpgroupThreads) {
    waitAtInstruction();
    return;
  }
  warpgroup.waiting = 0;
  if (!isRight(together(number, warpgroup.threads))) {
    leaveKernel();
  }
  for (int each = 0; each < warpgroupThreads; ++each) {
    makeReady(number * warpgroupThreads + each);
  }
}

} // namespace heddle::emulator
