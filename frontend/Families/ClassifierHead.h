// SPDX-License-Identifier: Apache-2.0
///
/// Classifiers that Hugging Face Transformers saves with an encoder: their labels, and the meaning
/// of their scores. The family knows the tensors.
#ifndef HEDDLE_FRONTEND_FAMILIES_CLASSIFIERHEAD_H
#define HEDDLE_FRONTEND_FAMILIES_CLASSIFIERHEAD_H

#include "formats/Config/Config.h"
#include "heddle/Problem.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The classifier of a configuration.
struct ClassifierHead {
  /// Whether every token gets scores, instead of the sequence.
  bool isOfTokens = false;
  std::vector<std::string> labels;
  Problem problem = Problem::SingleLabel;

  int64_t width() const { return static_cast<int64_t>(labels.size()); }
  /// Returns the rest of the architecture's name, after the family's.
  std::string_view architecture() const {
    return isOfTokens ? "ForTokenClassification" : "ForSequenceClassification";
  }
  /// Writes the labels into the program.
  void describe(mlir::ModuleOp module) const;
};

/// Reads "architectures", which begin with the family's name, and the labels; returns nothing if
/// there is no classifier.
Result<std::optional<ClassifierHead>> readClassifierHead(const Config &config,
                                                         std::string_view family);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_CLASSIFIERHEAD_H
