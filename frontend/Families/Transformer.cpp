// SPDX-License-Identifier: Apache-2.0
///
/// The Transformer: Vaswani et al., "Attention is all you need", section 3, in the project's own
/// format. With norms before sub-layers instead of after them: Xiong et al., "On layer
/// normalization in the Transformer architecture". With branches: Ahmed et al., "Weighted
/// Transformer network for machine translation". With decoder layers that share attention: Xiao et
/// al., "Sharing attention weights for fast Transformer". With averages in place of attention to
/// the target: Zhang, Xiong and Su, "Accelerating neural Transformer via an average attention
/// network".
#include "frontend/Families/Transformer.h"

#include "dialects/Transformer/Transformer.h"
#include "frontend/Families/DotProductAttention.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

template <typename Function>
Tensor Transformer::subLayer(const Scope &layer, std::string_view name, const Tensor &x,
                             Function f) const {
  return residualSubLayer(layer, {name, preNorm, epsilon}, x, f);
}

/// Section 3.2, equation 1: softmax(Q K^T / sqrt(d_k)) V for each of `count` heads.
Attended Transformer::attention(const Scope &scope, const Tensor &x, const Segments &rows,
                                const Memory &memory, Scoring scoring, int64_t count) const {
  scoring.scale = dotProductScale(width / count);
  return attend(scope, scope.linear("query", x, width), rows, memory, count, scoring);
}

/// Returns whether a layer is the first of its block. Without blocks, every layer is.
static bool isFirst(const std::vector<int64_t> &blocks, int64_t layer) {
  for (const int64_t size : blocks) {
    if (layer < size) {
      return layer == 0;
    }
    layer -= size;
  }
  return true;
}

/// "Average attention network", section 3, without the feed-forward layer of the average: g is the
/// mean of all x so far, [i; f] = sigmoid(W [x; g] + b), and i x + f g is the result. Only a sum is
/// kept between steps. W [x; g] is computed as W_x x + W_g g, so nothing needs to be concatenated.
Tensor Transformer::average(const Scope &scope, const Tensor &x, const Segments &rows,
                            Entry &entry) const {
  const State sum = entry.state(scope.scope("sum").name(), width);
  const Tensor mean = sum.prefixMean(x, rows);
  sum.accumulate(x, rows);
  const Parameter weight = scope.parameter("gate.weight", {2 * width, 2 * width});
  const Parameter bias = scope.parameter("gate.bias", {2 * width});
  const auto gate = [&](std::string_view name, int64_t first) {
    const Scope own = scope.scope("gate").scope(name);
    const Parameter both = own.rows("weight", weight, first, width);
    const Parameter ofInput = own.columns("own.weight", both, 0, width);
    const Parameter ofMean = own.columns("mean.weight", both, width, width);
    return (own.linear(x, ofInput, own.rows("bias", bias, first, width)) + own.linear(mean, ofMean))
        .activate(Activation::Sigmoid);
  };
  const Tensor input = gate("input", 0);
  const Tensor forget = gate("forget", width);
  return input * x + forget * mean;
}

/// Section 3.3: two linear maps with an activation between.
Tensor Transformer::feedForward(const Scope &scope, const Tensor &x, int64_t inner) const {
  return scope.linear("outer", scope.linear("inner", x, inner).activate(activation), width);
}

/// "Weighted Transformer network", section 3, equations 3 and 4: the sum over the heads of
/// alpha_i FFN_i(kappa_i head_i W_i^O).
Tensor Transformer::sumBranches(const Scope &scope, Entry &entry, const Tensor &context) const {
  const Parameter kappa = scope.parameter("kappa", {branches.count});
  const Parameter alpha = scope.parameter("alpha", {branches.count});
  const int64_t size = width / branches.count;
  Tensor sum;
  for (int64_t i = 0; i < branches.count; ++i) {
    const Scope branch = scope.scope("branches", i);
    const Tensor head = branch.linear("output", context.columns(i * size, size), width) *
                        entry.weight(branch.rows("kappa", kappa, i, 1));
    const Tensor ffn = branches.shared ? feedForward(scope.scope("ffn"), head, inner)
                                       : feedForward(branch, head, inner / branches.count);
    const Tensor term = ffn * entry.weight(branch.rows("alpha", alpha, i, 1));
    sum = sum.valid() ? sum + term : term;
  }
  return sum;
}

/// The scope of a decoder layer's cross-attention. With branches it lies inside their scope.
Scope Transformer::crossAttention(const Scope &model, int64_t layer) const {
  const Scope scope = model.scope("decoder.layers", layer);
  return branches.count > 0 ? scope.scope("branched.attention") : scope.scope("cross_attention");
}

/// Sections 3.4 and 3.5: tokens, multiplied by sqrt(d_model), plus their positions. Marian (see
/// "Marian: fast neural machine translation in C++") begins targets with zeros instead of a token.
Tensor Transformer::embed(const Scope &model, std::string_view stack, const Ids &tokens,
                          int64_t vocabulary, const Segments &rows) const {
  const Scope scope = model.scope(stack);
  const Parameter table = tied ? model.scope("shared").parameter("weight", {vocabulary, width})
                               : scope.scope("embed").parameter("weight", {vocabulary, width});
  Tensor x = scope.gather(table, tokens);
  if (scaleEmbeddings) {
    x = x * std::sqrt(static_cast<double>(width));
  }
  if (startFromZero && stack == "decoder") {
    const Parameter later = scope.onesFrom("after_start", 1, maxPositions, width);
    x = x * scope.gather(later, scope.positions(rows));
  }
  const bool split = positions == Positions::SinusoidalSplit;
  const Parameter places =
      positions == Positions::Learned
          ? scope.scope("positions").parameter("weight", {maxPositions, width})
          : model.sinusoid("positions", maxPositions, width,
                           {split, firstPosition, split ? width / 2 - 1 : width / 2});
  x = x + scope.gather(places, scope.positions(rows));
  return embeddingNorm ? scope.layerNorm("embedding_norm", x, epsilon) : x;
}

/// Norms after the last layer.
Tensor Transformer::endStack(const Scope &stack, const Tensor &x) const {
  return finalNorm ? stack.layerNorm("norm", x, epsilon) : x;
}

/// Section 3.1, the encoder; with a neighbourhood, section 4, restricted self-attention. It also
/// computes the keys and values of the decoder's cross-attention, once for each sentence.
void Transformer::encode(const Scope &model, Entry entry) const {
  const Ids source = entry.input("source");
  const Segments rows = entry.segments();
  const auto attend = [&](const Scope &self, const Tensor &y, int64_t index, int64_t count) {
    const Memory all = {self.linear("key", y, width), self.linear("value", y, width), rows};
    const SelfAttention &form = encoderAttention[static_cast<size_t>(index)];
    return attention(self, y, rows, all, {.neighbourhood = form.visibility}, count).context;
  };
  Tensor x = embed(model, "encoder", source, sourceVocabulary, rows);
  for (int64_t index = 0; index < encoderLayers; ++index) {
    const Scope layer = model.scope("encoder.layers", index);
    if (branches.count > 0) {
      x = subLayer(layer, "branched_norm", x, [&](const Tensor &y) {
        const Scope branched = layer.scope("branched");
        return sumBranches(branched, entry,
                           attend(branched.scope("attention"), y, index, branches.count));
      });
      continue;
    }
    x = subLayer(layer, "self_attention_norm", x, [&](const Tensor &y) {
      const Scope self = layer.scope("self_attention");
      return self.linear("output", attend(self, y, index, heads), width);
    });
    x = subLayer(layer, "ffn_norm", x,
                 [&](const Tensor &y) { return feedForward(layer.scope("ffn"), y, inner); });
  }
  x = endStack(model.scope("encoder"), x);
  entry.output("encoder", x);
  for (int64_t index = 0; index < decoderLayers; ++index) {
    if (!isFirst(crossBlocks, index)) {
      continue;
    }
    const Scope cross = crossAttention(model, index);
    for (std::string_view name : {"key", "value"}) {
      entry.cache(cross.scope(name).name(), width).append(cross.linear(name, x, width), rows);
    }
  }
}

/// Returns the keys and values that the encoder stored for a cross-attention.
static Memory remembered(const Scope &cross, Entry &entry, const Segments &source, int64_t width) {
  return {entry.cache(cross.scope("key").name(), width).rows(source),
          entry.cache(cross.scope("value").name(), width).rows(source), source};
}

/// Section 3.4, the linear transformation before the softmax.
Tensor Transformer::logits(const Scope &model, const Tensor &x) const {
  const Parameter table = tied ? model.parameter("shared.weight", {targetVocabulary, width})
                               : model.parameter("output.weight", {targetVocabulary, width});
  const Parameter bias =
      outputBias ? model.parameter("output.bias", {targetVocabulary}) : Parameter();
  return model.linear(x, table, bias);
}

/// Section 3.1, the decoder: position i sees positions up to i, and the whole source. Keys and
/// values of earlier positions are cached. If layers share attention ("Sharing attention weights",
/// section 3), later layers keep their own values in self-attention, S^n = S^m, but only their own
/// W^O in cross-attention, A^n = A^m. Branches follow cross-attention.
void Transformer::decode(const Scope &model, Entry entry) const {
  const Ids target = entry.input("target");
  const Segments rows = entry.segments();
  const bool attendsToTarget = !std::all_of(decoderAttention.begin(), decoderAttention.end(),
                                            std::mem_fn(&SelfAttention::averages));
  const Segments seen = attendsToTarget ? rows.history() : Segments();
  const Segments source = entry.memory("memory");
  Tensor x = embed(model, "decoder", target, targetVocabulary, rows);
  Attended self;
  Attended cross;
  Tensor alignment;
  const auto attendToTarget = [&](const Tensor &y, const Scope &scope, int64_t index) {
    const auto keep = [&](std::string_view name) {
      return entry.cache(scope.scope(name).name(), width)
          .append(scope.linear(name, y, width), rows)
          .rows(seen);
    };
    if (isFirst(selfBlocks, index)) {
      const Tensor key = keep("key"), value = keep("value");
      const SelfAttention &form = decoderAttention[static_cast<size_t>(index)];
      self =
          attention(scope, y, rows, {key, value, seen},
                    {.visibility = Visibility::causal(), .neighbourhood = form.visibility}, heads);
    } else {
      self.context = mixValues(scope, self.probabilities, rows, keep("value"), seen, heads);
    }
    return scope.linear("output", self.context, width);
  };
  const auto attendToSource = [&](const Tensor &y, int64_t index, int64_t count) {
    if (isFirst(crossBlocks, index)) {
      const Scope scope = crossAttention(model, index);
      cross = attention(scope, y, rows, remembered(scope, entry, source, width), {}, count);
    }
    alignment = index == alignmentLayer ? cross.probabilities : alignment;
    return cross.context;
  };
  for (int64_t index = 0; index < decoderLayers; ++index) {
    const Scope layer = model.scope("decoder.layers", index);
    x = subLayer(layer, "self_attention_norm", x, [&](const Tensor &y) {
      const Scope scope = layer.scope("self_attention");
      return decoderAttention[static_cast<size_t>(index)].averages
                 ? average(scope, y, rows, entry)
                 : attendToTarget(y, scope, index);
    });
    if (branches.count > 0) {
      x = subLayer(layer, "branched_norm", x, [&](const Tensor &y) {
        return sumBranches(layer.scope("branched"), entry,
                           attendToSource(y, index, branches.count));
      });
      continue;
    }
    x = subLayer(layer, "cross_attention_norm", x, [&](const Tensor &y) {
      return layer.scope("cross_attention")
          .linear("output", attendToSource(y, index, heads), width);
    });
    x = subLayer(layer, "ffn_norm", x,
                 [&](const Tensor &y) { return feedForward(layer.scope("ffn"), y, inner); });
  }
  entry.output("logits", logits(model, endStack(model.scope("decoder"), x)));
  entry.output("attention", alignment);
}

} // namespace heddle
