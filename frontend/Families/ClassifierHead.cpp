// SPDX-License-Identifier: Apache-2.0
///
/// Labels are numbered from 0 without gaps, in any order in the file.
#include "frontend/Families/ClassifierHead.h"

#include "base/Utf8.h"
#include "frontend/Families/Family.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

/// Returns the labels of "id2label", or "num_labels" generated names; transformers' default is 2.
static Result<std::vector<std::string>> readLabels(const Config &config) {
  std::vector<std::string> labels;
  if (!config.has("id2label")) {
    HEDDLE_ASSIGN(const int64_t count, config.integerOr("num_labels", 1, widthLimit, 2));
    for (int64_t i = 0; i < count; ++i) {
      labels.push_back(fmt::format("LABEL_{}", i));
    }
    return labels;
  }
  HEDDLE_ASSIGN(const Config names, config.object("id2label"));
  const size_t count = names.keys().size();
  if (count == 0 || count > static_cast<size_t>(widthLimit)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"id2label\" has {} labels, expected 1 to {}",
                                    config.where(), count, widthLimit));
  }
  for (size_t i = 0; i < count; ++i) {
    HEDDLE_ASSIGN(std::string label, names.string(std::to_string(i)));
    labels.push_back(std::move(label));
  }
  return labels;
}

Result<std::optional<ClassifierHead>> readClassifierHead(const Config &config,
                                                         std::string_view family) {
  if (!config.has("architectures")) {
    return std::optional<ClassifierHead>();
  }
  HEDDLE_ASSIGN(const std::vector<std::string> names, config.strings("architectures"));
  std::optional<ClassifierHead> found;
  for (const bool isOfTokens : {false, true}) {
    ClassifierHead head;
    head.isOfTokens = isOfTokens;
    const std::string name = fmt::format("{}{}", family, head.architecture());
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      found = std::move(head);
    }
  }
  if (!found) {
    return found;
  }
  ClassifierHead &head = *found;
  HEDDLE_ASSIGN(head.labels, readLabels(config));
  // Transformers trains a single label as a regression, several as a classification.
  const bool isNumber = head.labels.size() == 1 && !head.isOfTokens;
  head.problem = isNumber ? Problem::Regression : Problem::SingleLabel;
  static constexpr std::string_view key = "problem_type";
  if (config.has(key)) {
    std::vector<std::string> known;
    for (const ProblemInfo &problem : problemTable) {
      known.emplace_back(problem.published);
    }
    HEDDLE_ASSIGN(const std::string name, config.oneOf(key, known));
    head.problem = *findProblem(&ProblemInfo::published, name);
  }
  return found;
}

void ClassifierHead::describe(mlir::ModuleOp module) const {
  mlir::Builder builder(module.getContext());
  std::vector<mlir::Attribute> names;
  for (const std::string &label : labels) {
    names.push_back(builder.getStringAttr(label));
  }
  module->setAttr(
      "transformer.classification",
      builder.getDictionaryAttr(
          {builder.getNamedAttr("labels", builder.getArrayAttr(names)),
           builder.getNamedAttr("problem", builder.getStringAttr(infoOf(problem).name))}));
}

} // namespace heddle
