// SPDX-License-Identifier: Apache-2.0
///
/// Reads config.json of a MultiModel in the project's own format. Unsupported options are rejected
/// by the name of their key.
#include "frontend/Families/Family.h"

#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "frontend/Families/MultiModel.h"
#include "heddle/RowSpace.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

/// The largest supported window size.
static constexpr int64_t kernelLimit = 255;
static constexpr int64_t dilationLimit = int64_t{1} << 12;
static constexpr int64_t expertLimit = int64_t{1} << 12;
/// The most experts that a row may choose: Segments::choices().
static constexpr int64_t activeExpertLimit = 255;

/// Checks that a step's groups divide its input and output channels.
static Status checkGroups(const Config &config, std::string_view key, const ConvStep &step,
                          int64_t width) {
  const int64_t groups = std::max<int64_t>(1, std::abs(step.separability));
  if (width % groups == 0 && step.made % groups == 0) {
    return {};
  }
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{}: \"{}\" has {} groups of channels, expected a number that "
                                  "divides {}",
                                  config.where(), key, groups, width));
}

/// Reads steps of the model's width: lists "kernels", "dilations" and "separabilities" of the same
/// size.
static Result<std::vector<ConvStep>> readSteps(const Config &config, int64_t width) {
  HEDDLE_ASSIGN(const std::vector<int64_t> kernels, config.integers("kernels", 1, kernelLimit));
  HEDDLE_ASSIGN(const std::vector<int64_t> dilations,
                config.integers("dilations", 1, dilationLimit));
  HEDDLE_ASSIGN(const std::vector<int64_t> groups,
                config.integers("separabilities", -widthLimit, widthLimit));
  for (const auto &[key, size] :
       {std::pair("dilations", dilations.size()), std::pair("separabilities", groups.size())}) {
    if (size != kernels.size()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"{}\" has {} items, expected {}, as \"kernels\" has",
                                      config.where(), key, size, kernels.size()));
    }
  }
  std::vector<ConvStep> steps;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i] % 2 == 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"kernels\" has one of {}, expected odd numbers",
                                      config.where(), kernels[i]));
    }
    steps.push_back(
        {.made = width, .kernel = kernels[i], .dilation = dilations[i], .separability = groups[i]});
    HEDDLE_TRY(checkGroups(config, "separabilities", steps.back(), width));
  }
  return steps;
}

static Status readBlock(MultiModel &model, const Config &config) {
  HEDDLE_ASSIGN(const Config block, config.object("block"));
  HEDDLE_ASSIGN(const std::string form, nearestOf(block, "form", {"paper", "tensor2tensor"}));
  model.paperBlock = form == "paper";
  HEDDLE_ASSIGN(model.block, readSteps(block, model.width));
  if (model.block.size() != 4) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"kernels\" has {} items, expected 4, the steps of a block", block.where(),
                    model.block.size()));
  }
  return refuseUnreadKeys(block, keysOfOwnFormat);
}

/// Reads the units of a stack.
static Result<std::vector<MultiModelUnit>> readUnits(const Config &config, std::string_view key) {
  HEDDLE_ASSIGN(const std::vector<std::string> names, config.strings(key));
  std::vector<MultiModelUnit> units;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != "conv" && names[i] != "moe") {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: \"{}\" has \"{}\" as unit {}, expected \"conv\" or "
                                      "\"moe\"",
                                      config.where(), key, names[i], i + 1));
    }
    units.push_back(names[i] == "conv" ? MultiModelUnit::Block : MultiModelUnit::Experts);
  }
  return units;
}

/// Reads the sizes of experts, if a stack has any.
static Status readExperts(MultiModel &model, const Config &config) {
  const auto has = [](const std::vector<MultiModelUnit> &units) {
    return std::find(units.begin(), units.end(), MultiModelUnit::Experts) != units.end();
  };
  if (!has(model.encoder) && !has(model.decoder)) {
    return {};
  }
  HEDDLE_ASSIGN(const Config moe, config.object("moe"));
  HEDDLE_ASSIGN(model.experts, moe.integer("experts", 1, expertLimit));
  HEDDLE_ASSIGN(model.activeExperts,
                moe.integer("active", 1, std::min(model.experts, activeExpertLimit)));
  HEDDLE_ASSIGN(model.expertWidth, moe.integer("hidden", 1, widthLimit));
  return refuseUnreadKeys(moe, keysOfOwnFormat);
}

static Status readAttention(MultiModel &model, const Config &config) {
  HEDDLE_ASSIGN(const Config attention, config.object("attention"));
  HEDDLE_ASSIGN(const std::string kind, nearestOf(attention, "kind", {"simple", "transformer"}));
  if (kind == "transformer") {
    HEDDLE_ASSIGN(model.heads, attention.integer("heads", 1, widthLimit));
    HEDDLE_TRY(checkHeads(attention, "heads", model.heads, "d_model", model.width));
  }
  HEDDLE_ASSIGN(model.queries, readSteps(attention, model.width));
  return refuseUnreadKeys(attention, keysOfOwnFormat);
}

/// Half of the mixer's groups read the attended rows, half the target.
static Status readMixer(MultiModel &model, const Config &config) {
  HEDDLE_ASSIGN(const Config mixer, config.object("mixer"));
  HEDDLE_ASSIGN(model.mixerSeparability, mixer.integer("separability", 0, widthLimit));
  HEDDLE_ASSIGN(model.mixerBlocks, mixer.integer("blocks", 0, layerLimit));
  const int64_t groups = model.mixerSeparability;
  if (groups > 1 && (groups % 2 != 0 || model.width % groups != 0)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"separability\" is {}, expected 0, 1 or an even number "
                                    "that divides \"d_model\", {}",
                                    mixer.where(), groups, model.width));
  }
  return refuseUnreadKeys(mixer, keysOfOwnFormat);
}

static Status readTiming(MultiModel &model, const Config &config) {
  HEDDLE_ASSIGN(const Config timing, config.object("timing"));
  HEDDLE_ASSIGN(const std::string kind, nearestOf(timing, "kind", {"interleaved", "timescales"}));
  if (kind == "timescales") {
    HEDDLE_ASSIGN(model.timescales, timing.integer("count", 2, model.width / 2));
  } else if (model.width % 2 != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"d_model\" is {}, expected an even number for "
                                    "\"interleaved\" timing",
                                    config.where(), model.width));
  }
  return refuseUnreadKeys(timing, keysOfOwnFormat);
}

/// Reads the vocabulary size of a text.
static Result<int64_t> readLanguage(const Config &modality) {
  HEDDLE_ASSIGN(const int64_t size, modality.integer("vocab_size", 1, tableLimit));
  HEDDLE_TRY(refuseUnreadKeys(modality, keysOfOwnFormat));
  return size;
}

/// Checks that the strides of `blocks` + 1 residual blocks and `beside` other steps keep at least
/// every 128th row of pixels: GridSize::mostStride.
static Status checkHalvings(const Config &config, size_t blocks, size_t beside) {
  constexpr size_t most = 7;
  if (blocks + 1 + beside <= most) {
    return {};
  }
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{}: \"blocks\" has {} items, expected at most {}: every block "
                                  "halves the rows of pixels",
                                  config.where(), blocks, most - 1 - beside));
}

/// Reads an image of any height. Its width is that of the configuration or, without one, variable.
static Status readImage(ModalityIn &input, const Config &config, bool isClassified) {
  HEDDLE_TRY(config.integerOr("height", 1, tableLimit, 1).status());
  HEDDLE_ASSIGN(input.across,
                config.integerOr("width", 1, GridSize::mostAcross, GridSize::anyWidth));
  HEDDLE_ASSIGN(input.channels, config.integer("channels", 1, widthLimit));
  HEDDLE_ASSIGN(input.stem, config.integers("stem", 1, widthLimit));
  if (input.stem.size() != 2) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"stem\" has {} items, expected 2, the widths of its "
                                    "steps",
                                    config.where(), input.stem.size()));
  }
  HEDDLE_ASSIGN(input.blocks, config.integers("blocks", 1, widthLimit));
  return checkHalvings(config, input.blocks.size(), isClassified ? 2 : 1);
}

static Status readInput(ModalityIn &input, const Config &config, bool isClassified) {
  HEDDLE_ASSIGN(const std::string kind,
                nearestOf(config, "modality", {"language", "image", "audio"}));
  if (kind == "language") {
    HEDDLE_ASSIGN(input.vocabulary, readLanguage(config));
    return {};
  }
  input.kind = kind == "image" ? Modality::Image : Modality::Audio;
  if (input.kind == Modality::Image) {
    HEDDLE_TRY(readImage(input, config, isClassified));
    return refuseUnreadKeys(config, keysOfOwnFormat);
  }
  HEDDLE_ASSIGN(input.across, config.integer("bins", 1, GridSize::mostAcross));
  HEDDLE_ASSIGN(input.blocks, config.integers("blocks", 1, widthLimit));
  // If the output is a class, there is one more stride.
  HEDDLE_TRY(checkHalvings(config, input.blocks.size(), isClassified ? 2 : 0));
  return refuseUnreadKeys(config, keysOfOwnFormat);
}

static Status readModalities(MultiModel &model, const Config &config) {
  HEDDLE_ASSIGN(const Config output, config.object("output"));
  HEDDLE_ASSIGN(const std::string out, nearestOf(output, "modality", {"language", "class"}));
  HEDDLE_ASSIGN(const Config input, config.object("input"));
  HEDDLE_TRY(readInput(model.input, input, out == "class"));
  if (model.input.kind == Modality::Language) {
    HEDDLE_ASSIGN(const int64_t pad,
                  config.integerOr("pad_token_id", 0, model.input.vocabulary - 1, 0));
    model.input.pad = static_cast<int32_t>(pad);
  }
  if (out == "language") {
    HEDDLE_ASSIGN(model.targetVocabulary, readLanguage(output));
    return {};
  }
  HEDDLE_ASSIGN(model.classes, output.integer("classes", 1, tableLimit));
  if (model.width % 4 != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"d_model\" is {}, expected a multiple of 4 for classes",
                                    config.where(), model.width));
  }
  return refuseUnreadKeys(output, keysOfOwnFormat);
}

Result<MultiModel> MultiModel::read(const Config &config) {
  MultiModel model;
  HEDDLE_ASSIGN(model.width, config.integer("d_model", 4, widthLimit));
  HEDDLE_TRY(readModalities(model, config));
  HEDDLE_ASSIGN(model.encoder, readUnits(config, "encoder"));
  HEDDLE_TRY(readBlock(model, config));
  HEDDLE_TRY(readTiming(model, config));
  if (model.targetVocabulary > 0) {
    HEDDLE_ASSIGN(model.commands, config.integer("commands", 1, tableLimit));
    HEDDLE_ASSIGN(model.decoder, readUnits(config, "decoder"));
    HEDDLE_TRY(readAttention(model, config));
    HEDDLE_TRY(readMixer(model, config));
    // Only the length of a text limits that of its output.
    const bool isText = model.input.kind == Modality::Language;
    HEDDLE_ASSIGN(model.maxTarget, isText ? config.integerOr("max_target_length", 1, tableLimit, 0)
                                          : config.integer("max_target_length", 1, tableLimit));
  }
  HEDDLE_TRY(readExperts(model, config));
  return model;
}

/// Targets start with command 0 unless a caller requests another one: the tokens after the
/// vocabulary are the commands.
static Result<Generation> readTokens(const Config &config, const MultiModel &model) {
  Generation generation;
  const int64_t last = model.targetVocabulary - 1;
  HEDDLE_TRY(config.integer("bos_token_id", 0, last).status());
  HEDDLE_ASSIGN(const int64_t end, config.integer("eos_token_id", 0, last));
  HEDDLE_ASSIGN(const int64_t pad, config.integerOr("pad_token_id", 0, last, 0));
  generation.start = {static_cast<int32_t>(model.targetVocabulary)};
  generation.end = {static_cast<int32_t>(end)};
  generation.pad = static_cast<int32_t>(pad);
  generation.maxLength = static_cast<int32_t>(model.maxTarget);
  return generation;
}

Result<FamilyModel> buildMultiModel(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const MultiModel model, MultiModel::read(source.config));
  ModelBuilder builder(context, "multimodel");
  model.encode(builder.scope(), builder.entry("encode"));
  if (model.targetVocabulary > 0) {
    HEDDLE_ASSIGN(const Generation generation, readTokens(source.config, model));
    builder.generation(generation);
    model.decode(builder.scope(), builder.entry("decode"));
  } else {
    // Token ids of texts have no meaning for classes.
    for (std::string_view key : {"pad_token_id", "bos_token_id", "eos_token_id"}) {
      HEDDLE_TRY(source.config.integerOr(key, 0, tableLimit, 0).status());
    }
  }
  HEDDLE_ASSIGN(auto module, builder.build());
  return FamilyModel{std::move(module), {}, {keysOfOwnFormat, {}, {}, {}}};
}

} // namespace heddle
