// SPDX-License-Identifier: Apache-2.0
///
/// MultiModel: Kaiser et al., "One model to learn them all". Convolutional blocks over rows, in a
/// decoder with attention to the target and the source between them; a text, an image or a spectrum
/// becomes a text, or one of several classes.
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
  /// Elements along the rows of a sequence, or along the rows of pixels of an image, and across.
  int64_t kernel = 1, across = 1;
  int64_t dilation = 1;
  /// Down, and to the right.
  int64_t stride = 1, right = 1;
  /// 0: depthwise, then pointwise; -s: s groups of channels, each with its own; s: s groups, each
  /// with an ordinary convolution, and a linear map of all.
  int64_t separability = 0;
  bool rectifies = true;
};

/// Rows that steps go over: those of an encoder see both sides, those of a decoder or of a class of
/// a text or spectrum only what is before them. A decoder keeps the rows before a run.
struct ConvRows {
  Entry *entry = nullptr;
  Segments rows = {};
  /// Pixels of a row of an image, or GridSize::anyWidth; 1: the rows are a line.
  int64_t across = 1;
  bool causal = false;
  bool keeps = false;

  /// Those that strides leave.
  ConvRows strided(int64_t down, int64_t right = 1) const;
  /// What a step sees of them; an image of one column is a line.
  Window window(const ConvStep &step) const;
};

/// A unit of a stack: a convolutional block, or experts.
enum class MultiModelUnit : uint8_t { Block, Experts };

enum class Modality : uint8_t { Language, Image, Audio };

/// What goes in, and the net that makes rows of the model's width of it.
struct ModalityIn {
  Modality kind = Modality::Language;
  /// The tokens of a text, and the one that its shorter rows end in.
  int64_t vocabulary = 0;
  int32_t pad = 0;
  /// Pixels of a row of an image, GridSize::anyWidth where each has its own, or bins of a spectrum,
  /// and numbers of each.
  int64_t across = 1, channels = 1;
  /// Widths of the two steps of an image's stem, and of the residual blocks before the last.
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

  /// How many there are, how many a row chooses, and their inner width.
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

  /// The number of sines; 0: sines and cosines in turns over the whole width.
  int64_t timescales = 0;
  int64_t maxTarget = 0;

  /// Reads config.json.
  static Result<MultiModel> read(const Config &config);

  void encode(const Scope &model, Entry entry) const;
  void decode(const Scope &model, Entry entry) const;

private:
  /// `after`: the rows that strides leave of those that it goes over.
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
  /// What the input's net gives, and in `rows` which rows these are.
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
