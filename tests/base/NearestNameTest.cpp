// SPDX-License-Identifier: Apache-2.0
///
/// Names that are near a misspelt one, and names that are not.
#include "base/NearestName.h"

#include <gtest/gtest.h>
#include <vector>

namespace heddle {

static const std::vector<std::string> names = {"--input",   "--output", "--on-error",
                                               "--threads", "so",       "asm"};

TEST(NearestName, IsTheOneWithTheFewestChanges) {
  EXPECT_EQ(nearestName("--inptu", names), "--input");
  EXPECT_EQ(nearestName("--ouput", names), "--output");
  EXPECT_EQ(nearestName("--onerror", names), "--on-error");
  EXPECT_EQ(nearestName("-threads", names), "--threads");
  EXPECT_EQ(nearestName("--thread", names), "--threads");
  EXPECT_EQ(nearestName("--threads", names), "--threads");
  EXPECT_EQ(nearestName("sa", names), "so");
}

TEST(NearestName, IsNoneWhereTooMuchWouldChange) {
  EXPECT_EQ(nearestName("--beam", names), std::nullopt);
  EXPECT_EQ(nearestName("--frob", names), std::nullopt);
  // Every letter differs.
  EXPECT_EQ(nearestName("ir", names), std::nullopt);
  EXPECT_EQ(nearestName("", names), std::nullopt);
  EXPECT_EQ(nearestName("--input", {}), std::nullopt);
  EXPECT_EQ(nearestName(std::string(100'000, 'x'), names), std::nullopt);
}

TEST(NearestName, IsOneThatBeginsSo) {
  const std::vector<std::string> options = {
      "--help",  "--seed",       "--temperature",     "--max-length",
      "--min-p", "--max-tokens", "--no-chat-template"};
  EXPECT_EQ(nearestName("--temp", options), "--temperature");
  EXPECT_EQ(nearestName("--max", options), "--max-length");
  EXPECT_EQ(nearestName("--temp", std::vector<std::string>{"--temperature", "--tempo"}), "--tempo");
  // One missing letter is more likely than many.
  EXPECT_EQ(nearestName("--see", options), "--seed");
  EXPECT_EQ(nearestName("--t", options), std::nullopt);
}

TEST(NearestName, OfTwoAsNearTheFirst) {
  const std::vector<std::string> alike = {"layer-a", "layer-b"};
  EXPECT_EQ(nearestName("layer-c", alike), "layer-a");
}

TEST(NearestName, SeveralBeginWithTheBeginningsOfNames) {
  const std::vector<std::string> languages = {"dan_Latn", "deu_Latn", "eng_Latn", "rus_Cyrl"};
  EXPECT_EQ(nearestNames("deu", languages, 2), (std::vector<std::string>{"deu_Latn", "dan_Latn"}));
  EXPECT_EQ(nearestNames("rus_Cyrll", languages, 1), std::vector<std::string>{"rus_Cyrl"});
  EXPECT_EQ(nearestNames("", languages, 9).size(), 4u);
  EXPECT_EQ(nearestNames(std::string(100'000, 'x'), languages, 1).size(), 1u);
  EXPECT_TRUE(nearestNames("x", {}, 3).empty());
}

TEST(NearestName, AQuestionForMessages) {
  EXPECT_EQ(didYouMean("aasm", names), "; did you mean \"asm\"?");
  EXPECT_EQ(didYouMean("--frob", names), "");
}

} // namespace heddle
