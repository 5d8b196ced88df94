// SPDX-License-Identifier: Apache-2.0
///
/// MultiModel: Kaiser et al., "One model to learn them all". Convolutional blocks over rows, in a
/// decoder with attention to the target and the source between them. Maps a text, an image or a
/// spectrum to a text or a class.
#ifndef HEDDLE_FRONTEND_FAMILIES_MULTIMODEL_H
#define HEDDLE_FRONTEND_FAMILIES_MULTIMODEL_H

#include "frontend/Families/DotProductAttention.h"
#include "heddle/Status.h"

#include <optional>
#include <vector>

namespace heddle {

class Config;

/// A ConvStep: LN(conv(ReLU(x))).
struct ConvStep {
  int64_t made = 0;
  /// Kernel size along the rows of a sequence, or down and across an image.
  int64_t kernel = 1, across = 1;
  int64_t dilation = 1;
  /// Strides down and to the right.
  int64_t stride = 1, right = 1;
  /// 0: depthwise, then pointwise; -s: the same in s separate groups of channels; s: an ordinary
  /// convolution in each of s groups, then a linear map of all.
  int64_t separability = 0;
  bool rectifies = true;
};

/// The rows of a step. Those of an encoder see both sides; those of a decoder, or of a class of a
/// text or spectrum, only earlier rows. A decoder keeps the rows of earlier runs.
struct ConvRows {
  Entry *entry = nullptr;
  Segments rows = {};
  /// Pixels of a row of an image, or GridSize::anyWidth; 1: the rows are one-dimensional.
  int64_t across = 1;
  bool causal = false;
  bool keeps = false;

  /// Returns the strided rows.
  ConvRows strided(int64_t down, int64_t right = 1) const;
  /// Returns the window of a step over these rows; an image of one column is one-dimensional.
  Window window(const ConvStep &step) const;
};

/// A unit of a stack: a convolutional block, or experts.
enum class MultiModelUnit : uint8_t { Block, Experts };

enum class Modality : uint8_t { Language, Image, Audio };

/// The input, and the net that maps it to rows of the model's width.
struct ModalityIn {
  Modality kind = Modality::Language;
  /// The tokens of a text, and its padding token.
  int64_t vocabulary = 0;
  int32_t pad = 0;
  /// Pixels of a row of an image, GridSize::anyWidth if each image has its own, or bins of a
  /// spectrum; and the channels of each.
  int64_t across = 1, channels = 1;
  /// Widths of the two steps of an image's stem, and of the residual blocks except the last.
  std::vector<int64_t> stem, blocks;
};

struct MultiModel {
  int64_t width = 0;
  ModalityIn input;
  /// 0: the output is a class.
  int64_t targetVocabulary = 0;
  int64_t classes = 0;
  int64_t commands = 0;
  std::vector<MultiModelUnit> encoder;
  std::vector<MultiModelUnit> decoder;

  /// The number of experts, how many of them a row chooses, and their inner width.
  int64_t experts = 0;
  int64_t activeExperts = 0;
  int64_t expertWidth = 0;

  /// The four steps of a block.
  std::vector<ConvStep> block;
  /// x + CS(CS(x)) twice, instead of tensor2tensor's form.
  bool paperBlock = false;

  /// Steps of an attention, and its heads; 0 heads: without projections.
  std::vector<ConvStep> queries;
  int64_t heads = 0;

  int64_t mixerSeparability = 0;
  int64_t mixerBlocks = 0;

  /// The number of sines; 0: alternating sines and cosines over the whole width.
  int64_t timescales = 0;
  int64_t maxTarget = 0;

  /// Reads config.json.
  static Result<MultiModel> read(const Config &config);

  void encode(const Scope &model, Entry entry) const;
  void decode(const Scope &model, Entry entry) const;

private:
  /// `after` are the strided rows of `over`.
  Tensor step(const Scope &scope, const Tensor &x, const ConvStep &step, const ConvRows &over,
              const ConvRows &after) const;
  Tensor step(const Scope &scope, const Tensor &x, const ConvStep &each,
              const ConvRows &rows) const {
    return step(scope, x, each, rows, rows);
  }
  Tensor residual(const Scope &scope, const Tensor &x, int64_t made, const ConvRows &rows,
                  const ConvRows &fewer, const ConvStep &skip) const;
  Tensor imageIn(const Scope &scope, ConvRows &rows) const;
  Tensor audioIn(const Scope &scope, ConvRows &rows) const;
  /// Returns the result of the input's net, and its rows in `rows`.
  Tensor bottom(const Scope &model, ConvRows &rows) const;
  Tensor merge(const Scope &scope, const Tensor &attended, const Tensor &target,
               const ConvRows &rows) const;
  Tensor convBlock(const Scope &scope, const Tensor &x, const ConvRows &rows) const;
  Tensor chooseExperts(const Scope &scope, const Tensor &x, const Segments &rows,
                       std::vector<Tensor> &gates) const;
  Tensor addTiming(const Scope &model, const Tensor &x, const Segments &rows) const;
  Tensor attention(const Scope &model, const Scope &scope, const Tensor &x, const ConvRows &rows,
                   const Memory &source, Tensor *alignment) const;
  Tensor classify(const Scope &top, const Tensor &x, const ConvRows &rows) const;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_MULTIMODEL_H
