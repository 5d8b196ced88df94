// SPDX-License-Identifier: Apache-2.0
///
/// The modality nets of a MultiModel (section 2.5 of "One model to learn them all"): from texts,
/// images and spectra to rows, and from rows to classes.
#include "frontend/Families/MultiModel.h"

#include <cmath>

namespace heddle {

using transformer::Activation;
using transformer::Pooling;

/// Standardizes the n numbers of each image, which `rows` concatenates: subtracts their mean and
/// divides by max(deviation, 1 / sqrt(n)). With the remainder r that is r sqrt(n) / max(|r|, 1).
static Tensor standardized(const Scope &scope, const Tensor &x, const ConvRows &rows) {
  const int64_t channels = x.width();
  const auto ones = [&](std::string_view name, int64_t made) {
    return scope.onesFrom(name, 0, made, channels);
  };
  const Tensor mean = scope.linear(x.pool(Pooling::Mean, rows.rows), ones("mean", channels)) *
                      (1.0 / static_cast<double>(channels));
  const Tensor rest = x + mean.spread(rows.rows) * -1;
  const Tensor one = rows.entry->weight(scope.reshape("one", scope.onesFrom("ones", 0, 1, 1), {1}));
  const Tensor squares = scope.linear((rest * rest).pool(Pooling::Sum, rows.rows), ones("sum", 1));
  const Tensor count =
      (x.columns(0, 1) * 0 + one).pool(Pooling::Sum, rows.rows) * static_cast<double>(channels);
  // max(s, 1) is s + ReLU(1 - s), and sqrt(n) is n / sqrt(n).
  const Tensor least = squares + (squares * -1 + one).activate(Activation::Relu);
  const Tensor factor =
      least.activate(Activation::Rsqrt) * count * count.activate(Activation::Rsqrt);
  return rest * factor.spread(rows.rows);
}

/// Xception's residual block: two separable steps and a 3 x 3 maximum with strides, plus a
/// pointwise step with the same strides.
Tensor MultiModel::residual(const Scope &scope, const Tensor &x, int64_t made, const ConvRows &rows,
                            const ConvRows &fewer, const ConvStep &skip) const {
  const ConvStep separable{.made = made, .kernel = 3, .across = 3};
  const ConvStep largest{.kernel = 3, .across = 3, .stride = skip.stride, .right = skip.right};
  const ConvRows pixels = rows.strided(1);
  Tensor y = step(scope.scope("steps", 0), x, separable, rows, pixels);
  y = step(scope.scope("steps", 1), y, separable, pixels);
  return y.largest(pixels.window(largest), pixels.rows, fewer.rows) +
         step(scope.scope("skip"), x, skip, rows, fewer);
}

/// Section 2.5.2: a stem that halves both sides, and residual blocks that halve them again.
Tensor MultiModel::imageIn(const Scope &scope, ConvRows &rows) const {
  rows.across = input.across;
  Tensor x =
      standardized(scope.scope("standardized"), rows.entry->input("image", input.channels), rows);
  ConvStep full{.made = input.stem[0],
                .kernel = 3,
                .across = 3,
                .stride = 2,
                .right = 2,
                .separability = 1,
                .rectifies = false};
  const ConvRows half = rows.strided(2, 2);
  x = step(scope.scope("stem", 0), x, full, rows, half);
  full = {.made = input.stem[1], .kernel = 3, .across = 3, .separability = 1};
  x = step(scope.scope("stem", 1), x, full, half);
  rows = half;
  for (size_t block = 0; block <= input.blocks.size(); ++block) {
    const int64_t made = block < input.blocks.size() ? input.blocks[block] : width;
    const ConvRows fewer = rows.strided(2, 2);
    x = residual(
        scope.scope("blocks", static_cast<int64_t>(block)), x, made, rows, fewer,
        {.made = made, .stride = 2, .right = 2, .separability = 1, .rectifies = block == 0});
    rows = fewer;
  }
  return x;
}

/// Section 2.5.4: a spectrum is an image of one channel, with strides only along time.
Tensor MultiModel::audioIn(const Scope &scope, ConvRows &rows) const {
  rows.across = input.across;
  Tensor x = rows.entry->input("audio", 1);
  rows.entry->pad("audio", 0);
  for (size_t block = 0; block <= input.blocks.size(); ++block) {
    const bool isLast = block == input.blocks.size();
    const int64_t made = isLast ? width : input.blocks[block];
    const ConvRows fewer = rows.strided(2);
    x = residual(scope.scope("blocks", static_cast<int64_t>(block)), x, made, rows, fewer,
                 {.made = made, .stride = 2, .separability = 1, .rectifies = !isLast});
    rows = fewer;
  }
  return x;
}

Tensor MultiModel::bottom(const Scope &model, ConvRows &rows) const {
  switch (input.kind) {
  case Modality::Image:
    return imageIn(model.scope("bottom"), rows);
  case Modality::Audio:
    return audioIn(model.scope("bottom"), rows);
  case Modality::Language:
    break;
  }
  const Ids source = rows.entry->input("source");
  rows.entry->pad("source", input.pad);
  return model.gather(model.parameter("source.weight", {input.vocabulary, width}), source) *
         std::sqrt(static_cast<double>(width));
}

/// Section 2.5.2, Xception's exit, then ReLU, the mean of all places and a linear map. The window
/// is 3 x 3 pixels for an image, and the row with the four before it for a text or for each bin of
/// a spectrum.
Tensor MultiModel::classify(const Scope &top, const Tensor &x, const ConvRows &places) const {
  const bool isImage = input.kind == Modality::Image;
  ConvRows rows = places;
  rows.causal = !isImage;
  const ConvStep each = isImage ? ConvStep{.kernel = 3, .across = 3} : ConvStep{.kernel = 5};
  ConvStep strided = each;
  strided.stride = isImage ? 2 : 4;
  strided.right = isImage ? 2 : 1;
  const ConvRows fewer = rows.strided(strided.stride, strided.right);
  const int64_t wide = 5 * width / 4;
  const auto separable = [&](int64_t index, const Tensor &given, int64_t made, bool rectifies,
                             const ConvRows &over) {
    ConvStep its = each;
    its.made = made;
    its.rectifies = rectifies;
    return step(top.scope("steps", index), given, its, over);
  };
  ConvStep full = strided;
  full.made = wide;
  full.separability = 1;
  const Tensor skip = step(top.scope("skip"), x, full, rows, fewer);
  Tensor y = separable(1, separable(0, x, width, true, rows), wide, true, rows);
  y = y.largest(rows.window(strided), rows.rows, fewer.rows) + skip;
  y = separable(3, separable(2, y, 2 * width, false, fewer), 5 * width / 2, true, fewer);
  const Tensor mean = y.activate(Activation::Relu).pool(Pooling::Mean, fewer.rows);
  return top.linear("output", mean, classes);
}

} // namespace heddle
