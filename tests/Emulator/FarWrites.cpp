// SPDX-License-Identifier: Apache-2.0
///
/// Only writes are recorded. Threads run in another order in each launch, so a read that races with
/// a write of another thread comes after it in some launch.
#include "tests/Emulator/FarWrites.h"

namespace heddle::emulator {

std::string FarWrites::problemOf(const char *what, int block, int thread, uint64_t address,
                                 size_t bytes) const {
  if (!written.test(slotOf(address)) && !written.test(slotOf(address + bytes - 1))) {
    return "";
  }
  for (uint64_t cell = address / cellBytes; cell * cellBytes < address + bytes; ++cell) {
    const auto found = cells.find(cell);
    if (found == cells.end()) {
      continue;
    }
    const Writer &writer = found->second;
    const std::string use =
        "race: " + std::string(what) + std::to_string(bytes) + " bytes of the GPU's memory, which ";
    if (writer.block != block) {
      return use + "block " + std::to_string(writer.block) + " has written";
    }
    if (writer.thread != thread && writer.epoch == epoch) {
      return use + "thread " + std::to_string(writer.thread) +
             " has written since the last barrier";
    }
  }
  return "";
}

std::string FarWrites::read(int block, int thread, uint64_t address, size_t bytes) const {
  return problemOf("reads ", block, thread, address, bytes);
}

std::string FarWrites::write(int block, int thread, uint64_t address, size_t bytes) {
  std::string problem = problemOf("writes ", block, thread, address, bytes);
  for (uint64_t cell = address / cellBytes; cell * cellBytes < address + bytes; ++cell) {
    cells[cell] = {block, thread, epoch};
  }
  written.set(slotOf(address));
  written.set(slotOf(address + bytes - 1));
  return problem;
}

} // namespace heddle::emulator
