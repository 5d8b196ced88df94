// SPDX-License-Identifier: Apache-2.0
///
/// Codes that were chosen with the rows in mind that they are multiplied with. To choose them takes
/// long and needs moments that are as large as the model, so that it is done once, matrix by
/// matrix; what comes out is kept in a file until the binary is written, and not in memory.
#ifndef HEDDLE_COMPILER_LINK_COMPENSATEDVALUES_H
#define HEDDLE_COMPILER_LINK_COMPENSATEDVALUES_H

#include "compiler/Link/QuantizedValues.h"
#include "heddle/Status.h"

#include "llvm/ADT/StringMap.h"

#include <cstdio>
#include <memory>

namespace heddle {

/// Quantised values by the symbols of their parameters, in a temporary file without a name.
class CompensatedValues {
public:
  /// InputOutput if there is no place for such a file.
  static Result<CompensatedValues> create();

  Status add(llvm::StringRef symbol, const QuantizedValues &values);
  bool contains(llvm::StringRef symbol) const { return places.contains(symbol); }
  /// Those of a parameter that was added.
  Result<QuantizedValues> read(llvm::StringRef symbol) const;
  size_t size() const { return places.size(); }

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  /// Where values begin in the file: codes, then scales, then zeros.
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
