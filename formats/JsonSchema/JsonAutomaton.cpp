// SPDX-License-Identifier: Apache-2.0
///
/// Interns frames, sets and states, and caches steps.
#include "formats/JsonSchema/JsonAutomaton.h"

#include <algorithm>
#include <set>

namespace heddle {

/// The successor of a byte is not computed yet.
static constexpr uint32_t unknown = 0xffffffffU;
/// The limit on stacks, for schemas with very many indistinguishable alternatives. Interpretations
/// of a text beyond it are dropped: fewer texts are then allowed, each of which conforms to the
/// schema.
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
  // The state of an invalid text, and that below the first frame, have no stacks.
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

/// Returns the state with these stacks, whose order is deterministic and therefore significant.
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

/// Removes duplicate stacks, keeping the first.
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
  // Numbers stay valid, but tables move while new ones are made.
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

/// Returns the smallest count that `steps` more elements cannot distinguish from `count`, given the
/// bounds `least` and `most`; counts below `begin` are special and stay unchanged.
static uint32_t alikeCount(uint32_t count, uint32_t begin, uint32_t least, uint32_t most,
                           uint32_t steps) {
  const bool isFarFromMost = most == JsonValue::any || (count <= most && most - count > steps);
  if (!isFarFromMost || count < begin) {
    return count;
  }
  return count >= least ? std::max(least, begin) : least - count > steps ? begin : count;
}

/// A character and an item have at least one byte each.
JsonAutomaton::Frame JsonAutomaton::alike(Frame frame, uint32_t bytes) const {
  const JsonValue &value = grammar->value(frame.value);
  if (frame.kind == Kind::String) {
    frame.place = alikeCount(frame.place, 0, value.minLength, value.maxLength, bytes);
  } else if (frame.kind == Kind::Array) {
    // The first items may have their own schemas, and the very first is not preceded by a comma.
    const auto first = std::max<uint32_t>(1, static_cast<uint32_t>(value.firstItems.size()));
    frame.place = alikeCount(frame.place, first, value.minItems, value.maxItems, bytes);
  }
  return frame;
}

/// States below a state were created before it, so states are processed in order.
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

/// States below a state were created before it, so states are recreated in order.
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
