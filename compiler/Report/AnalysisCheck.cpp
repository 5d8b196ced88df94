// SPDX-License-Identifier: Apache-2.0
///
/// Comparing an analysis with a program, and writing it down for the page.
#include "compiler/Report/AnalysisCheck.h"

#include "compiler/Report/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace heddle {
namespace {

void writeKind(llvm::json::OStream &json, const AttentionAnalysis &kind) {
  json.object([&] {
    json.attribute("kind", llvm::json::fixUTF8(kind.kind));
    json.attributeArray("layers", [&] {
      for (const std::string &layer : kind.layers) {
        json.value(llvm::json::fixUTF8(layer));
      }
    });
    json.attributeArray("divergence", [&] {
      for (const std::vector<double> &row : kind.divergence) {
        json.array([&] {
          for (double value : row) {
            json.value(value);
          }
        });
      }
    });
    if (kind.policy) {
      json.attributeArray("policy", [&] {
        for (int64_t block : *kind.policy) {
          json.value(block);
        }
      });
    }
  });
}

} // namespace

Status checkAnalysis(const Analysis &analysis, ModuleOp module, const std::string &path) {
  llvm::StringSet<> known;
  std::string example;
  module.walk([&](Operation *operation) {
    if (isa<transformer::SoftmaxOp, transformer::AttentionOp>(operation)) {
      std::string name = checkpointName(operation->getLoc());
      example = example.empty() ? name : example;
      known.insert(name);
    }
  });
  for (const AttentionAnalysis &kind : analysis.kinds) {
    for (const std::string &layer : kind.layers) {
      if (!known.contains(layer)) {
        return HEDDLE_ERROR(InvalidArgument,
                            path + ": the attention \"" + layer + "\" is none of this model, " +
                                (known.empty() ? "which has no attention"
                                               : "expected names such as \"" + example + "\""));
      }
    }
  }
  return {};
}

void writeAnalysis(llvm::json::OStream &json, const Analysis &analysis) {
  json.object([&] {
    json.attribute("model", llvm::json::fixUTF8(analysis.model));
    json.attribute("sentences", analysis.sentences);
    json.attribute("positions", analysis.positions);
    if (analysis.theta) {
      json.attribute("theta", *analysis.theta);
    }
    json.attributeArray("kinds", [&] {
      for (const AttentionAnalysis &kind : analysis.kinds) {
        writeKind(json, kind);
      }
    });
  });
}

} // namespace heddle
