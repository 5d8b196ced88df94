// SPDX-License-Identifier: Apache-2.0
///
/// The dispatches of a loop belong to it alone and run over its rows; the loop itself writes the
/// operands that it reads from the previous step. Concurrent loops must not access each other's
/// memory.
#include "formats/Binary/LoopCheck.h"

#include "formats/Binary/SymbolicSize.h"

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace heddle {
using manifest::Location;

std::set<std::pair<uint32_t, uint32_t>> earlierOperands(const manifest::Entry &entry) {
  std::set<std::pair<uint32_t, uint32_t>> found;
  for (uint32_t i = 0; entry.loops() != nullptr && i < entry.loops()->size(); ++i) {
    for (const manifest::EarlierOperand *const earlier : *entry.loops()->Get(i)->earlier()) {
      found.emplace(earlier->dispatch(), earlier->operand());
    }
  }
  return found;
}

/// Returns whether a buffer has the rows of a loop and is in the arena.
static bool hasRows(const manifest::Buffer &buffer, uint8_t rows) {
  const manifest::Dimension &first = *buffer.shape()->Get(0);
  return buffer.location() == Location::Arena && first.constant() == 0 && !first.longest() &&
         first.space() == rows;
}

static Status checkDispatch(const manifest::Entry &entry, const manifest::Loop &loop,
                            uint32_t number) {
  const manifest::Dispatch &dispatch = *entry.dispatches()->Get(number);
  if (dispatch.grid()->rows() != loop.rows()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("dispatch {} over rows of space {}, expected {}",
                                              number, dispatch.grid()->rows(), loop.rows()));
  }
  for (uint32_t i = 0; i < dispatch.operands()->size(); ++i) {
    const manifest::Buffer &buffer = *entry.buffers()->Get(dispatch.operands()->Get(i)->buffer());
    const bool isSame =
        buffer.location() == Location::Parameter || buffer.location() == Location::Cache;
    if (!hasRows(buffer, loop.rows()) && (!isSame || i < dispatch.written())) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("operand {} of dispatch {}, expected parameters, caches that "
                                      "are read and buffers in the arena of the rows of the loop",
                                      i, number));
    }
  }
  return {};
}

/// A buffer and the index of a dispatch that writes it.
using Writer = std::pair<uint32_t, uint32_t>;

/// Returns the writers in order.
static std::vector<Writer> writersOf(const manifest::Entry &entry) {
  std::vector<Writer> writers;
  for (uint32_t i = 0; entry.loops() != nullptr && i < entry.dispatches()->size(); ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    for (uint32_t each = 0; each < dispatch.written(); ++each) {
      writers.emplace_back(dispatch.operands()->Get(each)->buffer(), i);
    }
  }
  std::sort(writers.begin(), writers.end());
  return writers;
}

/// Returns whether a dispatch in [begin, end) writes a buffer.
static bool isWritten(const std::vector<Writer> &writers, uint32_t begin, uint32_t end,
                      uint32_t buffer) {
  const auto found = std::lower_bound(writers.begin(), writers.end(), Writer(buffer, begin));
  return found != writers.end() && found->first == buffer && found->second < end;
}

/// Returns whether the rows of two buffers have the same size in every batch.
static bool areAsLong(const manifest::Buffer &buffer, const manifest::Buffer &other) {
  const RowElements row = RowElements::of(buffer), its = RowElements::of(other);
  return row.constant > 0 && row.constant == its.constant && !row.rows && !its.rows &&
         row.keys == its.keys && buffer.element() == other.element();
}

/// Returns whether a buffer has a row for each sequence in the order of a step, as wide as another
/// buffer.
static bool isInitial(const manifest::Entry &entry, const manifest::Buffer &buffer,
                      const manifest::Buffer &carried) {
  const uint8_t rows = buffer.shape()->Get(0)->space();
  const std::vector<RowSpace> spaces = spacesOf(entry);
  return rows < spaces.size() && spaces[rows] == RowSpace::ranks() && hasRows(buffer, rows) &&
         areAsLong(buffer, carried);
}

static Status checkEarlier(const manifest::Entry &entry, const manifest::Loop &loop,
                           const std::vector<Writer> &writers,
                           const manifest::EarlierOperand &earlier) {
  const uint32_t number = earlier.dispatch();
  if (number < loop.first() || number - loop.first() >= loop.count()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("an operand of dispatch {} a step before, expected "
                                              "one of {} from {} on",
                                              number, loop.count(), loop.first()));
  }
  const manifest::Dispatch &reader = *entry.dispatches()->Get(number);
  if (earlier.operand() < reader.written() || earlier.operand() >= reader.operands()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("operand {} of dispatch {} a step before, expected "
                                              "one that is read, {} to {}",
                                              earlier.operand(), number, reader.written(),
                                              reader.operands()->size() - 1));
  }
  const uint32_t buffer = reader.operands()->Get(earlier.operand())->buffer();
  const manifest::Buffer &carried = *entry.buffers()->Get(buffer);
  if (!isWritten(writers, loop.first(), loop.first() + loop.count(), buffer) ||
      !areAsLong(carried, carried)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {} a step before, expected rows of one size "
                                              "that a dispatch of the loop writes",
                                              buffer));
  }
  if (earlier.initial() == 0) {
    // Zeros are available for rows whose size the model declares.
    return rowBytes(carried) ? Status()
                             : HEDDLE_ERROR(DataLoss, fmt::format("buffer {} a step before, "
                                                                  "expected one that is read "
                                                                  "before the first step",
                                                                  buffer));
  }
  const uint32_t initial = earlier.initial() - 1;
  if (initial >= entry.buffers()->size() ||
      !isInitial(entry, *entry.buffers()->Get(initial), *entry.buffers()->Get(buffer)) ||
      !isWritten(writers, 0, loop.first(), initial)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {} before the first step, expected rows of "
                                              "sequences as wide as buffer {}, which a dispatch "
                                              "before the loop writes",
                                              initial, buffer));
  }
  return {};
}

static Status checkLoop(const manifest::Entry &entry, const manifest::Loop &loop,
                        const std::vector<Writer> &writers, uint32_t from) {
  const uint32_t dispatches = entry.dispatches()->size();
  if (loop.first() < from || loop.count() == 0 || loop.first() >= dispatches ||
      loop.count() > dispatches - loop.first()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} dispatches from {} on, expected some of those "
                                              "from {} to {}",
                                              loop.count(), loop.first(), from, dispatches));
  }
  const std::vector<RowSpace> spaces = spacesOf(entry);
  if (loop.rows() >= spaces.size() || !spaces[loop.rows()].isOfSteps()) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("rows of space {}, expected one in the order of time", loop.rows()));
  }
  for (uint32_t i = 0; i < loop.count(); ++i) {
    HEDDLE_TRY(checkDispatch(entry, loop, loop.first() + i));
  }
  for (const manifest::EarlierOperand *const earlier : *loop.earlier()) {
    HEDDLE_TRY(checkEarlier(entry, loop, writers, *earlier));
  }
  return {};
}

namespace {
/// A buffer in the arena that a loop writes or reads.
struct StoredBuffer {
  uint32_t buffer;
  uint32_t loop;
  bool isWritten;
  SymbolicSize begin;
  SymbolicSize end;

  /// Returns whether concurrent loops must not have both buffers in overlapping memory.
  bool excludes(const StoredBuffer &other) const {
    return loop != other.loop && (isWritten || other.isWritten);
  }
};

/// The concurrent loops, with their buffers in the arena.
struct Group {
  uint32_t first = 0;
  uint32_t count = 0;
  std::vector<StoredBuffer> stored;
};

/// The smallest size that exceeds the ends of all buffers of one loop, and of those that it writes.
struct Ends {
  SymbolicSize ofAll;
  SymbolicSize ofWritten;
};
} // namespace

/// Adds the arena buffers of a checked loop, each once.
static void addStored(const manifest::Entry &entry, const manifest::Loop &loop, uint32_t number,
                      std::vector<StoredBuffer> &stored) {
  std::map<uint32_t, bool> found;
  for (uint32_t i = loop.first(); i < loop.first() + loop.count(); ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    for (uint32_t each = 0; each < dispatch.operands()->size(); ++each) {
      bool &isWritten = found[dispatch.operands()->Get(each)->buffer()];
      isWritten = isWritten || each < dispatch.written();
    }
  }
  for (const manifest::EarlierOperand *const earlier : *loop.earlier()) {
    if (earlier->initial() != 0) {
      found.emplace(earlier->initial() - 1, false);
    }
  }
  for (const auto &[buffer, isWritten] : found) {
    const manifest::Buffer &its = *entry.buffers()->Get(buffer);
    if (its.location() == Location::Arena) {
      const SymbolicSize begin = SymbolicSize::of(its.offset());
      stored.push_back({buffer, number, isWritten, begin, begin + bufferSize(its)->symbolic});
    }
  }
}

/// Orders sizes such that a size that fits in another precedes it.
static bool isBefore(const SymbolicSize &size, const SymbolicSize &other) {
  const std::span<const SymbolicSize::Term> terms = size.terms(), its = other.terms();
  for (size_t i = 0, j = 0; i < terms.size() || j < its.size();) {
    const auto place = [](std::span<const SymbolicSize::Term> list, size_t at) {
      return at < list.size() ? std::pair<int, int>(list[at].rows, list[at].keys)
                              : std::pair(INT_MAX, INT_MAX);
    };
    const auto here = std::min(place(terms, i), place(its, j));
    const uint64_t bytes = place(terms, i) == here ? terms[i++].bytes : 0;
    const uint64_t others = place(its, j) == here ? its[j++].bytes : 0;
    if (bytes != others) {
      return bytes < others;
    }
  }
  return false;
}

/// Returns the failure for `own`, which overlaps one of the buffers before it.
static Status overlap(const Group &group, size_t own) {
  const StoredBuffer &buffer = group.stored[own];
  for (size_t i = 0; i < own; ++i) {
    const StoredBuffer &other = group.stored[i];
    if (buffer.excludes(other) && !other.end.fitsIn(buffer.begin)) {
      const auto &[early, late] =
          std::minmax(buffer, other, [](const auto &a, const auto &b) { return a.loop < b.loop; });
      return HEDDLE_ERROR(DataLoss, fmt::format("loop {}: buffer {} overlaps buffer {} of loop {}, "
                                                "which runs beside it, and one of them is written",
                                                late.loop, late.buffer, early.buffer, early.loop));
    }
  }
  return {};
}

/// Checks that no loop writes memory of another. In order of their offsets, a buffer must begin
/// after the ends of all earlier buffers that exclude it, so one pass suffices.
static Status checkGroup(Group &group) {
  if (group.count < 2) {
    return {};
  }
  std::sort(group.stored.begin(), group.stored.end(),
            [](const StoredBuffer &a, const StoredBuffer &b) {
              return isBefore(a.begin, b.begin) ||
                     (!isBefore(b.begin, a.begin) && isBefore(a.end, b.end));
            });
  std::vector<Ends> ends(group.count);
  for (size_t i = 0; i < group.stored.size(); ++i) {
    const StoredBuffer &own = group.stored[i];
    for (uint32_t loop = 0; loop < group.count; ++loop) {
      const SymbolicSize &end = own.isWritten ? ends[loop].ofAll : ends[loop].ofWritten;
      if (group.first + loop != own.loop && !end.fitsIn(own.begin)) {
        return overlap(group, i);
      }
    }
    Ends &its = ends[own.loop - group.first];
    its.ofAll = its.ofAll.larger(own.end);
    its.ofWritten = own.isWritten ? its.ofWritten.larger(own.end) : its.ofWritten;
  }
  return {};
}

/// Checks that concurrent loops are consecutive.
static Status checkBeside(const manifest::Loop &loop, uint32_t from, const Group &group) {
  if (group.count == 0 || loop.first() != from) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("beside the one before it, expected a loop whose dispatches end at {}, got {}",
                    loop.first(), group.count == 0 ? "none" : fmt::format("{}", from)));
  }
  if (group.count == mostLoopsBeside) {
    return HEDDLE_ERROR(DataLoss, fmt::format("beside {} others, expected at most {} side by side",
                                              group.count, mostLoopsBeside));
  }
  return {};
}

Status checkLoops(const manifest::Entry &entry) {
  uint32_t from = 0;
  Group group;
  const std::vector<Writer> writers = writersOf(entry);
  for (uint32_t i = 0; entry.loops() != nullptr && i < entry.loops()->size(); ++i) {
    const manifest::Loop &loop = *entry.loops()->Get(i);
    HEDDLE_TRY_WITH(checkLoop(entry, loop, writers, from), fmt::format("loop {}", i));
    if (loop.beside()) {
      HEDDLE_TRY_WITH(checkBeside(loop, from, group), fmt::format("loop {}", i));
    } else {
      HEDDLE_TRY(checkGroup(group));
      group = {i, 0, {}};
    }
    addStored(entry, loop, i, group.stored);
    ++group.count;
    from = loop.first() + loop.count();
  }
  return checkGroup(group);
}

} // namespace heddle
