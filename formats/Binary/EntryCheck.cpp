// SPDX-License-Identifier: Apache-2.0
///
/// Checks one entry: its row spaces, buffers, dispatches, caches and ports, in that order.
#include "formats/Binary/EntryChecker.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Binary/PortTensorCheck.h"
#include "heddle/Abi.h"
#include "heddle/Limits.h"
#include "heddle/Selection.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace heddle {
using manifest::CacheLayout;

/// More dimensions than any tensor of a Transformer has.
static constexpr size_t largestRank = 8;

/// The largest value in a bound on positions.
static constexpr int64_t largestBound = int64_t{1} << 30;

/// Returns whether a dimension is the rows of this space or, with `longest`, their maximum per
/// sequence.
static bool isOf(const manifest::Dimension &dimension, uint8_t space, bool longest = false) {
  return dimension.constant() == 0 && dimension.space() == space && dimension.longest() == longest;
}

std::string EntryChecker::showSpace(uint8_t space) const { return spacesOf(entry)[space].text(); }

/// Returns whether the rows of a sequence form a key list, whose length a dimension may be.
bool EntryChecker::hasLists(uint8_t space) const {
  return RowDimension::of(RowDimension{spacesOf(entry)[space], true}.number()).has_value();
}

/// Formats a size as "64 * tokens + 128 * tokens * longest".
std::string EntryChecker::show(const SymbolicSize &size) const {
  std::string text;
  for (const SymbolicSize::Term &term : size.terms()) {
    text += (text.empty() ? "" : " + ") + std::to_string(term.bytes) + " * " + showSpace(term.rows);
    if (term.keys != 0) {
      text += " * " + RowDimension{spacesOf(entry)[term.keys - 1U], true}.text();
    }
  }
  return text.empty() ? "0" : text;
}

/// Checks that the table begins with tokens and sequences, followed by spaces derived from tokens
/// or in another order, without duplicates.
Status EntryChecker::checkSpaces() const {
  const auto &spaces = *entry.spaces();
  if (!isAligned(&spaces)) {
    return HEDDLE_ERROR(DataLoss, "misaligned row spaces");
  }
  if (spaces.size() < 2 || spaces.size() > mostSpaces) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} row spaces, expected 2 to {}", spaces.size(), mostSpaces));
  }
  std::vector<RowSpace> table;
  for (uint32_t i = 0; i < spaces.size(); ++i) {
    const std::optional<RowSpace> found = spaceOf(*spaces.Get(i));
    const bool isInPlace = i == tokensSpace      ? found == RowSpace::tokens()
                           : i == sequencesSpace ? found == RowSpace::sequences()
                                                 : found && *found != RowSpace::tokens() &&
                                                       *found != RowSpace::sequences();
    if (!isInPlace) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("row space {} has kind {} and size {}, expected tokens, "
                                      "sequences, then spaces derived from tokens",
                                      i, spaces.Get(i)->kind(), spaces.Get(i)->size()));
    }
    if (std::find(table.begin(), table.end(), *found) != table.end()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("row space {} repeats {}", i, quote(found->text())));
    }
    table.push_back(*found);
  }
  return {};
}

/// Checks that an entry that reads caches or states of earlier runs, whose runs may begin in the
/// middle of a sequence, has no spaces derived from its rows except choices of single rows. An
/// encoder runs over whole sequences, and may write the state that its decoder begins with. (In
/// other entries a kernel may update a state in place.)
Status EntryChecker::checkDerived() const {
  const bool encodes = entry.name()->string_view() == encodeEntry;
  const auto isRead = [&](const manifest::Operand *operand, bool isWritten) {
    const Location location = entry.buffers()->Get(operand->buffer())->location();
    return (location == Location::State && !(isWritten && encodes)) ||
           (location == Location::Cache && !isWritten);
  };
  const std::vector<RowSpace> spaces = spacesOf(entry);
  const auto derived = std::count_if(spaces.begin(), spaces.end(),
                                     [](RowSpace space) { return space.base().isDerived(); });
  for (uint32_t i = 0; derived > 0 && i < entry.dispatches()->size(); ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    for (uint32_t each = 0; each < dispatch.operands()->size(); ++each) {
      if (isRead(dispatch.operands()->Get(each), each < dispatch.written())) {
        return HEDDLE_ERROR(DataLoss, fmt::format("dispatch {} reads a cache or state in an entry "
                                                  "with {} derived row spaces, expected none",
                                                  i, derived));
      }
    }
  }
  return {};
}

/// Checks that the positions of all caches that the entry appends to are the rows of one space, for
/// which the runtime makes room.
Status EntryChecker::checkAppended() const {
  const std::vector<RowSpace> spaces = spacesOf(entry);
  if (entry.appended() >= spaces.size() || !spaces[entry.appended()].arePositions()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("caches have positions of row space {}, expected "
                                              "tokens or one that derives from them",
                                              entry.appended()));
  }
  for (uint32_t i = 0; i < entry.dispatches()->size(); ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    for (uint32_t each = 0; each < dispatch.written(); ++each) {
      const uint32_t buffer = dispatch.operands()->Get(each)->buffer();
      if (entry.buffers()->Get(buffer)->location() == Location::Cache &&
          dispatch.grid()->rows() != entry.appended()) {
        return HEDDLE_ERROR(DataLoss,
                            fmt::format("dispatch {} appends rows of row space {} to a cache with "
                                        "positions of row space {}",
                                        i, dispatch.grid()->rows(), entry.appended()));
      }
    }
  }
  return {};
}

Status EntryChecker::checkTerms(const flatbuffers::Vector<const manifest::SizeTerm *> *terms,
                                std::string_view what) const {
  const size_t spaces = entry.spaces()->size();
  if (!isAligned(terms)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("misaligned {}", what));
  }
  for (uint32_t i = 0; terms != nullptr && i < terms->size(); ++i) {
    const manifest::SizeTerm &term = *terms->Get(i);
    if (term.rows() >= spaces || term.keys() > spaces) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{} has a term of row space {} and key space {}, "
                                                "expected less than {} and at most {}",
                                                what, term.rows(), term.keys(), spaces, spaces));
    }
    if (term.keys() != 0 && !hasLists(static_cast<uint8_t>(term.keys() - 1))) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{} has a term of the most {} of a sequence", what,
                                                showSpace(static_cast<uint8_t>(term.keys() - 1))));
    }
    for (uint32_t j = 0; j < i; ++j) {
      if (terms->Get(j)->rows() == term.rows() && terms->Get(j)->keys() == term.keys()) {
        return HEDDLE_ERROR(DataLoss,
                            fmt::format("{} has two terms of row space {} and key space {}", what,
                                        term.rows(), term.keys()));
      }
    }
  }
  return {};
}

Status EntryChecker::checkAligned(const SymbolicSize &size, std::string_view what) const {
  if (!size.withinLimit()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} {}, expected coefficients of at most {}", what,
                                              show(size), SymbolicSize::limit));
  }
  if (!size.isAligned(HEDDLE_ALIGNMENT)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} {}, expected multiples of {}", what, show(size),
                                              HEDDLE_ALIGNMENT));
  }
  return {};
}

Status
EntryChecker::checkShape(const flatbuffers::Vector<const manifest::Dimension *> *shape) const {
  if (shape == nullptr || shape->size() == 0 || shape->size() > largestRank) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} dimensions, expected 1 to {}",
                                              shape == nullptr ? 0 : shape->size(), largestRank));
  }
  if (!isAligned(shape)) {
    return HEDDLE_ERROR(DataLoss, "misaligned shape");
  }
  for (const manifest::Dimension *const dimension : *shape) {
    if (dimension->constant() == 0 && dimension->space() >= entry.spaces()->size()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("a dimension of row space {}, there are {}",
                                                dimension->space(), entry.spaces()->size()));
    }
    if (dimension->constant() == 0 && dimension->longest() && !hasLists(dimension->space())) {
      return HEDDLE_ERROR(DataLoss, fmt::format("a dimension of the most {} of a sequence",
                                                showSpace(dimension->space())));
    }
  }
  return {};
}

Status EntryChecker::checkArena(const manifest::Buffer &buffer, const SymbolicSize &size) const {
  if (buffer.offset() == nullptr) {
    return HEDDLE_ERROR(DataLoss, "lies in the arena but has no offset");
  }
  HEDDLE_TRY(checkTerms(buffer.offset(), "offset"));
  const SymbolicSize offset = SymbolicSize::of(buffer.offset());
  HEDDLE_TRY(checkAligned(offset, "offset"));
  if (!(offset + size).fitsIn(arena)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("ends at {}, the arena has {}", show(offset + size), show(arena)));
  }
  return {};
}

Status EntryChecker::checkBoundParameter(const manifest::Buffer &buffer, uint64_t size) const {
  const size_t stored = buffer.parameters() == nullptr ? 0 : buffer.parameters()->size();
  if (stored != model.targets()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} parameters, expected one for each of {} targets",
                                              stored, model.targets()->size()));
  }
  for (const uint32_t index : *buffer.parameters()) {
    if (index >= model.parameters()->size()) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("parameter {}, there are {}", index, model.parameters()->size()));
    }
    const manifest::Parameter &parameter = *model.parameters()->Get(index);
    if (parameter.element() != buffer.element() || size > parameter.size()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{} bytes of {}, parameter {} has {} of {}", size,
                                      nameOf(buffer), quote(parameter.name()->string_view()),
                                      parameter.size(), nameOf(parameter)));
    }
  }
  return {};
}

Status EntryChecker::checkBoundPort(const manifest::Buffer &buffer) const {
  const auto &ports = buffer.location() == Location::Input ? *entry.inputs() : *entry.outputs();
  if (buffer.index() >= ports.size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("port {}, there are {}", buffer.index(), ports.size()));
  }
  const uint32_t its = ports.Get(buffer.index())->buffer();
  if (its >= entry.buffers()->size() || entry.buffers()->Get(its) != &buffer) {
    return HEDDLE_ERROR(DataLoss, fmt::format("bound to port {}, which is bound to buffer {}",
                                              buffer.index(), its));
  }
  return {};
}

Status EntryChecker::checkBoundCache(const manifest::Buffer &buffer, uint64_t size) const {
  if (buffer.index() >= cacheCount()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("cache {}, there are {}", buffer.index(), cacheCount()));
  }
  return checkBoundKept(buffer, size, "cache", *entry.caches()->Get(buffer.index()));
}

Status EntryChecker::checkBoundState(const manifest::Buffer &buffer, uint64_t size) const {
  if (buffer.index() >= stateCount()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("state {}, there are {}", buffer.index(), stateCount()));
  }
  return checkBoundKept(buffer, size, "state", *entry.states()->Get(buffer.index()));
}

template <typename Port>
Status EntryChecker::checkBoundKept(const manifest::Buffer &buffer, uint64_t size,
                                    std::string_view kind, const Port &port) const {
  if (buffer.element() != port.element() || bytesOf(elementOf(buffer), port.width()) != size) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} bytes of {}, {} {} has {} elements of type {}", size,
                                    nameOf(buffer), kind, quote(port.name()->string_view()),
                                    port.width(), port.element()));
  }
  const uint32_t its = port.buffer();
  if (its >= entry.buffers()->size() || entry.buffers()->Get(its) != &buffer) {
    return HEDDLE_ERROR(DataLoss, fmt::format("bound to {} {}, which is bound to buffer {}", kind,
                                              buffer.index(), its));
  }
  return {};
}

Status EntryChecker::checkBuffer(const manifest::Buffer &buffer) const {
  if (buffer.location() > Location::MAX || !findElementType(buffer.element())) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("unknown location {} or element type {}, expected at most {} and {}",
                              unsigned(buffer.location()), buffer.element(),
                              unsigned(Location::MAX), std::size(elementTypeTable) - 1));
  }
  // A row of 4-bit elements could end within a byte.
  if (infoOf(elementOf(buffer)).bits % 8 != 0 && buffer.location() != Location::Parameter) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("elements of {} at location {}, expected them in parameters only",
                              nameOf(buffer), unsigned(buffer.location())));
  }
  HEDDLE_TRY(checkShape(buffer.shape()));
  const std::optional<BufferSize> size = bufferSize(buffer);
  const bool ofConstants = buffer.location() == Location::Parameter ||
                           buffer.location() == Location::Cache ||
                           buffer.location() == Location::State;
  if (!size || (size->constant != 0) != ofConstants) {
    return HEDDLE_ERROR(
        DataLoss,
        "the shape is too large or of the wrong kind, expected constants for a parameter, cache or "
        "state, else one row dimension and at most one for the keys of a row");
  }
  switch (buffer.location()) {
  case Location::Arena:
    return checkArena(buffer, size->symbolic);
  case Location::Parameter:
    return checkBoundParameter(buffer, size->constant);
  case Location::Input:
  case Location::Output:
    return checkBoundPort(buffer);
  case Location::Cache:
    return checkBoundCache(buffer, size->constant);
  case Location::State:
    return checkBoundState(buffer, size->constant);
  }
  return {};
}

Status EntryChecker::checkOutputType(const manifest::Port &port) const {
  const manifest::Dimension &rows = *port.shape()->Get(0);
  const bool ofRows = rows.constant() == 0 && !rows.longest();
  const uint32_t rank = port.shape()->size();
  const manifest::Dimension &last = *port.shape()->Get(rank - 1);
  // Attention weights, [tokens, heads, longest], are allowed if only a decoder runs the entry, or
  // if they are observed.
  const bool isSelection = port.observed() == manifest::Observed::Selection;
  const bool isObserved = port.observed() != manifest::Observed::No && !isSelection;
  const bool ofKeys = (cacheCount() != 0 || stateCount() != 0 || isObserved) &&
                      isOf(rows, tokensSpace) && rank == 3 &&
                      isOf(last, tokensSpace, /*longest=*/true);
  const bool constantRows = rowBytes(*entry.buffers()->Get(port.buffer())).has_value();
  if (isSelection && (!isOf(rows, tokensSpace) || rank != 2 || !constantRows ||
                      last.constant() % selectedPair != 0)) {
    return HEDDLE_ERROR(DataLoss, "expected a selection of pairs of floats for each token");
  }
  if (isObserved && (elementOf(port) != ElementType::F32 || !ofKeys)) {
    return HEDDLE_ERROR(DataLoss,
                        "expected an observed output of floats, [tokens, heads, longest]");
  }
  if (elementOf(port) != ElementType::F32 || !ofRows || (!constantRows && !ofKeys)) {
    return HEDDLE_ERROR(DataLoss, "expected an output of floats with rows of constant width");
  }
  if (spacesOf(entry)[rows.space()].isOrdered()) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("an output of {}, expected rows in the order of their sequences",
                              showSpace(rows.space())));
  }
  return {};
}

Status EntryChecker::checkInputType(const manifest::Port &port) const {
  constexpr uint64_t largestLimit = uint64_t(std::numeric_limits<int32_t>::max()) + 1;
  const manifest::Dimension &rows = *port.shape()->Get(0);
  const uint32_t rank = port.shape()->size();
  const bool areIds = elementOf(port) == ElementType::I32 && rank == 1;
  const bool areRows = elementOf(port) == ElementType::F32 && rank == 2 &&
                       rowBytes(*entry.buffers()->Get(port.buffer())).has_value();
  if (!isOf(rows, tokensSpace) || (!areIds && !areRows)) {
    return HEDDLE_ERROR(DataLoss,
                        "expected an input of integers, one for each token, or of floats, "
                        "a row of constant width for each token");
  }
  if (areRows && port.limit() != 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("limit {} of floats, expected 0", port.limit()));
  }
  if (areIds && (port.limit() == 0 || port.limit() > largestLimit)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("limit {}, expected 1 to {}", port.limit(), largestLimit));
  }
  const int64_t largestPad = areIds ? static_cast<int64_t>(port.limit()) - 1 : 0;
  if (port.pad() < -1 || port.pad() > largestPad) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("padding {}, expected -1 to {}", port.pad(), largestPad));
  }
  return {};
}

Status EntryChecker::checkPort(const manifest::Port &port, uint32_t index,
                               Location location) const {
  if (port.buffer() >= entry.buffers()->size()) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("buffer {}, there are {}", port.buffer(), entry.buffers()->size()));
  }
  const manifest::Buffer &buffer = *entry.buffers()->Get(port.buffer());
  if (buffer.location() != location || buffer.index() != index) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {} is bound to another port", port.buffer()));
  }
  HEDDLE_TRY(checkShape(port.shape()));
  bool same = port.element() == buffer.element() && port.shape()->size() == buffer.shape()->size();
  for (uint32_t i = 0; same && i < port.shape()->size(); ++i) {
    const manifest::Dimension &mine = *port.shape()->Get(i);
    const manifest::Dimension &its = *buffer.shape()->Get(i);
    same = mine.constant() == its.constant() &&
           (mine.constant() != 0 || isOf(mine, its.space(), its.longest()));
  }
  if (!same) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("its type differs from that of its buffer {}", port.buffer()));
  }
  HEDDLE_TRY(checkPortTensor(port, location == Location::Input));
  return location == Location::Input ? checkInputType(port) : checkOutputType(port);
}

/// Checks that observed outputs come after all others, so that they do not change the others'
/// numbers.
Status EntryChecker::checkObserved(const Ports &ports, uint32_t index, Location location) const {
  using manifest::Observed;
  const Observed observed = ports.Get(index)->observed();
  if (observed > Observed::MAX || (location == Location::Input && observed != Observed::No)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("observed as {}, expected at most {} of an output "
                                              "and 0 of an input",
                                              unsigned(observed), unsigned(Observed::MAX)));
  }
  if (index > 0 && observed == Observed::No && ports.Get(index - 1)->observed() != Observed::No) {
    return HEDDLE_ERROR(DataLoss, "follows an observed output, expected observed outputs last");
  }
  if (observed == Observed::Selection && index + 1 != ports.size()) {
    return HEDDLE_ERROR(DataLoss, "is a selection, expected one as the last output");
  }
  return {};
}

Status EntryChecker::checkPorts(const Ports &ports, Location location) const {
  const std::string_view kind = location == Location::Input ? "input" : "output";
  for (uint32_t i = 0; i < ports.size(); ++i) {
    const std::string_view name = ports.Get(i)->name()->string_view();
    HEDDLE_TRY_WITH(checkPort(*ports.Get(i), i, location), fmt::format("{} {}", kind, quote(name)));
    for (uint32_t j = 0; j < i; ++j) {
      if (ports.Get(j)->name()->string_view() == name) {
        return HEDDLE_ERROR(DataLoss, fmt::format("{} {} appears twice", kind, quote(name)));
      }
    }
    HEDDLE_TRY_WITH(checkObserved(ports, i, location), fmt::format("{} {}", kind, quote(name)));
    if (location == Location::Output && !written[ports.Get(i)->buffer()]) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("output {} is written by no dispatch", quote(name)));
    }
  }
  return {};
}

Status EntryChecker::checkKeptBuffer(uint32_t buffer, Location location, uint32_t index) const {
  if (buffer >= entry.buffers()->size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("buffer {}, there are {}", buffer, entry.buffers()->size()));
  }
  const manifest::Buffer &its = *entry.buffers()->Get(buffer);
  if (its.location() != location || its.index() != index) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {} is bound to another port", buffer));
  }
  return {};
}

/// Checks a bound on positions, so that none of its terms can overflow.
static Status checkBound(const manifest::PositionBound &bound) {
  const auto isSmall = [](int64_t number) {
    return number >= -largestBound && number <= largestBound;
  };
  if (bound.size() < 1 || bound.size() > largestBound || bound.shift() < 0 ||
      !isSmall(bound.shift()) || bound.step() < 0 || !isSmall(bound.step()) ||
      !isSmall(bound.offset())) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("read from (i + {}) / {} * {} + {}, expected a size from 1, "
                                    "no negative shift or step, and numbers of at most 2^30",
                                    bound.shift(), bound.size(), bound.step(), bound.offset()));
  }
  return {};
}

Status EntryChecker::checkCache(const manifest::CachePort &cache, uint32_t index) const {
  if (cache.width() == 0 || cache.width() > widestCache || cache.layout() > CacheLayout::MAX ||
      !findElementType(cache.element())) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("width {}, layout {} and element type {}, expected 1 "
                              "to {}, at most {} and at most {}",
                              cache.width(), unsigned(cache.layout()), cache.element(), widestCache,
                              unsigned(CacheLayout::MAX), std::size(elementTypeTable) - 1));
  }
  HEDDLE_TRY(checkKeptBuffer(cache.buffer(), Location::Cache, index));
  if (cache.written() && !written[cache.buffer()]) {
    return HEDDLE_ERROR(DataLoss, "no dispatch appends to it");
  }
  for (uint32_t i = 0; cache.read_from() != nullptr && i < cache.read_from()->size(); ++i) {
    HEDDLE_TRY(checkBound(*cache.read_from()->Get(i)));
  }
  return {};
}

Status EntryChecker::checkState(const manifest::StatePort &state, uint32_t index) const {
  if (state.width() == 0 || state.width() > widestCache) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("width {}, expected 1 to {}", state.width(), widestCache));
  }
  HEDDLE_TRY(checkKeptBuffer(state.buffer(), Location::State, index));
  if (state.written() && !written[state.buffer()]) {
    return HEDDLE_ERROR(DataLoss, "no dispatch changes it");
  }
  return {};
}

/// Checks each of the entry's caches or states, and that their names are unique.
template <typename Port, typename Check>
static Status checkKept(const flatbuffers::Vector<flatbuffers::Offset<Port>> *ports,
                        std::string_view kind, const Check &check) {
  for (uint32_t i = 0; ports != nullptr && i < ports->size(); ++i) {
    const std::string_view name = ports->Get(i)->name()->string_view();
    HEDDLE_TRY_WITH(check(*ports->Get(i), i), fmt::format("{} {}", kind, quote(name)));
    for (uint32_t j = 0; j < i; ++j) {
      if (ports->Get(j)->name()->string_view() == name) {
        return HEDDLE_ERROR(DataLoss, fmt::format("{} {} appears twice", kind, quote(name)));
      }
    }
  }
  return {};
}

/// Checks that limits refer to existing spaces, and are in the range of lengths.
static Status checkRowLimits(const manifest::Entry &entry) {
  if (!isAligned(entry.row_limits())) {
    return HEDDLE_ERROR(DataLoss, "misaligned limits of rows");
  }
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int32_t>::max());
  for (uint32_t i = 0; entry.row_limits() != nullptr && i < entry.row_limits()->size(); ++i) {
    const manifest::RowLimit &limit = *entry.row_limits()->Get(i);
    if (limit.space() >= entry.spaces()->size() || limit.rows() == 0 || limit.rows() > most) {
      return HEDDLE_ERROR(DataLoss, fmt::format("limit {} of {} rows of row space {}, expected 1 "
                                                "to {} of one of {}",
                                                i, limit.rows(), limit.space(), most,
                                                entry.spaces()->size()));
    }
    if (!spaceOf(*entry.spaces()->Get(limit.space()))->hasWidths()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("limit {} is of row space {}, expected one of "
                                                "images of any width",
                                                i, limit.space()));
    }
  }
  return {};
}

Status EntryChecker::run() {
  if (entry.max_length() > uint64_t(std::numeric_limits<int32_t>::max())) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("longest sequence {}, expected at most {}", entry.max_length(),
                                    std::numeric_limits<int32_t>::max()));
  }
  if (entry.inputs()->size() > mostPorts || entry.outputs()->size() > mostPorts) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} inputs and {} outputs, expected at most {}",
                                    entry.inputs()->size(), entry.outputs()->size(), mostPorts));
  }
  if (cacheCount() > mostPorts) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} caches, expected at most {}", cacheCount(), mostPorts));
  }
  if (stateCount() > mostPorts) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} states, expected at most {}", stateCount(), mostPorts));
  }
  HEDDLE_TRY(checkSpaces());
  HEDDLE_TRY(checkRowLimits(entry));
  HEDDLE_TRY(checkTerms(entry.arena(), "arena"));
  arena = SymbolicSize::of(entry.arena());
  HEDDLE_TRY(checkAligned(arena, "arena"));
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i) {
    HEDDLE_TRY_WITH(checkBuffer(*entry.buffers()->Get(i)), fmt::format("buffer {}", i));
  }
  for (uint32_t i = 0; i < entry.dispatches()->size(); ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    HEDDLE_TRY_WITH(checkDispatch(dispatch, i),
                    fmt::format("dispatch {} ({})", i, quote(dispatch.name()->string_view())));
  }
  HEDDLE_TRY(checkLoops(entry));
  HEDDLE_TRY(checkDerived());
  HEDDLE_TRY(checkAppended());
  HEDDLE_TRY(checkKept(entry.caches(), "cache",
                       [&](const auto &cache, uint32_t i) { return checkCache(cache, i); }));
  HEDDLE_TRY(checkKept(entry.states(), "state",
                       [&](const auto &state, uint32_t i) { return checkState(state, i); }));
  HEDDLE_TRY(checkPorts(*entry.inputs(), Location::Input));
  return checkPorts(*entry.outputs(), Location::Output);
}

Status checkEntry(const manifest::Entry &entry, const manifest::Manifest &model) {
  return EntryChecker(entry, model).run();
}

} // namespace heddle
