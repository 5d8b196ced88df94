// SPDX-License-Identifier: Apache-2.0
///
/// Walks through a vocabulary with an automaton. An automaton that has met too many states is
/// replaced; texts on their way move to the new one when they are next looked at.
#include "runtime/Constraint/Constraint.h"

#include <limits>

namespace heddle {

Result<std::shared_ptr<Constraint>> Constraint::create(std::string_view schema,
                                                       std::shared_ptr<const TokenTexts> tokens,
                                                       std::span<const int32_t> end,
                                                       const ConstraintBounds &bounds) {
  HEDDLE_ASSIGN(JsonGrammar grammar, JsonGrammar::read(schema));
  return std::shared_ptr<Constraint>(
      new Constraint(std::move(grammar), std::move(tokens), end, bounds));
}

Constraint::Constraint(JsonGrammar read, std::shared_ptr<const TokenTexts> tokens,
                       std::span<const int32_t> end, const ConstraintBounds &bounds)
    : grammar(std::make_shared<const JsonGrammar>(std::move(read))), tokens(std::move(tokens)),
      end(end.begin(), end.end()), bounds(bounds),
      automaton(std::make_shared<JsonAutomaton>(grammar)) {}

ConstraintState Constraint::start() {
  const std::lock_guard lock(mutex);
  return {automaton, automaton->start()};
}

void Constraint::forget() {
  automaton = std::make_shared<JsonAutomaton>(grammar);
  masks.clear();
}

/// A state in the automaton of now.
JsonAutomaton::State Constraint::current(const ConstraintState &state) {
  if (automaton->size() > bounds.states) {
    forget();
  }
  return state.automaton == automaton ? state.state
                                      : automaton->adopt(*state.automaton, state.state);
}

std::optional<ConstraintState> Constraint::follow(const ConstraintState &state, int32_t token) {
  const std::lock_guard lock(mutex);
  JsonAutomaton::State next = current(state);
  for (const char byte : tokens->of(token)) {
    next = automaton->next(next, static_cast<uint8_t>(byte));
    if (next == JsonAutomaton::dead) {
      return std::nullopt;
    }
  }
  return ConstraintState(automaton, next);
}

bool Constraint::isWhole(const ConstraintState &state) {
  const std::lock_guard lock(mutex);
  // First the state: finding it may replace the automaton.
  const JsonAutomaton::State now = current(state);
  return automaton->isWhole(now);
}

TokenMask Constraint::compute(JsonAutomaton::State state) {
  TokenMask mask((tokens->size() + 63) / 64);
  const auto allow = [&](int32_t id) {
    mask[static_cast<size_t>(id) / 64] |= uint64_t(1) << (static_cast<size_t>(id) % 64);
  };
  // The states after each of the bytes that the last token has, until one cannot follow.
  std::vector<JsonAutomaton::State> path = {state};
  size_t alive = std::numeric_limits<size_t>::max();
  for (const SortedToken &token : tokens->sorted()) {
    // What a token that cannot follow has in common with the next one decides that too.
    if (token.common > alive) {
      continue;
    }
    const std::string_view text = tokens->of(token.id);
    path.resize(token.common + 1);
    alive = std::numeric_limits<size_t>::max();
    for (size_t at = token.common; at < text.size(); ++at) {
      path.push_back(automaton->next(path.back(), static_cast<uint8_t>(text[at])));
      if (path.back() == JsonAutomaton::dead) {
        alive = at;
        break;
      }
    }
    if (path.back() != JsonAutomaton::dead) {
      allow(token.id);
    }
  }
  for (const int32_t id : end) {
    const uint64_t bit = uint64_t(1) << (static_cast<size_t>(id) % 64);
    uint64_t &word = mask[static_cast<size_t>(id) / 64];
    word = automaton->isWhole(state) ? word | bit : word & ~bit;
  }
  return mask;
}

std::shared_ptr<const TokenMask> Constraint::mask(const ConstraintState &state) {
  const std::lock_guard lock(mutex);
  const JsonAutomaton::State now = current(state);
  if (const auto known = masks.find(now); known != masks.end()) {
    return known->second;
  }
  if (masks.size() * (tokens->size() / 8 + 64) > bounds.maskBytes) {
    masks.clear();
  }
  return masks[now] = std::make_shared<const TokenMask>(compute(now));
}

} // namespace heddle
