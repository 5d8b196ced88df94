// SPDX-License-Identifier: Apache-2.0
///
/// Graphs that are functions of rows of several lengths. One entry stores the rows of the source in
/// caches, one those of earlier runs, and one computes the results. Their caches hold what one run
/// gives, so nothing has to be proved about the order of rows.
#include "frontend/Onnx/Functions.h"

#include "base/Utf8.h"
#include "frontend/Onnx/EncoderDecoder.h"
#include "heddle/RectangleEntries.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::onnx {

EntryPlan functionPlan(const InputForms &forms, const Uses *known) {
  EntryPlan plan;
  plan.name = forms.hasTwoLengths() ? sourceEntry : rectangleEntry;
  plan.targets = forms.hasTwoLengths() ? rectangleEntry : "";
  plan.pasts = forms.hasPasts() ? pastEntry : "";
  plan.known = known;
  plan.isFunction = true;
  return plan;
}

Status checkFunction(const Graph &graph, const InputForms &forms, const Uses &uses) {
  const auto refuse = [](const std::string &what) { return HEDDLE_ERROR(Unsupported, what); };
  if (forms.hasTwoLengths()) {
    HEDDLE_TRY(checkCrossing(forms, uses));
  }
  if (forms.hasPasts() && uses.targets && uses.target != forms.run) {
    return refuse(fmt::format("{} lets rows of {} see those of {}, which are joined with rows of "
                              "earlier runs, expected the other direction",
                              uses.crossing, quote(uses.target), quote(forms.run)));
  }
  for (const auto &[size, ofLength] : uses.lengths) {
    const std::optional<Padding> &padding = ofLength.padding;
    const auto mask =
        std::find_if(graph.inputs.begin(), graph.inputs.end(),
                     [&](const OnnxPort &port) { return padding && port.name == padding->input; });
    if (mask != graph.inputs.end() && forms.isOfPastAndRun(lengthOf(*mask).value_or(""))) {
      return refuse(fmt::format("{} hides rows of earlier runs where {} is {}, expected all rows "
                                "that a caller gives to be visible",
                                padding->node, quote(padding->input), padding->value));
    }
  }
  return {};
}

void describePorts(mlir::ModuleOp module, const std::vector<PortTensor> &tensors) {
  mlir::Builder builder(module.getContext());
  for (const PortTensor &tensor : tensors) {
    auto entry = module.lookupSymbol<mlir::func::FuncOp>(tensor.entry);
    const unsigned ports = tensor.isInput ? entry.getNumArguments() : entry.getNumResults();
    for (unsigned number = 0; number < ports; ++number) {
      const auto isPort = [&](mlir::Type type, mlir::Attribute name) {
        return mlir::isa<mlir::RankedTensorType>(type) &&
               name == builder.getStringAttr(tensor.port);
      };
      const auto set = [&](llvm::StringRef attribute, mlir::Attribute value) {
        tensor.isInput ? entry.setArgAttr(number, attribute, value)
                       : entry.setResultAttr(number, attribute, value);
      };
      const bool isIt = tensor.isInput ? isPort(entry.getArgumentTypes()[number],
                                                entry.getArgAttr(number, "transformer.name"))
                                       : isPort(entry.getResultTypes()[number],
                                                entry.getResultAttr(number, "transformer.name"));
      if (isIt && !tensor.axes.empty()) {
        set("transformer.axes", builder.getDenseI64ArrayAttr(tensor.axes));
      }
      if (isIt && !tensor.after.empty()) {
        set("transformer.after", builder.getStringAttr(tensor.after));
      }
      if (isIt && tensor.rows != 0) {
        set("transformer.rows", builder.getI64IntegerAttr(tensor.rows));
      }
    }
  }
}

} // namespace heddle::onnx
