// SPDX-License-Identifier: Apache-2.0
///
/// Models that translate between languages, from their folders to texts, against Hugging Face
/// Transformers' results (oracles/make_translators.py): from the command line, in C++ and in C.
#include "heddle/Generation.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/TestDevice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

/// Returns the lines of an oracle.
std::vector<Json> textsOf(const std::string &name) {
  std::vector<Json> lines;
  std::ifstream file(oracles + name + "/texts.jsonl");
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
  }
  EXPECT_FALSE(lines.empty()) << name;
  return lines;
}

/// Truncates after the end token, as answers are.
Tokens untilEnd(Tokens tokens) {
  const auto end = std::find(tokens.begin(), tokens.end(), 2);
  if (end != tokens.end()) {
    tokens.erase(end + 1, tokens.end());
  }
  return tokens;
}

/// Translates every text in its languages with `heddle generate`, on every target.
void expectTranslations(const std::string &name) {
  const std::string binary = compileModel(oracles + name);
  ASSERT_FALSE(binary.empty());
  std::map<std::pair<std::string, std::string>, std::vector<Json>> pairs;
  for (const Json &line : textsOf(name)) {
    pairs[{line["source_language"], line["target_language"]}].push_back(line);
  }
  ASSERT_GE(pairs.size(), 2u);
  for (const auto &[languages, lines] : pairs) {
    std::string input;
    for (const Json &line : lines) {
      input += line["text"].get<std::string>() + "\n";
    }
    for (const auto &[key, beam] : {std::pair("greedy", "1"), std::pair("beam4", "4")}) {
      for (const std::string &isa : runnableTargets(binary)) {
        SCOPED_TRACE(fmt::format("{} from {} to {}, {} on {}", name, languages.first,
                                 languages.second, key, isa));
        const auto found = hypothesesOf(tools::runHeddle(
            withTestDevice({"generate", binary, "--input", "-", "--format", "jsonl", "--rules",
                            "transformers", "--source-language", languages.first,
                            "--target-language", languages.second, "--beam", beam, "--max-length",
                            "14", "--isa", isa}),
            {.input = input}));
        ASSERT_EQ(found.size(), lines.size());
        for (size_t i = 0; i < lines.size(); ++i) {
          EXPECT_EQ(found[i][0]["tokens"].get<Tokens>(), untilEnd(lines[i][key].get<Tokens>()))
              << lines[i]["text"];
          EXPECT_EQ(found[i][0]["text"], lines[i][std::string(key) + "_text"]);
        }
      }
    }
  }
}

TEST(Languages, OfNllb) { expectTranslations("nllb-tiny"); }
TEST(Languages, OfMBart) { expectTranslations("mbart-tiny"); }

/// A model and its generator.
struct Loaded {
  explicit Loaded(const std::string &name) {
    Result<Model> found = Model::load(compileModel(oracles + name), onTestDevice());
    EXPECT_TRUE(found.ok()) << found.status().message();
    model.emplace(*std::move(found));
    Result<Generator> made = Generator::create(*model);
    EXPECT_TRUE(made.ok()) << made.status().message();
    generator.emplace(*std::move(made));
  }

  Tokens answer(GenerationRequest request) {
    const Result<int64_t> id = generator->add(std::move(request));
    EXPECT_TRUE(id.ok()) << id.status().message();
    while (id.ok()) {
      auto finished = generator->step();
      EXPECT_TRUE(finished.ok()) << finished.status().message();
      if (!finished.ok() || !finished->empty()) {
        return finished.ok() ? finished->front().hypotheses.at(0).tokens : Tokens();
      }
    }
    return {};
  }
  std::string refusal(const Tokens &source, const GenerationOptions &options) const {
    return std::string(generator->check({.source = source, .options = options}).message());
  }

  std::optional<Model> model;
  std::optional<Generator> generator;
};

TEST(Languages, AreInTheModel) {
  const Loaded nllb("nllb-tiny");
  const std::optional<LanguagesInfo> &languages = nllb.model->languages();
  ASSERT_TRUE(languages);
  EXPECT_EQ(languages->names, (std::vector<std::string>{"ace_Latn", "deu_Latn", "eng_Latn",
                                                        "fra_Latn", "rus_Cyrl", "zho_Hans"}));
  EXPECT_EQ(languages->source, "eng_Latn");
  EXPECT_EQ(languages->target, "");
  EXPECT_FALSE(languages->endsSource || languages->startsTarget);
  const Loaded mbart("mbart-tiny");
  ASSERT_TRUE(mbart.model->languages());
  EXPECT_EQ(mbart.model->languages()->names.size(), 25u);
  EXPECT_EQ(mbart.model->languages()->target, "ro_RO");
  EXPECT_TRUE(mbart.model->languages()->endsSource && mbart.model->languages()->startsTarget);
  const auto info = tools::runHeddle({"info", nllb.model->path()});
  EXPECT_NE(info.output.find("languages   6, by default from eng_Latn to none:\n"
                             "            ace_Latn deu_Latn eng_Latn fra_Latn rus_Cyrl zho_Hans\n"),
            std::string::npos)
      << info.output;
  const auto json =
      Json::parse(tools::runHeddle({"info", nllb.model->path(), "--json"}).output, nullptr, false);
  EXPECT_EQ(json["languages"]["source"], "eng_Latn");
  EXPECT_TRUE(json["languages"]["target"].is_null());
  EXPECT_EQ(json["languages"]["tokens"].size(), 6u);
}

TEST(Languages, IdsAreThoseOfTransformers) {
  for (const char *const name : {"nllb-tiny", "mbart-tiny"}) {
    const Loaded loaded(name);
    size_t compared = 0;
    for (const Json &line : textsOf(name)) {
      if (line["source_language"] == loaded.model->languages()->source) {
        EXPECT_EQ(*loaded.generator->encodeSource(line["text"].get<std::string>()),
                  line["ids"].get<Tokens>());
        ++compared;
      }
    }
    EXPECT_GE(compared, 6u);
  }
}

TEST(Languages, PrefixesFollowTheTokenOfTheTarget) {
  Loaded nllb("nllb-tiny");
  const LanguagesInfo &languages = *nllb.model->languages();
  const int32_t french = languages.tokens[3];
  const Tokens source = *nllb.generator->encodeSource("the cat");
  const GenerationOptions options = {
      .rules = Rules::Transformers, .beam = 1, .maxLength = 9, .targetLanguage = "fra_Latn"};
  const Tokens whole = nllb.answer({.source = source, .options = options});
  ASSERT_GE(whole.size(), 4u);
  EXPECT_EQ(whole.front(), french);
  GenerationOptions rest = options;
  rest.maxLength = 6;
  // With the token or without it, the continuation is the same.
  EXPECT_EQ(
      nllb.answer({.source = source, .prefix = {whole[0], whole[1], whole[2]}, .options = rest}),
      whole);
  EXPECT_EQ(nllb.answer({.source = source, .prefix = {whole[1], whole[2]}, .options = rest}),
            whole);
  // A language token is not scored, unless the target contains it.
  const Tokens target(whole.begin() + 1, whole.end());
  const std::vector<ScoringRequest> requests = {
      {.source = source, .target = target, .targetLanguage = "fra_Latn"},
      {.source = source, .target = target, .prefix = {french}},
      {.source = source, .target = whole}};
  const auto scores = nllb.generator->score(requests);
  ASSERT_TRUE(scores.ok()) << scores.status().message();
  EXPECT_EQ((*scores)[0], (*scores)[1]);
  EXPECT_EQ((*scores)[2].size(), (*scores)[0].size() + 1);
}

TEST(Languages, MessagesNameThoseThatAreNear) {
  const Loaded nllb("nllb-tiny");
  const Tokens source = *nllb.generator->encodeSource("the cat");
  EXPECT_EQ(nllb.refusal(source, {.targetLanguage = "deu"}),
            "target language is \"deu\", expected one of the model's 6, such as these: deu_Latn, "
            "ace_Latn, eng_Latn, fra_Latn, rus_Cyrl");
  EXPECT_EQ(nllb.refusal(source, {.sourceLanguage = "fra_latn"}),
            "source language is \"fra_latn\", expected one of the model's 6, such as these: "
            "fra_Latn, ace_Latn, deu_Latn, eng_Latn, zho_Hans");
  EXPECT_EQ(
      nllb.refusal({7, 8}, {.sourceLanguage = "fra_Latn"}),
      "source begins with token 7, expected the token of a language, which \"fra_Latn\" takes "
      "the place of");
  EXPECT_EQ(nllb.refusal({}, {.sourceLanguage = "fra_Latn"}),
            "source has no tokens, expected that of a language");
  EXPECT_EQ(nllb.refusal(source, {.forcedFirst = 5, .targetLanguage = "fra_Latn"}),
            "target language and forced first token are both given, expected one of them");
  EXPECT_EQ(nllb.refusal(source, {.forcedFirst = 5}), "");
  const Loaded marian("marian-tiny");
  EXPECT_EQ(marian.refusal({5}, {.targetLanguage = "fra_Latn"}),
            "target language is \"fra_Latn\", expected none: the model has no tokens of languages");
}

TEST(Languages, TheCommandLineSaysWhichAreMissing) {
  const std::string binary = compileModel(oracles + "nllb-tiny");
  const auto errorOf = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"generate", binary, "--input", "-"});
    const auto outcome = tools::runHeddle(options, {.input = "the cat\n"});
    EXPECT_EQ(outcome.code, 2);
    return outcome.error;
  };
  EXPECT_NE(errorOf({}).find("--target-language NAME is missing: the model has 6 languages and no "
                             "default, see 'heddle info'"),
            std::string::npos);
  EXPECT_NE(errorOf({"--target-language", "fra_Latn", "--source-language", "x"})
                .find("--source-language: source language is \"x\", expected one of the model's 6"),
            std::string::npos);
  const auto score = tools::runHeddle({"score", binary, "--source", "-", "--target", "/dev/null"});
  EXPECT_EQ(score.code, 2);
  EXPECT_NE(score.error.find("--target-language NAME is missing"), std::string::npos);
  const auto other = tools::runHeddle({"generate", compileModel(oracles + "marian-tiny"), "--input",
                                       "-", "--tokens", "--target-language", "fra_Latn"},
                                      {.input = "5\n"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.error.find("--target-language: target language is \"fra_Latn\", expected none"),
            std::string::npos)
      << other.error;
}

TEST(Languages, FromCAsInCpp) {
  Loaded nllb("nllb-tiny");
  const Tokens source = *nllb.generator->encodeSource("the cat");
  const Tokens expected = nllb.answer(
      {.source = source,
       .options = {.maxLength = 8, .sourceLanguage = "deu_Latn", .targetLanguage = "eng_Latn"}});
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(nllb.model->path().c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  heddle_model_free(model);
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.max_length = 8;
  options.source_language = "deu_Latn";
  options.target_language = "eng_Latn";
  int64_t id = 0;
  ASSERT_EQ(heddle_generator_add(generator, source.data(), static_cast<int64_t>(source.size()),
                                 nullptr, 0, &options, &id),
            nullptr);
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
  }
  heddle_generation *const generation = heddle_generator_take(generator);
  int64_t count = 0;
  const int32_t *const tokens = heddle_generation_tokens(generation, 0, &count, nullptr);
  ASSERT_NE(tokens, nullptr);
  EXPECT_EQ(Tokens(tokens, tokens + count), expected);
  heddle_generation_free(generation);
  heddle_generator_free(generator);
}

} // namespace
} // namespace heddle
