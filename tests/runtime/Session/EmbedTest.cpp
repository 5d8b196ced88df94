// SPDX-License-Identifier: Apache-2.0
///
/// Texts to embeddings.
#include "heddle/Session.h"

#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Session/TestDevice.h"

#include <array>
#include <gtest/gtest.h>

using namespace heddle;
using fixture::width;

static Model loadChanged(const std::string &name,
                         const std::function<void(fixture::ModelSpec &)> &change) {
  fixture::ModelSpec spec = fixture::model();
  change(spec);
  const std::string path = fixture::temporaryPath(name);
  EXPECT_EQ(fixture::write(fixture::withDevice(spec), path).message(), "");
  Result<Model> model = Model::load(path, onTestDevice());
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

static Model loadFixture() {
  return loadChanged("embed.so", [](auto &) {});
}

TEST(Embed, TokenizesAndRuns) {
  const Model model = loadFixture();
  ASSERT_TRUE(model.hasTokenizer());
  const Result<std::vector<int32_t>> ids = model.tokenize("b dog a");
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ(*ids, (std::vector<int32_t>{27, 2, 0, 1, 28}));
  Session session = *Session::create(model, {.threads = 2});
  EXPECT_EQ(*session.embeddingWidth(), width);
  const std::array<std::string_view, 3> texts{"b dog a", "", "z y x w"};
  std::vector<float> together(3 * width);
  ASSERT_EQ(session.embed(texts, together).message(), "");
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<float> alone(width);
    ASSERT_EQ(session.embed({&texts[i], 1}, alone).message(), "");
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + long(i * width)));
  }
  EXPECT_EQ(session.embed({}, {}).message(), "");
}

TEST(Embed, AnswersMisuse) {
  Session session = *Session::create(loadFixture());
  const std::array<std::string_view, 2> texts{"a", "b"};
  std::vector<float> room(2 * width + 1);
  EXPECT_EQ(session.embed(texts, room).message(),
            "room for 65 floats, expected 2 embeddings of 32");
  const std::array<std::string_view, 2> broken{"a", "\xff"};
  const Status status = session.embed(broken, std::span(room).first(2 * width));
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message().substr(0, 8), "text 2: ");
}

TEST(Embed, NeedsATokenizerAndAnEntry) {
  const Model bare = loadChanged("bare.so", [](auto &spec) { spec.tokenizer = false; });
  EXPECT_FALSE(bare.hasTokenizer());
  EXPECT_EQ(bare.tokenize("a").status().code(), StatusCode::Unsupported);
  EXPECT_NE(bare.tokenize("a").status().message().find("bare.so: the model has no tokenizer"),
            std::string::npos);
  Session other = *Session::create(
      loadChanged("noentry.so", [](auto &spec) { spec.entries[1].name = "rank"; }));
  EXPECT_EQ(other.embeddingWidth().status().code(), StatusCode::NotFound);
  EXPECT_NE(
      other.embed({}, {}).message().find("no entry \"embed\", there are \"encode\", \"rank\""),
      std::string::npos);
  Session nameless = *Session::create(
      loadChanged("nooutput.so", [](auto &spec) { spec.entries[1].outputs[0].name = "scores"; }));
  EXPECT_NE(nameless.embeddingWidth().status().message().find(
                "entry \"embed\" has no output \"embedding\" with a row for each sequence"),
            std::string::npos);
}
