// SPDX-License-Identifier: Apache-2.0
///
/// Linux enables the AMX registers for processes that request them: they add 8 KiB to the state of
/// a thread, for which a signal stack that the program has allocated before may be too small.
#include "base/ProcessorTargets.h"

#include <algorithm>

#ifdef __x86_64__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heddle {

#ifdef __x86_64__
static constexpr ProcessorTarget table[] = {
    {"x86-64-v4-amx", InstructionSet::Amx},   {"x86-64-v4-bf16", InstructionSet::Bf16},
    {"x86-64-v4-vnni", InstructionSet::Vnni}, {"x86-64-v4", InstructionSet::Avx512},
    {"x86-64-v3", InstructionSet::Avx2},      {"x86-64-v2", InstructionSet::V2},
    {"x86-64", InstructionSet::Baseline},
};

static bool mayUseAmx() {
  static const bool may = [] {
    // ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA of Linux 5.16.
    constexpr int askForState = 0x1023, tileData = 18;
    return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
           __builtin_cpu_supports("amx-bf16") &&
           ::syscall(SYS_arch_prctl, askForState, tileData) == 0;
  }();
  return may;
}

/// The intrinsic also checks that the operating system saves the wide registers.
static bool isPresent(InstructionSet instructions) {
  switch (instructions) {
  case InstructionSet::Baseline:
    return true;
  case InstructionSet::V2:
    return __builtin_cpu_supports("x86-64-v2");
  case InstructionSet::Avx2:
    return __builtin_cpu_supports("x86-64-v3");
  case InstructionSet::Avx512:
    return __builtin_cpu_supports("x86-64-v4");
  case InstructionSet::Vnni:
    return __builtin_cpu_supports("avx512vnni");
  case InstructionSet::Bf16:
    return __builtin_cpu_supports("avx512bf16");
  case InstructionSet::Amx:
    return mayUseAmx();
  }
  return false;
}

std::span<const ProcessorTarget> processorTargets() { return table; }

bool ProcessorTarget::isPresent() const {
  __builtin_cpu_init();
  for (auto each = uint8_t(InstructionSet::Baseline); each <= uint8_t(newest); ++each) {
    if (!heddle::isPresent(InstructionSet(each))) {
      return false;
    }
  }
  return true;
}
#else
std::span<const ProcessorTarget> processorTargets() { return {}; }

bool ProcessorTarget::isPresent() const { return false; }
#endif

const ProcessorTarget *findProcessorTarget(std::string_view name) {
  const std::span<const ProcessorTarget> all = processorTargets();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ProcessorTarget &each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

} // namespace heddle
