// SPDX-License-Identifier: Apache-2.0
///
/// Graphs of two lengths as models that encode a source and decode targets.
#ifndef HEDDLE_FRONTEND_ONNX_ENCODERDECODER_H
#define HEDDLE_FRONTEND_ONNX_ENCODERDECODER_H

#include "frontend/Onnx/Evaluation.h"

namespace heddle::onnx {

/// The entries that such a graph is written to.
EntryPlan encoderDecoderPlan(const Uses *known);

/// What such a model needs: one input that says how long each side is, targets that see none after
/// them, sources without padding.
Status checkEncoderDecoder(const Graph &graph, const Uses &uses);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_ENCODERDECODER_H
