// SPDX-License-Identifier: Apache-2.0
///
/// Entries of encoders, and the modules that sentence-transformers puts after them.
#include "frontend/Families/Encoder.h"

#include "dialects/Transformer/Transformer.h"

#include <fmt/format.h>

namespace heddle {

/// The default of torch.nn.LayerNorm, which no module changes.
static constexpr double normEpsilon = 1e-5;
/// The lower bound of the divisor in torch.nn.functional.normalize.
static constexpr double leastNorm = 1e-12;

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

/// Checks that the input width of each module is the output width of the one before.
static Status checkWidths(const SentenceTransformers &sentence, int64_t width,
                          const std::string &where) {
  if (sentence.width && *sentence.width != width) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the hidden size is {}, but the pooling's "
                                    "\"word_embedding_dimension\" is {}, expected the same",
                                    where, width, *sentence.width));
  }
  for (const SentenceModule &module : sentence.modules) {
    if (module.inputs == 0) {
      continue;
    }
    if (module.inputs != width) {
      const bool isDense = module.kind == SentenceModule::Kind::Dense;
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"{}\" is {}, expected {}, the width of what comes to "
                                      "the module",
                                      module.where, isDense ? "in_features" : "dimension",
                                      module.inputs, width));
    }
    width = module.outputs;
  }
  return {};
}

static Tensor apply(const SentenceModule &module, const Scope &root, const Tensor &x) {
  const Scope scope = root.scope(module.name);
  switch (module.kind) {
  case SentenceModule::Kind::Dense: {
    const Tensor y =
        scope.linear("linear", x, module.outputs, module.hasBias ? Bias::Yes : Bias::No);
    return module.activation.empty() ? y : y.activate(*parseActivation(module.activation));
  }
  case SentenceModule::Kind::LayerNorm:
    return scope.layerNorm("norm", x, normEpsilon);
  case SentenceModule::Kind::Normalize:
    return x.normalize(leastNorm);
  }
  return {};
}

/// One row for each sequence, [s, w].
static Tensor embed(const SentenceTransformers &sentence, const Scope &root, const Tensor &states,
                    const Segments &rows) {
  Tensor x = states.pool(poolingMethod(sentence.pooling), rows);
  for (const SentenceModule &module : sentence.modules) {
    x = apply(module, root, x);
  }
  return x;
}

Result<FamilyModel> buildEncoder(mlir::MLIRContext &context, std::string_view modelType,
                                 const Encoder &encoder, const ModelSource &source,
                                 std::vector<std::string> unused, ConfigKeys keys) {
  const SentenceTransformers sentence = source.sentence.value_or(SentenceTransformers());
  HEDDLE_TRY(checkWidths(sentence, encoder.stateWidth(), source.config.where()));
  ModelBuilder builder(context, modelType);
  const Scope root = builder.scope();

  Entry encode = builder.entry("encode");
  const Tensor states = encoder.encode(root, encode);
  encode.output("last_hidden_state", states);
  if (const Tensor summary = encoder.summarize(root, states, encode.segments()); summary.valid()) {
    encode.output("pooler_output", summary);
  }

  Entry embedding = builder.entry("embed");
  const Tensor embedded = encoder.encode(root, embedding);
  embedding.output("embedding", embed(sentence, root, embedded, embedding.segments()));

  // Only modules.json defines what follows a sentence encoder.
  std::optional<ClassifierHead> head;
  if (!source.sentence) {
    HEDDLE_ASSIGN(head, readClassifierHead(source.config, keys.architectures.family));
  }
  if (head) {
    keys.architectures.whole.push_back(head->architecture());
    Entry entry = builder.entry("classify");
    const Tensor rows = encoder.encode(root, entry);
    entry.output("logits", encoder.classify(root, *head, rows, entry.segments()));
  }
  HEDDLE_ASSIGN(auto module, builder.build());
  if (head) {
    head->describe(*module);
  }
  return FamilyModel{std::move(module), std::move(unused), std::move(keys)};
}

ConfigKeys encoderKeys(std::string_view family, std::vector<std::string_view> neutral) {
  neutral.emplace_back("tie_word_embeddings");
  return {{},
          {family, {"Model"}, {"ForMaskedLM", "ForPreTraining", "ForNextSentencePrediction"}},
          std::move(neutral),
          {{"is_encoder_decoder", {"false"}}}};
}

} // namespace heddle
