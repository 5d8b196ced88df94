// SPDX-License-Identifier: Apache-2.0
///
/// Codes chosen by calibration. Choosing them takes long and needs moments as large as the model,
/// so it is done once, matrix by matrix. The result is kept in a file, not in memory, until the
/// binary is written.
#ifndef HEDDLE_COMPILER_LINK_COMPENSATEDVALUES_H
#define HEDDLE_COMPILER_LINK_COMPENSATEDVALUES_H

#include "compiler/Link/QuantizedValues.h"
#include "heddle/Status.h"

#include "llvm/ADT/StringMap.h"

#include <cstdio>
#include <memory>

namespace heddle {

/// Quantised values by the symbols of their parameters, in an anonymous temporary file.
class CompensatedValues {
public:
  /// Returns InputOutput if no such file can be created.
  static Result<CompensatedValues> create();

  Status add(llvm::StringRef symbol, const QuantizedValues &values);
  bool contains(llvm::StringRef symbol) const { return places.contains(symbol); }
  /// Returns the values of an added parameter.
  Result<QuantizedValues> read(llvm::StringRef symbol) const;
  size_t size() const { return places.size(); }

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  /// The offsets of values in the file: codes, then scales, then zeros.
  struct Place {
    off_t offset;
    size_t codes, scales, zeros;
    transformer::QuantizedType type;
    int64_t columns;
  };

  explicit CompensatedValues(File file) : file(std::move(file)) {}

  File file;
  off_t end = 0;
  llvm::StringMap<Place> places;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_COMPENSATEDVALUES_H
