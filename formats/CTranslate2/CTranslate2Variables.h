// SPDX-License-Identifier: Apache-2.0
///
/// The variables of a CTranslate2 Transformer. Each is taken by name, with the shape or range that
/// it must have. A variable that is never taken belongs to a feature that this compiler does not
/// support. Such a model would be computed incorrectly, so it is rejected.
#ifndef HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VARIABLES_H
#define HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VARIABLES_H

#include "formats/Checkpoint/CTranslate2File.h"
#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Refers to the file and remembers which variables were taken.
class CTranslate2Variables {
public:
  explicit CTranslate2Variables(const CTranslate2File &file) : file(file) {}

  const std::string &path() const { return file.path(); }
  const CTranslate2File &stored() const { return file; }
  bool has(std::string_view name) const { return file.find(name) != nullptr; }

  /// Takes a variable of real numbers with this shape; a negative size accepts any size but zero.
  Result<const StoredTensor *> tensor(const std::string &name, const std::vector<int64_t> &shape);

  /// Takes an option: a whole number from `min` to `max` at "scope/name", in files before revision
  /// 5 at "name"; `absent` if there is none.
  Result<int64_t> integer(const std::string &scope, const std::string &name, int64_t min,
                          int64_t max, int64_t absent);
  Result<bool> flag(const std::string &scope, const std::string &name, bool absent);
  /// Takes any number at exactly that name.
  Result<std::optional<double>> number(const std::string &name);
  /// Takes text at exactly that name.
  Result<std::string> text(const std::string &name, std::string_view absent);

  /// Checks the options; Unsupported, naming the option, if the model uses one that our format
  /// cannot express.
  Status checkSupported();
  /// Returns InvalidArgument for the first variable that was not taken.
  Status checkAllTaken() const;

private:
  const CTranslate2File &file;
  std::set<std::string, std::less<>> taken;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2VARIABLES_H
