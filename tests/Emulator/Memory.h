// SPDX-License-Identifier: Apache-2.0
///
/// The emulated memory. The host cannot access GPU memory while no work is done, so a test that
/// uses a GPU address by mistake faults where it does so.
#ifndef HEDDLE_TESTS_EMULATOR_MEMORY_H
#define HEDDLE_TESTS_EMULATOR_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::emulator {

/// Makes GPU memory accessible to this process for its lifetime.
class OpenMemory {
public:
  OpenMemory();
  OpenMemory(const OpenMemory &) = delete;
  OpenMemory &operator=(const OpenMemory &) = delete;
  ~OpenMemory();
};

/// Returns why `bytes` bytes at an address are not within one GPU allocation; empty if they are.
std::string describeOutside(uint64_t address, uint64_t bytes);
/// Does the same for pinned memory of the host.
std::string describeUnpinned(const void *address, uint64_t bytes);

/// noteWritten() and noteKernel() record that memory was written by a copy, or may have been
/// written by a kernel; isWritten() returns whether an address may have been written.
void noteWritten(uint64_t address);
void noteKernel();
bool isWritten(uint64_t address);

/// Returns for example "2 allocations of 8192 bytes"; empty if all memory was released.
std::string describeMemory();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_MEMORY_H
