// SPDX-License-Identifier: Apache-2.0
///
/// Converts sources, prompts, conversations and their options to requests, and results to Python
/// objects.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Given.h"
#include "runtime/Generate/SearchRules.h"
#include "runtime/Tools/Chat/Conversation.h"

#include <fmt/format.h>

namespace nb = nanobind;

namespace heddle::python {

/// The interval at which a wait checks for Ctrl-C.
static constexpr std::chrono::milliseconds betweenSignals{50};

namespace {
/// The arguments of a call.
struct Call {
  std::vector<Given> given;
  std::vector<Given> prefixes;
  std::vector<Given> shortlists;
  const std::vector<int32_t> &commands;
  const Languages &languages;
  const GenerationOptions &options;
  bool truncate;
  const std::optional<std::string> &chatTemplate;
};
} // namespace

/// Sets the ids of a conversation's prompt, and the maximum length of its answer.
static Status setConversation(const Generator &generator, const Call &call, size_t index,
                              GenerationRequest &request) {
  if (generator.hasSources()) {
    return HEDDLE_ERROR(Unsupported, "the model does not continue prompts, expected one that does "
                                     "for conversations");
  }
  HEDDLE_ASSIGN(request.prefix, generator.encodeChat(call.given[index].text, *call.chatTemplate));
  if (!generator.filledIn(request.options).maxLength) {
    request.options.maxLength =
        tools::answerLength(generator.longestTarget(), static_cast<int64_t>(request.prefix.size()));
  }
  return {};
}

static Status setSource(const Generator &generator, const Call &call, size_t index,
                        GenerationRequest &request) {
  const Given &given = call.given[index];
  if (call.chatTemplate) {
    return setConversation(generator, call, index, request);
  }
  if (!given.rows.empty()) {
    request.rows.assign(given.rows.begin(), given.rows.end());
    return {};
  }
  HEDDLE_ASSIGN((generator.hasSources() ? request.source : request.prefix),
                sourceIds(generator, given, call.truncate));
  return {};
}

/// Returns the request for one source; every failure is that of the request, and names its cause.
static Result<GenerationRequest> requestOf(const Model &model, const Generator &generator,
                                           const Call &call, size_t index) {
  GenerationRequest request;
  request.options = call.options;
  request.options.tokenScores = call.options.tokenScores || call.options.attention;
  if (!call.commands.empty()) {
    request.options.command = call.commands[index];
  }
  call.languages.of(index, request.options.sourceLanguage, request.options.targetLanguage);
  HEDDLE_TRY(checkTarget(model, request.options.targetLanguage, call.given[index].isText));
  HEDDLE_TRY(setSource(generator, call, index, request));
  if (!call.prefixes.empty()) {
    if (!generator.hasSources()) {
      return HEDDLE_ERROR(InvalidArgument, "prefix is given, and the model continues prompts, "
                                           "expected none: a prompt is the prefix");
    }
    HEDDLE_ASSIGN(request.prefix, targetIds(generator, call.prefixes[index]));
  }
  if (!call.shortlists.empty()) {
    const std::span<const int32_t> allowed = call.shortlists[index].ids;
    request.shortlist.assign(allowed.begin(), allowed.end());
  }
  HEDDLE_TRY(generator.check(request));
  return request;
}

Waiting Core::add(const nb::list &sources, const nb::list &prefixes, const nb::list &shortlists,
                  const std::vector<int32_t> &commands, const Languages &languages,
                  const GenerationOptions &options, bool truncate,
                  const std::optional<std::string> &chatTemplate) const {
  const std::shared_ptr<Loaded> model = loaded();
  const std::shared_ptr<RunningBatch> batch = model->batch();
  const Generator &generator = batch->generator();
  const std::string_view what = chatTemplate ? "conversation" : nameOfSources(generator);
  const Call call{allGiven(sources, what),
                  allGiven(prefixes, "prefix"),
                  allGiven(shortlists, "shortlist"),
                  commands,
                  languages,
                  options,
                  truncate,
                  chatTemplate};
  const nb::gil_scoped_release unlocked;
  std::vector<GenerationRequest> requests;
  std::vector<size_t> blank;
  for (size_t i = 0; i < call.given.size(); ++i) {
    if (call.given[i].isBlank()) {
      // There is nothing to generate, and the result is empty: see take().
      blank.push_back(i);
      continue;
    }
    Result<GenerationRequest> request = requestOf(model->model(), generator, call, i);
    check(request.status().annotate(numbered(what, i)));
    requests.push_back(*std::move(request));
  }
  std::vector<int32_t> begun;
  if (generator.hasSources() && !requests.empty()) {
    begun = requests.front().prefix;
  }
  return {batch, batch->add(std::move(requests), blank), std::move(begun), what};
}

bool Core::samples(const GenerationOptions &options) const {
  return loaded()->batch()->generator().filledIn(options).sample.value_or(false);
}

template <typename T> static nb::list listOf(std::span<const T> values) {
  nb::list list;
  for (const T &value : values) {
    list.append(value);
  }
  return list;
}

/// Returns [[(token, score)]], or None.
static nb::object bestTokens(const std::vector<std::vector<TokenScore>> &places) {
  if (places.empty()) {
    return nb::none();
  }
  nb::list lists;
  for (const std::vector<TokenScore> &place : places) {
    nb::list list;
    for (const TokenScore &each : place) {
      list.append(nb::make_tuple(each.token, each.score));
    }
    lists.append(list);
  }
  return lists;
}

static nb::object scoresOf(const std::vector<float> &scores) {
  return scores.empty() ? nb::object(nb::none()) : arrayOf(scores, {scores.size()});
}

static nb::str strOf(std::string_view text) { return nb::str(text.data(), text.size()); }

/// Converts an event to the form that AsyncWaits and pieces() in _streams.py take.
static nb::tuple described(const TokenEvent &event) {
  const bool goesOn = event.finish == FinishReason::No;
  return nb::make_tuple(event.sample, listOf(std::span(event.tokens)), scoresOf(event.scores),
                        bestTokens(event.topScores), strOf(event.text),
                        goesOn ? nb::object(nb::none()) : strOf(finishName(event.finish)));
}

nb::tuple Waiting::advance(double seconds) {
  std::vector<TokenEvent> events;
  const bool isDone = [&] {
    const nb::gil_scoped_release unlocked;
    const auto limit = std::chrono::duration_cast<RunningBatch::Clock::duration>(
        std::chrono::duration<double>(seconds));
    return batch->advance(*ticket, seen, RunningBatch::Clock::now() + limit, &events);
  }();
  nb::list list;
  for (const TokenEvent &event : events) {
    list.append(described(event));
  }
  return nb::make_tuple(isDone, list);
}

void Waiting::wait() {
  for (bool done = false; !done; checkSignals()) {
    const nb::gil_scoped_release unlocked;
    done = batch->advance(*ticket, seen, RunningBatch::Clock::now() + betweenSignals);
  }
}

void Waiting::cancel() {
  if (batch != nullptr) {
    const nb::gil_scoped_release unlocked;
    batch->cancel(ticket);
  }
}

/// Returns the text of a hypothesis, given its tokens without a prompt; None without a tokenizer.
static nb::object textOf(const Generator &generator, const Hypothesis &hypothesis,
                         std::span<const int32_t> tokens) {
  if (hypothesis.finish == FinishReason::Stop) {
    return strOf(hypothesis.text);
  }
  const Result<std::string> text = generator.decode(tokens);
  if (text.status().code() == StatusCode::NotFound) {
    return nb::none();
  }
  check(text.status());
  return strOf(*text);
}

/// Returns the fields of heddle.Hypothesis, in order; None for absent ones.
static nb::tuple described(const Generator &generator, const GenerationResult &result,
                           const Hypothesis &hypothesis) {
  const auto before = generator.hasSources() ? 0 : static_cast<size_t>(result.prefix);
  const std::span<const int32_t> tokens = std::span(hypothesis.tokens).subspan(before);
  nb::object attention = nb::none();
  // A request for attention also has scores, whose number is that of the generated tokens.
  const size_t generated = hypothesis.tokenScores.size();
  if (const size_t looked = hypothesis.attention.size(); generated != 0 && looked != 0) {
    attention = arrayOf(hypothesis.attention, {generated, looked / generated});
  }
  return nb::make_tuple(textOf(generator, hypothesis, tokens), listOf(tokens), hypothesis.score,
                        scoresOf(hypothesis.tokenScores), attention,
                        bestTokens(hypothesis.topScores), strOf(finishName(hypothesis.finish)),
                        hypothesis.sample, result.prefix, result.shared);
}

nb::list Waiting::take() {
  check(ticket->failure);
  nb::list all;
  for (size_t i = 0; i < ticket->results.size(); ++i) {
    const GenerationResult &result = ticket->results[i];
    check(result.status.annotate(numbered(what, i)));
    nb::list hypotheses;
    for (const Hypothesis &hypothesis : result.hypotheses) {
      hypotheses.append(described(batch->generator(), result, hypothesis));
    }
    all.append(hypotheses);
  }
  return all;
}

void Waiting::drive(double seconds) {
  const nb::gil_scoped_release unlocked;
  batch->advanceAny(RunningBatch::Clock::now() +
                    std::chrono::duration_cast<RunningBatch::Clock::duration>(
                        std::chrono::duration<double>(seconds)));
}

} // namespace heddle::python
