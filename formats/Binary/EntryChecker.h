// SPDX-License-Identifier: Apache-2.0
///
/// Checks one entry of a manifest; DispatchCheck.cpp has the checks of dispatches.
#ifndef HEDDLE_FORMATS_BINARY_ENTRYCHECKER_H
#define HEDDLE_FORMATS_BINARY_ENTRYCHECKER_H

#include "formats/Binary/LoopCheck.h"
#include "formats/Binary/SymbolicSize.h"
#include "heddle/Status.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {
using manifest::Location;

/// The state of checking one entry.
class EntryChecker {
public:
  EntryChecker(const manifest::Entry &entry, const manifest::Manifest &model)
      : entry(entry), model(model), written(entry.buffers()->size(), false),
        earlier(earlierOperands(entry)) {}

  Status run();

private:
  using Ports = flatbuffers::Vector<flatbuffers::Offset<manifest::Port>>;

  Status checkSpaces() const;
  Status checkDerived() const;
  Status checkAppended() const;
  Status checkTerms(const flatbuffers::Vector<const manifest::SizeTerm *> *terms,
                    std::string_view what) const;
  Status checkAligned(const SymbolicSize &size, std::string_view what) const;
  std::string show(const SymbolicSize &size) const;
  std::string showSpace(uint8_t space) const;
  bool hasLists(uint8_t space) const;
  Status checkShape(const flatbuffers::Vector<const manifest::Dimension *> *shape) const;
  Status checkBuffer(const manifest::Buffer &buffer) const;
  Status checkArena(const manifest::Buffer &buffer, const SymbolicSize &size) const;
  Status checkBoundParameter(const manifest::Buffer &buffer, uint64_t size) const;
  Status checkBoundPort(const manifest::Buffer &buffer) const;
  Status checkBoundCache(const manifest::Buffer &buffer, uint64_t size) const;
  Status checkBoundState(const manifest::Buffer &buffer, uint64_t size) const;
  template <typename Port>
  Status checkBoundKept(const manifest::Buffer &buffer, uint64_t size, std::string_view kind,
                        const Port &port) const;
  Status checkPorts(const Ports &ports, Location location) const;
  Status checkPort(const manifest::Port &port, uint32_t index, Location location) const;
  Status checkInputType(const manifest::Port &port) const;
  Status checkOutputType(const manifest::Port &port) const;
  Status checkObserved(const Ports &ports, uint32_t index, Location location) const;
  Status checkCache(const manifest::CachePort &cache, uint32_t index) const;
  Status checkState(const manifest::StatePort &state, uint32_t index) const;
  Status checkKeptBuffer(uint32_t buffer, Location location, uint32_t index) const;
  Status checkDispatch(const manifest::Dispatch &dispatch, uint32_t number);
  Status checkChoice(const manifest::Dispatch &dispatch) const;
  Status checkGrid(const manifest::Grid &grid) const;
  Status checkColumns(const manifest::Grid &grid, const manifest::Buffer &result) const;
  uint64_t widestRowBytes(const manifest::Buffer &buffer) const;
  Status checkOperand(const manifest::Operand &operand, bool isWritten, bool isEarlier) const;

  const manifest::Entry &entry;
  const manifest::Manifest &model;
  /// Valid after its terms were checked.
  SymbolicSize arena;
  size_t cacheCount() const { return entry.caches() == nullptr ? 0 : entry.caches()->size(); }
  size_t stateCount() const { return entry.states() == nullptr ? 0 : entry.states()->size(); }
  bool isWritable(const manifest::Buffer &buffer) const;
  Status checkWritten(const manifest::Operand &operand, const manifest::Buffer &buffer) const;

  std::vector<bool> written;
  /// The operands that loops read from the previous step.
  const std::set<std::pair<uint32_t, uint32_t>> earlier;
};

/// Returns the name of a checked table's element type in messages.
template <typename Table> std::string_view nameOf(const Table &table) {
  return infoOf(elementOf(table)).name;
}

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_ENTRYCHECKER_H
