// SPDX-License-Identifier: Apache-2.0
///
/// What an answer must look like, for a search: which tokens may follow a text, so that it can
/// still become a JSON text that follows a schema. What is allowed depends on the text alone.
#ifndef HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINT_H
#define HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINT_H

#include "formats/JsonSchema/JsonAutomaton.h"
#include "heddle/Status.h"
#include "runtime/Constraint/TokenTexts.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace heddle {

/// One bit for each token, 64 in a word.
using TokenMask = std::vector<uint64_t>;

/// Where a text is within a constraint. Cheap to copy.
class ConstraintState {
public:
  ConstraintState() = default;

private:
  friend class Constraint;
  ConstraintState(std::shared_ptr<JsonAutomaton> automaton, JsonAutomaton::State state)
      : automaton(std::move(automaton)), state(state) {}

  std::shared_ptr<JsonAutomaton> automaton;
  JsonAutomaton::State state = JsonAutomaton::dead;
};

/// How much of what was computed is kept.
struct ConstraintBounds {
  size_t states = size_t(1) << 14;
  size_t maskBytes = size_t(32) << 20;
};

/// One schema for one vocabulary, which any number of texts and threads share.
class Constraint {
public:
  /// `end` are the tokens that may end a whole text, and nothing else.
  static Result<std::shared_ptr<Constraint>> create(std::string_view schema,
                                                    std::shared_ptr<const TokenTexts> tokens,
                                                    std::span<const int32_t> end,
                                                    const ConstraintBounds &bounds = {});

  ConstraintState start();
  /// The state after a token; nothing if it cannot follow. One without a text changes nothing.
  std::optional<ConstraintState> follow(const ConstraintState &state, int32_t token);
  /// Whether the text is a whole one.
  bool isWhole(const ConstraintState &state);
  /// The tokens that may follow.
  std::shared_ptr<const TokenMask> mask(const ConstraintState &state);
  /// How many states are kept: `bounds.states` and those of one token at most, unless a text needs
  /// more for what it is within.
  size_t size();

private:
  Constraint(JsonGrammar grammar, std::shared_ptr<const TokenTexts> tokens,
             std::span<const int32_t> end, const ConstraintBounds &bounds);
  using State = JsonAutomaton::State;
  using Masks = std::unordered_map<State, std::shared_ptr<const TokenMask>>;

  State current(const ConstraintState &state);
  bool isFull() const;
  State moved(const JsonAutomaton &from, State state);
  void forget();
  void allow(std::span<const SortedToken> those, State &state, TokenMask &mask);
  TokenMask compute(State &state);
  void keep(Masks &some, State state, const TokenMask &mask);

  std::shared_ptr<const JsonGrammar> grammar;
  std::shared_ptr<const TokenTexts> tokens;
  std::vector<int32_t> end;
  ConstraintBounds bounds;
  /// Guards what grows as texts are looked at; whoever calls a private method has it.
  std::mutex mutex;
  std::shared_ptr<JsonAutomaton> automaton;
  size_t mostStates;
  Masks masks;
  /// What was found of short tokens alone.
  Masks shortMasks;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINT_H
