// SPDX-License-Identifier: Apache-2.0
///
/// The options of `heddle generate`, and which of them cannot be combined.
#include "heddle/Limits.h"
#include "runtime/Tools/Commands.h"

#include <fmt/format.h>
#include <limits>

namespace heddle::tools {

static constexpr Word<Rules> rulesWords[] = {{ruleNames[0], Rules::Paper},
                                             {ruleNames[1], Rules::Transformers},
                                             {ruleNames[2], Rules::CTranslate2}};

static void declareFiles(OptionList &list, GenerateOptions &options) {
  list.input(
          "--input", options.input,
          "Sources, or the prompts that a model without an encoder continues: one a line, .jsonl "
          "has {\"text\": ...} a line, - is standard input")
      .hinted();
  list.text("--prompt", options.prompt, "TEXT",
            "The one text that a model without an encoder continues, in place of --input");
  list.flag(
      "--chat", options.chat,
      "Lines are conversations, {\"messages\": [{\"role\", \"content\"}, ...], \"tools\": ...}, "
      "which the model's chat template makes prompts of; --prompt is a user's message");
  list.text("--chat-template", options.chatTemplate, "NAME",
            "Which of the model's chat templates, if it has several")
      .needs("--chat");
  list.file("--inputs", options.inputs,
            "Sources as tensors, in place of --input: safetensors with one for each first index, "
            "named as 'heddle info' lists the input of encode, or of decode where there is no "
            "encode. Ids end in padding; of rows of "
            "floats NAME.length [sources] says how many count, of pixels [sources, height, width, "
            "channels] and spectra [sources, frames, bins] in rows of these. A tensor command "
            "[sources] says which task each is for");
  list.check([&list, &options]() -> std::string {
    const bool isText = list.given("--input"), areTensors = list.given("--inputs");
    if (list.given("--prompt")) {
      return options.prompt.empty() ? "--prompt is empty, expected a text to continue"
             : isText || areTensors ? fmt::format("--prompt and {} are both given, expected one of "
                                                  "them",
                                                  isText ? "--input" : "--inputs")
                                    : "";
    }
    return isText && areTensors ? "--input and --inputs are both given, expected one of them"
           : areTensors && list.given("--truncate")
               ? "--truncate is given with --inputs, expected --input: only texts are cut"
           : isText || areTensors ? ""
                                  : "--input FILE, --inputs FILE or --prompt TEXT is missing";
  });
  list.check([&list]() -> std::string {
    const bool isChat = list.given("--chat");
    if (list.given("--input-format") && (isChat || !list.given("--input"))) {
      return isChat ? "--input-format and --chat are both given, expected one of them"
                    : "--input-format is given without --input, expected both";
    }
    return isChat && list.given("--inputs") ? "--chat is given with --inputs, expected --input"
           : isChat && list.given("--tokens")
               ? "--chat and --tokens are both given, expected one of them"
               : "";
  });
  list.output("--output", options.output, "Where the texts go, in the order of their sources");
  list.input("--prefix", options.prefix, "The beginning of the answer to each source, one a line");
  list.input("--shortlist", options.shortlist,
             "The only token ids that each text may have, one line for each");
}

void declareRepetition(OptionList &list, GenerationOptions &options) {
  list.whole("--no-repeat-ngram", options.noRepeatNgram, 0, mostTokens, "N",
             "Do not generate the same N tokens in a row twice; 0: they may repeat")
      .otherwise("the model's");
  list.number("--repetition-penalty", options.repetitionPenalty,
              numbersBetween(leastRepetitionPenalty, largestRepetitionPenalty), "P",
              "Penalty for repeated tokens; 1: none")
      .otherwise("the model's");
}

/// Declares the options for scores in a beam search.
static void declareScoring(OptionList &list, GenerationOptions &options) {
  list.word("--rules", options.rules, rulesWords, "RULES",
            "The search to reproduce: paper, transformers or ctranslate2")
      .otherwise("the model's");
  list.whole("--beam", options.beam, 1, mostBeams, "K",
             "Hypotheses that the search follows; 1 is greedy")
      .otherwise("the model's");
  list.whole("--nbest", options.nbest, 1, mostBeams, "N", "Texts for each source");
  list.number("--length-penalty", options.lengthPenalty,
              numbersBetween(-largestLengthPenalty, largestLengthPenalty), "A",
              "Exponent of the length that scores are divided by")
      .otherwise("the rules'");
  list.number("--coverage-penalty", options.coveragePenalty,
              {"a number, at least 0", [](float value) { return value >= 0; }}, "B",
              "Weight of the penalty for uncovered source tokens");
  list.whole("--min-length", options.minLength, 0, mostTokens, "N",
             "The fewest tokens before the end")
      .otherwise("the model's");
  list.whole("--max-length", options.maxLength, 1, mostTokens, "N",
             "The most tokens, including the end")
      .otherwise("the model's");
  declareRepetition(list, options);
  list.flag("--early-stopping", options.earlyStopping, EarlyStopping::Yes,
            "Stop the search as soon as it has as many texts as hypotheses");
}

void declareSampling(OptionList &list, GenerationOptions &options) {
  list.flag("--sample", options.sample, true,
            "Draw tokens at random instead of taking the best. Without, a model does as its folder "
            "says, 'heddle info' shows it, unless another search is asked for");
  list.flag("--no-sample", options.sample, false, "Take the best tokens, whatever the model does");
  list.number("--temperature", options.temperature,
              {"a number above 0", [](float value) { return value > 0; }}, "T",
              "Sampling temperature")
      .otherwise("the model's");
  list.whole("--top-k", options.topK, 0, mostTokens, "K",
             "Draw from the K most probable tokens; 0: from all")
      .otherwise("the model's");
  list.number("--top-p", options.topP,
              {"more than 0 and at most 1", [](float value) { return value > 0 && value <= 1; }},
              "P", "Draw from the fewest tokens whose probabilities add up to P")
      .otherwise("the model's");
  list.number("--min-p", options.minP, numbersBetween(0.0F, 1.0F), "P",
              "Draw from tokens with at least P times the probability of the best")
      .otherwise("the model's");
  list.whole("--seed", options.seed, uint64_t(0), std::numeric_limits<uint64_t>::max(), "S",
             "Random numbers; the same seed gives the same text in any batch")
      .otherwise("0");
  list.check([&list]() -> std::string {
    return list.given("--sample") && list.given("--no-sample")
               ? "--sample and --no-sample are both given, expected one of them"
               : "";
  });
}

void declareSchema(OptionList &list, std::string &jsonSchema) {
  list.file("--json-schema", jsonSchema,
            "A JSON schema that answers follow: tokens that could not are left out");
}

/// Declares the options for ends of texts and for their scores.
static void declareAnswers(OptionList &list, GenerateOptions &options) {
  GenerationOptions &search = options.generation;
  list.texts("--stop", search.stop, "TEXT",
             "End a text before TEXT; may be given several times, for greedy search and samples");
  list.flag("--scores", options.scores, "Scores before the texts, a tab between them");
  list.flag("--token-scores", search.tokenScores,
            "In jsonl also the log-probability of each token");
  list.whole("--top-scores", search.topScores, 1, mostTopScores, "K",
             "In jsonl also the K most probable tokens in the place of each, with their "
             "log-probabilities")
      .otherwise("none");
  list.check([&list, &options]() -> std::string {
    for (const char *const name : {"--token-scores", "--top-scores"}) {
      if (list.given(name) && !options.jsonLines && !options.json) {
        return fmt::format("{} is given with --format text, expected --format jsonl", name);
      }
    }
    return "";
  });
}

/// Declares the options for several different texts.
static void declareVariety(OptionList &list, GenerationOptions &options) {
  list.flag("--alternatives", options.alternatives,
            "Instead of the N best texts, the N most probable ways to go on after --prefix: each "
            "begins with another token and is finished by a search of its own. '--nbest 3 "
            "--alternatives' gives three texts that differ in their first token");
  declareSampling(list, options);
}

/// Returns the conflict between the values of several options.
static std::string checkTogether(const GenerationOptions &options) {
  const bool samples = options.sample.value_or(false);
  if (samples && options.alternatives) {
    return "--sample and --alternatives are both given, expected one of them";
  }
  if (samples && options.beam.value_or(1) > 1) {
    return fmt::format("--beam is {} with --sample, expected 1: --nbest gives several samples",
                       *options.beam);
  }
  const bool isSingle = options.beam.value_or(1) == 1 && !options.alternatives;
  if (!options.stop.empty() && !isSingle) {
    return options.alternatives
               ? std::string("--stop and --alternatives are both given, expected one of them")
               : fmt::format(
                     "--beam is {} with --stop, expected 1: --stop ends a text as it is made",
                     *options.beam);
  }
  if (!samples && !options.alternatives && options.beam && options.nbest > *options.beam) {
    return fmt::format("--nbest {} needs --beam {}, got --beam {}", options.nbest, options.nbest,
                       *options.beam);
  }
  if (options.minLength && options.maxLength && *options.minLength > *options.maxLength) {
    return fmt::format("--min-length is {}, expected at most --max-length, {}", *options.minLength,
                       *options.maxLength);
  }
  return "";
}

/// Declares the task, for a model with several.
static void declareTask(OptionList &list, GenerateOptions &options) {
  list.whole("--command", options.generation.command, 0, mostTokens, "N",
             "Which task, of a model of several")
      .otherwise("0");
  list.input("--commands", options.commands, "Which task each source is for, a number a line");
  list.check([&list]() -> std::string {
    return list.given("--command") && list.given("--commands")
               ? "--command and --commands are both given, expected one of them"
               : "";
  });
}

void declare(OptionList &list, GenerateOptions &options) {
  GenerationOptions &search = options.generation;
  declareModel(list, options);
  declareFiles(list, options);
  declareLanguages(list, search.sourceLanguage, search.targetLanguage);
  declareScoring(list, search);
  declareVariety(list, search);
  declareTask(list, options);
  declareBatchTokens(list, options,
                     "Source tokens that run together, counted once for each hypothesis");
  list.whole("--cache", options.cacheMegabytes, int64_t(1), int64_t(1) << 24, "MIB",
             "The most memory for keys and values, in MiB");
  list.whole("--prompt-tokens", options.promptTokens, int64_t(1), int64_t(1) << 31, "N",
             "Tokens of prompts that run in one step; longer prompts are computed in pieces");
  list.flag("--no-shared-prefixes", options.sharesPrefixes, false,
            "Compute what prompts begin with for each of them");
  list.flag("--no-run-ahead", options.runsAhead, false,
            "On a GPU, begin no step before the one before it has ended: the texts are the same");
  declareSchema(list, options.jsonSchema);
  declareAnswers(list, options);
  declareFormat(list, options, options.json,
                "text, or jsonl with sources, texts, tokens and scores");
  declareSources(list, options, "it gets an empty line, in jsonl {\"source\", \"error\"}");
  declareExecution(list, options);
  list.check([&search] { return checkTogether(search); });
}

} // namespace heddle::tools
