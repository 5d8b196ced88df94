// SPDX-License-Identifier: Apache-2.0
///
/// Checks a dispatch of an entry: the division of its work, and its operands.
#include "formats/Binary/EntryChecker.h"

#include "base/Utf8.h"
#include "heddle/Limits.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

Status EntryChecker::checkGrid(const manifest::Grid &grid) const {
  if (grid.rows() >= entry.spaces()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("grid rows of row space {}, there are {}",
                                              grid.rows(), entry.spaces()->size()));
  }
  if (grid.columns()->size() != model.targets()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("the grid has columns for {} targets, expected {}",
                                              grid.columns()->size(), model.targets()->size()));
  }
  if (!isAligned(grid.columns())) {
    return HEDDLE_ERROR(DataLoss, "misaligned columns of a grid");
  }
  for (const manifest::TargetColumns *const columns : *grid.columns()) {
    if (columns->row_tile() == 0 || columns->row_tile() > largestGrid || columns->count() == 0 ||
        columns->count() > largestGrid) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("grid of row tile {} and {} columns, expected 1 to {}",
                                      columns->row_tile(), columns->count(), largestGrid));
    }
  }
  return {};
}

/// Checks that the columns of work cover a row of the result.
Status EntryChecker::checkColumns(const manifest::Grid &grid,
                                  const manifest::Buffer &result) const {
  const uint64_t group = grid.group_elements();
  const bool hasRows = result.location() != Location::Cache && result.location() != Location::State;
  const uint64_t row = hasRows ? rowElements(result).value_or(0) : 0;
  for (const manifest::TargetColumns *const columns : *grid.columns()) {
    const uint64_t width = columns->elements();
    if (width == 0) {
      continue;
    }
    // A column may be wider than the row, which then has a single column.
    const bool fits =
        width <= SymbolicSize::limit && group != 0 && group <= row && row % group == 0;
    if (!fits || columns->count() != row / group * ((group + width - 1) / width)) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{} columns of {} elements in groups of {}, "
                                                "expected those of a result with rows of {}",
                                                columns->count(), width, group, row));
    }
  }
  return {};
}

/// Returns whether dispatches of the entry may write a buffer.
bool EntryChecker::isWritable(const manifest::Buffer &buffer) const {
  switch (buffer.location()) {
  case Location::Arena:
  case Location::Output:
    return true;
  case Location::Cache:
    return entry.caches()->Get(buffer.index())->written();
  case Location::State:
    return entry.states()->Get(buffer.index())->written();
  case Location::Input:
  case Location::Parameter:
    break;
  }
  return false;
}

Status EntryChecker::checkWritten(const manifest::Operand &operand,
                                  const manifest::Buffer &buffer) const {
  if (!isWritable(buffer)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("writes buffer {}, which is an input, a parameter, or a cache "
                                    "or state that is only read",
                                    operand.buffer()));
  }
  const bool isKept = buffer.location() == Location::Cache || buffer.location() == Location::State;
  if (isKept && written[operand.buffer()]) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("changes the {} of buffer {} a second time",
                                    buffer.location() == Location::Cache ? "cache" : "state",
                                    operand.buffer()));
  }
  return {};
}

/// Returns the bytes of a row that columns may be taken from: for a split space, those of all
/// consecutive rows of one base row, which a kernel may read as one.
uint64_t EntryChecker::widestRowBytes(const manifest::Buffer &buffer) const {
  // A row of a shape with more than one symbol has no constant first column, and caches and states
  // have no rows.
  const bool hasRows = buffer.location() != Location::Cache && buffer.location() != Location::State;
  const uint64_t bytes = hasRows ? rowBytes(buffer).value_or(1) : 1;
  if (!hasRows || buffer.shape() == nullptr || buffer.shape()->size() == 0) {
    return bytes;
  }
  const manifest::Dimension &rows = *buffer.shape()->Get(0);
  const bool areRows = rows.constant() == 0 && !rows.longest();
  return bytes * (areRows ? static_cast<uint64_t>(spacesOf(entry)[rows.space()].parts()) : 1);
}

Status EntryChecker::checkOperand(const manifest::Operand &operand, bool isWritten,
                                  bool isEarlier) const {
  if (operand.buffer() >= entry.buffers()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("buffer {}, there are {}", operand.buffer(),
                                              entry.buffers()->size()));
  }
  const manifest::Buffer &buffer = *entry.buffers()->Get(operand.buffer());
  if (isWritten) {
    HEDDLE_TRY(checkWritten(operand, buffer));
  } else if (isWritable(buffer) && buffer.location() != Location::State && !isEarlier &&
             !written[operand.buffer()]) {
    return HEDDLE_ERROR(DataLoss, fmt::format("reads buffer {}, which no dispatch before it writes",
                                              operand.buffer()));
  }
  const uint64_t row = widestRowBytes(buffer);
  const uint32_t bytes = infoOf(elementOf(buffer)).bytes();
  if (operand.byte_offset() >= row || operand.byte_offset() % bytes != 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("begins at byte {} of a row of buffer {}, expected a "
                                              "multiple of {} less than {}",
                                              operand.byte_offset(), operand.buffer(), bytes, row));
  }
  return {};
}

/// Checks the operand with the chosen groups of weights, which a profile reads: an integer for each
/// row.
Status EntryChecker::checkChoice(const manifest::Dispatch &dispatch) const {
  if (dispatch.chosen_groups() == 0) {
    return {};
  }
  const uint32_t operand = dispatch.chosen_by();
  if (dispatch.chosen_groups() > mostGroups || operand < dispatch.written() ||
      operand >= dispatch.operands()->size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("rows choose among {} groups by operand {}, expected at most "
                                    "{} and operand {} to {}",
                                    dispatch.chosen_groups(), operand, mostGroups,
                                    dispatch.written(), dispatch.operands()->size() - 1));
  }
  const manifest::Buffer &buffer =
      *entry.buffers()->Get(dispatch.operands()->Get(operand)->buffer());
  const bool isList = buffer.element() == static_cast<uint8_t>(ElementType::I32) &&
                      buffer.shape()->size() == 1 && buffer.shape()->Get(0)->constant() == 0 &&
                      buffer.shape()->Get(0)->space() == dispatch.grid()->rows() &&
                      !buffer.shape()->Get(0)->longest() &&
                      dispatch.operands()->Get(operand)->byte_offset() == 0;
  return isList ? Status()
                : HEDDLE_ERROR(DataLoss, fmt::format("rows choose by operand {}, which has no "
                                                     "integer for each of them",
                                                     operand));
}

Status EntryChecker::checkDispatch(const manifest::Dispatch &dispatch, uint32_t number) {
  const size_t kernels = model.kernels()->size();
  if (dispatch.kernel() >= kernels || dispatch.finish_kernel() < -1 ||
      (dispatch.finish_kernel() >= 0 && uint32_t(dispatch.finish_kernel()) >= kernels)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("kernels {} and {}, there are {}", dispatch.kernel(),
                                              dispatch.finish_kernel(), kernels));
  }
  HEDDLE_TRY(checkGrid(*dispatch.grid()));
  const uint32_t operands = dispatch.operands() == nullptr ? 0 : dispatch.operands()->size();
  if (dispatch.written() == 0 || dispatch.written() > operands) {
    return HEDDLE_ERROR(DataLoss, fmt::format("writes {} of {} operands, expected at least one of "
                                              "them",
                                              dispatch.written(), operands));
  }
  // Inputs must be written before the dispatch, but states must not be updated yet.
  for (uint32_t i = dispatch.written(); i < operands; ++i) {
    HEDDLE_TRY_WITH(
        checkOperand(*dispatch.operands()->Get(i), false, earlier.contains({number, i})),
        fmt::format("operand {}", i));
  }
  for (uint32_t i = 0; dispatch.spaces() != nullptr && i < dispatch.spaces()->size(); ++i) {
    if (dispatch.spaces()->Get(i) >= entry.spaces()->size()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("names row space {}, there are {}",
                                                dispatch.spaces()->Get(i), entry.spaces()->size()));
    }
  }
  if (std::max(dispatch.counted_rows(), dispatch.counted_keys()) >= entry.spaces()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("counts operations of row spaces {} and {}, there "
                                              "are {}",
                                              dispatch.counted_rows(), dispatch.counted_keys(),
                                              entry.spaces()->size()));
  }
  for (uint32_t i = 0; i < dispatch.written(); ++i) {
    const manifest::Operand &operand = *dispatch.operands()->Get(i);
    HEDDLE_TRY_WITH(checkOperand(operand, true, false), fmt::format("operand {}", i));
    written[operand.buffer()] = true;
  }
  for (uint32_t i = dispatch.written(); i < operands; ++i) {
    const uint32_t buffer = dispatch.operands()->Get(i)->buffer();
    if (entry.buffers()->Get(buffer)->location() == Location::State && written[buffer]) {
      return HEDDLE_ERROR(
          DataLoss,
          fmt::format("operand {}: reads the state of buffer {} after it was changed", i, buffer));
    }
  }
  if (dispatch.arithmetic() > manifest::Arithmetic::MAX) {
    return HEDDLE_ERROR(DataLoss, fmt::format("multiplies in arithmetic {}, expected at most {}",
                                              unsigned(dispatch.arithmetic()),
                                              unsigned(manifest::Arithmetic::MAX)));
  }
  if (dispatch.float_products() > manifest::FloatProducts::MAX) {
    return HEDDLE_ERROR(DataLoss, fmt::format("rounds operands to kind {}, expected at most {}",
                                              unsigned(dispatch.float_products()),
                                              unsigned(manifest::FloatProducts::MAX)));
  }
  HEDDLE_TRY(checkChoice(dispatch));
  return checkColumns(*dispatch.grid(),
                      *entry.buffers()->Get(dispatch.operands()->Get(0)->buffer()));
}

} // namespace heddle
