// SPDX-License-Identifier: Apache-2.0
///
/// Launches whose blocks have shared memory: the threads of a block are fibers, of which one runs
/// until it waits for the others of its block or its warp. Blocks run one after the other.
#ifndef HEDDLE_TESTS_EMULATOR_BLOCKS_H
#define HEDDLE_TESTS_EMULATOR_BLOCKS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::emulator {

/// What is launched: an entry of a kernel with its only parameter.
using Entry = void(const void *launch);

/// What a kernel reads of the thread it runs in.
struct ThreadPlace {
  int32_t thread = 0;
  int32_t threads = 0;
  int32_t block = 0;
  int32_t blocks = 0;
};
ThreadPlace &threadPlace();

/// What a kernel did wrong first, and the code of that; Success if nothing.
struct KernelFailure {
  int code = 0;
  std::string text;
};

/// Runs a launch of so many threads with so many bytes of shared memory. The order of threads and
/// of copies follows from `seed`.
KernelFailure runBlocks(Entry *entry, const void *parameter, int blocks, int threads, size_t shared,
                        uint64_t seed);

/// Ends the launch of the thread that runs, if it is one of a block with shared memory: it does not
/// return then.
void leaveThread(const char *why, int code);

// --- for instructions of warps, Warps.cpp --------------------------------------------------------

/// Threads of a warp.
inline constexpr int warpLanes = 32;

/// The bits of all lanes.
inline constexpr uint32_t allLanes = 0xFFFFFFFF;

/// Waits until every lane of `mask`, of the warp of the thread that runs, has come to the same
/// instruction with the same mask, and brought what is its own. The last one calls `together` with
/// all of that, by lane, null for other lanes: what is wrong, in words, or nothing.
using WarpInstruction = std::string(void *const *lanes);
void meetLanes(const char *instruction, void *own, WarpInstruction *together,
               uint32_t mask = allLanes);

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_BLOCKS_H
