// SPDX-License-Identifier: Apache-2.0
///
/// Imports graphs with two sequence lengths as encoder-decoder models.
#ifndef HEDDLE_FRONTEND_ONNX_ENCODERDECODER_H
#define HEDDLE_FRONTEND_ONNX_ENCODERDECODER_H

#include "frontend/Onnx/Evaluation.h"

namespace heddle::onnx {

/// Returns the entries that an encoder-decoder graph is written to.
EntryPlan encoderDecoderPlan(const Uses *known);

/// Checks that a graph can be imported as an encoder-decoder model: the rows of each side are
/// computed from one input, target rows are causal and computed from ids, all attentions hide the
/// padding of the source, and the graph outputs logits.
Status checkEncoderDecoder(const Graph &graph, const InputForms &forms, const Uses &uses);

/// Checks that rows of one length attend to those of the other, and that all attentions hide the
/// padding of the latter.
Status checkCrossing(const InputForms &forms, const Uses &uses);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_ENCODERDECODER_H
