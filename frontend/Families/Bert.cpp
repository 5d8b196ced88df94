// SPDX-License-Identifier: Apache-2.0
///
/// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
/// Understanding", whose layers are the encoder of Vaswani et al., "Attention is all you need".
/// RoBERTa (Liu et al.), XLM-RoBERTa (Conneau et al.) and CamemBERT (Martin et al.) count positions
/// from another number; DistilBERT (Sanh et al.) has neither token types nor a pooler, and other
/// tensor names.
#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "frontend/Families/DotProductAttention.h"
#include "frontend/Families/Encoder.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

namespace {

/// The names of a layer's tensors.
struct LayerNames {
  std::string_view layers;
  std::string_view attention;
  std::string_view query, key, value;
  std::string_view attentionOutput, attentionNorm;
  std::string_view inner, outer, outputNorm;
};

constexpr LayerNames bertNames = {"encoder.layer",
                                  "attention.self",
                                  "query",
                                  "key",
                                  "value",
                                  "attention.output.dense",
                                  "attention.output.LayerNorm",
                                  "intermediate.dense",
                                  "output.dense",
                                  "output.LayerNorm"};
constexpr LayerNames distilBertNames = {
    "transformer.layer", "attention",     "q_lin",    "k_lin",    "v_lin",
    "attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"};

constexpr LayerNames albertNames = {"encoder.albert_layer_groups",
                                    "attention",
                                    "query",
                                    "key",
                                    "value",
                                    "attention.dense",
                                    "attention.LayerNorm",
                                    "ffn",
                                    "ffn_output",
                                    "full_layer_layer_norm"};
constexpr LayerNames mpNetNames = {"encoder.layer",
                                   "attention.attn",
                                   "q",
                                   "k",
                                   "v",
                                   "attention.attn.o",
                                   "attention.LayerNorm",
                                   "intermediate.dense",
                                   "output.dense",
                                   "output.LayerNorm"};

/// The tensors of a sequence classifier: a layer on the first token, with its activation, then the
/// scores. A token classifier only has the scores, always under the same name.
struct HeadNames {
  /// Whether the layer is the encoder's pooler.
  bool hasPooler;
  std::string_view dense;
  Activation activation;
  std::string_view scores;
};

constexpr HeadNames bertHead = {true, "pooler.dense", Activation::Tanh, "classifier"};
constexpr HeadNames robertaHead = {false, "classifier.dense", Activation::Tanh,
                                   "classifier.out_proj"};
constexpr HeadNames albertHead = {true, "pooler", Activation::Tanh, "classifier"};
constexpr HeadNames distilBertHead = {false, "pre_classifier", Activation::Relu, "classifier"};

/// The distance from which on all keys of MPNet share a bias; no key has the distance itself.
constexpr int64_t farthestBucket = 128;

/// A model of the family: its sizes, its tensor names, and its layers.
struct Bert final : Encoder {
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  int64_t positions = 0;
  /// The position of the first token.
  int64_t firstPosition = 0;
  /// 0 in DistilBERT.
  int64_t tokenTypes = 0;
  double epsilon = 1e-12;
  Activation activation = Activation::Gelu;
  LayerNames names = bertNames;
  HeadNames head = bertHead;
  NormNames norm;
  std::string_view pooler = "pooler.dense";
  /// ALBERT: the width of embeddings, the number of groups of layers, and the number of layers
  /// within a group; else 0.
  int64_t embeddingWidth = 0;
  int64_t groups = 0;
  int64_t groupLayers = 0;
  /// MPNet: the rows of the bias table; else 0.
  int64_t buckets = 0;
  /// The prefix of all tensors of the encoder: "bert" in a checkpoint with a head, else empty.
  std::string prefix;
  bool hasPooler = false;

  Tensor embeddings(const Scope &scope, const Ids &tokens, const Ids &types,
                    const Segments &rows) const;
  Tensor attention(const Scope &self, const Tensor &x, const Segments &rows,
                   const Tensor &bias) const;
  Tensor layer(const Scope &scope, const Tensor &x, const Segments &rows, const Tensor &bias) const;
  Tensor relativeBias(const Scope &model, const Segments &rows) const;

  int64_t stateWidth() const override { return width; }
  Tensor encode(const Scope &root, Entry &entry) const override;
  Tensor summarize(const Scope &root, const Tensor &states, const Segments &rows) const override;
  Tensor classify(const Scope &root, const ClassifierHead &classifier, const Tensor &states,
                  const Segments &rows) const override;

private:
  Scope modelOf(const Scope &root) const { return prefix.empty() ? root : root.scope(prefix); }
};

} // namespace

/// BERT, figure 2: token, segment and position embeddings, summed.
Tensor Bert::embeddings(const Scope &scope, const Ids &tokens, const Ids &types,
                        const Segments &rows) const {
  const int64_t columns = embeddingWidth > 0 ? embeddingWidth : width;
  Tensor sum = scope.gather("word_embeddings", tokens, vocabulary, columns);
  if (tokenTypes > 0) {
    sum = sum + scope.gather("token_type_embeddings", types, tokenTypes, columns);
  }
  const Ids places = scope.positions(rows, firstPosition);
  sum = sum + scope.gather("position_embeddings", places, positions, columns);
  return scope.layerNorm("LayerNorm", sum, epsilon, norm);
}

/// Attention, equation 1 and section 3.2.2: softmax(Q K^T / sqrt(d)) V for every head.
Tensor Bert::attention(const Scope &self, const Tensor &x, const Segments &rows,
                       const Tensor &bias) const {
  const Tensor query = self.linear(names.query, x, width);
  const Tensor key = self.linear(names.key, x, width);
  const Tensor value = self.linear(names.value, x, width);
  return attend(self, query, rows, {key, value, rows}, heads,
                {.scale = dotProductScale(width / heads), .bias = bias})
      .context;
}

/// Attention, section 3.1: each of the two sub-layers has a residual connection and a layer norm.
Tensor Bert::layer(const Scope &scope, const Tensor &x, const Segments &rows,
                   const Tensor &bias) const {
  const Tensor mixed = attention(scope.scope(names.attention), x, rows, bias);
  const Tensor attended = scope.layerNorm(
      names.attentionNorm, scope.linear(names.attentionOutput, mixed, width) + x, epsilon, norm);
  const Tensor hidden = scope.linear(names.inner, attended, inner).activate(activation);
  return scope.layerNorm(names.outputNorm, scope.linear(names.outer, hidden, width) + attended,
                         epsilon, norm);
}

/// MPNet: one number for each head and each distance, the same in all layers; T5's, section 2.1.
Tensor Bert::relativeBias(const Scope &model, const Segments &rows) const {
  const Scope scope = model.scope("encoder.relative_attention_bias");
  const Parameter table = scope.parameter("weight", {buckets, heads});
  return scope.relativeBias(scope.relativeBuckets("distances", table, true, farthestBucket), rows,
                            rows);
}

Tensor Bert::encode(const Scope &root, Entry &entry) const {
  const Scope model = modelOf(root);
  const Ids tokens = entry.input("input_ids");
  const Ids types = tokenTypes > 0 ? entry.optionalInput("token_type_ids") : Ids();
  const Segments rows = entry.segments();
  Tensor x = embeddings(model.scope("embeddings"), tokens, types, rows);
  const Tensor bias = buckets > 0 ? relativeBias(model, rows) : Tensor();
  if (groups == 0) {
    for (int64_t index = 0; index < layers; ++index) {
      x = layer(model.scope(names.layers, index), x, rows, bias);
    }
    return x;
  }
  // ALBERT, section 3.1: embeddings are mapped to the width of the layers, which share parameters.
  x = model.linear("encoder.embedding_hidden_mapping_in", x, width);
  for (int64_t index = 0; index < layers; ++index) {
    const Scope group = model.scope(names.layers, index * groups / layers);
    for (int64_t inside = 0; inside < groupLayers; ++inside) {
      x = layer(group.scope("albert_layers", inside), x, rows, bias);
    }
  }
  return x;
}

/// BERT, section 3: the final state of the first token, through a tanh layer.
Tensor Bert::summarize(const Scope &root, const Tensor &states, const Segments &rows) const {
  if (!hasPooler) {
    return {};
  }
  const Tensor first = states.pool(transformer::Pooling::Cls, rows);
  return modelOf(root).linear(pooler, first, width).activate(Activation::Tanh);
}

Tensor Bert::classify(const Scope &root, const ClassifierHead &classifier, const Tensor &states,
                      const Segments &rows) const {
  if (classifier.isOfTokens) {
    return root.linear("classifier", states, classifier.width());
  }
  const Tensor first = states.pool(transformer::Pooling::Cls, rows);
  const Tensor hidden = (head.hasPooler ? modelOf(root) : root)
                            .linear(head.dense, first, width)
                            .activate(head.activation);
  return root.linear(head.scores, hidden, classifier.width());
}

/// Detects how the checkpoint spells its names: with or without the prefix that a model with a head
/// adds, and whether the norms' parameters have TensorFlow's names (gamma, beta).
static void readSpelling(Bert &bert, const Checkpoint &checkpoint, std::string_view prefix) {
  for (const std::string &name : checkpoint.names()) {
    if (name.starts_with(fmt::format("{}.", prefix))) {
      bert.prefix = prefix;
      break;
    }
  }
  const std::string start = bert.prefix.empty() ? "" : bert.prefix + ".";
  if (checkpoint.find(start + "embeddings.LayerNorm.gamma") != nullptr) {
    bert.norm = {"gamma", "beta"};
  }
  const std::string pooler = start + std::string(bert.pooler);
  bert.hasPooler = checkpoint.find(pooler + ".weight") != nullptr ||
                   checkpoint.find(pooler + ".bias") != nullptr;
}

/// Reads the configuration of BERT and of families with the same keys.
static Result<Bert> readBert(const Config &config, std::string_view activation = "gelu") {
  Bert bert;
  HEDDLE_ASSIGN(bert.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(bert.width, config.integer("hidden_size", 1, widthLimit));
  HEDDLE_ASSIGN(bert.layers, config.integer("num_hidden_layers", 1, layerLimit));
  HEDDLE_ASSIGN(bert.heads, config.integer("num_attention_heads", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "num_attention_heads", bert.heads, "hidden_size", bert.width));
  HEDDLE_ASSIGN(bert.inner, config.integer("intermediate_size", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(bert.activation, readActivation(config, "hidden_act", activation));
  HEDDLE_ASSIGN(bert.positions, config.integer("max_position_embeddings", 1, tableLimit));
  HEDDLE_ASSIGN(bert.tokenTypes, config.integerOr("type_vocab_size", 1, tableLimit, 2));
  HEDDLE_ASSIGN(bert.epsilon, config.numberOr("layer_norm_eps", 0, 1, 1e-12));
  HEDDLE_TRY(config.oneOfOr("position_embedding_type", {"absolute"}, "absolute").status());
  HEDDLE_ASSIGN(const bool isDecoder, config.booleanOr("is_decoder", false));
  if (isDecoder) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: \"is_decoder\" is true, expected an encoder",
                                                 config.where()));
  }
  return bert;
}

Result<FamilyModel> buildBert(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Bert bert, readBert(source.config));
  readSpelling(bert, source.checkpoint, "bert");
  return buildEncoder(
      context, "bert", bert, source,
      {"embeddings.position_ids", "bert.embeddings.position_ids", "cls.", "classifier.",
       "qa_outputs."},
      // Settings of the pooler in Google's first multilingual models. Transformers ignores
      // them too.
      encoderKeys("Bert", {"directionality", "pooler_fc_size", "pooler_num_attention_heads",
                           "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"}));
}

/// Positions start after that of the padding: rows of the position table up to it are unused.
/// `name` is the padding's name in messages.
static Status setFirstPosition(const Config &config, Bert &bert, int64_t padding,
                               std::string_view name) {
  bert.firstPosition = padding + 1;
  if (bert.firstPosition >= bert.positions) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"max_position_embeddings\" is {}, expected more than {}, "
                                    "the first position after {}",
                                    config.where(), bert.positions, bert.firstPosition, name));
  }
  return {};
}

/// Builds RoBERTa and models that differ only in their tokenizers.
static Result<FamilyModel> buildRobertaLike(mlir::MLIRContext &context, const ModelSource &source,
                                            std::string_view modelType, std::string_view family) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Bert bert, readBert(config));
  readSpelling(bert, source.checkpoint, "roberta");
  bert.head = robertaHead;
  HEDDLE_ASSIGN(const int64_t padding, config.integerOr("pad_token_id", 0, tableLimit, 1));
  HEDDLE_TRY(setFirstPosition(config, bert, padding, "\"pad_token_id\""));
  return buildEncoder(context, modelType, bert, source,
                      {"embeddings.position_ids", "roberta.embeddings.position_ids", "lm_head.",
                       "classifier.", "qa_outputs."},
                      encoderKeys(family, {}));
}

Result<FamilyModel> buildRoberta(mlir::MLIRContext &context, const ModelSource &source) {
  return buildRobertaLike(context, source, "roberta", "Roberta");
}

Result<FamilyModel> buildXlmRoberta(mlir::MLIRContext &context, const ModelSource &source) {
  return buildRobertaLike(context, source, "xlm-roberta", "XLMRoberta");
}

Result<FamilyModel> buildCamembert(mlir::MLIRContext &context, const ModelSource &source) {
  return buildRobertaLike(context, source, "camembert", "Camembert");
}

Result<FamilyModel> buildDistilBert(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  Bert bert;
  bert.names = distilBertNames;
  HEDDLE_ASSIGN(bert.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(bert.width, config.integer("dim", 1, widthLimit));
  HEDDLE_ASSIGN(bert.layers, config.integer("n_layers", 1, layerLimit));
  HEDDLE_ASSIGN(bert.heads, config.integer("n_heads", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "n_heads", bert.heads, "dim", bert.width));
  HEDDLE_ASSIGN(bert.inner, config.integer("hidden_dim", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(bert.activation, readActivation(config, "activation", "gelu"));
  HEDDLE_ASSIGN(bert.positions, config.integer("max_position_embeddings", 1, tableLimit));
  readSpelling(bert, source.checkpoint, "distilbert");
  bert.head = distilBertHead;
  bert.hasPooler = false;
  return buildEncoder(
      context, "distilbert", bert, source,
      {"embeddings.position_ids", "distilbert.embeddings.position_ids", "vocab_transform.",
       "vocab_layer_norm.", "vocab_projector.", "pre_classifier.", "classifier.", "qa_outputs."},
      // Sinusoids are stored like a learned table.
      encoderKeys("DistilBert", {"qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds"}));
}

Result<FamilyModel> buildAlbert(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Bert bert, readBert(config, "gelu_new"));
  bert.names = albertNames;
  bert.head = albertHead;
  bert.pooler = "pooler";
  HEDDLE_ASSIGN(bert.embeddingWidth, config.integerOr("embedding_size", 1, widthLimit, 128));
  HEDDLE_ASSIGN(bert.groups, config.integerOr("num_hidden_groups", 1, bert.layers, 1));
  HEDDLE_ASSIGN(bert.groupLayers,
                config.integerOr("inner_group_num", 1, layerLimit / bert.layers, 1));
  readSpelling(bert, source.checkpoint, "albert");
  return buildEncoder(context, "albert", bert, source,
                      {"embeddings.position_ids", "albert.embeddings.position_ids", "predictions.",
                       "sop_classifier.", "classifier.", "qa_outputs."},
                      encoderKeys("Albert", {"down_scale_factor", "gap_size", "net_structure_type",
                                             "num_memory_blocks"}));
}

Result<FamilyModel> buildMpNet(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Bert bert, readBert(config));
  bert.names = mpNetNames;
  bert.head = robertaHead;
  bert.tokenTypes = 0;
  // Fixed in Transformers, independent of "pad_token_id".
  HEDDLE_TRY(setFirstPosition(config, bert, 1, "the padding's"));
  // Transformers computes buckets as if there were always 32.
  HEDDLE_ASSIGN(bert.buckets, config.integerOr("relative_attention_num_buckets", 32, 32, 32));
  readSpelling(bert, source.checkpoint, "mpnet");
  return buildEncoder(context, "mpnet", bert, source,
                      {"embeddings.position_ids", "mpnet.embeddings.position_ids", "lm_head.",
                       "classifier.", "qa_outputs."},
                      encoderKeys("MPNet", {}));
}

} // namespace heddle
