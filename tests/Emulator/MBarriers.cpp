// SPDX-License-Identifier: Apache-2.0
///
/// Implements mbarriers and bulk copies.
#include "tests/Emulator/MBarriers.h"

#include "tests/Emulator/Blocks.h"
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/Memory.h"
#include "tests/Emulator/SharedMemory.h"

#include <algorithm>
#include <cstring>

namespace heddle::emulator {
namespace {
constexpr size_t objectBytes = 8, copyAlignment = 16;
/// The largest number of arrivals, and of bytes of a phase.
constexpr int64_t mostPending = (1 << 20) - 1;

std::string placeText(uint64_t address) {
  return "the mbarrier at byte " + std::to_string(address - SharedMemory::addressOf(0)) +
         " of shared memory";
}
} // namespace

MBarriers &mbarriers() {
  static MBarriers mbarriers;
  return mbarriers;
}

void MBarriers::begin() {
  all.clear();
  copies.clear();
  created = 0;
}

std::string MBarriers::create(int thread, uint64_t address, uint32_t arrivals) {
  if (address % objectBytes != 0 || !SharedMemory::contains(address)) {
    return "initialises an mbarrier at an address that is no multiple of 8 in shared memory";
  }
  if (arrivals == 0 || arrivals > mostPending) {
    return "initialises an mbarrier for " + std::to_string(arrivals) + " arrivals";
  }
  if (all.count(address) != 0) {
    return "initialises " + placeText(address) + ", which is valid already";
  }
  order().use();
  if (std::string problem = sharedMemory().write(thread, address, objectBytes); !problem.empty()) {
    return problem;
  }
  // Kernels that initialise their mbarriers again and again use the agents in turn.
  const int agent = order().agentOf(created++ % Order::mostBarriers);
  all.emplace(address,
              MBarrier{agent, arrivals, arrivals, 0, 0, order().nothing(), order().nothing()});
  return "";
}

std::string MBarriers::problemOfUse(int thread, uint64_t address, bool isBulk) const {
  return all.count(address) == 0
             ? "uses an mbarrier at byte " + std::to_string(address - SharedMemory::addressOf(0)) +
                   " of shared memory, where there is none"
             : sharedMemory().useBarrier(thread, address, isBulk);
}

std::string MBarriers::destroy(int thread, uint64_t address) {
  std::string problem = problemOfUse(thread, address, /*isBulk=*/false);
  if (problem.empty()) {
    const MBarrier &mbarrier = all.at(address);
    const bool isAwaited = std::any_of(copies.begin(), copies.end(),
                                       [&](const Copy &copy) { return copy.mbarrier == address; });
    if (isAwaited || mbarrier.bytes != 0 || mbarrier.pending != mbarrier.arrivals) {
      return "invalidates " + placeText(address) + " in the middle of a phase";
    }
    all.erase(address);
    problem = sharedMemory().write(thread, address, objectBytes);
  }
  return problem;
}

void MBarriers::endPhaseIfComplete(MBarrier &mbarrier) {
  if (mbarrier.pending == 0 && mbarrier.bytes == 0) {
    mbarrier.pending = mbarrier.arrivals;
    mbarrier.arrived = mbarrier.arriving;
    ++mbarrier.phase;
  }
}

std::string MBarriers::arrive(int thread, uint64_t address, uint32_t count, uint32_t bytes) {
  if (std::string problem = problemOfUse(thread, address, /*isBulk=*/false); !problem.empty()) {
    return problem;
  }
  MBarrier &mbarrier = all.at(address);
  mbarrier.bytes += bytes;
  if (mbarrier.bytes > mostPending) {
    return "expects " + std::to_string(mbarrier.bytes) + " bytes at " + placeText(address);
  }
  if (count == 0 || count > mbarrier.pending) {
    return "arrives " + std::to_string(count) + " times at " + placeText(address) +
           ", which expects " + std::to_string(mbarrier.pending) + " more arrivals in this phase";
  }
  order().release(thread, mbarrier.arriving);
  mbarrier.pending -= count;
  endPhaseIfComplete(mbarrier);
  return "";
}

std::string MBarriers::copy(int thread, uint64_t to, uint64_t from, uint32_t bytes,
                            uint64_t address) {
  if ((to | from | bytes) % copyAlignment != 0 || bytes == 0) {
    return "begins a bulk copy of " + std::to_string(bytes) +
           " bytes, where addresses and sizes must be multiples of 16";
  }
  if (!SharedMemory::contains(to)) {
    return "begins a bulk copy to an address that is not in shared memory";
  }
  if (std::string what = describeOutside(from, bytes); !what.empty()) {
    return "copies " + what;
  }
  std::string problem = problemOfUse(thread, address, /*isBulk=*/true);
  if (problem.empty()) {
    problem = sharedMemory().beginBulk(thread, to, bytes);
  }
  if (problem.empty()) {
    copies.push_back({to, from, bytes, address});
  }
  return problem;
}

std::string MBarriers::problemOfWait(int thread, const AwaitedPhase &phase) const {
  return phase.parity > 1 ? "waits for a phase of parity " + std::to_string(phase.parity)
                          : problemOfUse(thread, phase.mbarrier, /*isBulk=*/false);
}

bool MBarriers::isComplete(const AwaitedPhase &phase) const {
  return all.at(phase.mbarrier).phase % 2 != phase.parity;
}

void MBarriers::pass(int thread, const AwaitedPhase &phase) const {
  order().acquire(thread, all.at(phase.mbarrier).arrived);
}

bool MBarriers::landOne(const std::vector<AwaitedPhase> &awaited, std::mt19937_64 &random,
                        std::string &problem) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (std::any_of(awaited.begin(), awaited.end(), [&](const AwaitedPhase &phase) {
          return phase.mbarrier == copies[i].mbarrier;
        })) {
      wanted.push_back(i);
    }
  }
  if (wanted.empty()) {
    return false;
  }
  const size_t chosen = wanted[random() % wanted.size()];
  const Copy copy = copies[chosen];
  copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(chosen));
  const auto found = all.find(copy.mbarrier);
  std::memcpy(reinterpret_cast<void *>(copy.to), reinterpret_cast<const void *>(copy.from),
              copy.bytes);
  MBarrier &mbarrier = found->second;
  sharedMemory().landBulk(mbarrier.agent, copy.to, copy.bytes);
  mbarrier.bytes -= copy.bytes;
  if (mbarrier.bytes < 0) {
    problem = std::to_string(-mbarrier.bytes) + " bytes more arrive at " +
              placeText(copy.mbarrier) + " than it expects";
    return true;
  }
  const uint32_t time = order().tick(mbarrier.agent);
  if (order().isUsed()) {
    uint32_t &known = mbarrier.arriving[size_t(mbarrier.agent)];
    known = std::max(known, time);
  }
  endPhaseIfComplete(mbarrier);
  return true;
}

std::string MBarriers::describe(const AwaitedPhase &phase) const {
  const MBarrier &mbarrier = all.at(phase.mbarrier);
  return "phase " + std::to_string(phase.parity) + " of " + placeText(phase.mbarrier) +
         ", which lacks " + std::to_string(mbarrier.pending) + " arrivals and " +
         std::to_string(mbarrier.bytes) + " bytes";
}

std::string MBarriers::problemAtEnd() const {
  return copies.empty() ? ""
                        : "ends while a bulk copy to " + placeText(copies.front().mbarrier) +
                              " is under way that nobody has awaited";
}

} // namespace heddle::emulator

using namespace heddle::emulator;

// --- functions that kernels call -----------------------------------------------------------------

static uint64_t numberOf(const void *address) { return reinterpret_cast<uint64_t>(address); }

HEDDLE_EMULATED void heddle_emulated_mbarrier_init_shared(void *mbarrier, uint32_t arrivals) {
  const int thread = runningThread("an mbarrier");
  if (!isRight(mbarriers().create(thread, numberOf(mbarrier), arrivals))) {
    leaveKernel();
  }
}

HEDDLE_EMULATED void heddle_emulated_mbarrier_inval_shared(void *mbarrier) {
  const int thread = runningThread("an mbarrier");
  if (!isRight(mbarriers().destroy(thread, numberOf(mbarrier)))) {
    leaveKernel();
  }
}

// The state that these return is of no use to kernels that wait for a parity.
HEDDLE_EMULATED uint64_t heddle_emulated_mbarrier_arrive_shared(void *mbarrier) {
  const int thread = runningThread("an mbarrier");
  if (!isRight(mbarriers().arrive(thread, numberOf(mbarrier), 1, 0))) {
    leaveKernel();
  }
  return 0;
}

HEDDLE_EMULATED uint64_t
heddle_emulated_mbarrier_arrive_expect_tx_scope_cta_space_cta(void *mbarrier, uint32_t bytes) {
  const int thread = runningThread("an mbarrier");
  if (!isRight(mbarriers().arrive(thread, numberOf(mbarrier), 1, bytes))) {
    leaveKernel();
  }
  return 0;
}

HEDDLE_EMULATED bool heddle_emulated_mbarrier_try_wait_parity_scope_cta_space_cta(void *mbarrier,
                                                                                  uint32_t parity) {
  const int thread = runningThread("an mbarrier");
  const AwaitedPhase phase = {numberOf(mbarrier), parity};
  if (!isRight(mbarriers().problemOfWait(thread, phase))) {
    leaveKernel();
  }
  if (!mbarriers().isComplete(phase) && !waitForPhase(phase)) {
    return false;
  }
  mbarriers().pass(thread, phase);
  return true;
}

HEDDLE_EMULATED void heddle_emulated_fence_proxy_async_shared_cta(void) {
  sharedMemory().fence(runningThread("a fence"));
}

// The last four operands are optional in PTX; Heddle uses neither clusters nor cache policies.
HEDDLE_EMULATED void
heddle_emulated_cp_async_bulk_global_to_shared_cluster(void *to, void *mbarrier, const void *from,
                                                       uint32_t bytes, uint16_t, uint64_t,
                                                       bool isMulticast, bool hasPolicy) {
  const int thread = runningThread("a bulk copy");
  if (!isRight(isMulticast || hasPolicy
                   ? std::string("begins a bulk copy with options that are not emulated")
                   : mbarriers().copy(thread, numberOf(to), numberOf(from), bytes,
                                      numberOf(mbarrier)))) {
    leaveKernel();
  }
}
