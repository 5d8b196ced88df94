// SPDX-License-Identifier: Apache-2.0
///
/// Runs of an embedding are short, however fast the model is.
#include "runtime/Tools/Embed/RunSize.h"

#include <gtest/gtest.h>

namespace heddle::tools {

TEST(RunSize, ApproachesItsTimeForEverySpeed) {
  for (const double tokensPerSecond : {400.0, 5e3, 1e5, 1e7}) {
    RunSize size;
    for (int run = 0; run < 16; ++run) {
      const auto seconds = static_cast<double>(size.tokens()) / tokensPerSecond;
      EXPECT_LE(seconds, RunSize::seconds * 1.01) << tokensPerSecond;
      size.took(size.tokens(), seconds);
    }
    EXPECT_NEAR(static_cast<double>(size.tokens()) / tokensPerSecond, RunSize::seconds, 0.01);
  }
}

TEST(RunSize, IsNeverNothing) {
  RunSize size;
  size.took(64, 100.0);
  EXPECT_EQ(size.tokens(), RunSize::fewest);
  // One run that seems to take no time.
  size.took(64, 0.0);
  EXPECT_EQ(size.tokens(), 4 * RunSize::fewest);
  size.took(1000, 1.0);
  EXPECT_EQ(size.tokens(), 200);
}

} // namespace heddle::tools
