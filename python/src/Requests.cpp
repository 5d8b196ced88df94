// SPDX-License-Identifier: Apache-2.0
///
/// Sources, prefixes and shortlists of Python as requests, and results as Python has them.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Texts.h"

#include <algorithm>
#include <fmt/format.h>

namespace nb = nanobind;

namespace heddle::python {

/// How long a wait goes without looking for Ctrl-C.
static constexpr std::chrono::milliseconds betweenSignals{50};

namespace {
/// A source or a target as it was given; refers to the object, which is kept.
struct Given {
  nb::object kept;
  bool isText = false;
  std::string_view text;
  std::span<const int32_t> ids;
  std::span<const float> rows;
  Ids idArray;
  Floats rowArray;
};
} // namespace

static Given givenOf(const nb::object &object, std::string_view what) {
  Given given;
  given.kept = object;
  if (PyUnicode_Check(object.ptr())) {
    given.isText = true;
    given.text = textOf(object, what);
  } else if (nb::try_cast(object, given.idArray, false)) {
    given.ids = spanOf(given.idArray);
  } else if (nb::try_cast(object, given.rowArray, false)) {
    given.rows = spanOf(given.rowArray);
  } else {
    wrongType(fmt::format("{} is {}, expected str, ids or rows", what, typeName(object)));
  }
  return given;
}

static std::vector<Given> allGiven(const nb::list &list, std::string_view what) {
  std::vector<Given> given;
  for (size_t i = 0; i < nb::len(list); ++i) {
    given.push_back(givenOf(list[i], numbered(what, i)));
  }
  return given;
}

/// Whether a text says nothing, as an empty line of a file.
static bool isBlank(const Given &given) {
  return given.isText && given.text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

/// The ids of a source.
static Result<std::vector<int32_t>> sourceIds(const Generator &generator, const Given &given,
                                              bool truncate) {
  const int64_t longest = generator.longestSource();
  std::vector<int32_t> ids(given.ids.begin(), given.ids.end());
  if (given.isText) {
    HEDDLE_ASSIGN(ids, generator.encodeSource(given.text, truncate));
  } else if (truncate && longest != 0) {
    ids.resize(std::min(ids.size(), static_cast<size_t>(longest)));
  }
  if (longest != 0 && static_cast<int64_t>(ids.size()) > longest) {
    return HEDDLE_ERROR(OutOfRange,
                        fmt::format("source has {} tokens, expected at most {}, the positions of "
                                    "the model: truncate=True cuts it",
                                    ids.size(), longest));
  }
  return ids;
}

static Result<std::vector<int32_t>> targetIds(const Generator &generator, const Given &given) {
  if (given.isText) {
    return generator.encodeTarget(given.text);
  }
  return std::vector<int32_t>(given.ids.begin(), given.ids.end());
}

/// The request for one source; every failure is that of the request, and says what is to blame.
static Result<GenerationRequest> requestOf(const Generator &generator, const Given &source,
                                           const Given *prefix, const Given *shortlist,
                                           const GenerationOptions &options, bool truncate) {
  GenerationRequest request;
  request.options = options;
  if (!source.rows.empty()) {
    request.rows.assign(source.rows.begin(), source.rows.end());
  } else {
    HEDDLE_ASSIGN(request.source, sourceIds(generator, source, truncate));
  }
  if (prefix != nullptr) {
    HEDDLE_ASSIGN(request.prefix, targetIds(generator, *prefix));
  }
  if (shortlist != nullptr) {
    request.shortlist.assign(shortlist->ids.begin(), shortlist->ids.end());
  }
  HEDDLE_TRY(generator.check(request));
  return request;
}

Waiting Core::add(const nb::list &sources, const nb::list &prefixes, const nb::list &shortlists,
                  const std::vector<int32_t> &commands, const GenerationOptions &options,
                  bool truncate, bool follows) const {
  const std::shared_ptr<RunningBatch> batch = loaded()->batch();
  const std::vector<Given> given = allGiven(sources, "source");
  const std::vector<Given> prefix = allGiven(prefixes, "prefix");
  const std::vector<Given> shortlist = allGiven(shortlists, "shortlist");
  const nb::gil_scoped_release unlocked;
  std::vector<GenerationRequest> requests;
  std::vector<size_t> blank;
  for (size_t i = 0; i < given.size(); ++i) {
    GenerationOptions asked = options;
    asked.tokenScores = options.tokenScores || options.attention;
    if (!commands.empty()) {
      asked.command = commands[i];
    }
    if (isBlank(given[i])) {
      // Nothing is asked for, and nothing is the answer: see take().
      blank.push_back(i);
      continue;
    }
    Result<GenerationRequest> request =
        requestOf(batch->generator(), given[i], prefix.empty() ? nullptr : &prefix[i],
                  shortlist.empty() ? nullptr : &shortlist[i], asked, truncate);
    check(request.status().annotate(numbered("source", i)));
    requests.push_back(*std::move(request));
  }
  return {batch, batch->add(std::move(requests), blank, follows)};
}

bool Core::samples(const GenerationOptions &options) const {
  return loaded()->batch()->generator().filledIn(options).sample.value_or(false);
}

bool Waiting::advance(double seconds) {
  const nb::gil_scoped_release unlocked;
  const auto limit = std::chrono::duration_cast<RunningBatch::Clock::duration>(
      std::chrono::duration<double>(seconds));
  return batch->advance(*ticket, seen, RunningBatch::Clock::now() + limit);
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

/// (text, tokens, score, token scores, attention): None where there is none.
static nb::tuple described(const Generator &generator, const Hypothesis &hypothesis) {
  const Result<std::string> text = generator.decode(hypothesis.tokens);
  if (!text.ok() && text.status().code() != StatusCode::NotFound) {
    check(text.status());
  }
  nb::list tokens;
  for (const int32_t token : hypothesis.tokens) {
    tokens.append(token);
  }
  nb::object scores = nb::none(), attention = nb::none();
  // Whoever asks for attention has the scores too, which say how many tokens were generated.
  if (const size_t generated = hypothesis.tokenScores.size(); generated != 0) {
    scores = arrayOf(hypothesis.tokenScores, {generated});
    if (const size_t looked = hypothesis.attention.size(); looked != 0) {
      attention = arrayOf(hypothesis.attention, {generated, looked / generated});
    }
  }
  const nb::object words =
      text.ok() ? nb::object(nb::str(text->data(), text->size())) : nb::object(nb::none());
  return nb::make_tuple(words, tokens, hypothesis.score, scores, attention);
}

nb::list Waiting::take() {
  check(ticket->failure);
  nb::list all;
  for (size_t i = 0; i < ticket->results.size(); ++i) {
    const GenerationResult &result = ticket->results[i];
    check(result.status.annotate(numbered("source", i)));
    nb::list hypotheses;
    for (const Hypothesis &hypothesis : result.hypotheses) {
      hypotheses.append(described(batch->generator(), hypothesis));
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

nb::list Core::score(const nb::list &sources, const nb::list &targets, bool truncate) const {
  const std::shared_ptr<Loaded> model = loaded();
  const std::shared_ptr<RunningBatch> batch = model->batch();
  const std::vector<Given> from = allGiven(sources, "source");
  const std::vector<Given> to = allGiven(targets, "target");
  std::vector<std::vector<float>> scores;
  // Small enough that Ctrl-C does not wait long.
  constexpr size_t together = 64;
  for (size_t first = 0; first < from.size(); first += together, checkSignals()) {
    const nb::gil_scoped_release unlocked;
    std::vector<ScoringRequest> requests;
    for (size_t i = first; i < std::min(first + together, from.size()); ++i) {
      Result<std::vector<int32_t>> source = sourceIds(batch->generator(), from[i], truncate);
      check(source.status().annotate(numbered("source", i)));
      Result<std::vector<int32_t>> target = targetIds(batch->generator(), to[i]);
      check(target.status().annotate(numbered("target", i)));
      requests.push_back({*std::move(source), *std::move(target)});
      check(batch->generator().check(requests.back()).annotate(numbered("source", i)));
    }
    for (std::vector<float> &each : python::take(model->score(requests))) {
      scores.push_back(std::move(each));
    }
  }
  nb::list result;
  for (std::vector<float> &each : scores) {
    const size_t count = each.size();
    result.append(arrayOf(std::move(each), {count}));
  }
  return result;
}

} // namespace heddle::python
