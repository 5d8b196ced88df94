// SPDX-License-Identifier: Apache-2.0
///
/// Requirements on graphs with two lengths, so that the source can be encoded once and the targets
/// decoded token by token.
#include "frontend/Onnx/EncoderDecoder.h"

#include "base/Utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::onnx {

static constexpr std::string_view encodeEntry = "encode";
static constexpr std::string_view decodeEntry = "decode";

EntryPlan encoderDecoderPlan(const Uses *known) {
  EntryPlan plan;
  plan.name = encodeEntry;
  plan.targets = decodeEntry;
  plan.known = known;
  return plan;
}

namespace {

/// The inputs of one length that are read for more than the location of padding.
struct InputsRead {
  std::vector<std::string> names;
  bool areIds = false;
};

} // namespace

static InputsRead inputsRead(const Graph &graph, const Uses &uses, std::string_view length) {
  InputsRead result;
  for (const OnnxPort &port : graph.inputs) {
    if (lengthOf(port) != length) {
      continue;
    }
    const bool isFloat = infoOf(*port.dtype).isFloat();
    if (isFloat || uses.read.contains(std::string(port.name))) {
      result.names.push_back(quote(port.name));
      result.areIds = !isFloat;
    }
  }
  return result;
}

static Status refuse(const std::string &what) { return HEDDLE_ERROR(Unsupported, what); }

Status checkCrossing(const InputForms &forms, const Uses &uses) {
  if (!uses.targets) {
    return refuse(fmt::format("the inputs have rows of two lengths, {} and {}, expected an "
                              "attention whose queries are rows of one and whose keys are rows of "
                              "the other",
                              quote(forms.lengths[0]), quote(forms.lengths[1])));
  }
  const LengthUses ofSources = uses.of(*uses.sources);
  if (ofSources.padding && !ofSources.unmasked.empty()) {
    return refuse(fmt::format("{} sees all rows of {}, but {} hides those where {} is {}, expected "
                              "all attentions to hide them",
                              ofSources.unmasked, quote(uses.source), ofSources.padding->node,
                              quote(ofSources.padding->input), ofSources.padding->value));
  }
  return {};
}

Status checkEncoderDecoder(const Graph &graph, const InputForms &forms, const Uses &uses) {
  const std::string &target = uses.target, &source = uses.source;
  if (uses.targets && !uses.of(*uses.targets).unordered.empty()) {
    return refuse(fmt::format("{} lets rows of {} see later ones, expected a causal mask where "
                              "rows look at those of another length",
                              uses.of(*uses.targets).unordered, quote(target)));
  }
  HEDDLE_TRY(checkCrossing(forms, uses));
  const InputsRead targets = inputsRead(graph, uses, target);
  if (targets.names.size() != 1 || !targets.areIds) {
    return refuse(fmt::format("the rows of {} are computed from {}, expected one input of ids, as "
                              "a decoder has",
                              quote(target), fmt::join(targets.names, ", ")));
  }
  const InputsRead sources = inputsRead(graph, uses, source);
  if (sources.names.size() != 1) {
    return refuse(fmt::format("the rows of {} are computed from {}, expected one input",
                              quote(source), fmt::join(sources.names, ", ")));
  }
  return uses.vocabulary ? Status()
                         : refuse(fmt::format("the graph decodes rows of {}, but has no output {} "
                                              "of them",
                                              quote(target), quote(logitsOutput)));
}

} // namespace heddle::onnx
