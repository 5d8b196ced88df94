// SPDX-License-Identifier: Apache-2.0
///
/// Constrains an answer of a search: determines which tokens may follow a text, so that it can
/// still become a JSON text that conforms to a schema. The result depends on the text alone.
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

/// The state of a text within a constraint. Cheap to copy.
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

/// Limits on the memory for computed states.
struct ConstraintBounds {
  size_t states = size_t(1) << 14;
  size_t maskBytes = size_t(32) << 20;
};

/// One schema for one vocabulary, shared by any number of texts and threads.
class Constraint {
public:
  /// Creates the constraint. `end` are the tokens that end a complete text and have no other
  /// meaning.
  static Result<std::shared_ptr<Constraint>> create(std::string_view schema,
                                                    std::shared_ptr<const TokenTexts> tokens,
                                                    std::span<const int32_t> end,
                                                    const ConstraintBounds &bounds = {});

  ConstraintState start();
  /// Returns the state after a token; nullopt if the token cannot follow. A token without a text
  /// does not change the state.
  std::optional<ConstraintState> follow(const ConstraintState &state, int32_t token);
  /// Returns whether the text is complete.
  bool isWhole(const ConstraintState &state);
  /// Returns the tokens that may follow.
  std::shared_ptr<const TokenMask> mask(const ConstraintState &state);
  /// Returns the number of states that are kept: at most `bounds.states` and those of one token,
  /// unless a deeply nested text needs more.
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
  /// Guards the caches that grow as texts are read; callers of private methods must hold it.
  std::mutex mutex;
  std::shared_ptr<JsonAutomaton> automaton;
  size_t mostStates;
  Masks masks;
  /// The masks of short tokens alone.
  Masks shortMasks;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINT_H
