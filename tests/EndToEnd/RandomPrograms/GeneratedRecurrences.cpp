// SPDX-License-Identifier: Apache-2.0
///
/// Random recurrences: one way or both, of random mathematics that cannot grow without bounds.
/// Those of decoders are carried by states, some of which the encoder gives.
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

/// What the steps give of the first carried value.
Written ProgramGenerator::recurrence(const Written &x, bool reversed) {
  const bool isGiven = inDecoder && givenWidth > 0 && dice.once(2);
  const int64_t hidden = isGiven ? givenWidth : width();
  const int64_t count = dice.between(1, 2);
  const size_t firstState = keptHere.size();
  // Some decoders look at the first cache of the source, and hand on where they looked.
  const bool looks = inDecoder && !memoryWidths.empty() && dice.once(2);
  const std::string looked = "tensor<?x1x?xf32>";
  std::string from;
  Written memory;
  if (inDecoder) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) {
      const bool isFirst = isGiven && i == 0;
      const std::string state = isFirst ? "given" : fmt::format("kept{}", keptHere.size());
      const std::string type = fmt::format("!transformer.state<{}>", hidden);
      names.push_back(fmt::format("%{}", nextValue++));
      body += fmt::format("  {} = transformer.load %{}{} : {}\n", names.back(), state,
                          isFirst ? " {given}" : "", type);
      keptHere.push_back({state, type, fmt::format("%{}.after", state)});
    }
    std::vector<std::string> types(names.size(), rowsType(hidden));
    if (looks) {
      memory = remembered(0);
      const std::string state = fmt::format("kept{}", keptHere.size());
      const std::string type = "!transformer.state<1, keys>";
      names.push_back(fmt::format("%{}", nextValue++));
      types.push_back(looked);
      body += fmt::format("  {} = transformer.load %{} over(%memory) : {}\n", names.back(), state,
                          type);
      keptHere.push_back({state, type, fmt::format("%{}.after", state)});
    }
    from = fmt::format(" from({} : {})", fmt::join(names, ", "), fmt::join(types, ", "));
  } else if (dice.once(3)) {
    std::vector<std::string> names, types;
    for (int64_t i = 0; i < count; ++i) {
      const Written start = linear(
          rows(x.width, x.exponent, fmt::format("pool mean {} in(%rows)", x.name), Kind::Pooled),
          hidden);
      names.push_back(start.name);
      types.push_back(start.type);
    }
    from = fmt::format(" from({} : {})", fmt::join(names, ", "), fmt::join(types, ", "));
  }
  // The region has values of its own.
  const std::string outsideBody = std::exchange(body, "");
  const std::vector<Written> outside = std::exchange(defined, {});
  std::vector<Written> arguments;
  std::vector<std::string> declared;
  for (int64_t i = 0; i <= count; ++i) {
    arguments.push_back(argument(fmt::format("%{}", nextValue++), i == 0 ? x.width : hidden));
    declared.push_back(fmt::format("{}: {}", arguments.back().name, arguments.back().type));
  }
  if (looks) {
    arguments.push_back({Kind::Weight, fmt::format("%{}", nextValue++), looked, 1, 0, "%memory"});
    declared.push_back(fmt::format("{}: {}", arguments.back().name, looked));
  }
  const Written ofInput = linear(arguments[0], hidden);
  Written state = add(ofInput, linear(arguments[1], hidden));
  for (int64_t i = dice.below(3); i > 0; --i) {
    switch (dice.below(4)) {
    case 0:
      state = multiplyOther(state);
      break;
    case 1:
      state = norm(state);
      break;
    case 2:
      state = add(state, linear(arguments[0], hidden));
      break;
    default:
      state = activate(state);
      break;
    }
  }
  const Written looking = looks ? lookWithin(state, memory, arguments.back()) : Written();
  const auto bounded = [&](const Written &value) {
    return define(
        Kind::Rows, value.type, 0, value.width, 0,
        fmt::format("activate {} {} : {}", dice.of({"tanh", "sigmoid"}), value.name, value.type));
  };
  std::vector<Written> left = {bounded(state)};
  if (count == 2) {
    left.push_back(dice.once(3) ? arguments[1] : bounded(add(arguments[2], left[0])));
  }
  const auto carried = static_cast<size_t>(count) + (looks ? 1 : 0);
  if (looks) {
    left.push_back(looking);
  }
  // The first of these is what comes of the steps; the others need no step, or are old values.
  const Written given = dice.once(3) ? bounded(add(left[0], ofInput)) : left[0];
  left.push_back(given);
  if (dice.once(3)) {
    left.push_back(dice.of({ofInput, arguments[0], arguments[1]}));
  }
  std::vector<std::string> values, types, results;
  std::vector<Written> after = outside;
  for (size_t i = 0; i < left.size(); ++i) {
    values.push_back(left[i].name);
    types.push_back(left[i].type);
    results.push_back(fmt::format("%{}", nextValue++));
    const Kind kind = left[i].type == looked ? Kind::Weight
                      : i < carried          ? Kind::Pooled
                                             : Kind::Rows;
    after.push_back({kind, results.back(), left[i].type, 0, left[i].width});
  }
  const std::string region = std::exchange(body, outsideBody);
  body += fmt::format("  {} = transformer.recurrence({} : {}){} in(%rows){} -> {} {{\n^bb0({}):\n{}"
                      "  transformer.next {} : {}\n  }}\n",
                      fmt::join(results, ", "), x.name, x.type, from, reversed ? " reversed" : "",
                      fmt::join(types, ", "), fmt::join(declared, ", "), region,
                      fmt::join(values, ", "), fmt::join(types, ", "));
  for (size_t i = firstState; i < keptHere.size(); ++i) {
    body += fmt::format("  {} = transformer.store %{}, {} : {}\n", keptHere[i].result,
                        keptHere[i].name, results[i - firstState], keptHere[i].type);
  }
  defined = std::move(after);
  return *std::find_if(defined.begin(), defined.end(),
                       [&](const Written &value) { return value.name == results[carried]; });
}

} // namespace heddle
