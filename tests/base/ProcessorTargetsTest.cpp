// SPDX-License-Identifier: Apache-2.0
///
/// The one table of targets of processors.
#include "base/ProcessorTargets.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace heddle {
namespace {

TEST(ProcessorTargetsTest, EveryTargetHasInstructionsOfItsOwnAndAllOfTheNext) {
  const ProcessorTarget *wider = nullptr;
  std::set<std::string_view> names;
  for (const ProcessorTarget &target : processorTargets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    EXPECT_EQ(findProcessorTarget(target.name), &target);
    if (wider) {
      EXPECT_GT(wider->newest, target.newest) << target.name;
      EXPECT_TRUE(target.isPresent() || !wider->isPresent()) << target.name;
    }
    wider = &target;
  }
  for (const std::string_view name : {"", "x86-64-v", "x86-64-v5", "x86-64-v4-amx ", "sm_80"}) {
    EXPECT_EQ(findProcessorTarget(name), nullptr) << name;
  }
}

TEST(ProcessorTargetsTest, APresentTargetRunsItsInstructions) {
#ifdef __x86_64__
  ASSERT_FALSE(processorTargets().empty());
  EXPECT_TRUE(processorTargets().back().isPresent());
  for (const ProcessorTarget &target : processorTargets()) {
    if (target.has(InstructionSet::Avx2) && target.isPresent()) {
      int seven = 3;
      asm volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n\tmovl $7, %0" : "=r"(seven) : : "xmm0");
      EXPECT_EQ(seven, 7);
    }
    if (target.has(InstructionSet::Amx) && target.isPresent()) {
      // Faults where Linux has not enabled the tile registers.
      alignas(64) const unsigned char configuration[64] = {1};
      asm volatile("ldtilecfg %0\n\ttilerelease" : : "m"(configuration));
    }
  }
#else
  EXPECT_TRUE(processorTargets().empty());
#endif
}

} // namespace
} // namespace heddle
