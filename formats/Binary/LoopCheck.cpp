// SPDX-License-Identifier: Apache-2.0
///
/// A loop has dispatches of its own, all over its rows, and writes what it reads a step before.
/// Loops side by side keep out of each other's memory.
#include "formats/Binary/LoopCheck.h"

#include "formats/Binary/SymbolicSize.h"

#include <fmt/format.h>
#include <map>
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

/// Whether a buffer has the rows of a loop, in the arena.
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

/// Whether a dispatch from `begin` to before `end` writes a buffer.
static bool isWritten(const manifest::Entry &entry, uint32_t begin, uint32_t end, uint32_t buffer) {
  for (uint32_t i = begin; i < end; ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    for (uint32_t each = 0; each < dispatch.written(); ++each) {
      if (dispatch.operands()->Get(each)->buffer() == buffer) {
        return true;
      }
    }
  }
  return false;
}

/// Whether the rows of two buffers are equally long in every batch.
static bool areAsLong(const manifest::Buffer &buffer, const manifest::Buffer &other) {
  const RowElements row = RowElements::of(buffer), its = RowElements::of(other);
  return row.constant > 0 && row.constant == its.constant && !row.rows && !its.rows &&
         row.keys == its.keys && buffer.element() == other.element();
}

/// Whether a buffer is rows of sequences in the order of a step, as wide as another.
static bool isInitial(const manifest::Entry &entry, const manifest::Buffer &buffer,
                      const manifest::Buffer &carried) {
  const uint8_t rows = buffer.shape()->Get(0)->space();
  const std::vector<RowSpace> spaces = spacesOf(entry);
  return rows < spaces.size() && spaces[rows] == RowSpace::ranks() && hasRows(buffer, rows) &&
         areAsLong(buffer, carried);
}

static Status checkEarlier(const manifest::Entry &entry, const manifest::Loop &loop,
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
  if (!isWritten(entry, loop.first(), loop.first() + loop.count(), buffer) ||
      !areAsLong(carried, carried)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {} a step before, expected rows of one size "
                                              "that a dispatch of the loop writes",
                                              buffer));
  }
  if (earlier.initial() == 0) {
    // Zeros are there for rows whose size the model says.
    return rowBytes(carried) ? Status()
                             : HEDDLE_ERROR(DataLoss, fmt::format("buffer {} a step before, "
                                                                  "expected one that is read "
                                                                  "before the first step",
                                                                  buffer));
  }
  const uint32_t initial = earlier.initial() - 1;
  if (initial >= entry.buffers()->size() ||
      !isInitial(entry, *entry.buffers()->Get(initial), *entry.buffers()->Get(buffer)) ||
      !isWritten(entry, 0, loop.first(), initial)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {} before the first step, expected rows of "
                                              "sequences as wide as buffer {}, which a dispatch "
                                              "before the loop writes",
                                              initial, buffer));
  }
  return {};
}

static Status checkLoop(const manifest::Entry &entry, const manifest::Loop &loop, uint32_t from) {
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
    HEDDLE_TRY(checkEarlier(entry, loop, *earlier));
  }
  return {};
}

namespace {
/// A buffer in the arena that a loop writes or reads.
struct StoredBuffer {
  uint32_t buffer;
  bool isWritten;
  SymbolicSize begin;
  SymbolicSize end;

  bool overlaps(const StoredBuffer &other) const {
    return !end.fitsIn(other.begin) && !other.end.fitsIn(begin);
  }
};

/// The loops that run side by side, up to the one that is checked.
struct Group {
  uint32_t first = 0;
  std::vector<std::vector<StoredBuffer>> stored;
};
} // namespace

/// What a checked loop has in the arena, each buffer once.
static std::vector<StoredBuffer> storedBy(const manifest::Entry &entry,
                                          const manifest::Loop &loop) {
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
  std::vector<StoredBuffer> stored;
  for (const auto &[number, isWritten] : found) {
    const manifest::Buffer &buffer = *entry.buffers()->Get(number);
    if (buffer.location() == Location::Arena) {
      const SymbolicSize begin = SymbolicSize::of(buffer.offset());
      stored.push_back({number, isWritten, begin, begin + bufferSize(buffer)->symbolic});
    }
  }
  return stored;
}

/// Loops that run side by side follow one another, and none writes memory that another has.
static Status checkBeside(const manifest::Loop &loop, uint32_t from, const Group &group,
                          const std::vector<StoredBuffer> &stored) {
  if (group.stored.empty() || loop.first() != from) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("beside the one before it, expected a loop whose dispatches "
                                    "end at {}, got {}",
                                    loop.first(),
                                    group.stored.empty() ? "none" : fmt::format("{}", from)));
  }
  for (size_t i = 0; i < group.stored.size(); ++i) {
    for (const StoredBuffer &other : group.stored[i]) {
      for (const StoredBuffer &own : stored) {
        if ((own.isWritten || other.isWritten) && own.overlaps(other)) {
          return HEDDLE_ERROR(DataLoss,
                              fmt::format("buffer {} overlaps buffer {} of loop {}, which "
                                          "runs beside it, and one of them is written",
                                          own.buffer, other.buffer, group.first + i));
        }
      }
    }
  }
  return {};
}

Status checkLoops(const manifest::Entry &entry) {
  uint32_t from = 0;
  Group group;
  for (uint32_t i = 0; entry.loops() != nullptr && i < entry.loops()->size(); ++i) {
    const manifest::Loop &loop = *entry.loops()->Get(i);
    HEDDLE_TRY_WITH(checkLoop(entry, loop, from), fmt::format("loop {}", i));
    std::vector<StoredBuffer> stored = storedBy(entry, loop);
    if (loop.beside()) {
      HEDDLE_TRY_WITH(checkBeside(loop, from, group, stored), fmt::format("loop {}", i));
    } else {
      group = {i, {}};
    }
    group.stored.push_back(std::move(stored));
    from = loop.first() + loop.count();
  }
  return {};
}

} // namespace heddle
