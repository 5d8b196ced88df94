// SPDX-License-Identifier: Apache-2.0
///
/// An automaton over bytes that accepts the texts which conform to a schema. Its stacks are shared.
/// A state represents all stacks that the text so far allows and is a number: it is cheap to copy,
/// and its properties are computed once. From every state but `dead` a complete text can be
/// reached.
///
/// Whitespace is at most one space: before the value, after each of { [ : and ,, and before } and
/// ].
#ifndef HEDDLE_FORMATS_JSONSCHEMA_JSONAUTOMATON_H
#define HEDDLE_FORMATS_JSONSCHEMA_JSONAUTOMATON_H

#include "formats/JsonSchema/JsonGrammar.h"
#include "formats/JsonSchema/JsonText.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace heddle {

class JsonAutomaton {
public:
  using State = uint32_t;
  static constexpr State dead = 0;

  explicit JsonAutomaton(std::shared_ptr<const JsonGrammar> grammar);

  State start() const { return first; }
  /// Returns the state after one more byte, or `dead`.
  State next(State state, uint8_t byte);
  /// Returns whether the text so far is complete.
  bool isWhole(State state) const { return states[state].isWhole; }
  /// Returns the state that is equivalent to a state of another automaton for the same grammar.
  State adopt(const JsonAutomaton &other, State state);
  /// Returns a representative of the states after which the same texts of at most `bytes` bytes may
  /// follow and are complete: states that differ only in how many more characters or items there
  /// may or must be have the same one if no such text reaches a bound.
  State alike(State state, uint32_t bytes);
  /// Returns an automaton for the same grammar without any states.
  JsonAutomaton fresh() const { return JsonAutomaton(grammar); }
  /// Returns the number of states so far.
  size_t size() const { return states.size(); }

private:
  enum class Kind : uint8_t { Root, Constant, String, Number, Array, Object };
  /// The position of a frame between its parts.
  enum class Phase : uint8_t {
    /// At the beginning, and after its space.
    Open,
    OpenSpace,
    /// After a value, and after the space before a closing bracket.
    Value,
    ValueSpace,
    Comma,
    CommaSpace,
    /// In the name of a member, then after it, after the colon, and after its space.
    Name,
    NameEnd,
    Colon,
    ColonSpace,
  };
  /// One level of a stack.
  struct Frame {
    Kind kind = Kind::Root;
    Phase phase = Phase::Open;
    StringPlace string = StringPlace::Between;
    NumberState number = {};
    /// The value of the grammar.
    JsonValueId value = 0;
    /// The place among constants or names; for a member after its name, the member's number. The
    /// number of characters of a string, or of items of an array.
    uint32_t place = 0;
    /// The set of an object's members that have begun.
    uint32_t seen = 0;
  };
  /// A frame, by its number, on the stacks of a state.
  struct Stack {
    uint32_t frame;
    State below;
    bool operator==(const Stack &) const = default;
  };
  using Stacks = std::vector<Stack>;
  struct StateTable {
    Stacks stacks;
    bool isWhole = false;
    /// The successor of each byte, allocated on the first request.
    std::unique_ptr<std::array<State, 256>> next = nullptr;
  };
  /// The effect of a byte on the stacks of a state. Pushed frames are on top of all the stacks that
  /// they were pushed on.
  struct Step {
    uint8_t byte = 0;
    Stacks kept = {};
    std::vector<std::pair<uint32_t, Stacks>> pushed = {};
  };
  struct WordsHash {
    size_t operator()(const std::vector<uint64_t> &words) const;
  };
  using Words = std::vector<uint64_t>;

  static Words wordsOf(const Frame &frame);
  uint32_t number(const Frame &frame);
  uint32_t numberOfSet(const Words &set);
  State intern(Stacks stacks);
  Frame alike(Frame frame, uint32_t bytes) const;
  bool isWholeStack(const Stack &stack) const;

  void keep(Step &step, const Frame &frame, State below);
  void pop(Step &step, State below);
  void push(Step &step, const Frame &frame, const Frame &after, State below);
  void advance(Step &step, const Stack &stack);
  void advanceRoot(Step &step, Frame frame, State below);
  void advanceConstant(Step &step, Frame frame, State below);
  void advanceString(Step &step, Frame frame, State below);
  void advanceNumber(Step &step, Frame frame, State below);
  void advanceArray(Step &step, Frame frame, State below);
  void advanceObject(Step &step, Frame frame, State below);
  void advanceName(Step &step, Frame frame, State below);
  void endAndAdvance(Step &step, State below);
  void beginValue(Step &step, JsonValueId id, const Frame &after, State below);
  void beginItem(Step &step, Frame frame, State below);
  void beginName(Step &step, Frame frame, State below);

  bool isSeen(uint32_t set, uint32_t member) const;
  uint32_t withSeen(uint32_t set, uint32_t member);
  bool mayName(const JsonValue &value, uint32_t set, uint32_t from, uint32_t to) const;
  bool mayGoOn(const JsonValue &value, uint32_t set) const;
  bool mayClose(const JsonValue &value, uint32_t set) const;

  std::shared_ptr<const JsonGrammar> grammar;
  State first = dead;
  std::vector<Frame> frames;
  std::vector<StateTable> states;
  std::vector<Words> sets;
  /// The results of alike(), by its number of bytes.
  std::map<uint32_t, std::unordered_map<State, State>> found;
  std::unordered_map<Words, uint32_t, WordsHash> frameNumbers;
  std::unordered_map<Words, uint32_t, WordsHash> stateNumbers;
  std::unordered_map<Words, uint32_t, WordsHash> setNumbers;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_JSONAUTOMATON_H
