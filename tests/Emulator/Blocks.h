// SPDX-License-Identifier: Apache-2.0
///
/// Runs launches whose blocks have shared memory. The threads of a block are fibers: each runs
/// until it waits for others of its block or warp. Blocks run one after another.
#ifndef HEDDLE_TESTS_EMULATOR_BLOCKS_H
#define HEDDLE_TESTS_EMULATOR_BLOCKS_H

#include "tests/Emulator/MBarriers.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::emulator {

/// The entry of a kernel, with its only parameter.
using Entry = void(const void *launch);

/// The special registers of the running thread.
struct ThreadPlace {
  int32_t thread = 0;
  int32_t threads = 0;
  int32_t block = 0;
  int32_t blocks = 0;
};
ThreadPlace &threadPlace();

/// The first error of a kernel and its code; Success if there was none.
struct KernelFailure {
  int code = 0;
  std::string text;
};

/// Runs a launch of `blocks` blocks of `threads` threads with `shared` bytes of shared memory each.
/// The order of threads and of copies depends on `seed`. If not `isChecked`, the accesses of
/// threads to memory are not compared with each other: most of the time of a launch goes there.
KernelFailure runBlocks(Entry *entry, const void *parameter, int blocks, int threads, size_t shared,
                        uint64_t seed, bool isChecked);

/// If the running thread belongs to a block with shared memory, ends its launch with an error; in
/// this case it does not return.
void leaveThread(const char *why, int code);

// --- for instructions of other files -------------------------------------------------------------

/// Returns the index of the running thread in its block; ends a launch without shared memory with
/// an error about `what`.
int runningThread(const char *what);
/// Returns whether there is no problem; otherwise records it, and the caller must leave.
bool isRight(const std::string &problem);
/// Leaves the kernel after an error. Destructors do not run.
[[noreturn]] void leaveKernel();
/// Suspends the running thread until makeReady() is called for it.
void waitAtInstruction();
void makeReady(int thread);
/// Suspends the running thread until a phase is complete, or for a while. Returns whether it is
/// complete.
bool waitForPhase(const AwaitedPhase &phase);

// --- for warp instructions, Warps.cpp; implemented in Meetings.cpp -------------------------------

/// Threads of a warp.
inline constexpr int warpLanes = 32;

/// The mask of all lanes.
inline constexpr uint32_t allLanes = 0xFFFFFFFF;

/// Waits until every lane of `mask` in the running thread's warp has arrived at the same
/// instruction with the same mask, and passed its data in `own`. The last one calls `together` with
/// all data, indexed by lane, null for other lanes; it returns an error, or an empty string.
using WarpInstruction = std::string(void *const *lanes);
void meetLanes(const char *instruction, void *own, WarpInstruction *together,
               uint32_t mask = allLanes);

// --- for instructions of warpgroups, Warpgroups.cpp ----------------------------------------------

/// Threads of a warpgroup: four warps, the first of which has a multiple of four as its index.
inline constexpr int warpgroupThreads = 4 * warpLanes;

/// Does the same for all threads of the running thread's warpgroup, whose index is passed on.
using WarpgroupInstruction = std::string(int warpgroup, void *const *threads);
void meetWarpgroup(const char *instruction, void *own, WarpgroupInstruction *together);

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_BLOCKS_H
