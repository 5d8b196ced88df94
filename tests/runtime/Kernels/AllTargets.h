// SPDX-License-Identifier: Apache-2.0
///
/// Runs a check once for each set of vector instructions of this machine.
#ifndef HEDDLE_TESTS_RUNTIME_KERNELS_ALLTARGETS_H
#define HEDDLE_TESTS_RUNTIME_KERNELS_ALLTARGETS_H

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace heddle {

template <typename Check> void onAllTargets(const Check &check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_KERNELS_ALLTARGETS_H
