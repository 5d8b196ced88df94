// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a schema, followed by a NUL and a text: an error names its place; an accepted
/// schema has texts, all of which can be completed.
#include "formats/JsonSchema/JsonAutomaton.h"
#include "tests/Fuzzing/JsonMutation.h"
#include "tests/formats/JsonSchema/SchemaSamples.h"

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJsonDocuments)

/// Returns some byte that may follow, or -1 if there is none.
static int followingByte(JsonAutomaton &automaton, JsonAutomaton::State state, uint8_t from) {
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<uint8_t>(from + i);
    if (automaton.next(state, byte) != JsonAutomaton::dead) {
      return byte;
    }
  }
  return -1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const std::string_view schema = input.substr(0, input.find('\0'));
  const std::string_view text = input.substr(std::min(schema.size() + 1, input.size()));
  Result<JsonGrammar> grammar = JsonGrammar::read(schema);
  if (!grammar.ok()) {
    require(grammar.status().message().starts_with("schema: "));
    return 0;
  }
  JsonAutomaton automaton(std::make_shared<const JsonGrammar>(*std::move(grammar)));
  JsonAutomaton::State state = automaton.start();
  std::string walked;
  for (size_t i = 0; i < 300; ++i) {
    const uint8_t wanted = i < text.size() ? static_cast<uint8_t>(text[i]) : '"';
    const int byte = followingByte(automaton, state, wanted);
    require(byte >= 0 || automaton.isWhole(state));
    if (automaton.isWhole(state)) {
      const SampleJson value = SampleJson::parse(walked, nullptr, false);
      require(!value.is_discarded());
    }
    if (byte < 0) {
      break;
    }
    walked += static_cast<char>(byte);
    state = automaton.next(state, static_cast<uint8_t>(byte));
  }
  JsonAutomaton other = automaton.fresh();
  require(other.isWhole(other.adopt(automaton, state)) == automaton.isWhole(state));
  return 0;
}
