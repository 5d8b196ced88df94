// SPDX-License-Identifier: Apache-2.0
///
/// Reads config.json of recurrent models in the project's own format.
#include "frontend/Families/Family.h"
#include "frontend/Families/Recurrent.h"

#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

static Result<RecurrentStack> readStack(const Config &config) {
  RecurrentStack stack;
  HEDDLE_ASSIGN(const std::string cell,
                config.oneOf("cell", {"tanh", "gru", "gru-reset-after", "lstm"}));
  stack.cell = cell == "tanh"   ? CellKind::Tanh
               : cell == "gru"  ? CellKind::Gru
               : cell == "lstm" ? CellKind::Lstm
                                : CellKind::GruResetAfter;
  HEDDLE_ASSIGN(stack.hidden, config.integer("hidden", 1, widthLimit));
  HEDDLE_ASSIGN(stack.layers, config.integer("layers", 1, layerLimit));
  HEDDLE_ASSIGN(stack.residualFrom,
                config.integerOr("residual_from", 0, stack.layers - 1, stack.layers));
  return stack;
}

/// Reads true, false, or "first".
static Result<int64_t> readBothWays(const Config &config, int64_t layers) {
  if (config.json("bidirectional") == "\"first\"") {
    HEDDLE_TRY(config.string("bidirectional").status());
    return 1;
  }
  const Result<bool> both = config.boolean("bidirectional");
  if (!both.ok()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"bidirectional\" is {}, expected true, false or \"first\"",
                    config.where(), config.describe("bidirectional")));
  }
  return *both ? layers : 0;
}

/// Checks that a layer's input and output have the same width if they are added.
static Status checkResidual(const Config &config, const Recurrent &model) {
  for (int64_t layer = model.encoder.residualFrom; layer < model.encoder.layers; ++layer) {
    const auto widthOf = [&](int64_t index) {
      return index < 0 ? model.width : model.encoder.hidden * (index < model.bothWays ? 2 : 1);
    };
    if (widthOf(layer) != widthOf(layer - 1)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"residual_from\" is {}, expected layers of one width "
                                      "from there on: layer {} takes {} and gives {}",
                                      config.where(), model.encoder.residualFrom, layer,
                                      widthOf(layer - 1), widthOf(layer)));
    }
  }
  return {};
}

static Result<Bridge> readBridge(const Config &config, const Recurrent &model) {
  HEDDLE_ASSIGN(const std::string name,
                config.oneOf("bridge", {"zeros", "copy", "backward", "linear"}));
  const int64_t encoderWidth =
      model.encoder.hidden * (model.bothWays == model.encoder.layers ? 2 : 1);
  const bool areAlike = model.decoder.layers == model.encoder.layers &&
                        model.decoder.hidden == encoderWidth &&
                        (model.bothWays == 0 || model.bothWays == model.encoder.layers) &&
                        model.decoder.cell == model.encoder.cell;
  if (name == "copy" && !areAlike) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"bridge\" is \"copy\", expected a decoder with the "
                                    "encoder's cell and {} layers of width {}",
                                    config.where(), model.encoder.layers, encoderWidth));
  }
  if (name == "backward" && model.bothWays != model.encoder.layers) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"bridge\" is \"backward\", expected an encoder whose "
                                    "last layer goes both ways",
                                    config.where()));
  }
  return name == "zeros"      ? Bridge::Zeros
         : name == "copy"     ? Bridge::Copy
         : name == "backward" ? Bridge::Backward
                              : Bridge::Linear;
}

/// Reads the window of keys that a step sees.
static Status readWindow(const Config &config, RecurrentAttention &attention) {
  HEDDLE_ASSIGN(const Config window, config.object("window"));
  HEDDLE_ASSIGN(const std::string kind, window.oneOf("kind", {"monotonic", "predictive"}));
  attention.window = kind == "monotonic" ? RecurrentAttention::Window::Monotonic
                                         : RecurrentAttention::Window::Predictive;
  // A predicted place needs a positive reach, because its Gaussian has a width.
  const int64_t least = attention.window == RecurrentAttention::Window::Predictive ? 1 : 0;
  HEDDLE_ASSIGN(attention.reach, window.integer("size", least, tableLimit));
  if (!attention.hasScores()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"window\" is set, expected a \"kind\" with scores beside "
                                    "it, neither \"none\" nor \"last\"",
                                    config.where()));
  }
  return refuseUnreadKeys(window, keysOfOwnFormat);
}

/// Reads options of location-sensitive scores only.
static Status readLocation(const Config &config, RecurrentAttention &attention) {
  // As wide as a window may be: a larger kernel would see the same keys.
  constexpr int64_t kernelLimit = 1 << 12;
  HEDDLE_ASSIGN(attention.filters, config.integer("filters", 1, widthLimit));
  HEDDLE_ASSIGN(attention.kernel, config.integer("kernel", 1, kernelLimit));
  if (attention.kernel % 2 == 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"kernel\" is {}, expected an odd number: its middle is at "
                    "the key itself",
                    config.where(), attention.kernel));
  }
  HEDDLE_ASSIGN(attention.isCumulative, config.booleanOr("cumulative", false));
  if (config.has("first")) {
    HEDDLE_ASSIGN(const std::string first, nearestOf(config, "first", {"zeros", "one-hot"}));
    attention.beginsAtFirstKey = first == "one-hot";
  }
  return {};
}

/// Reads how scores are normalised to weights.
static Status readNormaliser(const Config &config, RecurrentAttention &attention) {
  if (!config.has("normaliser")) {
    return {};
  }
  HEDDLE_ASSIGN(const std::string name, nearestOf(config, "normaliser", {"softmax", "smooth"}));
  attention.isSmooth = name == "smooth";
  if (!attention.hasScores()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"normaliser\" is set, expected a \"kind\" with scores "
                                    "beside it, neither \"none\" nor \"last\"",
                                    config.where()));
  }
  return {};
}

static Result<RecurrentAttention> readAttention(const Config &whole, const Recurrent &model) {
  HEDDLE_ASSIGN(const Config config, whole.object("attention"));
  RecurrentAttention attention;
  const std::vector<std::string> kinds = {"none",    "last",   "additive", "dot",
                                          "general", "concat", "location"};
  HEDDLE_ASSIGN(const std::string kind, nearestOf(config, "kind", kinds));
  attention.kind =
      static_cast<ScoreKind>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
  if (attention.isSum()) {
    HEDDLE_ASSIGN(attention.width, config.integer("width", 1, widthLimit));
  }
  if (attention.hasLocation()) {
    HEDDLE_TRY(readLocation(config, attention));
  }
  HEDDLE_TRY(readNormaliser(config, attention));
  if (attention.kind == ScoreKind::Additive || attention.hasLocation()) {
    HEDDLE_ASSIGN(attention.projectMemory, config.booleanOr("project_memory", true));
  }
  if (config.has("window")) {
    HEDDLE_TRY(readWindow(config, attention));
  }
  const int64_t memory = model.memoryWidth();
  if (!attention.projectMemory && attention.width != memory) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"width\" is {}, expected {}, the width of what the "
                                    "encoder gives, without \"project_memory\"",
                                    config.where(), attention.width, memory));
  }
  if (attention.kind == ScoreKind::Dot && model.decoder.hidden != memory) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"kind\" is \"dot\", expected a decoder whose \"hidden\" "
                                    "is {}, the width of what the encoder gives, got {}",
                                    config.where(), memory, model.decoder.hidden));
  }
  HEDDLE_TRY(refuseUnreadKeys(config, keysOfOwnFormat));
  return attention;
}

static Result<Readout> readReadout(const Config &whole) {
  HEDDLE_ASSIGN(const Config config, whole.object("readout"));
  Readout readout;
  HEDDLE_ASSIGN(const std::string kind, config.oneOf("kind", {"linear", "attentional", "maxout"}));
  HEDDLE_ASSIGN(const std::string state,
                config.oneOfOr("state", {"previous", "current"}, "current"));
  readout.isPrevious = state == "previous";
  if (kind == "maxout") {
    readout.kind = Readout::Kind::Maxout;
    HEDDLE_ASSIGN(readout.width, config.integer("width", 1, widthLimit));
    HEDDLE_ASSIGN(readout.rank, config.integerOr("rank", 0, widthLimit, 0));
  } else if (kind == "attentional") {
    readout.kind = Readout::Kind::Attentional;
  }
  HEDDLE_TRY(refuseUnreadKeys(config, keysOfOwnFormat));
  return readout;
}

/// Reads the order of a step and its feedback.
static Status readStep(const Config &decoder, Recurrent &model) {
  HEDDLE_ASSIGN(const std::string order, decoder.oneOf("order", {"attend-first", "state-first"}));
  HEDDLE_ASSIGN(const std::string feed, decoder.oneOf("feed", {"none", "context", "attentional"}));
  model.order = order == "attend-first" ? DecoderOrder::AttendFirst : DecoderOrder::StateFirst;
  model.feed = feed == "none" ? Feed::None : feed == "context" ? Feed::Context : Feed::Attentional;
  if (model.order == DecoderOrder::AttendFirst && model.feed != Feed::None) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"feed\" is \"{}\", expected \"none\" where \"order\" is "
                                    "\"attend-first\", whose steps take the context at hand",
                                    decoder.where(), feed));
  }
  return refuseUnreadKeys(decoder, keysOfOwnFormat);
}

/// Checks that the decoder's layers add rows of one width.
static Status checkDecoderResidual(const Config &decoder, const Recurrent &model) {
  const bool hasContext = model.attention.kind != ScoreKind::None;
  const int64_t context = hasContext ? model.memoryWidth() : 0;
  const bool takesContext = model.order == DecoderOrder::AttendFirst || model.feed == Feed::Context;
  const int64_t input = model.width + (takesContext                      ? context
                                       : model.feed == Feed::Attentional ? model.decoder.hidden
                                                                         : 0);
  if (model.decoder.residualFrom == 0 && input != model.decoder.hidden) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"residual_from\" is 0, expected layers of one width from "
                                    "there on: layer 0 takes {} and gives {}",
                                    decoder.where(), input, model.decoder.hidden));
  }
  return {};
}

static Status readDecoder(const Config &config, const Config &decoder, Recurrent &model) {
  HEDDLE_ASSIGN(model.targetVocabulary,
                config.integerOr("target_vocab_size", 1, tableLimit, model.vocabulary));
  HEDDLE_ASSIGN(model.attention, readAttention(config, model));
  HEDDLE_ASSIGN(model.readout, readReadout(config));
  HEDDLE_TRY(readStep(decoder, model));
  if (model.feed == Feed::Attentional && model.readout.kind != Readout::Kind::Attentional) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"feed\" is \"attentional\", expected \"readout\" of "
                                    "the kind \"attentional\", which makes what is fed",
                                    decoder.where()));
  }
  return checkDecoderResidual(decoder, model);
}

Result<Recurrent> Recurrent::read(const Config &config) {
  Recurrent model;
  HEDDLE_ASSIGN(model.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(model.width, config.integer("d_embed", 1, widthLimit));
  HEDDLE_ASSIGN(const Config encoder, config.object("encoder"));
  HEDDLE_ASSIGN(model.encoder, readStack(encoder));
  HEDDLE_ASSIGN(model.bothWays, readBothWays(encoder, model.encoder.layers));
  HEDDLE_ASSIGN(model.reverse, encoder.booleanOr("reverse", false));
  HEDDLE_TRY(refuseUnreadKeys(encoder, keysOfOwnFormat));
  HEDDLE_TRY(checkResidual(encoder, model));
  HEDDLE_ASSIGN(const Config decoder, config.object("decoder"));
  HEDDLE_ASSIGN(model.decoder, readStack(decoder));
  HEDDLE_ASSIGN(model.bridge, readBridge(config, model));
  HEDDLE_TRY(readDecoder(config, decoder, model));
  return model;
}

Result<FamilyModel> buildRecurrent(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const Recurrent model, Recurrent::read(source.config));
  HEDDLE_ASSIGN(const Generation generation, readOwnTokens(source.config, model.targetVocabulary));
  ModelBuilder builder(context, "recurrent");
  model.encode(builder.scope(), builder.entry("encode"));
  builder.generation(generation);
  model.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  return FamilyModel{std::move(module), {}, {keysOfOwnFormat, {}, {}, {}}};
}

} // namespace heddle
