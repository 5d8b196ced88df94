// SPDX-License-Identifier: Apache-2.0
///
/// The emulated memory. That of the GPU is closed to the host while no work is done: a kernel's
/// address that is used by mistake ends the test where it happens.
#ifndef HEDDLE_TESTS_EMULATOR_MEMORY_H
#define HEDDLE_TESTS_EMULATOR_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::emulator {

/// Opens the memory of the GPU to this process while it lives.
class OpenMemory {
public:
  OpenMemory();
  OpenMemory(const OpenMemory &) = delete;
  OpenMemory &operator=(const OpenMemory &) = delete;
  ~OpenMemory();
};

/// Why so many bytes at an address are not all in one allocation of the GPU; empty if they are.
std::string describeOutside(uint64_t address, uint64_t bytes);
/// The same of pinned memory of the host.
std::string describeUnpinned(const void *address, uint64_t bytes);

/// What is there has been written, by a copy or perhaps by a kernel. Whether anything was.
void noteWritten(uint64_t address);
void noteKernel();
bool isWritten(uint64_t address);

/// "2 allocations of 8192 bytes"; empty if all memory was given back.
std::string describeMemory();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_MEMORY_H
