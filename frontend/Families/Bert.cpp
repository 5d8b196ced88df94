// SPDX-License-Identifier: Apache-2.0
///
/// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
/// Understanding", whose layers are the encoder of Vaswani et al., "Attention is all you need".
/// RoBERTa (Liu et al.), XLM-RoBERTa (Conneau et al.) and CamemBERT (Martin et al.) count positions
/// from another number; DistilBERT (Sanh et al.) has neither token types nor a pooler, and other
/// tensor names.
#include "frontend/Families/Family.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/ClassifierHead.h"
#include "frontend/Families/DotProductAttention.h"

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

/// The tensors of a classifier of sequences: a layer on the first token, with its activation, then
/// the scores. A classifier of tokens has the scores alone, and always the same name for them.
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
constexpr HeadNames distilBertHead = {false, "pre_classifier", Activation::Relu, "classifier"};

/// A model of the family: its sizes, its names, and its mathematics.
struct Bert {
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  int64_t positions = 0;
  /// The position of the first token.
  int64_t firstPosition = 0;
  /// None in DistilBERT.
  int64_t tokenTypes = 0;
  double epsilon = 1e-12;
  Activation activation = Activation::Gelu;
  LayerNames names = bertNames;
  HeadNames head = bertHead;
  NormNames norm;
  /// The prefix of all tensors of the encoder: "bert" in a checkpoint with a head, else empty.
  std::string prefix;
  bool hasPooler = false;

  Tensor embeddings(const Scope &scope, const Ids &tokens, const Ids &types,
                    const Segments &rows) const;
  Tensor attention(const Scope &self, const Tensor &x, const Segments &rows) const;
  Tensor layer(const Scope &scope, const Tensor &x, const Segments &rows) const;
  Tensor encode(const Scope &model, Entry &entry) const;
};

} // namespace

/// BERT, figure 2: token, segment and position embeddings, summed.
Tensor Bert::embeddings(const Scope &scope, const Ids &tokens, const Ids &types,
                        const Segments &rows) const {
  Tensor sum = scope.gather("word_embeddings", tokens, vocabulary, width);
  if (tokenTypes > 0) {
    sum = sum + scope.gather("token_type_embeddings", types, tokenTypes, width);
  }
  const Ids places = scope.positions(rows, firstPosition);
  sum = sum + scope.gather("position_embeddings", places, positions, width);
  return scope.layerNorm("LayerNorm", sum, epsilon, norm);
}

/// Attention, equation 1 and section 3.2.2: softmax(Q K^T / sqrt(d)) V for every head.
Tensor Bert::attention(const Scope &self, const Tensor &x, const Segments &rows) const {
  const Tensor query = self.linear(names.query, x, width);
  const Tensor key = self.linear(names.key, x, width);
  const Tensor value = self.linear(names.value, x, width);
  return attend(self, query, rows, {key, value, rows}, heads,
                {.scale = dotProductScale(width / heads)})
      .context;
}

/// Attention, section 3.1: each of the two sub-layers has a residual connection and a layer norm.
Tensor Bert::layer(const Scope &scope, const Tensor &x, const Segments &rows) const {
  const Tensor mixed = attention(scope.scope(names.attention), x, rows);
  const Tensor attended = scope.layerNorm(
      names.attentionNorm, scope.linear(names.attentionOutput, mixed, width) + x, epsilon, norm);
  const Tensor hidden = scope.linear(names.inner, attended, inner).activate(activation);
  return scope.layerNorm(names.outputNorm, scope.linear(names.outer, hidden, width) + attended,
                         epsilon, norm);
}

/// The whole encoder, from an entry's inputs to the last hidden state [t, width].
Tensor Bert::encode(const Scope &model, Entry &entry) const {
  const Ids tokens = entry.input("input_ids");
  const Ids types = tokenTypes > 0 ? entry.optionalInput("token_type_ids") : Ids();
  const Segments rows = entry.segments();
  Tensor x = embeddings(model.scope("embeddings"), tokens, types, rows);
  for (int64_t index = 0; index < layers; ++index) {
    x = layer(model.scope(names.layers, index), x, rows);
  }
  return x;
}

/// BERT, section 3: the final state of the first token, through a tanh layer.
static Tensor pooler(const Scope &model, const Tensor &x, const Segments &rows) {
  const Tensor first = x.pool(transformer::Pooling::Cls, rows);
  return model.linear("pooler.dense", first, x.width()).activate(Activation::Tanh);
}

/// The scores of labels [rows, labels], of tokens or sequences.
static Tensor classify(const Bert &bert, const ClassifierHead &head, const Scope &root,
                       const Scope &model, const Tensor &states, const Segments &rows) {
  if (head.isOfTokens) {
    return root.linear("classifier", states, head.width());
  }
  const Tensor first = states.pool(transformer::Pooling::Cls, rows);
  const Tensor hidden = (bert.head.hasPooler ? model : root)
                            .linear(bert.head.dense, first, bert.width)
                            .activate(bert.head.activation);
  return root.linear(bert.head.scores, hidden, head.width());
}

static transformer::Pooling poolingMethod(Pooling pooling) {
  switch (pooling) {
  case Pooling::Cls:
    return transformer::Pooling::Cls;
  case Pooling::Mean:
    return transformer::Pooling::Mean;
  case Pooling::Max:
    return transformer::Pooling::Max;
  }
  return transformer::Pooling::Mean;
}

/// Entry `encode` returns the hidden states. Entry `embed` returns one row for each sequence,
/// pooled as the folder of a sentence encoder says, or else by the mean, which is
/// sentence-transformers' default. A model with a classifier has the entry `classify` too.
static Result<FamilyModel> build(mlir::MLIRContext &context, std::string_view modelType,
                                 const Bert &bert, const ModelSource &source,
                                 std::vector<std::string> unused, ConfigKeys keys) {
  ModelBuilder builder(context, modelType);
  const Scope model = builder.scope(bert.prefix);

  Entry encode = builder.entry("encode");
  const Tensor states = bert.encode(model, encode);
  encode.output("last_hidden_state", states);
  if (bert.hasPooler) {
    encode.output("pooler_output", pooler(model, states, encode.segments()));
  }

  const SentenceTransformers sentence = source.sentence.value_or(SentenceTransformers());
  if (sentence.width && *sentence.width != bert.width) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the hidden size is {}, but the pooling's "
                                    "\"word_embedding_dimension\" is {}, expected the same",
                                    source.config.where(), bert.width, *sentence.width));
  }
  Entry embed = builder.entry("embed");
  const Tensor pooled =
      bert.encode(model, embed).pool(poolingMethod(sentence.pooling), embed.segments());
  embed.output("embedding", sentence.normalize ? pooled.normalize(1e-12) : pooled);

  // What follows a sentence encoder is in modules.json alone.
  std::optional<ClassifierHead> head;
  if (!source.sentence) {
    HEDDLE_ASSIGN(head, readClassifierHead(source.config, keys.architectures.family));
  }
  if (head) {
    keys.architectures.whole.push_back(head->architecture());
    Entry entry = builder.entry("classify");
    const Tensor rows = bert.encode(model, entry);
    entry.output("logits", classify(bert, *head, builder.scope(""), model, rows, entry.segments()));
  }
  HEDDLE_ASSIGN(auto module, builder.build());
  if (head) {
    head->describe(*module);
  }
  return FamilyModel{std::move(module), std::move(unused), std::move(keys)};
}

/// Keys of BERT-like models that do not change what is computed, and keys that must have one value.
/// Pretraining heads are left out, as is usual for embedding texts.
static ConfigKeys configKeys(std::string_view family, std::vector<std::string_view> neutral) {
  neutral.emplace_back("tie_word_embeddings");
  return {{},
          {family, {"Model"}, {"ForMaskedLM", "ForPreTraining", "ForNextSentencePrediction"}},
          std::move(neutral),
          {{"is_encoder_decoder", {"false"}}}};
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
  bert.hasPooler = checkpoint.find(start + "pooler.dense.weight") != nullptr ||
                   checkpoint.find(start + "pooler.dense.bias") != nullptr;
}

/// Reads the configuration of BERT and RoBERTa.
static Result<Bert> readBert(const Config &config) {
  Bert bert;
  HEDDLE_ASSIGN(bert.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(bert.width, config.integer("hidden_size", 1, widthLimit));
  HEDDLE_ASSIGN(bert.layers, config.integer("num_hidden_layers", 1, layerLimit));
  HEDDLE_ASSIGN(bert.heads, config.integer("num_attention_heads", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "num_attention_heads", bert.heads, "hidden_size", bert.width));
  HEDDLE_ASSIGN(bert.inner, config.integer("intermediate_size", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(bert.activation, readActivation(config, "hidden_act", "gelu"));
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
  return build(context, "bert", bert, source,
               {"embeddings.position_ids", "bert.embeddings.position_ids", "cls.", "classifier.",
                "qa_outputs."},
               // Settings of the pooler in Google's first multilingual models. Transformers ignores
               // them too.
               configKeys("Bert", {"directionality", "pooler_fc_size", "pooler_num_attention_heads",
                                   "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"}));
}

/// RoBERTa and the models that are like it but for their tokenizers.
static Result<FamilyModel> buildRobertaLike(mlir::MLIRContext &context, const ModelSource &source,
                                            std::string_view modelType, std::string_view family) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Bert bert, readBert(config));
  readSpelling(bert, source.checkpoint, "roberta");
  bert.head = robertaHead;
  // Rows of the position table up to the padding's are unused.
  HEDDLE_ASSIGN(const int64_t padding, config.integerOr("pad_token_id", 0, tableLimit, 1));
  bert.firstPosition = padding + 1;
  if (bert.firstPosition >= bert.positions) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"max_position_embeddings\" is {}, expected more than {}, "
                                    "the first position after \"pad_token_id\"",
                                    config.where(), bert.positions, bert.firstPosition));
  }
  return build(context, modelType, bert, source,
               {"embeddings.position_ids", "roberta.embeddings.position_ids", "lm_head.",
                "classifier.", "qa_outputs."},
               configKeys(family, {}));
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
  return build(
      context, "distilbert", bert, source,
      {"embeddings.position_ids", "distilbert.embeddings.position_ids", "vocab_transform.",
       "vocab_layer_norm.", "vocab_projector.", "pre_classifier.", "classifier.", "qa_outputs."},
      // Sinusoids are stored like a learned table.
      configKeys("DistilBert", {"qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds"}));
}

} // namespace heddle
