// SPDX-License-Identifier: Apache-2.0
///
/// The Transformer: Vaswani et al., "Attention is all you need", section 3, in the project's own
/// format. With norms before sub-layers instead of after them: Xiong et al., "On layer
/// normalization in the Transformer architecture". With decoder layers that share attention: Xiao
/// et al., "Sharing attention weights for fast Transformer".
#include "frontend/Families/Family.h"

#include "dialects/Transformer/Transformer.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Config/Config.h"
#include "frontend/Config/Generation.h"
#include "frontend/Families/FamilyConfig.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <vector>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

namespace {

/// How tokens know where they are.
enum class Positions { Sinusoidal, SinusoidalSplit, Learned };

/// What decoder layers may share of attention: the weights it gave to the keys, and the sum of the
/// values with them, before W^O.
struct Attended {
  Tensor context;
  Tensor probabilities;
};

/// Keys and values as attention reads them, and which rows of them belong to a query.
struct Memory {
  Tensor key;
  Tensor value;
  Segments rows;
};

/// A model of the family: its numbers and its mathematics.
struct Transformer {
  int64_t sourceVocabulary = 0;
  int64_t targetVocabulary = 0;
  int64_t width = 0;
  int64_t encoderLayers = 0;
  int64_t decoderLayers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  /// A norm before each sub-layer, else after its residual connection.
  bool preNorm = false;
  /// A norm after the last layer of each stack.
  bool finalNorm = false;
  /// A norm after the sum of embedding and position.
  bool embeddingNorm = false;
  double epsilon = 1e-6;
  Activation activation = Activation::Relu;
  Positions positions = Positions::Sinusoidal;
  int64_t maxPositions = 0;
  /// The sinusoid of the first token.
  int64_t firstPosition = 0;
  /// One table for both embeddings and the output.
  bool tied = true;
  bool scaleEmbeddings = true;
  /// The first token of a target, whichever it is, has zeros for its embedding.
  bool startFromZero = false;
  bool outputBias = false;
  /// Sizes of the blocks of decoder layers that share the weights of their first layer's attention
  /// to the target, and the result of that to the source; none: every layer has its own.
  std::vector<int64_t> selfBlocks;
  std::vector<int64_t> crossBlocks;
  /// The decoder layer whose attention to the source is an output.
  int64_t alignmentLayer = 0;

  template <typename Function>
  Tensor subLayer(const Scope &layer, std::string_view norm, const Tensor &x, Function f) const;
  Attended attention(const Scope &scope, const Tensor &x, const Segments &rows,
                     const Memory &memory, Visibility visibility) const;
  Tensor mix(const Scope &scope, const Tensor &probabilities, const Segments &rows,
             const Tensor &value, const Segments &keys) const;
  Tensor feedForward(const Scope &scope, const Tensor &x) const;
  Tensor embed(const Scope &model, std::string_view stack, const Ids &tokens, int64_t vocabulary,
               const Segments &rows) const;
  Tensor endStack(const Scope &stack, const Tensor &x) const;
  void encode(const Scope &model, Entry entry) const;
  void decode(const Scope &model, Entry entry) const;
};

} // namespace

/// Section 3.1: each sub-layer has a residual connection and a layer norm.
template <typename Function>
Tensor Transformer::subLayer(const Scope &layer, std::string_view norm, const Tensor &x,
                             Function f) const {
  if (preNorm) {
    return f(layer.layerNorm(norm, x, epsilon)) + x;
  }
  return layer.layerNorm(norm, f(x) + x, epsilon);
}

/// Section 3.2, equation 1: softmax(Q K^T / sqrt(d_k)) V for every head.
Attended Transformer::attention(const Scope &scope, const Tensor &x, const Segments &rows,
                                const Memory &memory, Visibility visibility) const {
  const Tensor query = scope.linear("query", x, width).splitHeads(heads);
  const Tensor key = memory.key.splitHeads(heads);
  const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
  Tensor scores = scope.contract("thd,khd->thk", query, key, rows, memory.rows) * scale;
  if (visibility == Visibility::Causal) {
    scores = scores.select(scope.mask(visibility, rows, memory.rows),
                           -std::numeric_limits<double>::infinity());
  }
  const Tensor probabilities = scores.softmax(memory.rows);
  return {mix(scope, probabilities, rows, memory.value, memory.rows), probabilities};
}

/// The sum of values with given weights, heads side by side.
Tensor Transformer::mix(const Scope &scope, const Tensor &probabilities, const Segments &rows,
                        const Tensor &value, const Segments &keys) const {
  return scope.contract("thk,khd->thd", probabilities, value.splitHeads(heads), rows, keys)
      .mergeHeads();
}

/// Whether a layer is the first of its block; without blocks every layer is.
static bool isFirst(const std::vector<int64_t> &blocks, int64_t layer) {
  for (const int64_t size : blocks) {
    if (layer < size) {
      return layer == 0;
    }
    layer -= size;
  }
  return true;
}

/// Section 3.3: two linear maps with an activation between.
Tensor Transformer::feedForward(const Scope &scope, const Tensor &x) const {
  return scope.linear("outer", scope.linear("inner", x, inner).activate(activation), width);
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

/// What follows the last layer.
Tensor Transformer::endStack(const Scope &stack, const Tensor &x) const {
  return finalNorm ? stack.layerNorm("norm", x, epsilon) : x;
}

/// Section 3.1, the encoder. What decoder layers attend to is computed here, once for a sentence.
void Transformer::encode(const Scope &model, Entry entry) const {
  const Ids source = entry.input("source");
  const Segments rows = entry.segments();
  Tensor x = embed(model, "encoder", source, sourceVocabulary, rows);
  for (int64_t index = 0; index < encoderLayers; ++index) {
    const Scope layer = model.scope("encoder.layers", index);
    x = subLayer(layer, "self_attention_norm", x, [&](const Tensor &y) {
      const Scope self = layer.scope("self_attention");
      const Memory all = {self.linear("key", y, width), self.linear("value", y, width), rows};
      return self.linear("output", attention(self, y, rows, all, Visibility::All).context, width);
    });
    x = subLayer(layer, "ffn_norm", x,
                 [&](const Tensor &y) { return feedForward(layer.scope("ffn"), y); });
  }
  x = endStack(model.scope("encoder"), x);
  entry.output("encoder", x);
  for (int64_t index = 0; index < decoderLayers; ++index) {
    if (!isFirst(crossBlocks, index)) {
      continue;
    }
    const Scope cross = model.scope("decoder.layers", index).scope("cross_attention");
    for (std::string_view name : {"key", "value"}) {
      entry.cache(cross.scope(name).name(), width).append(cross.linear(name, x, width), rows);
    }
  }
}

/// Section 3.1, the decoder: position i sees those up to i, and the whole source. Its keys and
/// values of earlier positions are kept. Of layers that share attention ("Sharing attention
/// weights", section 3), the later have values of their own for the target, S^n = S^m, and nothing
/// of their own but W^O for the source, A^n = A^m.
void Transformer::decode(const Scope &model, Entry entry) const {
  const Ids target = entry.input("target");
  const Segments rows = entry.segments();
  const Segments seen = rows.history();
  const Segments source = entry.memory("memory");
  Tensor x = embed(model, "decoder", target, targetVocabulary, rows);
  Attended self;
  Attended cross;
  Tensor alignment;
  for (int64_t index = 0; index < decoderLayers; ++index) {
    const Scope layer = model.scope("decoder.layers", index);
    x = subLayer(layer, "self_attention_norm", x, [&](const Tensor &y) {
      const Scope scope = layer.scope("self_attention");
      const auto keep = [&](std::string_view name) {
        return entry.cache(scope.scope(name).name(), width)
            .append(scope.linear(name, y, width), rows)
            .rows(seen);
      };
      if (isFirst(selfBlocks, index)) {
        const Tensor key = keep("key");
        const Tensor value = keep("value");
        self = attention(scope, y, rows, {key, value, seen}, Visibility::Causal);
      } else {
        self.context = mix(scope, self.probabilities, rows, keep("value"), seen);
      }
      return scope.linear("output", self.context, width);
    });
    x = subLayer(layer, "cross_attention_norm", x, [&](const Tensor &y) {
      const Scope scope = layer.scope("cross_attention");
      if (isFirst(crossBlocks, index)) {
        const Tensor key = entry.cache(scope.scope("key").name(), width).rows(source);
        const Tensor value = entry.cache(scope.scope("value").name(), width).rows(source);
        cross = attention(scope, y, rows, {key, value, source}, Visibility::All);
      }
      alignment = index == alignmentLayer ? cross.probabilities : alignment;
      return scope.linear("output", cross.context, width);
    });
    x = subLayer(layer, "ffn_norm", x,
                 [&](const Tensor &y) { return feedForward(layer.scope("ffn"), y); });
  }
  x = endStack(model.scope("decoder"), x);
  const Parameter table = tied ? model.parameter("shared.weight", {targetVocabulary, width})
                               : model.parameter("output.weight", {targetVocabulary, width});
  const Parameter bias =
      outputBias ? model.parameter("output.bias", {targetVocabulary}) : Parameter();
  entry.output("logits", model.linear(x, table, bias));
  entry.output("attention", alignment);
}

static Result<Positions> readPositions(const Config &config, int64_t width) {
  HEDDLE_ASSIGN(const std::string name,
                config.oneOf("positions", {"sinusoidal", "sinusoidal-split", "learned"}));
  if (name == "learned") {
    return Positions::Learned;
  }
  if (width < 4 || width % 2 != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"d_model\" is {}, expected an even number from 4 on for "
                                    "sinusoids",
                                    config.where(), width));
  }
  return name == "sinusoidal" ? Positions::Sinusoidal : Positions::SinusoidalSplit;
}

/// The sizes of the blocks of decoder layers that share; none if the key is not there.
static Result<std::vector<int64_t>> readBlocks(const Config &config, std::string_view key,
                                               int64_t layers) {
  if (!config.has(key)) {
    return std::vector<int64_t>();
  }
  HEDDLE_ASSIGN(std::vector<int64_t> blocks, config.integers(key, 1, layers));
  const int64_t sum = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
  if (sum != layers) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" has blocks of {} layers in all, expected {}, "
                                    "\"decoder_layers\"",
                                    config.where(), key, sum, layers));
  }
  return blocks;
}

/// What only some models have.
static Status readOptions(Transformer &model, const Config &config) {
  HEDDLE_ASSIGN(model.finalNorm, config.booleanOr("final_norm", model.preNorm));
  HEDDLE_ASSIGN(model.embeddingNorm, config.booleanOr("embedding_norm", false));
  HEDDLE_ASSIGN(model.scaleEmbeddings, config.booleanOr("scale_embeddings", true));
  HEDDLE_ASSIGN(model.startFromZero, config.booleanOr("start_from_zero_embedding", false));
  HEDDLE_ASSIGN(model.outputBias, config.booleanOr("output_bias", false));
  HEDDLE_ASSIGN(model.targetVocabulary,
                config.integerOr("target_vocab_size", 1, tableLimit, model.sourceVocabulary));
  HEDDLE_ASSIGN(model.firstPosition, config.integerOr("positions_offset", 0, tableLimit, 0));
  HEDDLE_ASSIGN(model.selfBlocks,
                readBlocks(config, "self_attention_sharing", model.decoderLayers));
  HEDDLE_ASSIGN(model.crossBlocks,
                readBlocks(config, "cross_attention_sharing", model.decoderLayers));
  HEDDLE_ASSIGN(
      model.alignmentLayer,
      config.integerOr("alignment_layer", 0, model.decoderLayers - 1, model.decoderLayers - 1));
  if (model.tied && model.targetVocabulary != model.sourceVocabulary) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"target_vocab_size\" is {}, expected {}, \"vocab_size\", "
                                    "with \"tie_embeddings\"",
                                    config.where(), model.targetVocabulary,
                                    model.sourceVocabulary));
  }
  return {};
}

static Result<Transformer> readTransformer(const Config &config) {
  for (std::string_view key : {"branches", "decoder_self_attention"}) {
    HEDDLE_TRY(refuseOption(config, key));
  }
  Transformer model;
  HEDDLE_ASSIGN(model.sourceVocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(model.width, config.integer("d_model", 1, widthLimit));
  HEDDLE_ASSIGN(model.encoderLayers, config.integer("encoder_layers", 1, layerLimit));
  HEDDLE_ASSIGN(model.decoderLayers, config.integer("decoder_layers", 1, layerLimit));
  HEDDLE_ASSIGN(model.heads, config.integer("heads", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "heads", model.heads, "d_model", model.width));
  HEDDLE_ASSIGN(model.inner, config.integer("d_ff", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(const std::string norm, config.oneOf("norm", {"pre", "post"}));
  model.preNorm = norm == "pre";
  HEDDLE_ASSIGN(model.epsilon, config.numberOr("layer_norm_eps", 0, 1, 1e-6));
  HEDDLE_ASSIGN(model.activation, readActivation(config, "activation", "relu"));
  HEDDLE_ASSIGN(model.positions, readPositions(config, model.width));
  HEDDLE_ASSIGN(model.maxPositions, config.integer("max_positions", 1, tableLimit));
  HEDDLE_ASSIGN(model.tied, config.boolean("tie_embeddings"));
  HEDDLE_TRY(readOptions(model, config));
  return model;
}

/// The format has one token of each kind, and the paper's search but for what was converted.
static Result<Generation> readTokens(const Config &config, int64_t vocabulary) {
  Generation generation;
  HEDDLE_ASSIGN(const int64_t start, config.integer("bos_token_id", 0, vocabulary - 1));
  HEDDLE_ASSIGN(const int64_t end, config.integer("eos_token_id", 0, vocabulary - 1));
  HEDDLE_ASSIGN(const int64_t pad, config.integerOr("pad_token_id", 0, tableLimit, 0));
  generation.start = {static_cast<int32_t>(start)};
  generation.end = {static_cast<int32_t>(end)};
  generation.pad = static_cast<int32_t>(pad);
  HEDDLE_ASSIGN(generation.rules,
                config.oneOfOr("rules", {"paper", "transformers", "ctranslate2"}, "paper"));
  return generation;
}

Result<FamilyModel> buildTransformer(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const Transformer model, readTransformer(source.config));
  HEDDLE_ASSIGN(const Generation generation, readTokens(source.config, model.targetVocabulary));
  ModelBuilder builder(context, "transformer");
  builder.generation(generation);
  model.encode(builder.scope(), builder.entry("encode"));
  model.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  return FamilyModel{std::move(module), {}};
}

} // namespace heddle
