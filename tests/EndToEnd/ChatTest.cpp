// SPDX-License-Identifier: Apache-2.0
///
/// Conversations: from the template in a model's folder to the program's answers, in C++ and C.
#include "heddle/Generation.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/EndToEnd/SchemaAnswers.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <regex>

namespace heddle {
namespace {

const std::string gpt = HEDDLE_TEST_DATA "/oracles/gpt2-tiny";
constexpr int32_t begin = 1, end = 106;

/// Returns an added token of a tokenizer.json.
Json addedToken(int32_t id, const char *content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// Returns the byte of each id in byte-level spelling: "a" is 10. Some are parts of characters.
Json vocabulary() {
  Json tokens = {{"<s>", begin}, {"</s>", end}, {"\u0120", 2}, {"\u010A", 3}};
  for (int32_t letter = 0; letter < 26; ++letter) {
    tokens[std::string(1, static_cast<char>('a' + letter))] = 10 + letter;
  }
  char next = '!';
  int32_t part = 0xa1;
  for (int32_t id = 0; id < end; ++id) {
    const bool isTaken = (id >= 1 && id <= 3) || (id >= 10 && id < 36);
    for (; next >= 'a' && next <= 'z'; ++next) {
    }
    if (!isTaken && next <= '~') {
      tokens[std::string(1, next++)] = id;
    } else if (!isTaken) {
      const char bytes[] = {'\xc2', static_cast<char>(part++)};
      tokens[std::string(bytes, 2)] = id;
    }
  }
  return tokens;
}

const std::string templateText =
    "{{ bos_token }}{% for m in messages %}{{ m.role[0] ~ ' ' ~ m.content | trim ~ '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}a {% endif %}";

/// Writes the small decoder with a tokenizer, which puts <s> before texts, and a chat template.
void writeFolder(const TemporaryFolder &folder, const std::string &text) {
  const Json tokenizer = {
      {"added_tokens", {addedToken(begin, "<s>"), addedToken(end, "</s>")}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"pair", Json::array()},
        {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {begin}}, {"tokens", {"<s>"}}}}}}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary()}, {"merges", Json::array()}}}};
  for (const char *const name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(gpt + "/" + name, folder / name);
  }
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json",
               Json({{"bos_token", "<s>"},
                     {"eos_token", {{"content", "</s>"}}},
                     {"chat_template",
                      {{{"name", "default"}, {"template", text}},
                       {{"name", "rag"}, {"template", "{{ eos_token }}"}}}}})
                   .dump());
}

class ChatTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder();
    writeFolder(*folder, templateText);
    binary = compileModel(folder->path());
  }
  static void TearDownTestSuite() { delete folder; }
  void SetUp() override { ASSERT_FALSE(binary.empty()); }

  static TemporaryFolder *folder;
  static std::string binary;
};
TemporaryFolder *ChatTest::folder = nullptr;
std::string ChatTest::binary;

const std::string question = R"({"messages": [{"role": "user", "content": " ab "}]})";

/// "<s>u ab\na ".
const Tokens questionTokens = {begin, 30, 2, 10, 11, 3, 10, 2};

TEST_F(ChatTest, ConversationsBecomePrompts) {
  const Result<Model> model = Model::load(binary);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->chatTemplates(), std::vector<std::string>({"default", "rag"}));
  EXPECT_EQ(*model->chatPrompt(question), "<s>u ab\na ");
  EXPECT_EQ(*model->chatPrompt(question, "rag"), "</s>");
  const std::string given = R"({"messages": [{"role": "u", "content": "c"}], )";
  EXPECT_EQ(*model->chatPrompt(given + R"("add_generation_prompt": false})"), "<s>u c\n");
  EXPECT_EQ(*model->chatPrompt(given + R"("bos_token": "b"})"), "bu c\na ");
  const auto failureOf = [&](std::string_view conversation, std::string_view name = "") {
    return std::string(model->chatPrompt(conversation, name).status().message());
  };
  EXPECT_EQ(failureOf("[]"),
            "conversation: a list of 0, expected an object with a list of \"messages\"");
  EXPECT_EQ(failureOf(R"({"messages": []})"),
            "conversation: \"messages\" has no elements, expected at least one message");
  EXPECT_EQ(failureOf(R"({"messages": ["a"]})"),
            "conversation: \"a\" in \"messages\", expected objects");
  EXPECT_EQ(failureOf(question, "other"),
            "no chat template \"other\", expected one of default, rag");
  EXPECT_EQ(failureOf(R"({"messages": [{"content": "a"}]})"),
            "chat template \"default\": line 1, column 48: a dict has no \"role\"");
  const Result<Generator> generator = Generator::create(*model);
  ASSERT_TRUE(generator.ok());
  // The template writes the start token; the tokenizer adds no second one.
  EXPECT_EQ(*generator->encodeChat(question), questionTokens);
}

TEST_F(ChatTest, InC) {
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  char text[32];
  size_t length = 0;
  ASSERT_EQ(heddle_model_chat_prompt(model, question.c_str(), nullptr, text, sizeof(text), &length),
            nullptr);
  EXPECT_EQ(std::string(text, length), "<s>u ab\na ");
  int32_t ids[16];
  int64_t count = 0;
  ASSERT_EQ(heddle_generator_encode_chat(generator, question.c_str(), "default", ids, 16, &count),
            nullptr);
  EXPECT_EQ(Tokens(ids, ids + count), questionTokens);
  const auto messageOf = [](heddle_error *error) {
    const std::string message = heddle_error_message(error);
    heddle_error_free(error);
    return message;
  };
  EXPECT_EQ(
      messageOf(heddle_model_chat_prompt(model, question.c_str(), nullptr, text, 10, &length)),
      "room for 10 bytes, the prompt has 10 and a zero");
  EXPECT_EQ(
      messageOf(heddle_generator_encode_chat(generator, question.c_str(), nullptr, ids, 7, &count)),
      "room for 7 ids, the prompt has 8");
  EXPECT_NE(heddle_model_chat_prompt(model, nullptr, nullptr, text, 10, &length), nullptr);
  heddle_generator_free(generator);
  heddle_model_free(model);
}

TEST_F(ChatTest, LinesOfConversationsAreAnswered) {
  const tools::Outcome ids = tools::runHeddle(
      {"generate", binary, "--input", "-", "--tokens", "--format", "jsonl", "--max-length", "12"},
      {.input = fmt::format("{}\n", fmt::join(questionTokens, " "))});
  const Tokens expected = hypothesesOf(ids)[0][0]["tokens"].get<Tokens>();
  const std::vector<std::string> chat = {"generate", binary,         "--chat", "--format",
                                         "jsonl",    "--max-length", "12"};
  std::vector<std::string> arguments = chat;
  arguments.insert(arguments.end(), {"--input", "-"});
  const tools::Outcome lines = tools::runHeddle(arguments, {.input = question + "\n"});
  EXPECT_EQ(hypothesesOf(lines)[0][0]["tokens"].get<Tokens>(), expected) << lines.error;
  arguments = chat;
  arguments.insert(arguments.end(), {"--prompt", "ab"});
  const tools::Outcome prompt = tools::runHeddle(arguments);
  const Json answer = hypothesesOf(prompt)[0][0];
  EXPECT_EQ(answer["tokens"].get<Tokens>(), expected) << prompt.error;
  const tools::Outcome streamed =
      tools::runHeddle({"generate", binary, "--chat", "--max-length", "12", "--prompt", "ab"});
  EXPECT_EQ(streamed.output, answer["text"].get<std::string>() + "\n") << streamed.error;
  // A conversation wants whole turns, a prompt is only continued.
  const std::string cut = "heddle: note: 1 answer was cut at the most tokens of an answer: "
                          "--max-length allows more\n";
  EXPECT_EQ(answer["finish"], "length");
  EXPECT_EQ(streamed.error, cut);
  EXPECT_EQ(prompt.error, cut);
  EXPECT_EQ(ids.error, "");
}

TEST_F(ChatTest, BadLinesAreSaid) {
  const tools::Outcome lines =
      tools::runHeddle({"generate", binary, "--chat", "--input", "-", "--max-length", "3"},
                       {.input = "not JSON\n{\"text\": \"a\"}\n" + question + "\n"});
  EXPECT_EQ(lines.code, 1);
  EXPECT_NE(lines.error.find("standard input:1: conversation: "), std::string::npos) << lines.error;
  EXPECT_NE(lines.error.find("standard input:2: conversation: an object of 1, expected an object "
                             "with a list of \"messages\""),
            std::string::npos)
      << lines.error;
  const tools::Outcome text = tools::runHeddle({"generate", binary, "--chat", "--input", "-"},
                                               {.input = "{\"messages\": \"a\"}\n"});
  EXPECT_NE(text.error.find("conversation: \"messages\" is \"a\", expected a list"),
            std::string::npos)
      << text.error;
  const tools::Outcome other =
      tools::runHeddle({"generate", binary, "--chat", "--chat-template", "no", "--prompt", "a"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.error.find("--chat-template is \"no\", expected one of default, rag"),
            std::string::npos)
      << other.error;
}

/// Returns the answers of `heddle chat --json`.
std::vector<Json> answersOf(const tools::Outcome &outcome) {
  std::vector<Json> answers;
  for (size_t at = 0; at < outcome.output.size();) {
    const size_t line = outcome.output.find('\n', at);
    answers.push_back(Json::parse(outcome.output.substr(at, line - at)));
    at = line + 1;
  }
  return answers;
}

TEST_F(ChatTest, AConversationHasAHistory) {
  const std::string saved = *folder / "saved.jsonl";
  const std::vector<std::string> arguments = {"chat", binary,         "--system",
                                              "be b", "--max-length", "6"};
  const std::string input = "ab\ncd\n/save " + saved + "\n/reset\nab\n/system\nab\n";
  std::vector<std::string> json = arguments;
  json.push_back("--json");
  const tools::Outcome outcome = tools::runHeddle(json, {.input = input});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::vector<Json> answers = answersOf(outcome);
  ASSERT_EQ(answers.size(), 4U) << outcome.output;
  EXPECT_EQ(answers[0]["content"], answers[2]["content"]);
  EXPECT_EQ(answers[0]["prompt_tokens"], 15);
  EXPECT_EQ(answers[3]["prompt_tokens"], 8);
  EXPECT_LE(answers[0]["tokens"], 6);
  EXPECT_EQ(answers[0]["stopped"], false);
  // `heddle generate --chat` reads the saved conversation.
  const Json messages = Json::parse(readBytes(saved))["messages"];
  ASSERT_EQ(messages.size(), 5U);
  EXPECT_EQ(messages[0]["content"], "be b");
  EXPECT_EQ(messages[2]["content"], answers[0]["content"]);
  EXPECT_EQ(messages[4]["content"], answers[1]["content"]);
  Json asked = {{"messages", messages}};
  asked["messages"].erase(4);
  const tools::Outcome again = tools::runHeddle(
      {"generate", binary, "--chat", "--input", "-", "--format", "jsonl", "--max-length", "6"},
      {.input = asked.dump() + "\n"});
  EXPECT_EQ(hypothesesOf(again)[0][0]["text"], answers[1]["content"]) << again.error;
  // Without --json, answers are texts, and commands report what they did.
  const tools::Outcome texts = tools::runHeddle(arguments, {.input = "ab\n/reset\n//ab\n"});
  EXPECT_TRUE(texts.output.starts_with(answers[0]["content"].get<std::string>() +
                                       "\n(the conversation begins anew)\n"))
      << texts.output;
}

TEST_F(ChatTest, MistakesEndNoConversation) {
  const tools::Outcome outcome =
      tools::runHeddle({"chat", binary, "--max-length", "4"},
                       {.input = "/wrong\n/save\n/save /no/such/folder/file\n\xff\n" +
                                 std::string(80, 'a') + "\n/help\nab\n/quit\nnever\n"});
  EXPECT_EQ(outcome.code, 1);
  for (const char *const message :
       {"\"/wrong\" is no command, expected /reset, /system, /save, /quit or /help",
        "\"/save\" without a file", "/no/such/folder/file", "byte 1 is 0xff, expected UTF-8",
        "5 of the lines could not be used"}) {
    EXPECT_NE(outcome.error.find(message), std::string::npos) << message << "\n" << outcome.error;
  }
  EXPECT_TRUE(outcome.output.starts_with("/reset        forget the conversation\n"));
}

TEST_F(ChatTest, CtrlCStopsAnAnswerAndNotTheProgram) {
  std::string input;
  for (int i = 0; i < 60; ++i) {
    input += "ab\n/reset\n";
  }
  const std::string path = *folder / "answers.txt";
  const tools::Outcome outcome = tools::runHeddle(
      {"chat", binary}, {.input = input, .outputPath = path, .signal = SIGINT, .signalWhen = [&] {
                           return readBytes(path).size() > 20;
                         }});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  const std::string output = readBytes(path);
  size_t resets = 0;
  for (size_t at = output.find("begins anew"); at != std::string::npos;
       at = output.find("begins anew", at + 1)) {
    ++resets;
  }
  EXPECT_EQ(resets, 60U);
}

TEST_F(ChatTest, TemplatesSurviveTextsAndAreSaid) {
  const tools::Outcome text = tools::runProgram("heddlec", {folder->path(), "--emit=model"});
  ASSERT_EQ(text.code, 0) << text.error;
  const std::string program = folder->write("program.mlir", text.output);
  const std::string again = compileModel(program, {"--weights", folder->path()});
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(*Model::load(again)->chatPrompt(question), "<s>u ab\na ");
  const tools::Outcome info = tools::runHeddle({"info", again});
  EXPECT_NE(info.output.find(fmt::format(
                "chat        templates default ({} bytes), rag (15 bytes)\n", templateText.size())),
            std::string::npos)
      << info.output;
}

TEST(ChatTemplates, WhatIsNotUnderstoodIsRefused) {
  const TemporaryFolder folder;
  writeFolder(folder, "{{ bos_token }}\n{{ messages | pprint }}");
  const std::string output = folder / "model.so";
  const tools::Outcome refused = tools::runProgram("heddlec", {folder.path(), "-o", output});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.error.find("chat template \"default\": line 2, column 15: filter \"pprint\" is "
                               "not known; --no-chat-template leaves chat templates out"),
            std::string::npos)
      << refused.error;
  EXPECT_FALSE(std::filesystem::exists(output));
  const std::string without = compileModel(folder.path(), {"--no-chat-template"});
  ASSERT_FALSE(without.empty());
  const tools::Outcome chat = tools::runHeddle({"chat", without}, {.input = "ab\n"});
  EXPECT_EQ(chat.code, 1);
  EXPECT_NE(chat.error.find("the model has no chat template, expected one for conversations"),
            std::string::npos)
      << chat.error;
  EXPECT_EQ(Model::load(without)->chatPrompt(question).status().message(),
            "the model has no chat template");
}

// --- trained models ----------------------------------------------------------------------------

class AnsweringModel : public testing::TestWithParam<const char *> {};

/// Returns the question in a prompt.
std::string questionOf(const std::string &prompt) {
  const size_t first = prompt.find("What");
  return prompt.substr(first, prompt.find('?') + 1 - first);
}

std::string firstConversation(const std::string &lines) {
  return lines.substr(0, lines.find('\n'));
}

/// The folder's generation_config.json enables sampling with its parameters: so does every
/// interface by default.
void expectSampling(Generator &generator, const std::string &binary, const Tokens &prompt) {
  const GenerationOptions usual = generator.filledIn();
  EXPECT_EQ(usual.sample, true);
  EXPECT_EQ(usual.temperature, 0.7F);
  EXPECT_EQ(usual.topK, 20);
  EXPECT_EQ(usual.topP, 0.9F);
  EXPECT_EQ(generator.filledIn({.beam = 1}).sample, false);
  EXPECT_EQ(generator.filledIn({.alternatives = true}).sample, false);
  const auto answerOf = [&](const GenerationOptions &options) {
    EXPECT_TRUE(generator.add({.prefix = prompt, .options = options}).ok());
    std::vector<Hypothesis> found;
    while (!generator.idle()) {
      auto results = generator.step();
      EXPECT_TRUE(results.ok()) << results.status().message();
      for (GenerationResult &result : *results) {
        found = std::move(result.hypotheses);
      }
    }
    return found;
  };
  const std::vector<Hypothesis> sampled = answerOf({.nbest = 4, .maxLength = 12, .seed = 5});
  EXPECT_EQ(sampled, answerOf({.nbest = 4,
                               .maxLength = 12,
                               .sample = true,
                               .temperature = 0.7F,
                               .topK = 20,
                               .topP = 0.9F,
                               .seed = 5}));
  EXPECT_EQ(sampled.size(), 4U);
  EXPECT_EQ(answerOf({.maxLength = 12, .sample = false}), answerOf({.beam = 1, .maxLength = 12}));
  heddle_model *model = nullptr;
  heddle_generator *fromC = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &fromC), nullptr);
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.nbest = 4;
  options.max_length = 12;
  options.seed = 5;
  int64_t id = 0;
  ASSERT_EQ(heddle_generator_add(fromC, nullptr, 0, prompt.data(),
                                 static_cast<int64_t>(prompt.size()), &options, &id),
            nullptr);
  while (heddle_generator_idle(fromC) == 0) {
    ASSERT_EQ(heddle_generator_step(fromC), nullptr);
  }
  heddle_generation *const result = heddle_generator_take(fromC);
  ASSERT_EQ(heddle_generation_count(result), 4);
  for (int64_t i = 0; i < 4; ++i) {
    int64_t count = 0;
    const int32_t *const tokens = heddle_generation_tokens(result, i, &count, nullptr);
    EXPECT_EQ(Tokens(tokens, tokens + count), sampled[static_cast<size_t>(i)].tokens);
  }
  heddle_generation_free(result);
  heddle_generator_free(fromC);
  heddle_model_free(model);
  const std::string info = tools::runHeddle({"info", binary}).output;
  EXPECT_NE(
      info.find(
          ", sample true, temperature 0.7, top_k 20, top_p 0.9, min_p 0, context_length 96\n"),
      std::string::npos)
      << info;
}

TEST_P(AnsweringModel, GivesTheTextsOfTransformers) {
  const std::string oracle = std::string(HEDDLE_TEST_DATA "/oracles/") + GetParam();
  const std::string binary = compileModel(oracle);
  ASSERT_FALSE(binary.empty());
  const Result<Model> model = Model::load(binary);
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Generator> generator = Generator::create(*model);
  ASSERT_TRUE(generator.ok()) << generator.status().message();
  std::vector<Json> goldens;
  std::istringstream stream(readBytes(oracle + "/texts.jsonl"));
  std::string conversations, dialogue, expected;
  for (std::string line; std::getline(stream, line);) {
    goldens.push_back(Json::parse(line));
    const std::string asked = questionOf(goldens.back()["prompt"]);
    const std::string conversation =
        Json({{"messages", {{{"role", "user"}, {"content", asked}}}}}).dump();
    EXPECT_EQ(*generator->encodeChat(conversation), goldens.back()["ids"].get<Tokens>());
    conversations += conversation + "\n";
    dialogue += asked + "\n/reset\n";
    expected += goldens.back()["text"].get<std::string>() + "\n(the conversation begins anew)\n";
  }
  ASSERT_EQ(goldens.size(), 3U);
  const auto answers = hypothesesOf(tools::runHeddle(
      {"generate", binary, "--chat", "--input", "-", "--format", "jsonl", "--no-sample"},
      {.input = conversations}));
  ASSERT_EQ(answers.size(), goldens.size());
  for (size_t i = 0; i < goldens.size(); ++i) {
    EXPECT_EQ(answers[i][0]["text"], goldens[i]["text"]);
    EXPECT_EQ(answers[i][0]["tokens"], goldens[i]["greedy"]);
  }
  const tools::Outcome chat =
      tools::runHeddle({"chat", binary, "--no-sample"}, {.input = dialogue});
  EXPECT_EQ(chat.code, 0) << chat.error;
  EXPECT_EQ(chat.output, expected);
  EXPECT_EQ(chat.error, "");
  // The models were trained for 96 tokens; a longer conversation says so once.
  std::string longer;
  for (int i = 0; i < 12; ++i) {
    longer += questionOf(goldens.front()["prompt"]) + "\n";
  }
  const tools::Outcome beyond =
      tools::runHeddle({"chat", binary, "--no-sample"}, {.input = longer});
  EXPECT_EQ(beyond.code, 0);
  EXPECT_TRUE(std::regex_match(
      beyond.error, std::regex("heddle: note: the conversation has [0-9]+ tokens, more than the 96 "
                               "that the model was trained for: answers are rarely useful from "
                               "here on\n")))
      << beyond.error;
  const Tokens prompt = *generator->encodeChat(firstConversation(conversations));
  expectSampling(*generator, binary, prompt);
  expectSchemaInLibraries(*generator, binary, prompt);
  expectSchemaInTools(binary);
  // Rotary positions have no limit, so texts are not scored in windows.
  const tools::Outcome strided =
      tools::runHeddle({"score", binary, "--input", "-", "--stride", "4"}, {.input = "ab\n"});
  EXPECT_EQ(strided.code, 2);
  EXPECT_NE(strided.error.find(fmt::format("--stride is given, and {} has no limit of positions: "
                                           "expected no --stride, texts are scored whole",
                                           binary)),
            std::string::npos)
      << strided.error;
}

INSTANTIATE_TEST_SUITE_P(Oracles, AnsweringModel,
                         testing::Values("llama3-tiny", "mistral-tiny", "qwen2-tiny"),
                         [](const auto &info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('-'));
                         });

} // namespace
} // namespace heddle
