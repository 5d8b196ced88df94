// SPDX-License-Identifier: Apache-2.0
///
/// Only writes are recorded. Threads run in another order in each launch, so a read that races with
/// a write of another thread comes after it in some launch.
#include "tests/Emulator/FarWrites.h"

#include <algorithm>

namespace heddle::emulator {

std::string FarWrites::problemOf(const char *what, int block, int thread, uint64_t address,
                                 size_t bytes) const {
  if (!written.test(slotOf(address)) && !written.test(slotOf(address + bytes - 1))) {
    return "";
  }
  const auto use = [&] {
    return "race: " + std::string(what) + std::to_string(bytes) +
           " bytes of the GPU's memory, which ";
  };
  for (uint64_t byte = address, next = 0; byte < address + bytes; byte = next) {
    next = (byte / partBytes + 1) * partBytes;
    const auto found = parts.find(byte / partBytes);
    for (; found != parts.end() && byte < std::min<uint64_t>(next, address + bytes); ++byte) {
      const Writer &writer = found->second[byte % partBytes];
      if (writer.block >= 0 && writer.block != block) {
        return use() + "block " + std::to_string(writer.block) + " has written";
      }
      if (writer.block >= 0 && writer.thread != thread && writer.epoch == epoch) {
        return use() + "thread " + std::to_string(writer.thread) +
               " has written since the last barrier";
      }
    }
  }
  return "";
}

std::string FarWrites::read(int block, int thread, uint64_t address, size_t bytes) const {
  return problemOf("reads ", block, thread, address, bytes);
}

std::string FarWrites::write(int block, int thread, uint64_t address, size_t bytes) {
  std::string problem = problemOf("writes ", block, thread, address, bytes);
  for (uint64_t byte = address; byte < address + bytes;) {
    Part &part = parts[byte / partBytes];
    do {
      part[byte % partBytes] = {block, thread, epoch};
    } while (++byte < address + bytes && byte % partBytes != 0);
  }
  written.set(slotOf(address));
  written.set(slotOf(address + bytes - 1));
  return problem;
}

} // namespace heddle::emulator
