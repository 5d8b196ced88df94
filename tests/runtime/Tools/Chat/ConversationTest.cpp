// SPDX-License-Identifier: Apache-2.0
///
/// The messages of a conversation.
#include "runtime/Tools/Chat/Conversation.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::tools;

TEST(Conversation, IsALineOfMessages) {
  Conversation conversation("Be \"brief\".");
  conversation.addQuestion("Hi\nthere");
  conversation.addAnswer("Grüße");
  EXPECT_EQ(conversation.json(),
            R"({"messages":[{"role":"system","content":"Be \"brief\"."},)"
            R"({"role":"user","content":"Hi\nthere"},{"role":"assistant","content":"Grüße"}]})");
  conversation.removeLast();
  conversation.setSystem("");
  EXPECT_EQ(conversation.json(), R"({"messages":[{"role":"user","content":"Hi\nthere"}]})");
  conversation.reset();
  EXPECT_EQ(conversation.json(), R"({"messages":[]})");
  EXPECT_FALSE(conversation.hasSystem());
}
