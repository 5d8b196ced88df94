// SPDX-License-Identifier: Apache-2.0
///
/// Parts of decoder-only families, as primitive operations.
#include "frontend/Families/DecoderLayers.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "heddle/Limits.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

// --- Around the layers -----------------------------------------------------------------------

Status DecoderFrame::readFrame(const Config &config, DecoderNames spelling, bool absentTied) {
  names = std::move(spelling);
  HEDDLE_ASSIGN(vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(width, config.integer(names.width, 1, widthLimit));
  HEDDLE_ASSIGN(layers, config.integer(names.layers, 1, layerLimit));
  HEDDLE_ASSIGN(tied, config.booleanOr("tie_word_embeddings", absentTied));
  return {};
}

/// Returns the tensors that some folders contain in addition: buffers of layers, and the tied
/// output.
static std::vector<std::string> unusedTensors(const DecoderFrame &frame, std::string_view prefix) {
  std::vector<std::string> unused;
  const std::string start = prefix.empty() ? "" : fmt::format("{}.", prefix);
  for (int64_t index = 0; index < frame.layers; ++index) {
    for (const std::string_view buffer : frame.names.buffers) {
      unused.push_back(fmt::format("{}{}.{}.{}", start, frame.names.layer, index, buffer));
    }
  }
  if (frame.tied) {
    unused.push_back(fmt::format("{}.weight", frame.names.output));
  }
  return unused;
}

static void decode(const DecoderFrame &frame, const Scope &root, const Scope &model, Entry entry,
                   const DecoderBody &body) {
  const Parameter table = model.parameter(fmt::format("{}.weight", frame.names.embeddings),
                                          {frame.vocabulary, frame.width});
  const Tensor states = body(model, model.gather(table, entry.input("input_ids")), entry);
  const Parameter output = frame.tied ? table
                                      : root.parameter(fmt::format("{}.weight", frame.names.output),
                                                       {frame.vocabulary, frame.width});
  entry.output("logits", softCap(model.linear(states, output), frame.logitCap));
}

Result<FamilyModel> buildDecoder(mlir::MLIRContext &context, std::string_view modelType,
                                 const DecoderFrame &frame, const ModelSource &source,
                                 ConfigKeys keys, const DecoderBody &body,
                                 std::initializer_list<const Rotary *> rotaries) {
  HEDDLE_ASSIGN(const Generation generation,
                readContinuation(source.config, source.generation, frame.vocabulary));
  // A model without a head has no prefix.
  const std::string table = fmt::format("{}.weight", frame.names.embeddings);
  const std::string_view prefix =
      source.checkpoint.find(table) == nullptr ? frame.names.prefix : std::string_view();
  ModelBuilder builder(context, modelType);
  builder.generation(generation);
  const Scope root = builder.scope();
  decode(frame, root, prefix.empty() ? root : root.scope(prefix), builder.entry("decode"), body);
  HEDDLE_ASSIGN(auto module, builder.build());
  FamilyModel built{std::move(module), unusedTensors(frame, prefix), std::move(keys)};
  for (const Rotary *const rotary : rotaries) {
    describeRotary(*rotary, source.config.where(), built);
  }
  return built;
}

// --- Attention, feed-forward layers ----------------------------------------------------------

Result<GroupedHeads> readGroupedHeads(const Config &config, int64_t width,
                                      const AbsentHeads &absent) {
  GroupedHeads found;
  // Each head is a row of its own while it is rotated.
  constexpr int64_t most = SplitSize::mostParts;
  HEDDLE_ASSIGN(found.heads, config.integer("num_attention_heads", 1, most));
  static constexpr std::string_view keyHeads = "num_key_value_heads";
  const bool hasDefault = absent.keyHeads > 0 && !config.isPresent(keyHeads);
  HEDDLE_ASSIGN(found.keyHeads,
                config.integerOr(keyHeads, 1, most, hasDefault ? absent.keyHeads : found.heads));
  if (found.heads % found.keyHeads != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"num_key_value_heads\" is {}, expected a divisor of "
                                    "\"num_attention_heads\", {}",
                                    config.where(), found.keyHeads, found.heads));
  }
  if (!config.has("head_dim") && absent.size == 0) {
    HEDDLE_TRY(checkHeads(config, "num_attention_heads", found.heads, "hidden_size", width));
  }
  HEDDLE_ASSIGN(found.size, config.integerOr("head_dim", 1, widthLimit,
                                             absent.size > 0 ? absent.size : width / found.heads));
  return found;
}

Result<int64_t> readWindow(const Config &config, int64_t absent) {
  static constexpr std::string_view key = "sliding_window";
  return config.integerOr(key, 1, tableLimit, config.isPresent(key) ? 0 : absent);
}

Result<Windows> readWindows(const Config &config, int64_t layers, int64_t window,
                            const std::function<bool(int64_t layer)> &isLocal) {
  static constexpr std::string_view key = "layer_types", local = "sliding_attention";
  Windows windows;
  if (!config.has(key)) {
    for (int64_t layer = 0; layer < layers; ++layer) {
      const bool hasWindow = isLocal(layer);
      if (hasWindow && window == 0) {
        return HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{}: \"sliding_window\" is {}, expected an integer, the "
                                        "window of layer {}",
                                        config.where(), config.describe("sliding_window"), layer));
      }
      windows.push_back(hasWindow ? window : 0);
    }
    return windows;
  }
  HEDDLE_ASSIGN(const std::vector<std::string> types, config.strings(key));
  if (static_cast<int64_t>(types.size()) != layers) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} names {} layers, expected {}", config.where(),
                                    quote(key), types.size(), layers));
  }
  for (const std::string &type : types) {
    if (type != local && type != "full_attention") {
      return HEDDLE_ERROR(Unsupported, fmt::format("{}: {} has {}, expected \"full_attention\" or "
                                                   "\"sliding_attention\"",
                                                   config.where(), quote(key), quote(type)));
    }
    if (type == local && window == 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: {} has {}, but there is no \"sliding_window\"",
                                      config.where(), quote(key), quote(type)));
    }
    windows.push_back(type == local ? window : 0);
  }
  return windows;
}

Tensor attendToPast(const Scope &self, Entry &entry, const Projections &of,
                    const GroupedHeads &heads, const Rotation *rotation, int64_t window,
                    Scoring scoring) {
  const Segments rows = entry.segments();
  const Segments seen = rows.history();
  const Scope queries = self.scope("query"), keys = self.scope("key");
  const Tensor query = rotation ? rotation->of(queries, of.query, heads.heads) : of.query;
  const Tensor key = rotation ? rotation->of(keys, of.key, heads.keyHeads) : of.key;
  const auto keep = [&](const Scope &scope, const Tensor &x) {
    return entry.cache(scope.name(), heads.keyWidth()).append(x, rows).rows(seen);
  };
  const Memory past = {keep(keys, key), keep(self.scope("value"), of.value), seen,
                       heads.heads / heads.keyHeads};
  scoring.visibility = Visibility::causal();
  if (window > 0) {
    scoring.neighbourhood = Visibility::band(window - 1, 0);
  }
  return attend(self, query, rows, past, heads.heads, scoring).context;
}

Tensor normalizeHeads(const Tensor &x, const Segments &rows, int64_t heads,
                      const std::function<Tensor(const Tensor &head)> &norm) {
  const Segments all = rows.choices(heads);
  return norm(x.splitRows(all)).joinRows(all);
}

Tensor gatedFeedForward(const Tensor &x, int64_t inner, Activation activation, const LinearMap &map,
                        const GatedNames &names) {
  const Tensor gate = map(names.gate, x, inner).activate(activation);
  return map(names.down, gate * map(names.up, x, inner), x.width());
}

Tensor mixExperts(const Scope &block, const Tensor &x, const Segments &rows, const Experts &experts,
                  Activation activation) {
  const Segments choices = rows.choices(experts.chosen);
  const Tensor scores = block.linear("gate", x, experts.count, Bias::No);
  // A softmax over the chosen experts equals that over all, divided by the sum of the chosen ones.
  const Chosen chosen = (experts.normalizes ? scores : scores.rowSoftmax()).topK(choices);
  const Tensor weights = experts.normalizes ? chosen.value.rowSoftmax() : chosen.value;
  const auto map = [&](std::string_view name, const Tensor &in, int64_t made) {
    std::vector<Parameter> each;
    for (int64_t expert = 0; expert < experts.count; ++expert) {
      each.push_back(block.scope("experts", expert)
                         .parameter(fmt::format("{}.weight", name), {made, in.width()}));
    }
    return block.chosenLinear(in, chosen.column, experts.count,
                              block.scope("experts").concat(name, each));
  };
  const Tensor mixed =
      gatedFeedForward(x.repeat(choices), experts.inner, activation, map, experts.names);
  return (mixed * weights.splitRows(choices)).pool(transformer::Pooling::Sum, choices, rows);
}

} // namespace heddle
