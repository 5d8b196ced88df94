// SPDX-License-Identifier: Apache-2.0
///
/// Random recurrences: in one direction or both, with random mathematics that cannot grow without
/// bounds. Those of decoders are carried by states, some of which the encoder sets.
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace heddle {

void ProgramGenerator::recurrences(const Written &x) {
  const Written forwards = recurrence(x, !inDecoder && dice.once(4));
  if (inDecoder || dice.once(3)) {
    return;
  }
  const Written backwards = recurrence(dice.once(3) ? forwards : x, !dice.once(4));
  const int64_t width = forwards.width + backwards.width;
  define(Kind::Rows, rowsType(width), 0, width, 0,
         fmt::format("concat {}, {} : ({}, {}) -> {}", forwards.name, backwards.name, forwards.type,
                     backwards.type, rowsType(width)));
  steps(dice.between(0, 1));
}

Written ProgramGenerator::lookWithin(Written &state, const Written &memory, const Written &before) {
  keySegments = "%memory";
  const Written p = weigh(pairScores(linear(state, memory.width), memory, 1, &before));
  const std::string type = rowsType(memory.width);
  const Written context =
      define(Kind::Rows, type, 0, memory.width, 0,
             fmt::format("contract \"thk,kd->td\" {}, {} in(%rows, %memory) : {}, {} -> {}", p.name,
                         memory.name, p.type, memory.type, type));
  state = add(state, linear(context, state.width));
  keySegments = "%seen";
  return dice.once(3) ? add(before, p) : p;
}

/// The values per key that a decoder carries.
static const std::string looked = "tensor<?x1x?xf32>";

/// The values that a recurrence carries from step to step.
struct ProgramGenerator::Carried {
  int64_t count;
  int64_t hidden;
  /// Whether the encoder sets the first one.
  bool isGiven;
  /// Whether the attention to a memory is carried too, after the others.
  bool looks;
  Written memory = {};
  /// ` from(...)`, if it has an initial value.
  std::string from = {};

  size_t size() const { return static_cast<size_t>(count) + (looks ? 1 : 0); }
};

void ProgramGenerator::beginCarried(Carried &carried, const Written &x) {
  std::vector<std::string> names, types;
  const auto load = [&](const std::string &state, const std::string &how, const std::string &type,
                        const std::string &loaded) {
    names.push_back(fmt::format("%{}", nextValue++));
    types.push_back(loaded);
    body += fmt::format("  {} = transformer.load %{}{} : {}\n", names.back(), state, how, type);
    keptHere.push_back({state, type, fmt::format("%{}.after", state)});
  };
  if (inDecoder) {
    for (int64_t i = 0; i < carried.count; ++i) {
      const bool isFirst = carried.isGiven && i == 0;
      load(isFirst ? "given" : fmt::format("kept{}", keptHere.size()), isFirst ? " {given}" : "",
           fmt::format("!transformer.state<{}>", carried.hidden), rowsType(carried.hidden));
    }
    if (carried.looks) {
      carried.memory = remembered(0);
      load(fmt::format("kept{}", keptHere.size()), " over(%memory)", "!transformer.state<1, keys>",
           looked);
    }
  } else if (dice.once(3)) {
    for (int64_t i = 0; i < carried.count; ++i) {
      const Written start = linear(
          rows(x.width, x.exponent, fmt::format("pool mean {} in(%rows)", x.name), Kind::Pooled),
          carried.hidden);
      names.push_back(start.name);
      types.push_back(start.type);
    }
  }
  if (!names.empty()) {
    carried.from = fmt::format(" from({} : {})", fmt::join(names, ", "), fmt::join(types, ", "));
  }
}

std::vector<Written> ProgramGenerator::writeStep(const Carried &carried,
                                                 const std::vector<Written> &arguments) {
  const Written ofInput = linear(arguments[0], carried.hidden);
  Written state = add(ofInput, linear(arguments[1], carried.hidden));
  for (int64_t i = dice.below(3); i > 0; --i) {
    switch (dice.below(4)) {
    case 0:
      state = multiplyOther(state);
      break;
    case 1:
      state = norm(state);
      break;
    case 2:
      state = add(state, linear(arguments[0], carried.hidden));
      break;
    default:
      state = activate(state);
      break;
    }
  }
  const Written looking =
      carried.looks ? lookWithin(state, carried.memory, arguments.back()) : Written();
  const auto bounded = [&](const Written &value) {
    return define(
        Kind::Rows, value.type, 0, value.width, 0,
        fmt::format("activate {} {} : {}", dice.of({"tanh", "sigmoid"}), value.name, value.type));
  };
  std::vector<Written> left = {bounded(state)};
  if (carried.count == 2) {
    left.push_back(dice.once(3) ? arguments[1] : bounded(add(arguments[2], left[0])));
  }
  if (carried.looks) {
    left.push_back(looking);
  }
  // The first depends on the steps; the others need no step, or are old values.
  left.push_back(dice.once(3) ? bounded(add(left[0], ofInput)) : left[0]);
  if (dice.once(3)) {
    left.push_back(dice.of({ofInput, arguments[0], arguments[1]}));
  }
  return left;
}

/// Writes a recurrence and returns the results of its steps for the first carried value.
Written ProgramGenerator::recurrence(const Written &x, bool reversed) {
  const bool isGiven = inDecoder && givenWidth > 0 && dice.once(2);
  Carried carried = {
      .count = 0, .hidden = isGiven ? givenWidth : width(), .isGiven = isGiven, .looks = false};
  carried.count = dice.between(1, 2);
  // Some decoders attend to the first cache of the source, and carry their attention.
  carried.looks = inDecoder && !memoryWidths.empty() && dice.once(2);
  const size_t firstState = keptHere.size();
  beginCarried(carried, x);
  // The region has its own values.
  const std::string outsideBody = std::exchange(body, "");
  std::vector<Written> after = std::exchange(defined, {});
  std::vector<Written> arguments;
  std::vector<std::string> declared;
  for (int64_t i = 0; i <= carried.count; ++i) {
    arguments.push_back(
        argument(fmt::format("%{}", nextValue++), i == 0 ? x.width : carried.hidden));
    declared.push_back(fmt::format("{}: {}", arguments.back().name, arguments.back().type));
  }
  if (carried.looks) {
    arguments.push_back({Kind::Weight, fmt::format("%{}", nextValue++), looked, 1, 0, "%memory"});
    declared.push_back(fmt::format("{}: {}", arguments.back().name, looked));
  }
  const std::vector<Written> left = writeStep(carried, arguments);
  std::vector<std::string> values, types, results;
  for (size_t i = 0; i < left.size(); ++i) {
    values.push_back(left[i].name);
    types.push_back(left[i].type);
    results.push_back(fmt::format("%{}", nextValue++));
    const Kind kind = left[i].type == looked ? Kind::Weight
                      : i < carried.size()   ? Kind::Pooled
                                             : Kind::Rows;
    after.push_back({kind, results.back(), left[i].type, 0, left[i].width});
  }
  const std::string region = std::exchange(body, outsideBody);
  body +=
      fmt::format("  {} = transformer.recurrence({} : {}){} in(%rows){} -> {} {{\n^bb0({}):\n{}"
                  "  transformer.next {} : {}\n  }}\n",
                  fmt::join(results, ", "), x.name, x.type, carried.from,
                  reversed ? " reversed" : "", fmt::join(types, ", "), fmt::join(declared, ", "),
                  region, fmt::join(values, ", "), fmt::join(types, ", "));
  for (size_t i = firstState; i < keptHere.size(); ++i) {
    body += fmt::format("  {} = transformer.store %{}, {} : {}\n", keptHere[i].result,
                        keptHere[i].name, results[i - firstState], keptHere[i].type);
  }
  defined = std::move(after);
  return *std::find_if(defined.begin(), defined.end(),
                       [&](const Written &value) { return value.name == results[carried.size()]; });
}

} // namespace heddle
