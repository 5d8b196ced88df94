// SPDX-License-Identifier: Apache-2.0
///
/// Sources, prompts and targets as callers give them: texts, token ids or rows of floats, which are
/// read where they lie.
#ifndef HEDDLE_PYTHON_GIVEN_H
#define HEDDLE_PYTHON_GIVEN_H

#include "heddle/Generation.h"
#include "python/src/Arrays.h"

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::python {

/// Refers to the object, which is kept.
struct Given {
  nanobind::object kept;
  bool isText = false;
  std::string_view text;
  std::span<const int32_t> ids;
  std::span<const float> rows;
  Ids idArray;
  Floats rowArray;

  /// Whether it is a text that says nothing, as an empty line of a file.
  bool isBlank() const;
};

/// All of a list; `what` begins messages.
std::vector<Given> allGiven(const nanobind::list &list, std::string_view what);

/// What messages call that from which a model generates: "source", or "prompt".
std::string_view nameOfSources(const Generator &generator);

/// The ids of a source or a prompt. Needs no interpreter, as the functions below.
Result<std::vector<int32_t>> sourceIds(const Generator &generator, const Given &given,
                                       bool truncate);
/// The ids of a target, or of a prefix.
Result<std::vector<int32_t>> targetIds(const Generator &generator, const Given &given);

/// The languages of some sources and of their answers: as many names as sources, or none.
struct Languages {
  std::vector<std::string> sources;
  std::vector<std::string> targets;

  /// Sets those of one source; "": the model's default.
  void of(size_t index, std::string &source, std::string &target) const;
};

/// Refuses a text whose answer would be in no language, as the programs do. Ids may have one.
Status checkTarget(const Model &model, std::string_view language, bool isText);

} // namespace heddle::python

#endif // HEDDLE_PYTHON_GIVEN_H
