// SPDX-License-Identifier: Apache-2.0
///
/// Teacher forcing: the input is the target shifted by the start token, in pieces, so that memory
/// does not grow with the length. For each row only the normaliser and the logit of the next token
/// are kept.
#include "runtime/Generate/Scoring.h"

#include "runtime/Generate/Candidates.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace heddle {

namespace {
/// A target that is being scored.
struct Target {
  std::span<const int32_t> source;
  /// The start, the prefix, the target and the end.
  std::vector<int32_t> tokens;
  /// The number of tokens before the target.
  size_t starts = 0;
  std::vector<float> scores = {};
  /// The number of tokens that the decoder has.
  size_t done = 0;

  int64_t cost() const { return static_cast<int64_t>(source.size() + tokens.size()); }
  /// Returns the decoder's input: all tokens but the last.
  std::span<const int32_t> fed() const { return std::span(tokens).first(tokens.size() - 1); }
};

/// Holds the sequences of a pass in the decoder and releases them at the end.
class Pass {
public:
  Pass(Decoder &decoder, int64_t stepTokens) : decoder(decoder), stepTokens(stepTokens) {}
  Pass(const Pass &) = delete;
  Pass &operator=(const Pass &) = delete;
  ~Pass() {
    for (const HypothesisId hypothesis : hypotheses) {
      decoder.release(hypothesis);
    }
    for (const SourceId source : sources) {
      decoder.release(source);
    }
  }
  Status run(std::span<Target> targets);

private:
  Status begin(std::span<Target> targets);
  Status step(std::span<Target> targets);

  Decoder &decoder;
  /// Tokens of targets in a step, at most.
  const int64_t stepTokens;
  std::vector<SourceId> sources;
  std::vector<HypothesisId> hypotheses;
};
} // namespace

Status Pass::begin(std::span<Target> targets) {
  std::vector<SourceView> texts;
  for (const Target &target : targets) {
    texts.emplace_back(target.source);
  }
  std::vector<SourceId> ids(texts.size());
  HEDDLE_TRY(decoder.encode(texts, ids));
  sources = std::move(ids);
  for (const SourceId source : sources) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder.start(source));
    hypotheses.push_back(hypothesis);
  }
  return {};
}

/// Runs the next piece, of as many targets as begin in it.
Status Pass::step(std::span<Target> targets) {
  std::vector<Extension> extensions;
  std::vector<RowQuery> queries;
  size_t left = static_cast<size_t>(stepTokens);
  for (size_t i = 0; i < targets.size() && left > 0; ++i) {
    const Target &target = targets[i];
    const size_t count = std::min(left, target.fed().size() - target.done);
    if (count == 0) {
      continue;
    }
    left -= count;
    extensions.push_back({hypotheses[i], target.fed().subspan(target.done, count)});
    for (size_t token = target.done + 1; token <= target.done + count; ++token) {
      RowQuery query;
      query.watched = token < target.starts ? -1 : target.tokens[token];
      queries.push_back(query);
    }
  }
  Candidates candidates;
  candidates.prepare(queries);
  HEDDLE_TRY(decoder.decode(extensions, candidates));
  int64_t row = 0;
  for (size_t i = 0; std::cmp_less(row, queries.size()); ++i) {
    Target &target = targets[i];
    const size_t count = std::min(target.fed().size() - target.done, queries.size() - row);
    for (size_t token = target.done + 1; token <= target.done + count; ++token, ++row) {
      if (token >= target.starts) {
        HEDDLE_ASSIGN(const double score, candidates.watched(row));
        target.scores.push_back(static_cast<float>(score));
      }
    }
    target.done += count;
  }
  return {};
}

Status Pass::run(std::span<Target> targets) {
  // An earlier pass may have stopped in the middle because memory ran out.
  for (Target &target : targets) {
    target.scores.clear();
    target.done = 0;
  }
  HEDDLE_TRY(begin(targets));
  while (std::any_of(targets.begin(), targets.end(),
                     [](const Target &target) { return target.done < target.fed().size(); })) {
    HEDDLE_TRY(step(targets));
  }
  return {};
}

static Result<Target> makeTarget(const ScoringRequest &request, const GenerationDefaults &defaults,
                                 const GenerationLimits &limits) {
  Target target{request.source, defaults.start};
  HEDDLE_ASSIGN(const int32_t language, targetLanguage(defaults.languages, request.targetLanguage));
  if (language >= 0 && defaults.languages->startsTarget) {
    target.tokens = {language};
  } else if (language >= 0) {
    // Given, and therefore not scored, unless the request itself contains it.
    const std::vector<int32_t> &next = request.prefix.empty() ? request.target : request.prefix;
    if (next.empty() || !isLanguage(defaults.languages, next.front())) {
      target.tokens.push_back(language);
    }
  }
  target.tokens.insert(target.tokens.end(), request.prefix.begin(), request.prefix.end());
  target.starts = target.tokens.size();
  if (target.starts == 0) {
    return HEDDLE_ERROR(InvalidArgument, "prefix has no tokens, expected at least one: the model "
                                         "continues it");
  }
  target.tokens.insert(target.tokens.end(), request.target.begin(), request.target.end());
  const bool ends = !request.target.empty() &&
                    std::find(defaults.end.begin(), defaults.end.end(), request.target.back()) !=
                        defaults.end.end();
  if (request.addsEnd && !ends && !defaults.end.empty()) {
    target.tokens.push_back(defaults.end.front());
  }
  if (target.tokens.size() == target.starts) {
    return HEDDLE_ERROR(InvalidArgument, "target has no tokens, expected at least one: the model "
                                         "has no token that ends it");
  }
  HEDDLE_TRY(checkSource(request.source, {}, 0, limits));
  const auto fed = static_cast<int64_t>(target.tokens.size()) - 1;
  if (limits.longestTarget > 0 && fed > limits.longestTarget) {
    return HEDDLE_ERROR(OutOfRange,
                        fmt::format("target has {} tokens with its {}, expected at most {}, the "
                                    "positions of the model",
                                    fed, request.prefix.empty() ? "start" : "prefix",
                                    limits.longestTarget));
  }
  HEDDLE_TRY(checkTokens("prefix", request.prefix, limits.vocabulary));
  HEDDLE_TRY(checkTokens("target", request.target, limits.vocabulary));
  return target;
}

Status checkScoring(const ScoringRequest &request, const GenerationDefaults &defaults,
                    const GenerationLimits &limits) {
  return makeTarget(request, defaults, limits).status();
}

Result<std::vector<std::vector<float>>>
scoreTargets(Decoder &decoder, const GenerationDefaults &defaults, const GenerationLimits &limits,
             const BatchBounds &bounds, std::span<const ScoringRequest> requests) {
  std::vector<Target> targets;
  for (size_t i = 0; i < requests.size(); ++i) {
    Result<Target> target = makeTarget(requests[i], defaults, limits);
    HEDDLE_TRY_WITH(target.status(), fmt::format("request {}", i + 1));
    targets.push_back(std::move(*target));
  }
  for (size_t begin = 0; begin < targets.size();) {
    size_t count = 0;
    int64_t cost = 0;
    do {
      cost += targets[begin + count++].cost();
    } while (begin + count < targets.size() &&
             cost + targets[begin + count].cost() <= bounds.tokens);
    Status status =
        Pass(decoder, bounds.promptTokens).run(std::span(targets).subspan(begin, count));
    while (status.code() == StatusCode::ResourceExhausted && count > 1) {
      count = (count + 1) / 2;
      status = Pass(decoder, bounds.promptTokens).run(std::span(targets).subspan(begin, count));
    }
    HEDDLE_TRY_WITH(status, fmt::format("request {}", begin + 1));
    begin += count;
  }
  std::vector<std::vector<float>> scores;
  for (Target &target : targets) {
    scores.push_back(std::move(target.scores));
  }
  return scores;
}

Status checkText(std::span<const int32_t> text, int64_t stride, const GenerationDefaults &defaults,
                 const GenerationLimits &limits) {
  if (limits.hasSources) {
    return HEDDLE_ERROR(InvalidArgument, "texts alone are scored, the model answers sources: "
                                         "expected sources and targets");
  }
  const size_t before = defaults.start.empty() ? 1 : 0;
  if (text.size() <= before) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("text has {} {}, expected at least {}{}", text.size(),
                                    text.size() == 1 ? "token" : "tokens", before + 1,
                                    before == 1 ? ": nothing is before the first" : ""));
  }
  if (stride != 0 && limits.longestTarget == 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("stride is {}, and the model has no limit of positions, "
                                    "expected no stride",
                                    stride));
  }
  const int64_t window = limits.longestTarget - static_cast<int64_t>(defaults.start.size());
  if (stride < 0 || (limits.longestTarget > 0 && stride > window)) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("stride is {}, expected 1 to {}, the positions of the model", stride, window));
  }
  return checkTokens("text", text, limits.vocabulary);
}

/// Splits a text into windows, each of which scores the tokens after those of the previous one.
static void addWindows(std::span<const int32_t> text, int64_t stride,
                       const GenerationDefaults &defaults, const GenerationLimits &limits,
                       std::vector<ScoringRequest> &windows) {
  const size_t first = defaults.start.empty() ? 1 : 0;
  // The last token of a window needs no position.
  const auto longest = static_cast<size_t>(limits.longestTarget) - defaults.start.size() + 1;
  const size_t most = limits.longestTarget > 0 ? longest : text.size();
  const size_t step = stride > 0 ? static_cast<size_t>(stride) : std::max<size_t>(most / 2, 1);
  size_t scored = first;
  for (size_t begin = 0; scored < text.size(); begin += step) {
    const size_t end = std::min(begin + most, text.size());
    const auto part = [&](size_t from, size_t to) {
      const auto tokens = text.subspan(from, to - from);
      return std::vector<int32_t>(tokens.begin(), tokens.end());
    };
    windows.push_back(
        {.target = part(scored, end), .prefix = part(begin, scored), .addsEnd = false});
    scored = end;
  }
}

Result<std::vector<std::vector<float>>>
scoreTexts(Decoder &decoder, const GenerationDefaults &defaults, const GenerationLimits &limits,
           const BatchBounds &bounds, std::span<const std::vector<int32_t>> texts, int64_t stride) {
  std::vector<ScoringRequest> windows;
  std::vector<size_t> ends;
  for (size_t i = 0; i < texts.size(); ++i) {
    HEDDLE_TRY_WITH(checkText(texts[i], stride, defaults, limits), fmt::format("text {}", i + 1));
    addWindows(texts[i], stride, defaults, limits, windows);
    ends.push_back(windows.size());
  }
  HEDDLE_ASSIGN(const std::vector<std::vector<float>> scores,
                scoreTargets(decoder, defaults, limits, bounds, windows));
  std::vector<std::vector<float>> results(texts.size());
  for (size_t text = 0, window = 0; text < texts.size(); ++text) {
    for (; window < ends[text]; ++window) {
      results[text].insert(results[text].end(), scores[window].begin(), scores[window].end());
    }
  }
  return results;
}

} // namespace heddle
