// SPDX-License-Identifier: Apache-2.0
///
/// The state that all copies of a Model share.
#ifndef HEDDLE_RUNTIME_SESSION_MODELSTATE_H
#define HEDDLE_RUNTIME_SESSION_MODELSTATE_H

#include "heddle/Session.h"
#include "runtime/Artifact/Artifact.h"
#include "runtime/Session/ChatTemplates.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle {

class Tokenizer;

/// Immutable after loading.
struct Model::State {
  std::shared_ptr<const Artifact> artifact;
  /// Null: none.
  std::shared_ptr<const Tokenizer> tokenizer;
  /// The tokenizer for generated text; the same as `tokenizer` unless the model has a separate one.
  std::shared_ptr<const Tokenizer> targetTokenizer;
  ChatTemplates chat{nullptr};
  std::vector<EntryInfo> entries;
  /// As Model::cachePrecision().
  std::string cachePrecision;
  std::vector<ParameterInfo> parameters;
  std::vector<std::string> targets;
  std::vector<std::string> reportSummary;
  std::vector<KeptLayersInfo> keptLayers;
  std::optional<LanguagesInfo> languages;
  std::optional<ClassifierInfo> classifier;
};

/// Calls `function`, which returns a Status or Result, and converts an exception for lack of memory
/// to a failure. (The library throws no other exceptions, and lets none escape.)
template <typename Function>
auto withoutExceptions(const Function &function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc &) {
    return HEDDLE_ERROR(ResourceExhausted, "out of memory");
  } catch (const std::length_error &) {
    return HEDDLE_ERROR(ResourceExhausted, "out of memory: a list is too long");
  }
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_MODELSTATE_H
