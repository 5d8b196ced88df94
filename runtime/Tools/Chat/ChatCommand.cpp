// SPDX-License-Identifier: Apache-2.0
///
/// A conversation: each line is a message, and the model's answer is written while it is generated.
/// Ctrl-C ends the answer or, at the prompt, the line; the end of input ends the conversation.
#include "runtime/Tools/Commands.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "runtime/Generate/SearchRules.h"
#include "runtime/Tools/Chat/Conversation.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace heddle::tools {


void declare(OptionList &list, ChatOptions &options) {
  declareModel(list, options);
  list.text("--system", options.system, "TEXT",
            "What the conversation begins with: a system message");
  list.text("--chat-template", options.chatTemplate, "NAME",
            "Which of the model's chat templates, if it has several");
  list.whole("--max-length", options.generation.maxLength, 1, mostTokens, "N",
             "The most tokens of an answer, including the end")
      .otherwise("the model's, else what it has positions for, 1024 at most");
  declareRepetition(list, options.generation);
  declareSampling(list, options.generation);
  declareSchema(list, options.jsonSchema);
  list.whole("--cache", options.cacheMegabytes, int64_t(1), int64_t(1) << 24, "MIB",
             "The most memory for keys and values, in MiB");
  declareExecution(list, options);
}

namespace {

/// An answer, or the part of it that was generated.
struct Answer {
  std::string text;
  int64_t promptTokens = 0;
  int64_t tokens = 0;
  /// Whether a signal ended it.
  bool isStopped = false;
  /// The reason why it ended.
  FinishReason finish = FinishReason::No;
};

/// The state of one run.
class ChatRun {
public:
  ChatRun(const ChatOptions &options, Model model, Generator generator, LineReader lines)
      : options(options), model(std::move(model)), generator(std::move(generator)),
        lines(std::move(lines)), conversation(options.system),
        isTerminal(isatty(STDIN_FILENO) != 0 && !options.json) {}

  Status run();

private:
  Result<std::optional<std::string>> readLine();
  Status obey(std::string_view line);
  Status reply(std::string_view question);
  Result<GenerationRequest> requestOf() const;
  Result<Answer> answer(GenerationRequest request);
  Status advance(int64_t id, Answer &answer);
  Status say(std::string_view text) { return options.json ? Status() : output.write(text); }
  /// Reports a mistake in one line; the conversation continues.
  Status complain(const Status &problem);
  /// Prints a note when the conversation first becomes longer than the model's training texts.
  void noteContext(const Answer &answer);
  void beginAnew();

  const ChatOptions &options;
  Model model;
  Generator generator;
  LineReader lines;
  Conversation conversation;
  OutputStream output = OutputStream::standard();
  bool isTerminal;
  bool isOver = false;
  bool isBeyondContext = false;
  int64_t failed = 0;
};

} // namespace

static constexpr std::string_view helpText =
    "/reset        forget the conversation\n"
    "/system TEXT  begin it with another system message, or "
    "with none; forgets the rest\n"
    "/save FILE    write the messages as a line of JSON\n"
    "/quit         end, as the end of input does\n"
    "//TEXT        say a text that begins with /\n"
    "Ctrl-C ends an answer.\n";

/// Returns whether Ctrl-C was pressed since the last call. Other signals end the program.
static bool takeInterrupt() {
  if (interruption() != SIGINT) {
    return false;
  }
  forgetInterruption();
  return true;
}

Status ChatRun::complain(const Status &problem) {
  ++failed;
  std::fputs(fmt::format("heddle: {}\n", problem.message()).c_str(), stderr);
  return options.json ? output.write(jsonText({{"error", problem.message()}}) + "\n") : Status();
}

void ChatRun::noteContext(const Answer &answer) {
  const int64_t most = generator.contextLength();
  const int64_t length = answer.promptTokens + answer.tokens;
  if (most == 0 || length <= most || isBeyondContext) {
    return;
  }
  isBeyondContext = true;
  std::fputs(fmt::format("heddle: note: the conversation has {} tokens, more than the {} that the "
                         "model was trained for: answers are rarely useful from here on\n",
                         length, most)
                 .c_str(),
             stderr);
}

void ChatRun::beginAnew() {
  conversation.reset();
  isBeyondContext = false;
}

/// Returns the next line; nullopt at the end of input, and after a signal that ends the program.
Result<std::optional<std::string>> ChatRun::readLine() {
  if (isTerminal) {
    HEDDLE_TRY(output.write("> "));
  }
  for (;;) {
    HEDDLE_ASSIGN(const bool ready, lines.ready(waitMilliseconds));
    if (interrupted()) {
      if (!takeInterrupt()) {
        return std::optional<std::string>();
      }
      HEDDLE_TRY(isTerminal
                     ? output.write("\n(the end of input, Ctrl-D, ends the conversation)\n> ")
                     : Status());
      continue;
    }
    if (!ready) {
      continue;
    }
    HEDDLE_ASSIGN(const std::optional<Line> line, lines.next());
    if (!line) {
      if (takeInterrupt()) {
        continue;
      }
      return std::optional<std::string>();
    }
    if (!line->status.ok()) {
      HEDDLE_TRY(complain(line->status));
      continue;
    }
    return std::optional(std::string(line->text));
  }
}

/// Executes a line that begins with a slash.
Status ChatRun::obey(std::string_view line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view name = line.substr(0, end);
  std::string_view rest = line.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (name == "/help") {
    return say(helpText);
  }
  if (name == "/quit") {
    isOver = true;
    return {};
  }
  if (name == "/reset") {
    beginAnew();
    return say("(the conversation begins anew)\n");
  }
  if (name == "/system") {
    beginAnew();
    conversation.setSystem(std::string(rest));
    return say(conversation.hasSystem() ? "(the conversation begins anew, with this message)\n"
                                        : "(the conversation begins anew, without a message)\n");
  }
  if (name == "/save" && !rest.empty()) {
    if (const Status saved = conversation.save(std::string(rest)); !saved.ok()) {
      return complain(saved);
    }
    return say(fmt::format("(saved to {})\n", rest));
  }
  return complain(HEDDLE_ERROR(
      InvalidArgument,
      name == "/save" ? "\"/save\" without a file"
                      : fmt::format("{} is no command, expected /reset, /system, /save, /quit or "
                                    "/help; a text that begins with / has another one before it",
                                    quote(name, 40))));
}

/// Returns the request for the conversation, with the maximum length of its answer.
Result<GenerationRequest> ChatRun::requestOf() const {
  HEDDLE_ASSIGN(std::vector<int32_t> ids,
                generator.encodeChat(conversation.json(), options.chatTemplate));
  GenerationRequest request = requestFor(generator, std::move(ids), options.generation);
  request.options.events = true;
  if (!generator.filledIn(request.options).maxLength) {
    request.options.maxLength = answerLength(model.findEntry(decodeEntry)->maxLength,
                                             static_cast<int64_t>(request.prefix.size()));
  }
  HEDDLE_TRY(generator.check(request));
  return request;
}

/// Generates the answer of the request with that id, until it is finished or Ctrl-C ends it.
Status ChatRun::advance(int64_t id, Answer &answer) {
  for (;;) {
    HEDDLE_ASSIGN(const std::vector<GenerationResult> results, generator.step());
    const std::vector<TokenEvent> events = generator.takeEvents();
    for (const TokenEvent &event : events) {
      answer.tokens += static_cast<int64_t>(event.tokens.size());
      answer.text += event.text;
      HEDDLE_TRY(say(event.text));
      // This includes a token without a text: the answer would not be complete without it.
      HEDDLE_TRY(event.status);
      answer.finish = event.finish == FinishReason::No ? answer.finish : event.finish;
    }
    if (const std::optional<Status> end = endOf(id, events, results)) {
      return *end;
    }
    if (interrupted()) {
      answer.isStopped = true;
      answer.finish = FinishReason::Removed;
      return generator.remove(id);
    }
  }
}

Result<Answer> ChatRun::answer(GenerationRequest request) {
  Answer answer{.text = "", .promptTokens = static_cast<int64_t>(request.prefix.size())};
  HEDDLE_ASSIGN(const int64_t id, generator.add(std::move(request)));
  const Status status = advance(id, answer);
  if (!status.ok()) {
    // The request may have ended already.
    (void)generator.remove(id);
  }
  // Drop the removal event; the next request must not see it.
  (void)generator.takeEvents();
  return status.ok() ? Result<Answer>(std::move(answer)) : Result<Answer>(status);
}

/// Answers a message. If that fails, the message is removed from the conversation.
Status ChatRun::reply(std::string_view question) {
  conversation.addQuestion(question);
  Result<GenerationRequest> request = requestOf();
  if (!request.ok()) {
    conversation.removeLast();
    return complain(request.status());
  }
  Result<Answer> made = answer(*std::move(request));
  if (!made.ok()) {
    conversation.removeLast();
    if (made.status().code() == StatusCode::InputOutput) {
      return made.status();
    }
    return complain(made.status());
  }
  conversation.addAnswer(made->text);
  if (options.json) {
    noteContext(*made);
    return output.write(jsonText({{"role", "assistant"},
                                  {"content", made->text},
                                  {"prompt_tokens", made->promptTokens},
                                  {"tokens", made->tokens},
                                  {"stopped", made->isStopped},
                                  {"finish", finishName(made->finish)}}) +
                        "\n");
  }
  HEDDLE_TRY(output.write("\n"));
  if (made->isStopped && isTerminal && interruption() == SIGINT) {
    HEDDLE_TRY(output.write("(stopped)\n"));
  }
  noteContext(*made);
  return {};
}

Status ChatRun::run() {
  noteInterruptions();
  if (isTerminal) {
    HEDDLE_TRY(output.write("(/help lists what else can be said)\n"));
  }
  while (!isOver && !interrupted()) {
    HEDDLE_ASSIGN(const std::optional<std::string> line, readLine());
    if (!line) {
      HEDDLE_TRY(isTerminal ? output.write("\n") : Status());
      break;
    }
    if (isBlank(*line)) {
      continue;
    }
    const bool isEscaped = line->starts_with("//");
    HEDDLE_TRY(line->starts_with('/') && !isEscaped
                   ? obey(*line)
                   : reply(std::string_view(*line).substr(isEscaped ? 1 : 0)));
    (void)takeInterrupt();
  }
  HEDDLE_TRY(output.finish());
  return failed == 0 || isTerminal
             ? Status()
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{} of the lines could not be used", failed));
}

Status execute(const ChatOptions &given) {
  ChatOptions options = given;
  HEDDLE_ASSIGN(options.generation.jsonSchema, readSchema(options.jsonSchema));
  const std::string problem = describeInvalidUtf8(options.system);
  if (!problem.empty()) {
    return optionError(fmt::format("--system: {}", problem));
  }
  HEDDLE_ASSIGN(Model model, loadModel(options.model, options));
  HEDDLE_TRY(checkChat(model, options.chatTemplate));
  HEDDLE_TRY(checkTokenizer(model, "one for a conversation"));
  const SessionOptions session = {.threads = options.threads,
                                  .cacheBytes = static_cast<uint64_t>(options.cacheMegabytes)
                                                << 20};
  HEDDLE_ASSIGN(Generator generator, Generator::create(model, {.session = session}));
  HEDDLE_TRY(checkSampling(generator, options.generation));
  HEDDLE_TRY(
      checkSchema(generator, requestFor(generator, {0}, options.generation), options.jsonSchema));
  HEDDLE_ASSIGN(LineReader lines, LineReader::openTexts("-", LineFormat::Text));
  return ChatRun(options, std::move(model), std::move(generator), std::move(lines)).run();
}

} // namespace heddle::tools
