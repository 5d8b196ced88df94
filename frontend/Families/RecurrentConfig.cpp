// SPDX-License-Identifier: Apache-2.0
///
/// Reads config.json of recurrent models in the project's own format.
#include "frontend/Families/Family.h"
#include "frontend/Families/Recurrent.h"

#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"

#include <fmt/format.h>

namespace heddle {

static constexpr std::string_view formatPage = "the keys of docs/model-format.md";

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

/// true, false, or "first".
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

/// The widths of a layer's input and of what it gives must agree where they are added up.
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

/// What only the decoder needs, which is not compiled yet: nothing but misspelt keys is refused.
static Status readDecoder(const Config &config, const Config &decoder) {
  HEDDLE_TRY(config.integerOr("target_vocab_size", 1, tableLimit, 1).status());
  for (const std::string_view key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    HEDDLE_TRY(config.integerOr(key, 0, tableLimit, 0).status());
  }
  HEDDLE_TRY(config.object("attention").status());
  HEDDLE_TRY(config.object("readout").status());
  HEDDLE_TRY(decoder.oneOf("order", {"attend-first", "state-first"}).status());
  HEDDLE_TRY(decoder.oneOf("feed", {"none", "context", "attentional"}).status());
  return refuseUnreadKeys(decoder, formatPage);
}

Result<Recurrent> Recurrent::read(const Config &config) {
  Recurrent model;
  HEDDLE_ASSIGN(model.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(model.width, config.integer("d_embed", 1, widthLimit));
  HEDDLE_ASSIGN(const Config encoder, config.object("encoder"));
  HEDDLE_ASSIGN(model.encoder, readStack(encoder));
  HEDDLE_ASSIGN(model.bothWays, readBothWays(encoder, model.encoder.layers));
  HEDDLE_ASSIGN(model.reverse, encoder.booleanOr("reverse", false));
  HEDDLE_TRY(refuseUnreadKeys(encoder, formatPage));
  HEDDLE_TRY(checkResidual(encoder, model));
  HEDDLE_ASSIGN(const Config decoder, config.object("decoder"));
  HEDDLE_ASSIGN(model.decoder, readStack(decoder));
  HEDDLE_ASSIGN(model.bridge, readBridge(config, model));
  HEDDLE_TRY(readDecoder(config, decoder));
  return model;
}

Result<FamilyModel> buildRecurrent(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const Recurrent model, Recurrent::read(source.config));
  ModelBuilder builder(context, "recurrent");
  model.encode(builder.scope(), builder.entry("encode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  // What only the decoder reads.
  return FamilyModel{std::move(module),
                     {"target.", "layers.", "attention.", "combine.", "readout.", "output."},
                     {formatPage, {}, {}, {}}};
}

} // namespace heddle
