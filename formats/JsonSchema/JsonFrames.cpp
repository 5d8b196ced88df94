// SPDX-License-Identifier: Apache-2.0
///
/// The effect of a byte on one stack: arrays, objects and their contents. A frame that begins a
/// value first advances to the phase after it, so that the end of the value only removes a frame.
#include "formats/JsonSchema/JsonAutomaton.h"

#include <algorithm>

namespace heddle {

void JsonAutomaton::keep(Step &step, const Frame &frame, State below) {
  step.kept.push_back({number(frame), below});
}

/// Ends a frame: the frame below it continues with the next byte.
void JsonAutomaton::pop(Step &step, State below) {
  const Stacks &stacks = states[below].stacks;
  step.kept.insert(step.kept.end(), stacks.begin(), stacks.end());
}

/// Begins a frame, after which `after` continues.
void JsonAutomaton::push(Step &step, const Frame &frame, const Frame &after, State below) {
  const uint32_t top = number(frame);
  const Stack under = {number(after), below};
  const auto found = std::find_if(step.pushed.begin(), step.pushed.end(),
                                  [top](const auto &pushed) { return pushed.first == top; });
  if (found != step.pushed.end()) {
    found->second.push_back(under);
  } else {
    step.pushed.push_back({top, {under}});
  }
}

void JsonAutomaton::advance(Step &step, const Stack &stack) {
  const Frame frame = frames[stack.frame];
  switch (frame.kind) {
  case Kind::Root:
    return advanceRoot(step, frame, stack.below);
  case Kind::Constant:
    return advanceConstant(step, frame, stack.below);
  case Kind::String:
    return advanceString(step, frame, stack.below);
  case Kind::Number:
    return advanceNumber(step, frame, stack.below);
  case Kind::Array:
    return advanceArray(step, frame, stack.below);
  case Kind::Object:
    return advanceObject(step, frame, stack.below);
  }
}

void JsonAutomaton::advanceRoot(Step &step, Frame frame, State below) {
  if (frame.phase == Phase::Open && step.byte == ' ') {
    frame.phase = Phase::OpenSpace;
    return keep(step, frame, below);
  }
  if (frame.phase != Phase::Value) {
    frame.phase = Phase::Value;
    beginValue(step, JsonGrammar::root, frame, below);
  }
}

/// Begins a value with its first byte; `after` is the frame that contains it.
void JsonAutomaton::beginValue(Step &step, JsonValueId id, const Frame &after, State below) {
  for (const JsonValueId each : grammar->value(id).alternatives) {
    const JsonValue &value = grammar->value(each);
    Frame frame{.value = each};
    const auto begin = [&](Kind kind) {
      frame.kind = kind;
      push(step, frame, after, below);
    };
    if (step.byte == '"' && value.isString) {
      begin(Kind::String);
    } else if (step.byte == '[' && value.isArray) {
      begin(Kind::Array);
    } else if (step.byte == '{' && value.isObject) {
      begin(Kind::Object);
    } else if (value.number != NumberKind::None) {
      if (const auto number = stepInNumber({}, step.byte, value)) {
        frame.number = *number;
        begin(Kind::Number);
      }
    }
    // A type and constants may apply to one value: numbers and null.
    frame = {.value = each, .place = value.constants.step(ByteTrie::root, step.byte)};
    if (frame.place != ByteTrie::none) {
      value.constants.isLast(frame.place) ? keep(step, after, below) : begin(Kind::Constant);
    }
  }
}

/// Ends a frame that needs no closing byte: the byte belongs to the frame below.
void JsonAutomaton::endAndAdvance(Step &step, State below) {
  const Stacks stacks = states[below].stacks;
  for (const Stack &stack : stacks) {
    advance(step, stack);
  }
}

void JsonAutomaton::advanceConstant(Step &step, Frame frame, State below) {
  const ByteTrie &constants = grammar->value(frame.value).constants;
  if (constants.numberAt(frame.place) != ByteTrie::none) {
    endAndAdvance(step, below);
  }
  frame.place = constants.step(frame.place, step.byte);
  if (frame.place != ByteTrie::none) {
    constants.isLast(frame.place) ? pop(step, below) : keep(step, frame, below);
  }
}

void JsonAutomaton::advanceNumber(Step &step, Frame frame, State below) {
  const JsonValue &value = grammar->value(frame.value);
  if (const auto number = stepInNumber(frame.number, step.byte, value)) {
    frame.number = *number;
    keep(step, frame, below);
  } else if (isWholeNumber(frame.number, value)) {
    endAndAdvance(step, below);
  }
}

void JsonAutomaton::advanceString(Step &step, Frame frame, State below) {
  const JsonValue &value = grammar->value(frame.value);
  const bool isBetween = frame.string == StringPlace::Between;
  if (isBetween && step.byte == '"') {
    return frame.place >= value.minLength ? pop(step, below) : void();
  }
  const auto place = stepInString(frame.string, step.byte, false);
  if (!place || (isBetween && frame.place == value.maxLength)) {
    return;
  }
  frame.string = *place;
  // Lengths beyond all bounds are equivalent.
  const bool counts = value.maxLength != JsonValue::any || frame.place < value.minLength;
  frame.place += isBetween && counts ? 1 : 0;
  keep(step, frame, below);
}

// --- arrays ------------------------------------------------------------------------------------

/// Begins the next item.
void JsonAutomaton::beginItem(Step &step, Frame frame, State below) {
  const JsonValue &value = grammar->value(frame.value);
  if (frame.place >= value.maxItems) {
    return;
  }
  const JsonValueId item = value.itemAt(frame.place);
  const auto least = std::max<uint32_t>(value.minItems, uint32_t(value.firstItems.size()));
  const bool counts = value.maxItems != JsonValue::any || frame.place < least;
  frame.place += counts ? 1 : 0;
  frame.phase = Phase::Value;
  beginValue(step, item, frame, below);
}

void JsonAutomaton::advanceArray(Step &step, Frame frame, State below) {
  const JsonValue &value = grammar->value(frame.value);
  const bool mayEnd = frame.place >= value.minItems;
  const bool isSpace = step.byte == ' ';
  const auto go = [&](Phase phase) {
    frame.phase = phase;
    keep(step, frame, below);
  };
  switch (frame.phase) {
  case Phase::Open:
    if (isSpace) {
      return go(Phase::OpenSpace);
    }
    [[fallthrough]];
  case Phase::OpenSpace:
    return step.byte != ']' ? beginItem(step, frame, below) : mayEnd ? pop(step, below) : void();
  case Phase::Value:
    if (step.byte == ',' && frame.place < value.maxItems) {
      return go(Phase::Comma);
    }
    if (isSpace && mayEnd) {
      return go(Phase::ValueSpace);
    }
    [[fallthrough]];
  case Phase::ValueSpace:
    return step.byte == ']' && mayEnd ? pop(step, below) : void();
  case Phase::Comma:
    if (isSpace) {
      return go(Phase::CommaSpace);
    }
    [[fallthrough]];
  case Phase::CommaSpace:
    return beginItem(step, frame, below);
  case Phase::Name:
  case Phase::NameEnd:
  case Phase::Colon:
  case Phase::ColonSpace:
    return;
  }
}

// --- objects -----------------------------------------------------------------------------------

bool JsonAutomaton::isSeen(uint32_t set, uint32_t member) const {
  const Words &words = sets[set];
  return member / 64 < words.size() && (words[member / 64] >> (member % 64) & 1) != 0;
}

uint32_t JsonAutomaton::withSeen(uint32_t set, uint32_t member) {
  Words words = sets[set];
  words.resize(std::max<size_t>(words.size(), member / 64 + 1));
  words[member / 64] |= uint64_t(1) << (member % 64);
  return numberOfSet(words);
}

/// Returns whether one of these members may still follow.
bool JsonAutomaton::mayName(const JsonValue &value, uint32_t set, uint32_t from,
                            uint32_t to) const {
  for (uint32_t member = from; member <= to; ++member) {
    if (!isSeen(set, member) && grammar->value(value.members[member].value).isPossible) {
      return true;
    }
  }
  return false;
}

/// Returns whether any member may still follow.
bool JsonAutomaton::mayGoOn(const JsonValue &value, uint32_t set) const {
  const auto count = static_cast<uint32_t>(value.members.size());
  return grammar->value(value.otherMembers).isPossible ||
         (count > 0 && mayName(value, set, 0, count - 1));
}

bool JsonAutomaton::mayClose(const JsonValue &value, uint32_t set) const {
  for (uint32_t member = 0; member < value.members.size(); ++member) {
    if (value.members[member].isRequired && !isSeen(set, member)) {
      return false;
    }
  }
  return true;
}

void JsonAutomaton::beginName(Step &step, Frame frame, State below) {
  if (step.byte == '"' && mayGoOn(grammar->value(frame.value), frame.seen)) {
    frame.phase = Phase::Name;
    frame.string = StringPlace::Between;
    frame.place = ByteTrie::root;
    keep(step, frame, below);
  }
}

/// Processes a byte of a name, which must remain a prefix of the name of a member that may follow.
void JsonAutomaton::advanceName(Step &step, Frame frame, State below) {
  const JsonValue &value = grammar->value(frame.value);
  const bool hasOthers = grammar->value(value.otherMembers).isPossible;
  const uint32_t place =
      frame.place == ByteTrie::none ? ByteTrie::none : value.names.step(frame.place, step.byte);
  if (frame.string == StringPlace::Between && step.byte == '"') {
    const uint32_t member = place == ByteTrie::none ? ByteTrie::none : value.names.numberAt(place);
    const bool isListed = member != ByteTrie::none;
    if (isListed ? !mayName(value, frame.seen, member, member) : !hasOthers) {
      return;
    }
    frame.phase = Phase::NameEnd;
    frame.place = member;
    frame.seen = isListed ? withSeen(frame.seen, member) : frame.seen;
    return keep(step, frame, below);
  }
  const auto next = stepInString(frame.string, step.byte, true);
  if (!next) {
    return;
  }
  if (!hasOthers) {
    if (place == ByteTrie::none) {
      return;
    }
    const auto [from, to] = value.names.numbersBelow(place);
    if (!mayName(value, frame.seen, from, to)) {
      return;
    }
  }
  frame.string = *next;
  frame.place = place;
  keep(step, frame, below);
}

void JsonAutomaton::advanceObject(Step &step, Frame frame, State below) {
  const JsonValue &value = grammar->value(frame.value);
  const bool isSpace = step.byte == ' ';
  const auto go = [&](Phase phase) {
    frame.phase = phase;
    keep(step, frame, below);
  };
  const auto close = [&] { return mayClose(value, frame.seen) ? pop(step, below) : void(); };
  switch (frame.phase) {
  case Phase::Open:
    if (isSpace) {
      return go(Phase::OpenSpace);
    }
    [[fallthrough]];
  case Phase::OpenSpace:
    return step.byte == '}' ? close() : beginName(step, frame, below);
  case Phase::Name:
    return advanceName(step, frame, below);
  case Phase::NameEnd:
    return step.byte == ':' ? go(Phase::Colon) : void();
  case Phase::Colon:
    if (isSpace) {
      return go(Phase::ColonSpace);
    }
    [[fallthrough]];
  case Phase::ColonSpace: {
    const JsonValueId member =
        frame.place == ByteTrie::none ? value.otherMembers : value.members[frame.place].value;
    frame.phase = Phase::Value;
    frame.place = 0;
    return beginValue(step, member, frame, below);
  }
  case Phase::Value:
    if (step.byte == ',' && mayGoOn(value, frame.seen)) {
      return go(Phase::Comma);
    }
    if (isSpace && mayClose(value, frame.seen)) {
      return go(Phase::ValueSpace);
    }
    [[fallthrough]];
  case Phase::ValueSpace:
    return step.byte == '}' ? close() : void();
  case Phase::Comma:
    if (isSpace) {
      return go(Phase::CommaSpace);
    }
    [[fallthrough]];
  case Phase::CommaSpace:
    return beginName(step, frame, below);
  }
}

} // namespace heddle
