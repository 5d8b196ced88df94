// SPDX-License-Identifier: Apache-2.0
///
/// Appends values to the file, and reads them at their offsets.
#include "compiler/Link/CompensatedValues.h"

#include <cassert>
#include <cerrno>
#include <system_error>

namespace heddle {

static Status failed(const char *what) {
  return HEDDLE_ERROR(InputOutput,
                      std::string("a temporary file for compensated weights: cannot ") + what +
                          ": " + std::generic_category().message(errno));
}

Result<CompensatedValues> CompensatedValues::create() {
  // An anonymous file: the system removes it when this process ends in any way.
  File file(std::tmpfile());
  if (!file) {
    return failed("be made");
  }
  return CompensatedValues(std::move(file));
}

template <typename T> static bool writeAll(std::FILE *file, const std::vector<T> &values) {
  return std::fwrite(values.data(), sizeof(T), values.size(), file) == values.size();
}

template <typename T> static bool readAll(std::FILE *file, std::vector<T> &values) {
  return std::fread(values.data(), sizeof(T), values.size(), file) == values.size();
}

Status CompensatedValues::add(llvm::StringRef symbol, const QuantizedValues &values) {
  const CodeRows &rows = values.all();
  assert(rows.minimums.empty() && "codes above minimums are not chosen");
  const Place place = {end,
                       rows.codes.size(),
                       rows.scales.size(),
                       rows.zeros.size(),
                       values.elementType(),
                       values.columnCount()};
  const bool isWritten = ::fseeko(file.get(), end, SEEK_SET) == 0 &&
                         writeAll(file.get(), rows.codes) && writeAll(file.get(), rows.scales) &&
                         writeAll(file.get(), rows.zeros) && std::fflush(file.get()) == 0;
  if (!isWritten) {
    return failed("be written");
  }
  end = ::ftello(file.get());
  places.insert_or_assign(symbol, place);
  return {};
}

Result<QuantizedValues> CompensatedValues::read(llvm::StringRef symbol) const {
  const auto found = places.find(symbol);
  assert(found != places.end() && "only what was added is read");
  const Place &place = found->second;
  CodeRows rows;
  rows.codes.resize(place.codes);
  rows.scales.resize(place.scales);
  rows.zeros.resize(place.zeros);
  const bool isRead = ::fseeko(file.get(), place.offset, SEEK_SET) == 0 &&
                      readAll(file.get(), rows.codes) && readAll(file.get(), rows.scales) &&
                      readAll(file.get(), rows.zeros);
  if (!isRead) {
    return failed("be read");
  }
  return QuantizedValues(std::move(rows), place.type, place.columns);
}

} // namespace heddle
