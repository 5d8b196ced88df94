// SPDX-License-Identifier: Apache-2.0
///
/// The texts that follow a schema as an automaton over bytes. Its stacks are shared, and a state,
/// which is all the stacks that the text so far allows, is a number: copying one costs nothing, and
/// what is known of it is computed once. From every state but `dead` a whole text can be reached.
///
/// Whitespace is one space at most: before the value, after each of { [ : and ,, and before } and
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
  /// The state after one byte more, or `dead`.
  State next(State state, uint8_t byte);
  /// Whether the text so far is a whole one.
  bool isWhole(State state) const { return states[state].isWhole; }
  /// The state that means here what a state of another automaton for the same grammar means there.
  State adopt(const JsonAutomaton &other, State state);
  /// A state after which the same texts of at most so many bytes may follow, and the same of them
  /// are whole: one for all that differ only in how many characters or items more there may or must
  /// be, where no such text reaches a bound.
  State alike(State state, uint32_t bytes);
  /// An automaton for the same grammar that has met no state.
  JsonAutomaton fresh() const { return JsonAutomaton(grammar); }
  /// How many states were met.
  size_t size() const { return states.size(); }

private:
  enum class Kind : uint8_t { Root, Constant, String, Number, Array, Object };
  /// Where a frame is between its parts.
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
    /// Which value of the grammar it is.
    JsonValueId value = 0;
    /// The place among constants or names; of a member after its name, its number. Characters of a
    /// string, items of an array.
    uint32_t place = 0;
    /// The set of an object's members that were begun.
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
    /// Where bytes lead, once one was asked for.
    std::unique_ptr<std::array<State, 256>> next = nullptr;
  };
  /// What a byte makes of the stacks of a state. Frames that were pushed stand on all the stacks
  /// that they were pushed on.
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
  /// What alike() found, by its number of bytes.
  std::map<uint32_t, std::unordered_map<State, State>> found;
  std::unordered_map<Words, uint32_t, WordsHash> frameNumbers;
  std::unordered_map<Words, uint32_t, WordsHash> stateNumbers;
  std::unordered_map<Words, uint32_t, WordsHash> setNumbers;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_JSONAUTOMATON_H
