// SPDX-License-Identifier: Apache-2.0
///
/// The declarations of shared options.
#include "runtime/Tools/Options/SharedOptions.h"

#include "heddle/Limits.h"

namespace heddle::tools {

static constexpr int threadLimit = 1024;

static constexpr Word<OnError> onErrorWords[] = {{"continue", OnError::Continue},
                                                 {"stop", OnError::Stop}};
static constexpr Word<bool> formatWords[] = {{"text", false}, {"jsonl", true}};
static constexpr Word<LineFormat> inputFormatWords[] = {{"text", LineFormat::Text},
                                                        {"jsonl", LineFormat::JsonLines}};

void declareModel(OptionList &list, SubcommandOptions &options) {
  list.argument("OUT.so", options.model, "A model that heddlec compiled").required();
  list.flag("--json", options.json,
            "For programs: JSON where there is a choice, and no progress line");
}

void declareExecution(OptionList &list, ExecutionOptions &options) {
  const auto parse = [](const std::string &text, int &threads) {
    const std::optional<int> value = parseWhole(text, 1, threadLimit);
    threads = value.value_or(threads);
    return value ? std::string()
                 : fmt::format(" {} is not a number of threads, expected 1 to {}", quote(text),
                               threadLimit);
  };
  list.value("--threads", options.threads, "N",
             "Threads to compute with; the result is the same "
             "to the bit with any number",
             parse)
      .otherwise(fmt::format("{}", options.threads));
  list.text("--isa", options.isa, "NAME", "The target to run, for example x86-64-v3")
      .otherwise("the best the device has");
  list.text(
          "--device", options.device, "NAME",
          "Where to run: cpu; cuda, the first GPU; cuda:1, the second one; auto, the first GPU if "
          "there is one and the model has code for it, else the CPU")
      .otherwise("cpu");
}

DeclaredOption &declareInputFormat(OptionList &list, LineFormat &format) {
  return list
      .word("--input-format", format, inputFormatWords, "FORMAT",
            "What the lines of texts are: text, or jsonl, objects {\"text\": ...}")
      .otherwise("jsonl if the file's name ends in .jsonl, else text");
}

void refuseFormatOfTokens(OptionList &list) {
  list.check([&list]() -> std::string {
    return list.given("--tokens") && list.given("--input-format")
               ? "--input-format and --tokens are both given, expected one of them"
               : "";
  });
}

void declareTexts(OptionList &list, TextOptions &options) {
  list.input("--input", options.input,
             "Texts: one a line, .jsonl has {\"text\": ...} a line, - is standard input")
      .required()
      .hinted();
  declareInputFormat(list, options.inputFormat);
}

void declareOnError(OptionList &list, OnError &onError, const char *answer) {
  const std::string help =
      fmt::format("What to do about a line that cannot be used, besides reporting it. continue: "
                  "{}, the run goes on, and the exit code is 1; stop: end the run before it",
                  answer);
  list.word("--on-error", onError, onErrorWords, "WHAT", help.c_str());
}

void declareSources(OptionList &list, SourceOptions &options, const char *answer) {
  declareInputFormat(list, options.inputFormat);
  list.flag("--tokens", options.tokens, "Lines are token ids with spaces between them");
  refuseFormatOfTokens(list);
  list.flag("--truncate", options.truncate,
            "Cut sources that are longer than the model allows; without it they are errors");
  declareOnError(list, options.onError, answer);
}

void declareLanguages(OptionList &list, std::string &source, std::string &target) {
  list.text("--source-language", source, "NAME",
            "The language of the sources, of a model that 'heddle info' lists languages of")
      .otherwise("the model's");
  list.text("--target-language", target, "NAME", "The language of the targets")
      .otherwise("the model's");
}

void declareCorpus(OptionList &list, CorpusOptions &options) {
  list.input("--input", options.input,
             "Texts: one a line, .jsonl has {\"text\": ...} a line, - is standard input")
      .required()
      .hinted();
  list.whole("--beam", options.beam, 1, mostBeams, "K",
             "Hypotheses that the search follows; 1 is greedy")
      .otherwise("the model's");
  declareSources(list, options, "it is left out");
  declareExecution(list, options);
}

void declareBatchTokens(OptionList &list, AnswerOptions &options, const char *help) {
  list.whole("--batch-tokens", options.batchTokens, int64_t(1), int64_t(mostTokens), "N", help);
}

void declareFormat(OptionList &list, AnswerOptions &options, const bool &json, const char *help) {
  list.word("--format", options.jsonLines, formatWords, "FORMAT", help);
  list.check([&list, &options, &json]() -> std::string {
    if (list.given("--format") && !options.jsonLines && json) {
      return "--format text and --json are both given, expected one of them";
    }
    options.jsonLines = options.jsonLines || json;
    return "";
  });
}

} // namespace heddle::tools
