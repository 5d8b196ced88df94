// SPDX-License-Identifier: Apache-2.0
///
/// Sources, prompts and targets as callers pass them: texts, token ids or rows of floats, which are
/// read in place.
#ifndef HEDDLE_PYTHON_GIVEN_H
#define HEDDLE_PYTHON_GIVEN_H

#include "heddle/Generation.h"
#include "python/src/Arrays.h"

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::python {

/// Holds a reference to the object.
struct Given {
  nanobind::object kept;
  bool isText = false;
  std::string_view text;
  std::span<const int32_t> ids;
  std::span<const float> rows;
  Ids idArray;
  Floats rowArray;

  /// Returns whether it is a blank text, like an empty line of a file.
  bool isBlank() const;
};

/// Converts all items of a list; `what` begins messages.
std::vector<Given> allGiven(const nanobind::list &list, std::string_view what);

/// Returns the name of a model's sources in messages: "source", or "prompt".
std::string_view nameOfSources(const Generator &generator);

/// Returns the ids of a source or a prompt. Does not need the GIL; nor do the functions below.
Result<std::vector<int32_t>> sourceIds(const Generator &generator, const Given &given,
                                       bool truncate);
/// Returns the ids of a target, or of a prefix.
Result<std::vector<int32_t>> targetIds(const Generator &generator, const Given &given);

/// The languages of sources and of their answers: as many names as sources, or none.
struct Languages {
  std::vector<std::string> sources;
  std::vector<std::string> targets;

  /// Returns the languages of one source; "" means the model's default.
  void of(size_t index, std::string &source, std::string &target) const;
};

/// Rejects a text whose answer would have no language, as the programs do. Ids may contain one.
Status checkTarget(const Model &model, std::string_view language, bool isText);

} // namespace heddle::python

#endif // HEDDLE_PYTHON_GIVEN_H
