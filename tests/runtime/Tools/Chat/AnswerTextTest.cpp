// SPDX-License-Identifier: Apache-2.0
///
/// Pieces of a growing answer, and the messages of a conversation.
#include "runtime/Tools/Chat/AnswerText.h"
#include "runtime/Tools/Chat/Conversation.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::tools;

TEST(AnswerText, PiecesAreWhatIsNew) {
  AnswerText text;
  EXPECT_EQ(text.append("It", false), "It");
  EXPECT_EQ(text.append("It is", false), " is");
  EXPECT_EQ(text.append("It is", false), "");
  EXPECT_EQ(text.append("It is.", true), ".");
  EXPECT_EQ(text.written(), "It is.");
}

TEST(AnswerText, PartsOfACharacterWait) {
  AnswerText text;
  EXPECT_EQ(text.append("a\uFFFD", false), "a");
  EXPECT_EQ(text.append("a\uFFFD\uFFFD", false), "");
  EXPECT_EQ(text.append("a東", false), "東");
  EXPECT_EQ(text.append("a東\uFFFD", false), "");
  // What never becomes a character is written at the end.
  EXPECT_EQ(text.append("a東\uFFFD", true), "\uFFFD");
  EXPECT_EQ(text.written(), "a東\uFFFD");
}

TEST(AnswerText, ASearchThatBeginsAgainWritesNothingTwice) {
  AnswerText text;
  EXPECT_EQ(text.append("one two", false), "one two");
  EXPECT_EQ(text.append("", false), "");
  EXPECT_EQ(text.append("one", false), "");
  EXPECT_EQ(text.append("one two three", false), " three");
}

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
