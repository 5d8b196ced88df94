// SPDX-License-Identifier: Apache-2.0
///
/// The output of `heddle profile` and `heddle analyze` for a model, as JSON. Both use separate
/// sessions, independent of the model's other work.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Given.h"
#include "python/src/Texts.h"
#include "runtime/Tools/Analyze/AttentionObserver.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Profile/MeasuredWork.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace nb = nanobind;

namespace heddle::python {

using Json = nlohmann::ordered_json;

/// Renames options of the programs to keywords in messages: "--source-length" becomes
/// source_length.
static Status asKeywords(const Status &status) {
  if (!tools::isOptionError(status)) {
    return status;
  }
  std::string message(status.message());
  for (size_t at = 0; (at = message.find("--", at)) != std::string::npos;) {
    message.erase(at, 2);
    for (; at < message.size() &&
           (message[at] == '-' || std::islower(static_cast<unsigned char>(message[at])) != 0);
         ++at) {
      message[at] = message[at] == '-' ? '_' : message[at];
    }
  }
  return HEDDLE_ERROR(InvalidArgument, std::move(message));
}

template <typename T> static T takeAsKeywords(Result<T> result) {
  check(asKeywords(result.status()));
  return *std::move(result);
}

/// Fails if a signal has arrived whose handler raises. The exception stays in the interpreter.
static Status untilSignal() {
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() == 0 ? Status() : HEDDLE_ERROR(Internal, "interrupted");
}

static tools::ProfileOptions optionsOf(const std::string &path, const ProfileRequest &request,
                                       int threads) {
  tools::ProfileOptions options;
  options.model = path;
  options.threads = threads;
  options.entry = request.entry;
  for (const auto &[sentences, tokens] : request.shapes) {
    options.shapes.push_back({fmt::format("{}x{}", sentences, tokens),
                              std::vector<int32_t>(static_cast<size_t>(sentences), tokens)});
  }
  for (const auto &[sentences, beam] : request.cases) {
    options.cases.push_back({sentences, beam});
  }
  options.sourceLength = request.sourceLength;
  options.targetLength = request.targetLength;
  options.beam = request.beam;
  options.runs = request.runs;
  options.by = request.by;
  return options;
}

static Json measureAll(const Model &model, const tools::ProfileOptions &options,
                       const std::vector<std::string> &texts) {
  const auto works = takeAsKeywords(tools::makeProfileWork(model, options, texts));
  tools::MeasuredDevice device = take(tools::MeasuredDevice::of(model, options.threads));
  double peak = device.peak();
  Json record = tools::machineRecord(model, options, peak, device.reading(heddle::beyondCaches));
  record["works"] = Json::array();
  for (const std::unique_ptr<tools::ProfileWork> &work : works) {
    const auto measured =
        takeAsKeywords(tools::measureWork(*work, options, peak, device, untilSignal));
    peak = measured.roof.peak;
    record["works"].push_back(tools::recordOf(measured));
  }
  return record;
}

static std::string jsonText(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Runs work without the GIL. A Python exception that ended it is raised instead of the failure
/// that it became.
template <typename Work> static auto unlocked(Work work) {
  try {
    const nb::gil_scoped_release released;
    return work();
  } catch (const Failure &) {
    if (PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
    throw;
  }
}

std::string Core::profile(const nb::list &texts, const ProfileRequest &request) const {
  const std::shared_ptr<Loaded> model = loaded();
  std::vector<std::string> given;
  for (size_t i = 0; i < nb::len(texts); ++i) {
    given.emplace_back(textOf(nb::object(texts[i]), numbered("text", i)));
  }
  const tools::ProfileOptions options = optionsOf(path, request, model->options().threads);
  return unlocked([&] { return jsonText(measureAll(model->model(), options, given)); });
}

namespace {
/// Texts, and the model's attention to them.
struct Observed {
  tools::AttentionObserver observer;
  std::optional<Generator> generator;

  static Observed of(const Model &model, const LoadOptions &options, bool draws) {
    const SessionOptions session = {.threads = options.threads, .cacheBytes = options.cacheBytes};
    Observed made{take(tools::AttentionObserver::create(model, session, draws)), {}};
    if (made.observer.generates()) {
      made.generator.emplace(take(Generator::create(model, {.session = session})));
    }
    return made;
  }

  /// Returns the sentences of texts or ids, numbered from `first`.
  std::vector<tools::Sentence> sentences(const Model &model, std::span<const Given> given,
                                         size_t first, std::optional<int32_t> beam);
};
} // namespace

std::vector<tools::Sentence> Observed::sentences(const Model &model, std::span<const Given> given,
                                                 size_t first, std::optional<int32_t> beam) {
  const GenerationOptions search = {.beam = beam, .sample = false};
  std::vector<tools::Tokens> sources;
  for (size_t i = 0; i < given.size(); ++i) {
    const auto ids = [&]() -> Result<tools::Tokens> {
      HEDDLE_ASSIGN(tools::Tokens tokens,
                    generator         ? sourceIds(*generator, given[i], false)
                    : given[i].isText ? model.tokenize(given[i].text)
                                      : tools::Tokens(given[i].ids.begin(), given[i].ids.end()));
      HEDDLE_TRY(generator ? generator->check({.source = tokens, .options = search})
                           : tools::checkText(observer.entry(), observer.input(), tokens));
      return tokens;
    }();
    check(ids.status().annotate(numbered("text", first + i)));
    sources.push_back(*ids);
  }
  std::vector<tools::Tokens> targets(sources.size());
  if (generator) {
    targets = take(tools::generateBest(*generator, sources, search, "texts"));
  }
  std::vector<tools::Sentence> all;
  for (size_t i = 0; i < sources.size(); ++i) {
    all.push_back({std::move(sources[i]), std::move(targets[i])});
  }
  return all;
}

nb::tuple Core::analyze(const nb::list &texts, std::optional<int32_t> beam,
                        std::optional<double> theta, BlockRule blocks) const {
  // Small enough that Ctrl-C does not wait long.
  constexpr size_t together = 64;
  const std::shared_ptr<Loaded> model = loaded();
  const std::vector<Given> given = allGiven(texts, "text");
  const auto [record, picture] = unlocked([&] {
    Observed observed = Observed::of(model->model(), model->options(), false);
    if (beam && !observed.generator) {
      invalid("beam is given, and the model does not generate, expected none");
    }
    for (size_t first = 0; first < given.size(); first += together) {
      const auto some = std::span(given).subspan(first, std::min(together, given.size() - first));
      check(observed.observer.add(observed.sentences(model->model(), some, first, beam)));
      check(untilSignal());
    }
    AttentionAnalysis analysis = observed.observer.analysis();
    check(tools::checkSimilarities(analysis, path));
    if (theta) {
      tools::choosePolicies(analysis, *theta, blocks);
    }
    return std::pair(writeAnalysis(analysis), heatMapSvg(analysis));
  });
  return nb::make_tuple(nb::str(record.data(), record.size()),
                        nb::str(picture.data(), picture.size()));
}

static nb::list strings(const std::vector<std::string> &texts) {
  nb::list list;
  for (const std::string &text : texts) {
    list.append(nb::str(text.data(), text.size()));
  }
  return list;
}

nb::list Core::alignments(const nb::object &text, std::optional<int32_t> beam) const {
  const std::shared_ptr<Loaded> model = loaded();
  nb::list one;
  one.append(text);
  const std::vector<Given> given = allGiven(one, "text");
  const std::vector<AlignmentMap> maps = unlocked([&] {
    Observed observed = Observed::of(model->model(), model->options(), true);
    if (beam && !observed.generator) {
      invalid("beam is given, and the model does not generate, expected none");
    }
    const auto sentences = observed.sentences(model->model(), given, 0, beam);
    return take(observed.observer.alignments(sentences.front(), !given.front().isText));
  });
  nb::list all;
  for (const AlignmentMap &map : maps) {
    const std::string picture = alignmentSvg(map.name, {&map, 1});
    all.append(nb::make_tuple(nb::str(map.name.data(), map.name.size()), strings(map.rows),
                              strings(map.columns),
                              arrayOf(map.weights, {map.rows.size(), map.columns.size()}),
                              nb::str(picture.data(), picture.size())));
  }
  return all;
}

} // namespace heddle::python
