// SPDX-License-Identifier: Apache-2.0
///
/// Counts the bytes of a matrix made of several tensors once, for the first pattern that chose its
/// storage; counts its tensors for all patterns that match them and choose that storage.
#include "compiler/Dataflow/KeptWeights.h"

#include "base/Utf8.h"
#include "compiler/Remarks/Report.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle {

KeptWeights::KeptWeights(const SymbolTable &symbols, const LayerPrecisions &precisions)
    : symbols(symbols), precisions(precisions) {
  for (const KeptLayers &rule : precisions.rules()) {
    counts.insert({&rule, {}});
  }
}

void KeptWeights::note(transformer::ParameterOp parameter, const LayerPrecisions::Choice &choice,
                       int64_t bytes) {
  if (!choice.kept && !choice.overruled) {
    return;
  }
  for (transformer::ParameterOp tensor : matricesOf(symbols, parameter)) {
    for (const KeptLayers &rule : precisions.rules()) {
      if (!matchesLayer(rule.pattern, *tensor.getSource())) {
        continue;
      }
      Count &count = counts[&rule];
      if (choice.isAsAskedBy(rule)) {
        count.tensors.insert(tensor);
      } else if (count.overruledAt.empty()) {
        count.overruledAt = placeName(parameter.getLoc());
        count.overruledBy = shownName(choice.precision);
      }
    }
  }
  if (choice.kept) {
    counts[choice.kept].bytes += bytes;
  }
}

std::string KeptWeights::reason(const LayerPrecisions::Choice &choice) {
  if (choice.kept) {
    return ", kept by " + choice.kept->text() +
           (choice.isMixed ? ", the finest precision of its parts" : "");
  }
  return choice.overruled ? ", coarser by " + choice.overruled->text() +
                                " only in part: the finest precision of its parts counts"
                          : "";
}

Status KeptWeights::check() const {
  for (const auto &[rule, count] : counts) {
    if (!count.tensors.empty()) {
      continue;
    }
    std::string message = quote(rule->text()) + " keeps nothing: ";
    if (count.overruledAt.empty()) {
      message += "no matrix of a product and no table that precisions differ in is made of what it "
                 "matches";
    } else {
      message += quote(count.overruledAt) +
                 " is stored as one matrix, and the precision of other parts of it is finer: " +
                 count.overruledBy;
    }
    return HEDDLE_ERROR(InvalidArgument, message);
  }
  return {};
}

DictionaryAttr KeptWeights::describe(MLIRContext *context, StringRef base) const {
  Builder builder(context);
  SmallVector<Attribute> kept;
  for (const auto &[rule, count] : counts) {
    kept.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("layers", builder.getStringAttr(rule->pattern)),
         builder.getNamedAttr("precision", builder.getStringAttr(rule->precision)),
         builder.getNamedAttr("tensors", builder.getI64IntegerAttr(count.tensors.size())),
         builder.getNamedAttr("bytes", builder.getI64IntegerAttr(count.bytes))}));
  }
  return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(base)),
                                    builder.getNamedAttr("kept", builder.getArrayAttr(kept))});
}

} // namespace heddle
