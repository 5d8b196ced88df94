// SPDX-License-Identifier: Apache-2.0
///
/// Numbers for frames, sets and states, and steps that are computed once.
#include "formats/JsonSchema/JsonAutomaton.h"

#include <algorithm>
#include <set>

namespace heddle {

/// A byte leads nowhere known yet.
static constexpr uint32_t unknown = 0xffffffffU;
/// Schemas with very many alternatives that cannot be told apart: of what a text may mean, no more
/// is followed. Fewer texts are then allowed, each of which follows the schema.
static constexpr size_t mostStacks = 4096;

size_t JsonAutomaton::WordsHash::operator()(const Words &words) const {
  uint64_t hash = words.size();
  for (const uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash);
}

JsonAutomaton::JsonAutomaton(std::shared_ptr<const JsonGrammar> grammar)
    : grammar(std::move(grammar)) {
  // No stack is left of a text that is none, nor below the first frame.
  intern({});
  numberOfSet({});
  first = intern({Stack{number(Frame()), dead}});
}

JsonAutomaton::Words JsonAutomaton::wordsOf(const Frame &frame) {
  const auto small = [](auto value) { return static_cast<uint64_t>(value); };
  return {small(frame.kind) | small(frame.phase) << 8 | small(frame.string) << 16 |
              small(frame.number.place) << 24 | small(frame.number.isNegative) << 32 |
              small(frame.number.digits) << 40,
          frame.number.magnitude, small(frame.value) << 32 | frame.place, frame.seen};
}

uint32_t JsonAutomaton::number(const Frame &frame) {
  const auto [found, isNew] =
      frameNumbers.try_emplace(wordsOf(frame), static_cast<uint32_t>(frames.size()));
  if (isNew) {
    frames.push_back(frame);
  }
  return found->second;
}

uint32_t JsonAutomaton::numberOfSet(const Words &set) {
  const auto [found, isNew] = setNumbers.try_emplace(set, static_cast<uint32_t>(sets.size()));
  if (isNew) {
    sets.push_back(set);
  }
  return found->second;
}

/// The state with these stacks. Their order follows from the text, so that it may count.
JsonAutomaton::State JsonAutomaton::intern(Stacks stacks) {
  Words words;
  words.reserve(stacks.size());
  for (const Stack &stack : stacks) {
    words.push_back(uint64_t(stack.frame) << 32 | stack.below);
  }
  const auto [found, isNew] = stateNumbers.try_emplace(std::move(words), uint32_t(states.size()));
  if (isNew) {
    const bool isWhole = std::any_of(stacks.begin(), stacks.end(),
                                     [&](const Stack &stack) { return isWholeStack(stack); });
    states.push_back({std::move(stacks), isWhole});
  }
  return found->second;
}

bool JsonAutomaton::isWholeStack(const Stack &stack) const {
  const Frame &frame = frames[stack.frame];
  switch (frame.kind) {
  case Kind::Root:
    return frame.phase == Phase::Value;
  case Kind::Constant:
    return grammar->value(frame.value).constants.numberAt(frame.place) != ByteTrie::none &&
           states[stack.below].isWhole;
  case Kind::Number:
    return isWholeNumber(frame.number, grammar->value(frame.value)) && states[stack.below].isWhole;
  case Kind::String:
  case Kind::Array:
  case Kind::Object:
    return false;
  }
  return false;
}

/// Each stack once, the first of equal ones.
template <typename Stack> static void keepOnce(std::vector<Stack> &stacks) {
  if (stacks.size() < 2) {
    return;
  }
  std::set<std::pair<uint32_t, uint32_t>> seen;
  std::erase_if(
      stacks, [&](const Stack &stack) { return !seen.insert({stack.frame, stack.below}).second; });
  stacks.resize(std::min(stacks.size(), mostStacks));
}

JsonAutomaton::State JsonAutomaton::next(State state, uint8_t byte) {
  if (states[state].next == nullptr) {
    states[state].next = std::make_unique<std::array<State, 256>>();
    states[state].next->fill(unknown);
  }
  if (const State known = (*states[state].next)[byte]; known != unknown) {
    return known;
  }
  // Numbers stay, but tables move while new ones are made.
  const Stacks stacks = states[state].stacks;
  Step step{.byte = byte};
  for (const Stack &stack : stacks) {
    advance(step, stack);
  }
  for (auto &[frame, below] : step.pushed) {
    keepOnce(below);
    step.kept.push_back({frame, intern(std::move(below))});
  }
  keepOnce(step.kept);
  const State found = intern(std::move(step.kept));
  (*states[state].next)[byte] = found;
  return found;
}

/// A count that is between two bounds, and `least` at the beginning, as the smallest that so many
/// steps cannot tell from it.
static uint32_t alikeCount(uint32_t count, uint32_t begin, uint32_t least, uint32_t most,
                           uint32_t steps) {
  const bool isFarFromMost = most == JsonValue::any || (count <= most && most - count > steps);
  if (!isFarFromMost || count < begin) {
    return count;
  }
  return count >= least ? std::max(least, begin) : least - count > steps ? begin : count;
}

/// A character has a byte at least, and so has an item.
JsonAutomaton::Frame JsonAutomaton::alike(Frame frame, uint32_t bytes) const {
  const JsonValue &value = grammar->value(frame.value);
  if (frame.kind == Kind::String) {
    frame.place = alikeCount(frame.place, 0, value.minLength, value.maxLength, bytes);
  } else if (frame.kind == Kind::Array) {
    // The first items may have schemas of their own, and before the first one no comma stands.
    const auto first = std::max<uint32_t>(1, static_cast<uint32_t>(value.firstItems.size()));
    frame.place = alikeCount(frame.place, first, value.minItems, value.maxItems, bytes);
  }
  return frame;
}

/// What is below a state was met before it, so that states are looked at in their order.
JsonAutomaton::State JsonAutomaton::alike(State state, uint32_t bytes) {
  std::unordered_map<State, State> &known = found[bytes];
  std::set<State> needed;
  std::vector<State> left = {state};
  while (!left.empty()) {
    const State next = left.back();
    left.pop_back();
    if (known.contains(next) || !needed.insert(next).second) {
      continue;
    }
    for (const Stack &stack : states[next].stacks) {
      left.push_back(stack.below);
    }
  }
  for (const State each : needed) {
    Stacks stacks = states[each].stacks;
    for (Stack &stack : stacks) {
      stack = {number(alike(frames[stack.frame], bytes)), known.at(stack.below)};
    }
    keepOnce(stacks);
    known[each] = intern(std::move(stacks));
  }
  return known.at(state);
}

/// What is below a state was met before it, so that states are made anew in their order.
JsonAutomaton::State JsonAutomaton::adopt(const JsonAutomaton &other, State state) {
  std::set<State> needed = {state};
  std::vector<State> left = {state};
  while (!left.empty()) {
    const State next = left.back();
    left.pop_back();
    for (const Stack &stack : other.states[next].stacks) {
      if (needed.insert(stack.below).second) {
        left.push_back(stack.below);
      }
    }
  }
  std::map<State, State> made;
  for (const State old : needed) {
    Stacks stacks = other.states[old].stacks;
    for (Stack &stack : stacks) {
      Frame frame = other.frames[stack.frame];
      frame.seen = numberOfSet(other.sets[frame.seen]);
      stack = {number(frame), made.at(stack.below)};
    }
    made[old] = intern(std::move(stacks));
  }
  return made.at(state);
}

} // namespace heddle
