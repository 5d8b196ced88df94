// SPDX-License-Identifier: Apache-2.0
///
/// Detection of instruction sets, by the names of the x86-64 psABI.
#include "runtime/Device/Cpu/Targets.h"

namespace heddle {

std::vector<std::string> cpuTargets() {
  std::vector<std::string> targets;
#ifdef __x86_64__
  // The intrinsic also asks the system whether it saves the wide registers.
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) {
    targets.emplace_back("x86-64-v4");
  }
  if (__builtin_cpu_supports("x86-64-v3")) {
    targets.emplace_back("x86-64-v3");
  }
  if (__builtin_cpu_supports("x86-64-v2")) {
    targets.emplace_back("x86-64-v2");
  }
  targets.emplace_back("x86-64");
#endif
  return targets;
}

} // namespace heddle
