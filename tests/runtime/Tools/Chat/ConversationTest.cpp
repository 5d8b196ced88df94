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

TEST(Conversation, ARequestEndsByItsEventOrByItsResultAlone) {
  const Status failure = HEDDLE_ERROR(ResourceExhausted, "no memory");
  const std::vector<TokenEvent> running = {{.id = 7, .tokens = {3}}};
  EXPECT_FALSE(endOf(7, running, {}));
  const std::vector<TokenEvent> ended = {{.id = 7, .tokens = {3}},
                                         {.id = 7, .finish = FinishReason::Length}};
  EXPECT_TRUE(endOf(7, ended, {})->ok());
  EXPECT_FALSE(endOf(8, ended, {}));
  const std::vector<TokenEvent> failed = {
      {.id = 7, .finish = FinishReason::Failed, .status = failure}};
  EXPECT_EQ(endOf(7, failed, {})->message(), "no memory");
  const std::vector<GenerationResult> results = {{.id = 6, .status = {}, .hypotheses = {}},
                                                 {.id = 7, .status = failure, .hypotheses = {}}};
  EXPECT_EQ(endOf(7, {}, results)->message(), "no memory");
  EXPECT_EQ(endOf(7, running, results)->message(), "no memory");
  EXPECT_TRUE(endOf(6, {}, results)->ok());
  EXPECT_FALSE(endOf(8, {}, results));
}
