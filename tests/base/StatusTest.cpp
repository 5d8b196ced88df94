// SPDX-License-Identifier: Apache-2.0
///
/// The value of a Result, and its behaviour without one.
#include "heddle/Status.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle {

static Result<std::string> fail() {
  return HEDDLE_ERROR(NotFound, "model.so: cannot open: No such file or directory");
}

TEST(StatusTest, ContextStandsBeforeTheMessage) {
  EXPECT_EQ(fail().status().annotate("a").message(),
            "a: model.so: cannot open: No such file or directory");
  EXPECT_TRUE(Status().annotate("a").ok());
}

TEST(StatusTest, AValueIsMovedOut) {
  Result<std::string> result = std::string(100, 'x');
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->size(), 100u);
  const std::string value = *std::move(result);
  EXPECT_EQ(value.size(), 100u);
}

TEST(StatusDeathTest, TheValueOfAFailureEndsTheProgramWithItsMessage) {
  const char *message = "heddle: the value of a failed call was asked for: model.so: cannot open";
  EXPECT_DEATH((void)*fail(), message);
  EXPECT_DEATH((void)fail()->size(), message);
  const Result<std::string> result = fail();
  EXPECT_DEATH((void)*result, message);
}

} // namespace heddle
