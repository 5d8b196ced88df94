// SPDX-License-Identifier: Apache-2.0
///
/// Fibers, barriers and copies. Between two barriers, threads run in random order. A copy
/// lands when its group is awaited and not earlier; copies that land together do so in random
/// order. Bulk copies land one by one, when all threads wait. Incorrect kernels therefore do not
/// succeed by chance, and the tracking of shared memory detects errors in any order.
#include "tests/Emulator/Blocks.h"

#include "tests/Emulator/Banks.h"
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/FarWrites.h"
#include "tests/Emulator/Fibers.h"
#include "tests/Emulator/MBarriers.h"
#include "tests/Emulator/Meetings.h"
#include "tests/Emulator/Memory.h"
#include "tests/Emulator/SharedMemory.h"
#include "tests/Emulator/Warpgroups.h"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <unordered_map>
#include <vector>

namespace heddle::emulator {
namespace {
/// The stack of a fiber, for a kernel and the functions of this library that it calls.
constexpr size_t stackBytes = size_t(256) << 10;

/// A copy in flight.
struct Copy {
  uint64_t to;
  uint64_t from;
  uint32_t bytes;
  /// The number of bytes that are read; the rest are zero.
  uint32_t valid;
};
using Copies = std::vector<Copy>;

struct Thread {
  enum class State { Ready, AtBarrier, AtInstruction, AtPhase, Ended };

  int number = 0;
  State state = State::Ready;
  Fiber fiber;
  sigjmp_buf beginning = {};
  /// Copies that are not committed, and groups, the oldest first.
  Copies open;
  std::deque<Copies> groups;
  /// What the thread waits for in state AtPhase.
  AwaitedPhase phase = {};

  bool isCopying() const {
    return !open.empty() || std::any_of(groups.begin(), groups.end(),
                                        [](const Copies &group) { return !group.empty(); });
  }
};

/// A launch, and its running block.
struct Block {
  Entry *entry;
  const void *parameter;
  ThreadPlace place;
  bool isChecked = true;
  std::mt19937_64 random;
  std::vector<Thread> threads;
  FarWrites farWrites;
  Thread *running = nullptr;
  Fiber scheduler;
  KernelFailure failure;
};
Block *block = nullptr;

/// Returns memory for the stacks of all fibers; it is never released.
char *stacksFor(int threads) {
  static char *stacks = nullptr;
  static int count = 0;
  if (threads > count) {
    void *const memory = ::mmap(nullptr, size_t(threads) * stackBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stacks = memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
    count = stacks == nullptr ? 0 : threads;
  }
  return stacks;
}

/// Returns whether an address is on the running thread's stack.
bool isOnStack(uint64_t address) { return block->running->fiber.hasOnStack(address); }

/// Records an error of the running thread, for leave().
void note(int code, const std::string &what) {
  block->failure = {code, "block " + std::to_string(block->place.block) + ", thread " +
                              std::to_string(block->running->number) + ": " + what};
}

/// Leaves the kernel by a jump to where its thread began. Destructors do not run, so no function of
/// this file may have objects with destructors at this point.
[[noreturn]] void leave() { siglongjmp(block->running->beginning, 1); }

/// Fails unless the running thread belongs to a block with shared memory; the error is handled like
/// an invalid address.
void needBlock(const char *what) {
  if (block == nullptr) {
    complain(what, "in a launch without shared memory", LaunchFailed);
    ::raise(SIGSEGV);
  }
}

void toScheduler() { block->running->fiber.switchTo(block->scheduler); }

void runThread() {
  if (sigsetjmp(block->running->beginning, 0) == 0) {
    block->entry(block->parameter);
  }
  block->running->state = Thread::State::Ended;
  toScheduler();
}

void createThreads(int count) {
  char *const stacks = stacksFor(count);
  block->threads.resize(size_t(count));
  meetings().begin(count);
  for (int i = 0; i < count; ++i) {
    Thread &thread = block->threads[size_t(i)];
    thread.number = i;
    thread.state = Thread::State::Ready;
    thread.open.clear();
    thread.groups.clear();
    thread.fiber.prepare(stacks + size_t(i) * stackBytes, stackBytes, runThread);
  }
}

/// Runs every ready thread until it waits or ends. Returns whether there was no error.
bool runReady(std::vector<size_t> &order) {
  std::shuffle(order.begin(), order.end(), block->random);
  for (const size_t number : order) {
    Thread &thread = block->threads[number];
    if (thread.state != Thread::State::Ready) {
      continue;
    }
    block->running = &thread;
    threadPlace() = block->place;
    threadPlace().thread = thread.number;
    block->scheduler.switchTo(thread.fiber);
    if (thread.state == Thread::State::Ended && block->failure.code == Success &&
        thread.isCopying()) {
      note(LaunchFailed, "ends while copies of it are under way that it has not awaited");
    }
    if (block->failure.code != Success) {
      return false;
    }
  }
  return true;
}

/// Returns the number of threads in a state.
int64_t threadsThat(Thread::State state) {
  return std::count_if(block->threads.begin(), block->threads.end(),
                       [=](const Thread &each) { return each.state == state; });
}

/// Describes the phases for which threads wait.
std::string describePhases() {
  std::map<std::pair<uint64_t, uint32_t>, int> waiting;
  for (const Thread &thread : block->threads) {
    if (thread.state == Thread::State::AtPhase) {
      ++waiting[{thread.phase.mbarrier, thread.phase.parity}];
    }
  }
  std::string text;
  for (const auto &[phase, count] : waiting) {
    text += (text.empty() ? "" : "; ") + std::to_string(count) + " threads wait for " +
            mbarriers().describe({phase.first, phase.second});
  }
  return text;
}

/// Describes a deadlock: the threads that wait, and what they wait for.
std::string describeDeadlock() {
  if (const std::string text = meetings().describe(); !text.empty()) {
    return "deadlock: " + text;
  }
  if (threadsThat(Thread::State::AtPhase) != 0) {
    return "deadlock: " + describePhases();
  }
  const int64_t waiting = threadsThat(Thread::State::AtBarrier);
  return "deadlock: " + std::to_string(waiting) + " threads wait at a barrier, which " +
         std::to_string(int64_t(block->threads.size()) - waiting) + " never reach";
}

/// Lets threads continue whose phases are complete. If there are none, lands bulk copies. Returns
/// whether a thread can continue; an error sets `problem`.
bool completePhases(std::string &problem) {
  std::vector<AwaitedPhase> awaited;
  bool isAny = false;
  do {
    awaited.clear();
    for (Thread &thread : block->threads) {
      if (thread.state != Thread::State::AtPhase) {
        continue;
      }
      if (mbarriers().isComplete(thread.phase)) {
        thread.state = Thread::State::Ready;
        isAny = true;
      } else {
        awaited.push_back(thread.phase);
      }
    }
  } while (!isAny && problem.empty() && mbarriers().landOne(awaited, block->random, problem));
  return isAny;
}

/// Lets threads continue that wait for each other. Returns whether there was no error.
bool passBarrier() {
  const auto threads = int64_t(block->threads.size());
  std::string problem;
  if (completePhases(problem)) {
    return true;
  }
  if (problem.empty() && threadsThat(Thread::State::AtBarrier) != threads) {
    problem = describeDeadlock();
  }
  if (!problem.empty()) {
    block->failure = {LaunchFailed, "block " + std::to_string(block->place.block) + ": " + problem};
    return false;
  }
  sharedMemory().passBarrier();
  block->farWrites.passBarrier();
  for (Thread &thread : block->threads) {
    thread.state = Thread::State::Ready;
  }
  return true;
}

/// Reports what a block has left behind.
void checkEnd() {
  std::string problem = mbarriers().problemAtEnd();
  if (problem.empty()) {
    problem = products().problemAtEnd();
  }
  if (!problem.empty()) {
    block->failure = {LaunchFailed, "block " + std::to_string(block->place.block) + ": " + problem};
  }
}

/// Runs the threads of a block to their ends.
void runThreads(int threads) {
  std::vector<size_t> order(static_cast<size_t>(threads));
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  while (runReady(order)) {
    if (threadsThat(Thread::State::Ready) != 0) {
      continue;
    }
    bankCounter().settle();
    if (threadsThat(Thread::State::Ended) == threads) {
      return checkEnd();
    }
    if (!passBarrier()) {
      return;
    }
  }
}

/// Runs a block to completion.
void runBlock(int number, int threads, size_t shared) {
  block->place.block = number;
  // Events are remembered from the beginning of a block in kernels whose threads order them between
  // barriers. The first block of a kernel finds out.
  static std::unordered_map<Entry *, bool> orders;
  bool &isOrdered = orders.try_emplace(block->entry, true).first->second;
  order().begin(threads, block->isChecked, isOrdered);
  sharedMemory().begin(shared, threads, block->isChecked);
  mbarriers().begin();
  products().begin(threads);
  createThreads(threads);
  runThreads(threads);
  isOrdered = order().isWanted();
}

/// Lands all copies of a thread except those of its last `running` groups.
void land(Thread &thread, size_t running) {
  Copies landing;
  while (thread.groups.size() > running) {
    landing.insert(landing.end(), thread.groups.front().begin(), thread.groups.front().end());
    thread.groups.pop_front();
  }
  std::shuffle(landing.begin(), landing.end(), block->random);
  for (const Copy &copy : landing) {
    auto *const to = reinterpret_cast<unsigned char *>(copy.to);
    std::memcpy(to, reinterpret_cast<const void *>(copy.from), copy.valid);
    std::memset(to + copy.valid, 0, copy.bytes - copy.valid);
    sharedMemory().landCopy(thread.number, copy.to, copy.bytes);
  }
}

/// Begins a copy. Returns whether it is valid.
bool begin(const Copy &copy) {
  if (copy.to % copy.bytes != 0 || copy.from % copy.bytes != 0 || copy.valid > copy.bytes) {
    note(IllegalAddress, "copies " + std::to_string(copy.bytes) + " bytes, " +
                             std::to_string(copy.valid) +
                             " of which are read, where addresses are no multiple of that");
    return false;
  }
  if (std::string what = describeOutside(copy.from, copy.valid); copy.valid != 0 && !what.empty()) {
    note(IllegalAddress, "copies " + what);
    return false;
  }
  if (std::string what = sharedMemory().beginCopy(block->running->number, copy.to, copy.bytes);
      !what.empty()) {
    note(LaunchFailed, what);
    return false;
  }
  block->running->open.push_back(copy);
  return true;
}

/// Describes an access to memory to which a copy is in flight.
std::string describeCopy(uint64_t address, size_t bytes) {
  for (uint64_t each = address; each < address + bytes; ++each) {
    const int copier = sharedMemory().copierAt(each);
    if (copier < 0) {
      continue;
    }
    const Copies &open = block->threads[size_t(copier)].open;
    const bool isOpen = std::any_of(open.begin(), open.end(),
                                    [&](const Copy &copy) { return each - copy.to < copy.bytes; });
    return isOpen ? ", which was never committed" : ", which is not awaited";
  }
  return "";
}

/// Checks a load from GPU memory, or a store to it. Returns whether it is valid.
bool touchFar(uint64_t address, size_t bytes, bool isWrite) {
  if (const std::string what = describeOutside(address, bytes); !what.empty()) {
    note(IllegalAddress, (isWrite ? "writes " : "reads ") + what);
    return false;
  }
  const int number = block->place.block, thread = block->running->number;
  const std::string what = isWrite ? block->farWrites.write(number, thread, address, bytes)
                                   : block->farWrites.read(number, thread, address, bytes);
  if (!what.empty()) {
    note(LaunchFailed, what);
  }
  return what.empty();
}

/// Checks a load or store. Returns whether it is valid.
bool touch(uint64_t address, size_t bytes, size_t alignment, bool isWrite) {
  const int thread = block->running->number;
  if (address % alignment != 0) {
    note(MisalignedAddress, (isWrite ? "writes " : "reads ") + std::to_string(bytes) +
                                " bytes at an address that is no multiple of " +
                                std::to_string(alignment));
    return false;
  }
  if (!SharedMemory::contains(address)) {
    return isOnStack(address) || touchFar(address, bytes, isWrite);
  }
  const std::string what = isWrite ? sharedMemory().write(thread, address, bytes)
                                   : sharedMemory().read(thread, address, bytes);
  if (!what.empty()) {
    note(LaunchFailed, what + describeCopy(address, bytes));
  }
  return what.empty();
}

/// Begins a copy. `site` is the call site in the kernel: the lanes of a warp at one site form one
/// access.
void copy(const void *site, void *to, const void *from, uint32_t bytes, uint32_t valid) {
  needBlock("a copy to shared memory");
  bankCounter().use(block->running->number, site, reinterpret_cast<uint64_t>(to), bytes);
  if (!begin({reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), bytes, valid})) {
    leave();
  }
}
} // namespace

ThreadPlace &threadPlace() {
  static thread_local ThreadPlace place;
  return place;
}

KernelFailure runBlocks(Entry *entry, const void *parameter, int blocks, int threads, size_t shared,
                        uint64_t seed, bool isChecked) {
  if (stacksFor(threads) == nullptr) {
    return {OutOfMemory, "no memory for the stacks of its threads"};
  }
  const auto launch = std::make_unique<Block>();
  launch->entry = entry;
  launch->parameter = parameter;
  launch->place = {0, threads, 0, blocks};
  launch->isChecked = isChecked;
  launch->random.seed(seed);
  // The threads are kept for the next launch, because their lists are expensive to create.
  static std::vector<Thread> kept;
  launch->threads = std::move(kept);
  block = launch.get();
  for (int number = 0; number < blocks && block->failure.code == Success; ++number) {
    runBlock(number, threads, shared);
  }
  block = nullptr;
  kept = std::move(launch->threads);
  return launch->failure;
}

int runningThread(const char *what) {
  needBlock(what);
  return block->running->number;
}

bool isRight(const std::string &problem) {
  if (!problem.empty()) {
    note(LaunchFailed, problem);
  }
  return problem.empty();
}

void leaveKernel() { leave(); }

void waitAtInstruction() {
  block->running->state = Thread::State::AtInstruction;
  toScheduler();
}

void makeReady(int thread) { block->threads[size_t(thread)].state = Thread::State::Ready; }

bool waitForPhase(const AwaitedPhase &phase) {
  // The manual permits the instruction to give up at any time.
  constexpr uint64_t triesThatWait = 4;
  if (block->random() % triesThatWait == 0) {
    return false;
  }
  block->running->phase = phase;
  block->running->state = Thread::State::AtPhase;
  toScheduler();
  return true;
}

void leaveThread(const char *why, int code) {
  if (block != nullptr) {
    note(code, why);
    leave();
  }
}

} // namespace heddle::emulator

using namespace heddle::emulator;

// --- Functions that kernels call ---------------------------------------------------------------

HEDDLE_EMULATED void heddle_emulated_touch(const void *address, uint64_t bytes, uint64_t alignment,
                                           int32_t isWrite) {
  needBlock("shared memory");
  const auto place = reinterpret_cast<uint64_t>(address);
  if (block->isChecked &&
      (!touch(place, bytes, alignment, isWrite != 0) ||
       !isRight(isWrite != 0 ? std::string() : products().problemOfRead(place, bytes)))) {
    leave();
  }
  if (SharedMemory::contains(place)) {
    bankCounter().use(block->running->number, __builtin_return_address(0), place, bytes);
  }
}

HEDDLE_EMULATED void heddle_emulated_barrier_cta_sync_aligned_all(int32_t number) {
  needBlock("a barrier");
  if (number != 0) {
    note(LaunchFailed, "waits at another barrier than 0, which is not emulated");
    leave();
  }
  block->running->state = Thread::State::AtBarrier;
  toScheduler();
}

HEDDLE_EMULATED void heddle_emulated_cp_async_ca_shared_global_4(void *to, const void *from) {
  copy(__builtin_return_address(0), to, from, 4, 4);
}
HEDDLE_EMULATED void heddle_emulated_cp_async_ca_shared_global_4_s(void *to, const void *from,
                                                                   uint32_t valid) {
  copy(__builtin_return_address(0), to, from, 4, valid);
}
HEDDLE_EMULATED void heddle_emulated_cp_async_cg_shared_global_16(void *to, const void *from) {
  copy(__builtin_return_address(0), to, from, 16, 16);
}
HEDDLE_EMULATED void heddle_emulated_cp_async_cg_shared_global_16_s(void *to, const void *from,
                                                                    uint32_t valid) {
  copy(__builtin_return_address(0), to, from, 16, valid);
}

HEDDLE_EMULATED void heddle_emulated_cp_async_commit_group(void) {
  needBlock("a group of copies");
  block->running->groups.push_back(std::move(block->running->open));
  block->running->open.clear();
}

HEDDLE_EMULATED void heddle_emulated_cp_async_wait_group(int32_t running) {
  needBlock("a group of copies");
  land(*block->running, size_t(running));
}
