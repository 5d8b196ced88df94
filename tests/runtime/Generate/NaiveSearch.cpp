// SPDX-License-Identifier: Apache-2.0
///
/// Three searches, each written as its source describes it.
#include "tests/runtime/Generate/NaiveSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace heddle {

static constexpr int32_t endToken = 2;
static constexpr double never = -std::numeric_limits<double>::infinity();

namespace {
/// A sum, and the generated tokens after the prefix.
struct Partial {
  double sum = 0;
  std::vector<int32_t> tokens;
  std::vector<double> coverage = {};
};
/// A continuation among all of a step.
struct Flat {
  double sum;
  size_t parent;
  int32_t token;
};
} // namespace

static void logSoftmax(std::vector<double> &values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) {
    sum += std::exp(value - largest);
  }
  for (double &value : values) {
    value -= largest + std::log(sum);
  }
}

static void applyOptions(std::vector<double> &values, const NaiveOptions &options,
                         const std::vector<int32_t> &history, size_t generated) {
  for (const int32_t token : std::set<int32_t>(history.begin(), history.end())) {
    double &value = values[static_cast<size_t>(token)];
    value = value < 0 ? value * options.repetitionPenalty : value / options.repetitionPenalty;
  }
  const auto n = static_cast<size_t>(options.noRepeatNgram);
  for (size_t i = 0; n > 0 && i + n <= history.size(); ++i) {
    bool same = true;
    for (size_t j = 0; j + 1 < n; ++j) {
      same = same && history[i + j] == history[history.size() - (n - 1) + j];
    }
    if (same) {
      values[static_cast<size_t>(history[i + n - 1])] = never;
    }
  }
  if (generated < static_cast<size_t>(options.minLength)) {
    values[endToken] = never;
  }
  for (const int32_t token : options.suppressed) {
    values[static_cast<size_t>(token)] = never;
  }
}

std::vector<double> naiveScores(const HashModel &model, const std::vector<int32_t> &source,
                                const NaiveOptions &options, const std::vector<int32_t> &tokens,
                                bool afterSoftmax, bool withStart) {
  std::vector<int32_t> history = {1};
  history.insert(history.end(), tokens.begin(), tokens.end());
  const std::vector<float> logits = model.logits(source, history);
  std::vector<double> values(logits.begin(), logits.end());
  if (!withStart) {
    history = tokens;
  }
  const size_t generated = tokens.size() - options.prefix.size();
  if (afterSoftmax) {
    logSoftmax(values);
    applyOptions(values, options, history, generated);
  } else {
    applyOptions(values, options, history, generated);
    logSoftmax(values);
  }
  if (options.forcedLast >= 0 && generated + 1 == static_cast<size_t>(options.maxLength)) {
    std::fill(values.begin(), values.end(), never);
    values[static_cast<size_t>(options.forcedLast)] = 0;
  }
  return values;
}

/// Returns at most `count` continuations in order; ties are broken by hypothesis and token.
static std::vector<Flat> bestFlat(const std::vector<Partial> &alive,
                                  const std::vector<std::vector<double>> &scores, size_t count) {
  std::vector<Flat> all;
  for (size_t parent = 0; parent < alive.size(); ++parent) {
    for (size_t token = 0; token < scores[parent].size(); ++token) {
      if (scores[parent][token] != never) {
        all.push_back(
            {alive[parent].sum + scores[parent][token], parent, static_cast<int32_t>(token)});
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Flat &a, const Flat &b) {
    return std::tuple(-a.sum, a.parent, a.token) < std::tuple(-b.sum, b.parent, b.token);
  });
  all.resize(std::min(all.size(), count));
  return all;
}

static Partial continued(const std::vector<Partial> &alive, const Flat &flat) {
  Partial partial = alive[flat.parent];
  partial.sum = flat.sum;
  partial.tokens.push_back(flat.token);
  return partial;
}

static void sortByScore(std::vector<Hypothesis> &list, size_t most) {
  for (size_t i = 1; i < list.size(); ++i) {
    for (size_t j = i; j > 0 && list[j].score > list[j - 1].score; --j) {
      std::swap(list[j], list[j - 1]);
    }
  }
  list.resize(std::min(list.size(), most));
}

static double coverageScore(const std::vector<double> &received) {
  double sum = 0;
  for (const double each : received) {
    sum += std::log(std::min(each, 1.0));
  }
  return sum;
}

/// Adds each hypothesis's attention to the coverage of its continuations.
static void cover(const HashModel &model, const std::vector<int32_t> &source,
                  std::vector<Partial> &alive, bool firstHead) {
  for (Partial &partial : alive) {
    std::vector<int32_t> history = {1};
    history.insert(history.end(), partial.tokens.begin(), partial.tokens.end());
    const std::vector<float> weights = model.attention(source, history, 2);
    partial.coverage.resize(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      const double first = static_cast<double>(weights[i]);
      const double second = static_cast<double>(weights[source.size() + i]);
      partial.coverage[i] += firstHead ? first : (first + second) / 2;
    }
  }
}

/// Returns the reason why a continuation stops.
static FinishReason reasonOf(const Flat &flat) {
  return flat.token == endToken ? FinishReason::End : FinishReason::Length;
}

std::vector<Hypothesis> naivePaper(const HashModel &model, const std::vector<int32_t> &source,
                                   const NaiveOptions &options) {
  const auto width = static_cast<size_t>(options.beam);
  const auto lp = [&](double n) { return std::pow((5 + n) / 6, options.lengthPenalty); };
  const auto penalty = [&](const Partial &partial) {
    return options.coveragePenalty == 0 ? 0.0
                                        : options.coveragePenalty * coverageScore(partial.coverage);
  };
  std::vector<Partial> alive = {{0, options.prefix}};
  std::vector<Hypothesis> done;
  for (int32_t step = 0; step < options.maxLength; ++step) {
    std::vector<std::vector<double>> scores;
    for (const Partial &partial : alive) {
      scores.push_back(naiveScores(model, source, options, partial.tokens, false, false));
    }
    cover(model, source, alive, false);
    std::vector<Partial> next;
    for (const Flat &flat : bestFlat(alive, scores, 2 * width)) {
      Partial partial = continued(alive, flat);
      if (flat.token == endToken) {
        done.push_back({.tokens = partial.tokens,
                        .score = flat.sum / lp(step + 1) + penalty(partial),
                        .finish = FinishReason::End});
      } else if (next.size() < width) {
        next.push_back(partial);
      }
    }
    alive = next;
    sortByScore(done, width);
    if (options.earlyStopping && done.size() == width) {
      break;
    }
    if (done.size() == width && done.back().score > alive.front().sum / lp(options.maxLength)) {
      break;
    }
  }
  if (done.empty()) {
    for (const Partial &partial : alive) {
      done.push_back({.tokens = partial.tokens,
                      .score = partial.sum / lp(options.maxLength) + penalty(partial),
                      .finish = FinishReason::Length});
    }
    sortByScore(done, width);
  }
  return done;
}

std::vector<Hypothesis> naiveTransformers(const HashModel &model,
                                          const std::vector<int32_t> &source,
                                          const NaiveOptions &options) {
  const auto width = static_cast<size_t>(options.beam);
  std::vector<Partial> alive = {{0, options.prefix}};
  std::vector<Hypothesis> done;
  for (int32_t length = 1; length <= options.maxLength; ++length) {
    std::vector<std::vector<double>> scores;
    for (const Partial &partial : alive) {
      scores.push_back(naiveScores(model, source, options, partial.tokens, true, true));
    }
    const std::vector<Flat> top = bestFlat(alive, scores, 2 * width);
    std::vector<Partial> next;
    for (size_t i = 0; i < top.size(); ++i) {
      const bool stops = top[i].token == endToken || length == options.maxLength;
      if (!stops && next.size() < width) {
        next.push_back(continued(alive, top[i]));
      }
      if (stops && i < width) {
        done.push_back({.tokens = continued(alive, top[i]).tokens,
                        .score = top[i].sum / std::pow(length, options.lengthPenalty),
                        .finish = reasonOf(top[i])});
      }
    }
    sortByScore(done, width);
    alive = next;
    if (alive.empty()) {
      break;
    }
    const bool full = done.size() == width;
    const int32_t hypothetical =
        options.never && options.lengthPenalty > 0 ? options.maxLength : length;
    const double possible = alive.front().sum / std::pow(hypothetical, options.lengthPenalty);
    if (full && (options.earlyStopping || !(possible > done.back().score))) {
      break;
    }
  }
  return done;
}

std::vector<Hypothesis> naiveCTranslate2(const HashModel &model, const std::vector<int32_t> &source,
                                         const NaiveOptions &options) {
  const auto width = static_cast<size_t>(options.beam);
  std::vector<Partial> alive = {{0, options.prefix}};
  std::vector<Hypothesis> done;
  bool topEnded = false;
  for (int32_t length = 1; length <= options.maxLength; ++length) {
    const bool last = length == options.maxLength;
    std::vector<std::vector<double>> scores;
    for (const Partial &partial : alive) {
      scores.push_back(naiveScores(model, source, options, partial.tokens, false, false));
    }
    cover(model, source, alive, true);
    const std::vector<Flat> top = bestFlat(alive, scores, 2 * width);
    std::vector<Partial> next;
    size_t secondary = width;
    for (size_t i = 0; i < std::min(width, top.size()); ++i) {
      Partial partial = continued(alive, top[i]);
      if (top[i].token != endToken && !last) {
        next.push_back(partial);
        continue;
      }
      topEnded = topEnded || i == 0;
      if (top[i].token == endToken) {
        partial.tokens.pop_back();
      }
      double score = top[i].sum / std::pow(length, options.lengthPenalty);
      if (options.coveragePenalty != 0) {
        score += options.coveragePenalty * coverageScore(partial.coverage);
      }
      done.push_back({.tokens = partial.tokens, .score = score, .finish = reasonOf(top[i])});
      for (; secondary < top.size(); ++secondary) {
        if (top[secondary].token != endToken) {
          next.push_back(continued(alive, top[secondary++]));
          break;
        }
      }
    }
    const bool plain = options.lengthPenalty == 0 && options.coveragePenalty == 0;
    if (last || (done.size() >= width && (!plain || topEnded))) {
      break;
    }
    alive = next;
  }
  sortByScore(done, width);
  return done;
}

std::vector<int32_t> naiveGreedy(const HashModel &model, const std::vector<int32_t> &source,
                                 const NaiveOptions &options) {
  std::vector<int32_t> tokens = options.prefix;
  for (int32_t step = 0; step < options.maxLength; ++step) {
    const std::vector<double> scores = naiveScores(model, source, options, tokens, false, false);
    tokens.push_back(
        static_cast<int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
    if (tokens.back() == endToken) {
      break;
    }
  }
  return tokens;
}

} // namespace heddle
