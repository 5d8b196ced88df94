// SPDX-License-Identifier: Apache-2.0
///
/// Models with classifiers from their folders to their scores, and cross-encoders from texts to a
/// ranking, against Hugging Face Transformers' results (oracles/make_heads.py).
#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Session.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

template <typename Value>
std::vector<Value> valuesOf(const Checkpoint &checkpoint, const std::string &name) {
  const SafetensorsTensor *const tensor = checkpoint.find(name);
  std::vector<Value> values(tensor->bytes.size() / sizeof(Value));
  if constexpr (std::is_same_v<Value, float>) {
    EXPECT_TRUE(checkpoint.readF32(name, values).ok());
  } else {
    EXPECT_TRUE(checkpoint.readI32(name, values).ok());
  }
  return values;
}

/// The scores of an oracle, for tokens without padding or for sequences, and its sentences.
struct Expected {
  Ragged batch;
  std::vector<float> logits;
};

Expected readExpected(const std::string &name) {
  const auto opened = Checkpoint::open(oracles + name + "/expected.safetensors");
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  const auto shape = opened->find("input_ids")->shape;
  const auto ids = valuesOf<int32_t>(*opened, "input_ids");
  const auto mask = valuesOf<int32_t>(*opened, "attention_mask");
  const auto logits = valuesOf<float>(*opened, "logits");
  const bool isOfTokens = opened->find("logits")->shape.size() == 3;
  const size_t width = static_cast<size_t>(opened->find("logits")->shape.back());
  Expected expected;
  for (int64_t sentence = 0; sentence < int64_t(shape[0]); ++sentence) {
    std::vector<int32_t> rows;
    for (size_t i = size_t(sentence * shape[1]); i < size_t((sentence + 1) * shape[1]); ++i) {
      if (mask[i] != 0) {
        rows.push_back(ids[i]);
        if (isOfTokens) {
          expected.logits.insert(expected.logits.end(), logits.begin() + int64_t(i * width),
                                 logits.begin() + int64_t((i + 1) * width));
        }
      }
    }
    expected.batch.append(rows);
  }
  expected.logits = isOfTokens ? expected.logits : logits;
  return expected;
}

void expectScores(const std::string &name, const std::vector<std::string> &labels,
                  Problem problem) {
  const std::string binary = compileModel(oracles + name);
  ASSERT_FALSE(binary.empty());
  const Result<Model> model = Model::load(binary, {.describeOnly = true});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(model->classifier());
  EXPECT_EQ(model->classifier()->labels, labels);
  EXPECT_EQ(model->classifier()->problem, problem);
  const Expected expected = readExpected(name);
  for (const std::string &isa : runnableTargets(binary)) {
    auto outputs = runBinary(binary, expected.batch, isa, 1, "classify");
    EXPECT_LE(largestDifference(outputs["logits"], expected.logits), 2e-5f) << isa;
  }
}

TEST(Classifier, OfTokens) {
  expectScores("bert-tags", {"O", "B-PER", "I-PER", "B-\u6771", "I-\u6771"}, Problem::SingleLabel);
}

TEST(Classifier, OfDistilBert) {
  expectScores("distilbert-labels", {"LABEL_0", "LABEL_1", "LABEL_2"}, Problem::MultiLabel);
}

TEST(Classifier, OfXlmRoberta) {
  expectScores("xlm-roberta-labels", {"no", "yes"}, Problem::SingleLabel);
}

TEST(Classifier, OfModernBert) {
  expectScores("modernbert-labels", {"LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3"},
               Problem::SingleLabel);
  expectScores("modernbert-tags", {"O", "X", "Y"}, Problem::SingleLabel);
}

/// Returns the texts of the oracle, best first, with their scores.
std::vector<std::pair<float, std::string>> expectedOrder(std::string &query) {
  std::vector<std::pair<float, std::string>> order;
  std::ifstream file(oracles + "bert-pairs/pairs.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto item = nlohmann::json::parse(line, nullptr, false);
    query = item["query"];
    order.emplace_back(item["score"], item["text"]);
  }
  std::sort(order.rbegin(), order.rend());
  return order;
}

TEST(Rerank, TextsOfAFile) {
  const std::string binary = compileModel(oracles + "bert-pairs");
  ASSERT_FALSE(binary.empty());
  std::string query;
  const auto order = expectedOrder(query);
  ASSERT_EQ(order.size(), 6u);
  const auto all = tools::runHeddle({"rerank", binary, "--query", query, "--input",
                                     oracles + "bert-pairs/pairs.jsonl", "--json"});
  ASSERT_EQ(all.code, 0) << all.error;
  std::istringstream lines(all.output);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto item = nlohmann::json::parse(line, nullptr, false);
    ASSERT_LT(count, order.size());
    EXPECT_EQ(item["text"], order[count].second);
    EXPECT_NEAR(item["score"], order[count].first, 2e-5f);
    EXPECT_GE(item["line"], 1);
  }
  EXPECT_EQ(count, order.size());
}

/// A model and a session for it in C.
struct InC {
  explicit InC(const std::string &binary) {
    EXPECT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
    EXPECT_EQ(heddle_session_create(model, nullptr, &session), nullptr);
  }
  ~InC() {
    heddle_session_free(session);
    heddle_model_free(model);
  }
  heddle_model *model = nullptr;
  heddle_session *session = nullptr;
};

std::string messageOf(heddle_error *error) {
  const std::string message = heddle_error_message(error);
  heddle_error_free(error);
  return message;
}

TEST(Rerank, InC) {
  const InC c(compileModel(oracles + "bert-pairs"));
  std::string query;
  const auto order = expectedOrder(query);
  std::vector<const char *> texts, queries;
  std::vector<float> expected;
  for (const auto &[score, text] : order) {
    texts.push_back(text.c_str());
    queries.push_back(query.c_str());
    expected.push_back(score);
  }
  const auto count = static_cast<int64_t>(texts.size());
  std::vector<float> scores(texts.size()), same(texts.size());
  EXPECT_EQ(messageOf(heddle_session_rerank(c.session, query.data(), query.size(), texts.data(),
                                            nullptr, count, scores.data(), count)),
            "");
  EXPECT_LE(largestDifference(scores, expected), 2e-5f);
  EXPECT_EQ(messageOf(heddle_session_classify(c.session, queries.data(), nullptr, texts.data(),
                                              nullptr, count, same.data(), count)),
            "");
  EXPECT_EQ(same, scores);
  std::vector<int32_t> ids(64), types(64);
  int64_t tokens = 0;
  EXPECT_EQ(messageOf(heddle_model_tokenize_pair(c.model, "a", 1, "b", 1, ids.data(), types.data(),
                                                 64, &tokens)),
            "");
  EXPECT_EQ(tokens, 5);
  EXPECT_EQ(types[1], 0);
  EXPECT_EQ(types[3], 1);
  EXPECT_EQ(messageOf(heddle_model_tokenize_pair(c.model, "a", 1, "b", 1, ids.data(), types.data(),
                                                 4, &tokens)),
            "room for 4 ids, the pair has 5");
  EXPECT_EQ(messageOf(heddle_session_rerank(c.session, "a", 1, texts.data(), nullptr, count,
                                            scores.data(), 1)),
            "room for 1 scores, the texts have " + std::to_string(count));
  const char *const broken[] = {"a", nullptr, "b\xff"};
  EXPECT_EQ(messageOf(heddle_session_classify(c.session, broken, nullptr, nullptr, nullptr, 2,
                                              scores.data(), count)),
            "text 2 is NULL");
  EXPECT_EQ(messageOf(heddle_session_classify(c.session, broken, nullptr, broken, nullptr, 2,
                                              scores.data(), count)),
            "text 2 is NULL");
  const std::string invalid = messageOf(heddle_session_classify(
      c.session, broken + 2, nullptr, nullptr, nullptr, 1, scores.data(), count));
  EXPECT_NE(invalid.find("text 1: "), std::string::npos) << invalid;
  EXPECT_EQ(messageOf(heddle_session_rerank(nullptr, "a", 1, broken, nullptr, 1, scores.data(), 1)),
            "session is NULL");
  EXPECT_EQ(messageOf(heddle_session_classify(c.session, nullptr, nullptr, nullptr, nullptr, 1,
                                              scores.data(), 1)),
            "texts is NULL");
}

TEST(Classifier, InC) {
  const InC c(compileModel(oracles + "bert-tags"));
  EXPECT_EQ(heddle_model_label_count(c.model), 5);
  EXPECT_STREQ(heddle_model_label(c.model, 1), "B-PER");
  EXPECT_EQ(heddle_model_label(c.model, 5), nullptr);
  EXPECT_EQ(heddle_model_label(c.model, -1), nullptr);
  EXPECT_EQ(heddle_model_problem(c.model), HEDDLE_SINGLE_LABEL);
  EXPECT_EQ(heddle_model_label_count(nullptr), 0);
  const char *const text = "a";
  float score = 0;
  EXPECT_EQ(
      messageOf(heddle_session_classify(c.session, &text, nullptr, nullptr, nullptr, 1, &score, 1)),
      "the classifier scores tokens, expected one of texts: heddle_session_run takes their "
      "ids");
  const std::string many =
      messageOf(heddle_session_rerank(c.session, "a", 1, &text, nullptr, 1, &score, 1));
  EXPECT_NE(many.find("the classifier has 5 scores for a token"), std::string::npos) << many;
}

TEST(Rerank, BestOfStandardInputAndBadLines) {
  const std::string binary = compileModel(oracles + "bert-pairs");
  ASSERT_FALSE(binary.empty());
  const auto best = tools::runHeddle({"rerank", binary, "--query", "Where is the cat?", "--input",
                                      "-", "--top", "1", "--threads", "2"},
                                     {.input = "Cats\nx \xff\nStocks fell.\n"});
  EXPECT_EQ(best.code, 1) << best.error;
  EXPECT_EQ(best.output, "1.0649\tStocks fell.\n");
  EXPECT_NE(best.error.find("standard input:2: byte 3 is 0xff"), std::string::npos) << best.error;
  const auto query = tools::runHeddle({"rerank", binary, "--query", "a\xff", "--input", "-"});
  EXPECT_EQ(query.code, 1);
  EXPECT_NE(query.error.find("--query: first text: byte 2 is 0xff, expected UTF-8"),
            std::string::npos)
      << query.error;
}

TEST(Rerank, OtherModelsAreRefused) {
  const std::string labels = compileModel(oracles + "xlm-roberta-labels");
  ASSERT_FALSE(labels.empty());
  const auto several = tools::runHeddle({"rerank", labels, "--query", "a", "--input", "-"});
  EXPECT_EQ(several.code, 1);
  EXPECT_NE(
      several.error.find("the classifier has 2 scores for a sequence, expected one for a sequence"),
      std::string::npos)
      << several.error;
  const std::string tags = compileModel(oracles + "bert-tags");
  const auto tokens = tools::runHeddle({"rerank", tags, "--query", "a", "--input", "-"});
  EXPECT_NE(tokens.error.find("the classifier has 5 scores for a token"), std::string::npos)
      << tokens.error;
  const auto info = tools::runHeddle({"info", tags});
  EXPECT_NE(info.output.find("labels      single label, \"O\", \"B-PER\""), std::string::npos)
      << info.output;
}

} // namespace
} // namespace heddle
