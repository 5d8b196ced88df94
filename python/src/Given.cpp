// SPDX-License-Identifier: Apache-2.0
///
/// Converts Python texts and arrays to ids.
#include "python/src/Given.h"

#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Texts.h"

#include <algorithm>
#include <fmt/format.h>

namespace nb = nanobind;

namespace heddle::python {

bool Given::isBlank() const {
  return isText && text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

static Given givenOf(const nb::object &object, std::string_view what) {
  Given given;
  given.kept = object;
  if (PyUnicode_Check(object.ptr())) {
    given.isText = true;
    given.text = textOf(object, what);
  } else if (nb::try_cast(object, given.idArray, false)) {
    given.ids = spanOf(given.idArray);
  } else if (nb::try_cast(object, given.rowArray, false)) {
    given.rows = spanOf(given.rowArray);
  } else {
    wrongType(fmt::format("{} is {}, expected str, ids or rows", what, typeName(object)));
  }
  return given;
}

std::vector<Given> allGiven(const nb::list &list, std::string_view what) {
  std::vector<Given> given;
  for (size_t i = 0; i < nb::len(list); ++i) {
    given.push_back(givenOf(list[i], numbered(what, i)));
  }
  return given;
}

std::string_view nameOfSources(const Generator &generator) {
  return generator.hasSources() ? "source" : "prompt";
}

Result<std::vector<int32_t>> sourceIds(const Generator &generator, const Given &given,
                                       bool truncate) {
  std::vector<int32_t> ids(given.ids.begin(), given.ids.end());
  if (!generator.hasSources()) {
    if (truncate) {
      return HEDDLE_ERROR(InvalidArgument,
                          "truncate is given, and the model continues prompts, which are not cut");
    }
    return given.isText ? generator.encodePrompt(given.text) : std::move(ids);
  }
  const int64_t longest = generator.longestSource();
  if (given.isText) {
    HEDDLE_ASSIGN(ids, generator.encodeSource(given.text, truncate));
  } else if (truncate && longest != 0) {
    ids.resize(std::min(ids.size(), static_cast<size_t>(longest)));
  }
  if (longest != 0 && static_cast<int64_t>(ids.size()) > longest) {
    return HEDDLE_ERROR(OutOfRange,
                        fmt::format("source has {} tokens, expected at most {}, the positions of "
                                    "the model: truncate=True cuts it",
                                    ids.size(), longest));
  }
  return ids;
}

Result<std::vector<int32_t>> targetIds(const Generator &generator, const Given &given) {
  if (given.isText) {
    return generator.encodeTarget(given.text);
  }
  return std::vector<int32_t>(given.ids.begin(), given.ids.end());
}

void Languages::of(size_t index, std::string &source, std::string &target) const {
  if (!sources.empty()) {
    source = sources[index];
  }
  if (!targets.empty()) {
    target = targets[index];
  }
}

Status checkTarget(const Model &model, std::string_view language, bool isText) {
  const std::optional<LanguagesInfo> &languages = model.languages();
  if (isText && languages && languages->target.empty() && language.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("target_language is missing: the model has {} languages and no "
                                    "default, see info.languages",
                                    languages->names.size()));
  }
  return {};
}

} // namespace heddle::python
