// SPDX-License-Identifier: Apache-2.0
///
/// Runs an automaton over a vocabulary. An automaton with too many states is replaced; unfinished
/// texts move to the new one on their next access.
#include "runtime/Constraint/Constraint.h"

#include <algorithm>
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
      automaton(std::make_shared<JsonAutomaton>(grammar)), mostStates(bounds.states) {}

ConstraintState Constraint::start() {
  const std::lock_guard lock(mutex);
  return {automaton, automaton->start()};
}

void Constraint::forget() {
  automaton = std::make_shared<JsonAutomaton>(grammar);
  mostStates = bounds.states;
  masks.clear();
  shortMasks.clear();
}

bool Constraint::isFull() const { return automaton->size() > mostStates; }

/// Returns the state of the current automaton that corresponds to one of a replaced automaton. A
/// deeply nested text may need more states than the limit, which is then doubled.
Constraint::State Constraint::moved(const JsonAutomaton &from, State state) {
  const size_t before = automaton->size();
  const State now = automaton->adopt(from, state);
  mostStates = std::max(mostStates, 2 * (automaton->size() - before));
  return now;
}

size_t Constraint::size() {
  const std::lock_guard lock(mutex);
  return automaton->size();
}

/// Returns the state in the current automaton.
Constraint::State Constraint::current(const ConstraintState &state) {
  if (isFull()) {
    forget();
  }
  return state.automaton == automaton ? state.state : moved(*state.automaton, state.state);
}

std::optional<ConstraintState> Constraint::follow(const ConstraintState &state, int32_t token) {
  const std::lock_guard lock(mutex);
  State next = current(state);
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
  // The state comes first: computing it may replace the automaton.
  const State now = current(state);
  return automaton->isWhole(now);
}

/// Allows those of a sorted list of tokens that may follow a state. If the automaton grows too
/// large meanwhile, it is replaced, and `state` is updated.
void Constraint::allow(std::span<const SortedToken> those, State &state, TokenMask &mask) {
  // The state after each byte of the last token, up to the first byte that cannot follow.
  std::vector<State> path = {state};
  size_t alive = std::numeric_limits<size_t>::max();
  for (const SortedToken &token : those) {
    // The common prefix with a rejected token rejects this one too.
    if (token.common > alive) {
      continue;
    }
    size_t common = token.common;
    if (isFull()) {
      const std::shared_ptr<const JsonAutomaton> before = automaton;
      forget();
      state = path.front() = moved(*before, state);
      common = 0;
    }
    const std::string_view text = tokens->of(token.id);
    path.resize(common + 1);
    alive = std::numeric_limits<size_t>::max();
    for (size_t at = common; at < text.size(); ++at) {
      path.push_back(automaton->next(path.back(), static_cast<uint8_t>(text[at])));
      if (path.back() == JsonAutomaton::dead) {
        alive = at;
        break;
      }
    }
    if (path.back() != JsonAutomaton::dead) {
      mask[static_cast<size_t>(token.id) / 64] |= uint64_t(1)
                                                  << (static_cast<size_t>(token.id) % 64);
    }
  }
}

/// Stores a mask. If there are too many masks, all others are discarded.
void Constraint::keep(Masks &some, State state, const TokenMask &mask) {
  const size_t count = masks.size() + shortMasks.size();
  if (count * (tokens->size() / 8 + 64) > bounds.maskBytes) {
    masks.clear();
    shortMasks.clear();
  }
  some[state] = std::make_shared<const TokenMask>(mask);
}

/// Most tokens are short, and within a long string or list the same short tokens may follow until a
/// bound is near, so only the long tokens are checked again.
TokenMask Constraint::compute(State &state) {
  TokenMask mask((tokens->size() + 63) / 64);
  State wide = automaton->alike(state, TokenTexts::mostShortBytes);
  if (const auto known = shortMasks.find(wide); known != shortMasks.end()) {
    mask = *known->second;
  } else {
    const std::shared_ptr<const JsonAutomaton> before = automaton;
    allow(tokens->shortOnes(), wide, mask);
    if (before != automaton) {
      state = moved(*before, state);
    }
    keep(shortMasks, wide, mask);
  }
  allow(tokens->longOnes(), state, mask);
  for (const int32_t id : end) {
    const uint64_t bit = uint64_t(1) << (static_cast<size_t>(id) % 64);
    uint64_t &word = mask[static_cast<size_t>(id) / 64];
    word = automaton->isWhole(state) ? word | bit : word & ~bit;
  }
  return mask;
}

std::shared_ptr<const TokenMask> Constraint::mask(const ConstraintState &state) {
  const std::lock_guard lock(mutex);
  State now = current(state);
  now = automaton->alike(now, static_cast<uint32_t>(tokens->mostBytes()));
  if (const auto known = masks.find(now); known != masks.end()) {
    return known->second;
  }
  const TokenMask mask = compute(now);
  keep(masks, now, mask);
  return masks[now];
}

} // namespace heddle
