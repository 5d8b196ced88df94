// SPDX-License-Identifier: Apache-2.0
///
/// Ranges of addresses.
#include "runtime/Cache/AddressSpace.h"

#include <gtest/gtest.h>

using namespace heddle;

TEST(AddressSpace, IsZerosAndMayBeLargerThanTheMachine) {
  Result<AddressSpace> space = AddressSpace::reserve(uint64_t(1) << 40, "a test", Filling::Sparse);
  ASSERT_EQ(space.status().message(), "");
  EXPECT_EQ(space->size(), uint64_t(1) << 40);
  EXPECT_EQ(space->data()[space->size() - 1], std::byte(0));
  space->data()[5000] = std::byte(7);
  EXPECT_EQ(space->data()[5000], std::byte(7));
  EXPECT_EQ(space->data()[4999], std::byte(0));
}

TEST(AddressSpace, SaysWhatItWasFor) {
  const Result<AddressSpace> space =
      AddressSpace::reserve(uint64_t(1) << 62, "a test", Filling::Sparse);
  EXPECT_EQ(space.status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(space.status().message().find("4611686018427387904 bytes of addresses for a test: "),
            0u)
      << space.status().message();
}

TEST(AddressSpace, MovesAndMayBeEmpty) {
  Result<AddressSpace> none = AddressSpace::reserve(0, "nothing", Filling::Dense);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->data(), nullptr);
  AddressSpace space = *AddressSpace::reserve(4096, "a test", Filling::Sparse);
  std::byte *const data = space.data();
  AddressSpace other = std::move(space);
  EXPECT_EQ(other.data(), data);
  space = std::move(other);
  EXPECT_EQ(space.data(), data);
}
