// SPDX-License-Identifier: Apache-2.0
///
/// MultiModel: Kaiser et al., "One model to learn them all", section 2, with the choices of
/// tensor2tensor's multimodel: ConvStep, block, attention, mixer, encoder, decoder.
#include "frontend/Families/MultiModel.h"

#include <array>
#include <cmath>
#include <fmt/format.h>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

static constexpr double epsilon = 1e-6;
/// Rows of the tables of positions.
static constexpr int64_t mostPositions = 4096;

// --- Steps -----------------------------------------------------------------------------------

/// The convolutions of a step, each with its own channels.
struct Parts {
  int64_t count = 1;
  /// Channels of one convolution: inputs and outputs.
  int64_t summed = 0, made = 0;

  Parts(const ConvStep &step, int64_t width)
      : count(std::max<int64_t>(1, std::abs(step.separability))), summed(width / count),
        made(step.made / count) {}
};

Window ConvRows::window(const ConvStep &step) const {
  const bool isImage = across != 1;
  return {.height = step.kernel,
          .width = isImage ? step.across : 1,
          .strideDown = step.stride,
          .strideRight = isImage ? step.right : 1,
          .dilationDown = step.dilation,
          .across = across,
          .causal = causal};
}

ConvRows ConvRows::strided(int64_t down, int64_t right) const {
  ConvRows fewer = *this;
  if (across != 1 || down > 1) {
    fewer.rows = rows.strided(down, across != 1 ? right : 1, across);
    fewer.across = (across + right - 1) / right;
  }
  return fewer;
}

/// Returns the state with the rows that a decoder's step reads from earlier runs.
static State rowsBefore(const Scope &scope, const Tensor &x, const ConvStep &step,
                        const ConvRows &rows) {
  return rows.keeps && step.kernel > 1
             ? rows.entry->state(scope.scope("before").name(),
                                 (step.kernel - 1) * step.dilation * x.width())
             : State();
}

/// Returns the used weights of a window. A line is an image of one column, with zeros on either
/// side, so it only uses the middle column of weights.
static Parameter seen(const Scope &derived, const Parameter &weight, const ConvStep &step,
                      const ConvRows &over) {
  if (over.across != 1 || step.across == 1 || !weight.valid()) {
    return weight;
  }
  const std::vector<int64_t> &sizes = weight.shape();
  const int64_t lines = sizes[0] * sizes[1] * sizes[2];
  const Parameter columns = derived.reshape("lines", weight, {lines, step.across});
  return derived.reshape("line", derived.columns("middle", columns, step.across / 2, 1),
                         {sizes[0], sizes[1], sizes[2], 1});
}

/// Applies a linear map to each group; `matrix` concatenates their matrices by rows.
static Tensor mapGroups(const Scope &scope, const ConvRows &rows, const Tensor &x,
                        const Parameter &matrix, int64_t groups) {
  if (groups == 1 || !matrix.valid()) {
    return scope.linear(x, matrix);
  }
  const int64_t made = matrix.shape()[0] / groups, summed = matrix.shape()[1];
  const Parameter each = scope.reshape("groups", matrix, {groups, made, summed});
  return scope.contract("tgd,gnd->tgn", x.splitHeads(groups), rows.entry->weight(each))
      .mergeHeads();
}

/// Concatenates the tensors `name` of `parts` parts, starting at part `first`.
static Parameter stacked(const Scope &scope, const Scope &derived, std::string_view name,
                         int64_t first, int64_t parts, std::initializer_list<int64_t> shape) {
  std::vector<Parameter> all;
  for (int64_t part = first; part < first + parts; ++part) {
    all.push_back(
        scope.scope("parts", part).parameter(name, std::span(shape.begin(), shape.size())));
  }
  return parts == 1 ? all.front() : derived.concat(name, all);
}

/// Depthwise convolutions, zero outside the sequence, with weights [w, 1, kernel, across].
static Tensor depthwise(const Scope &derived, const Tensor &x, const Parameter &weight,
                        const ConvStep &step, const ConvRows &over, const ConvRows &after) {
  const State before = rowsBefore(derived, x, step, over);
  const Window window = over.window(step);
  const Parameter flat = derived.reshape("elements", seen(derived, weight, step, over),
                                         {x.width(), window.height * window.width});
  const Tensor y = derived.convolve(x, flat, window, over.rows, after.rows, before);
  if (before.valid()) {
    before.keep(x, over.rows);
  }
  return y;
}

/// Ordinary convolutions of `groups` groups of channels, with weights [n, w / groups, kernel,
/// across]; those of a single row are a linear map.
static Tensor ordinary(const Scope &derived, const Tensor &x, const Parameter &weight,
                       int64_t groups, const ConvStep &step, const ConvRows &over,
                       const ConvRows &after) {
  const State before = rowsBefore(derived, x, step, over);
  const bool seesOne = step.kernel * step.across * step.stride * step.right == 1;
  const Tensor patches =
      seesOne ? x : x.patches(over.window(step), over.rows, after.rows, groups, before);
  if (before.valid()) {
    before.keep(x, over.rows);
  }
  const Parameter matrix = derived.patchMatrix("matrix", seen(derived, weight, step, over));
  return mapGroups(derived, over, patches, matrix, groups);
}

/// Section 2.2: LN(conv(ReLU(x))).
Tensor MultiModel::step(const Scope &scope, const Tensor &given, const ConvStep &step,
                        const ConvRows &over, const ConvRows &after) const {
  const Tensor x = step.rectifies ? given.activate(Activation::Relu) : given;
  const Parts parts(step, x.width());
  const Scope all = scope.scope("parts");
  Tensor y;
  if (step.separability <= 0) {
    const Parameter deep = stacked(scope, all, "depthwise", 0, parts.count,
                                   {parts.summed, 1, step.kernel, step.across});
    const Parameter pointwise = stacked(scope, all.scope("pointwise"), "pointwise.weight", 0,
                                        parts.count, {parts.made, parts.summed});
    y = mapGroups(all.scope("pointwise"), over, depthwise(all, x, deep, step, over, after),
                  pointwise, parts.count);
  } else {
    const Parameter weight = stacked(scope, all, "weight", 0, parts.count,
                                     {parts.made, parts.summed, step.kernel, step.across});
    y = ordinary(all, x, weight, parts.count, step, over, after);
    if (parts.count > 1) {
      y = scope.linear("mix", y, step.made);
    }
  }
  return scope.layerNorm("norm", y, epsilon);
}

/// The step of the mixer on the concatenation [attended; target]: half of its groups read one part,
/// half the other, and the map that mixes them is a sum of two linear maps. So the parts need not
/// be concatenated.
Tensor MultiModel::merge(const Scope &scope, const Tensor &attended, const Tensor &target,
                         const ConvRows &rows) const {
  const ConvStep step{.made = width, .kernel = 3, .separability = mixerSeparability};
  const Parts parts(step, 2 * width);
  const std::array<Tensor, 2> sides = {attended.activate(Activation::Relu),
                                       target.activate(Activation::Relu)};
  Parameter mix;
  if (step.separability > 1) {
    mix = scope.parameter("mix.weight", {width, width});
  } else if (step.separability == 0) {
    mix = scope.parameter("parts.0.pointwise.weight", {width, 2 * width});
  }
  Tensor sum;
  for (int64_t side = 0; side < 2; ++side) {
    const Tensor &x = sides[static_cast<size_t>(side)];
    const Scope own = scope.scope(side == 0 ? "attended" : "target");
    Tensor y;
    if (step.separability > 1) {
      const int64_t half = parts.count / 2;
      const Parameter weight = stacked(scope, own, "weight", side * half, half,
                                       {parts.made, parts.summed, step.kernel, 1});
      y = own.linear(ordinary(own, x, weight, half, step, rows, rows),
                     own.columns("mix", mix, side * (width / 2), width / 2),
                     side == 0 ? scope.parameter("mix.bias", {width}) : Parameter());
    } else if (step.separability == 1) {
      const Parameter both = scope.reshape(
          "flat", scope.parameter("parts.0.weight", {width, 2 * width, step.kernel, 1}),
          {width, 2 * width * step.kernel});
      const Parameter half =
          own.columns("flat", both, side * width * step.kernel, width * step.kernel);
      y = ordinary(own, x, own.reshape("weight", half, {width, width, step.kernel, 1}), 1, step,
                   rows, rows);
    } else {
      const Parameter both = scope.parameter("parts.0.depthwise", {2 * width, 1, step.kernel, 1});
      y = own.linear(
          depthwise(own, x, own.rows("depthwise", both, side * width, width), step, rows, rows),
          own.columns("pointwise", mix, side * width, width));
    }
    sum = side == 0 ? y : sum + y;
  }
  return scope.layerNorm("norm", sum, epsilon);
}

/// Section 2.2: four steps in two pairs with residual connections. tensor2tensor uses the result of
/// the first pair twice.
Tensor MultiModel::convBlock(const Scope &scope, const Tensor &x, const ConvRows &rows) const {
  const auto pair = [&](const Tensor &input, int64_t first) {
    Tensor y = input;
    for (int64_t i = first; i < first + 2; ++i) {
      y = step(scope.scope("steps", i), y, block[static_cast<size_t>(i)], rows);
    }
    return y;
  };
  const Tensor y = pair(x, 0);
  const Tensor result = x + pair(x + y, 2);
  return paperBlock ? result : result + y;
}

/// Section 2.2.2: LN(x + the sum of g_e E_e(x) over the experts e that a row chooses), with g the
/// softmax over these. Appends the gates of all experts to `gates`, 0 for those not chosen.
Tensor MultiModel::chooseExperts(const Scope &scope, const Tensor &x, const Segments &rows,
                                 std::vector<Tensor> &gates) const {
  const Segments choices = rows.choices(activeExperts);
  const Chosen chosen = scope.linear("gate", x, experts, Bias::No).topK(choices);
  const Tensor gate = chosen.value.rowSoftmax();
  gates.push_back(gate.placeColumns(chosen.column, experts));
  const auto map = [&](const std::string &name, const Tensor &in, int64_t made) {
    std::vector<Parameter> each;
    for (int64_t expert = 0; expert < experts; ++expert) {
      each.push_back(
          scope.scope("experts", expert).parameter(name + ".weight", {made, in.width()}));
    }
    return scope.chosenLinear(in, chosen.column, experts, scope.concat(name, each));
  };
  const Tensor inner = map("inner", x.repeat(choices), expertWidth).activate(Activation::Relu);
  const Tensor outer = map("outer", inner, width) * gate.splitRows(choices);
  return scope.layerNorm("norm", x + outer.pool(transformer::Pooling::Sum, choices, rows), epsilon);
}

// --- Attention -------------------------------------------------------------------------------

/// Section 2.3: sines and cosines of positions.
Tensor MultiModel::addTiming(const Scope &model, const Tensor &x, const Segments &rows) const {
  const Scope scope = model.scope("timing");
  Parameter table;
  if (timescales == 0) {
    table = scope.sinusoid("table", mostPositions, width);
  } else {
    table = scope.sinusoid("sines", mostPositions, 2 * timescales,
                           {.split = true, .steps = timescales - 1});
    if (2 * timescales < width) {
      const std::array<Parameter, 2> parts = {
          table, scope.zeros("rest", {mostPositions, width - 2 * timescales})};
      table = scope.concatColumns("table", parts);
    }
  }
  return x + scope.gather(table, scope.positions(rows));
}

/// Section 2.3. The target, with timing added and convolved, attends to itself and then to the
/// source; without projections only to the source, whose rows are keys and values.
Tensor MultiModel::attention(const Scope &model, const Scope &scope, const Tensor &x,
                             const ConvRows &rows, const Memory &source, Tensor *alignment) const {
  Entry &entry = *rows.entry;
  Tensor query = addTiming(model, x, rows.rows);
  for (size_t i = 0; i < queries.size(); ++i) {
    query = step(scope.scope("steps", static_cast<int64_t>(i)), query, queries[i], rows);
  }
  Attended attended;
  if (heads == 0) {
    attended = attend(scope, query, rows.rows, source, 1, {.scale = dotProductScale(width)});
    *alignment = attended.probabilities;
    return scope.layerNorm("norm", x + attended.context, epsilon);
  }
  const Scope self = scope.scope("self_attention"), cross = scope.scope("cross_attention");
  const double scale = dotProductScale(width / heads);
  const Segments seen = rows.rows.history();
  const auto keep = [&](std::string_view name) {
    return entry.cache(self.scope(name).name(), width)
        .append(self.linear(name, query, width), rows.rows)
        .rows(seen);
  };
  const Tensor key = keep("key"), value = keep("value");
  attended = attend(self, self.linear("query", query, width), rows.rows, {key, value, seen}, heads,
                    {.scale = scale, .visibility = Visibility::causal()});
  query = self.linear("output", attended.context, width);
  const Memory memory = {entry.cache(cross.scope("key").name(), width).rows(source.rows),
                         entry.cache(cross.scope("value").name(), width).rows(source.rows),
                         source.rows};
  attended = attend(cross, cross.linear("query", query, width), rows.rows, memory, heads,
                    {.scale = scale});
  *alignment = attended.probabilities;
  return cross.linear("output", attended.context, width);
}

// --- Stacks ----------------------------------------------------------------------------------

void MultiModel::encode(const Scope &model, Entry entry) const {
  ConvRows places{.entry = &entry, .rows = entry.segments()};
  const Tensor given = bottom(model, places);
  // Pixels are consecutive rows, without a width.
  const ConvRows rows{.entry = &entry, .rows = places.rows};
  Tensor x = addTiming(model, given, rows.rows);
  std::vector<Tensor> gates;
  for (size_t unit = 0; unit < encoder.size(); ++unit) {
    const Scope scope = model.scope("encoder", static_cast<int64_t>(unit));
    x = encoder[unit] == MultiModelUnit::Block
            ? convBlock(scope.scope("block"), x, rows)
            : chooseExperts(scope.scope("moe"), x, rows.rows, gates);
  }
  entry.output("encoder", x);
  if (!gates.empty()) {
    entry.output("encoder.gates", model.scope("encoder").concat(gates));
  }
  if (targetVocabulary == 0) {
    entry.output("class.logits", classify(model.scope("top"), x, places));
    return;
  }
  const auto remember = [&](const Scope &cross) {
    for (std::string_view name : {"key", "value"}) {
      entry.cache(cross.scope(name).name(), width).append(cross.linear(name, x, width), rows.rows);
    }
  };
  if (heads == 0) {
    entry.cache("source.key", width).append(x, rows.rows);
    entry.cache("source.value", width).append(x, rows.rows);
    return;
  }
  remember(model.scope("attention.cross_attention"));
  for (size_t unit = 0; unit < decoder.size(); ++unit) {
    if (decoder[unit] == MultiModelUnit::Block) {
      remember(
          model.scope("decoder", static_cast<int64_t>(unit)).scope("attention.cross_attention"));
    }
  }
}

/// Section 2.4: the mixer, then blocks with attention between them. A target starts with the
/// embedding of a command: command c is token vocabulary + c.
void MultiModel::decode(const Scope &model, Entry entry) const {
  const Ids target = entry.input("target");
  const ConvRows rows{.entry = &entry, .rows = entry.segments(), .causal = true, .keeps = true};
  // Without projections the rows of the encoder are the keys and values of every attention.
  Memory source{{}, {}, entry.memory("memory")};
  if (heads == 0) {
    source.key = entry.cache("source.key", width).rows(source.rows);
    source.value = entry.cache("source.value", width).rows(source.rows);
  }
  // The vocabulary, then the commands, whose embeddings are not scaled.
  const Scope embedding = model.scope("embedding");
  const std::array<Parameter, 2> tokens = {
      model.parameter("target.weight", {targetVocabulary, width}),
      embedding.zeros("no_tokens", {commands, width})};
  const std::array<Parameter, 2> tasks = {embedding.zeros("no_commands", {targetVocabulary, width}),
                                          model.parameter("command.weight", {commands, width})};
  const Tensor shifted = embedding.gather(embedding.concat("tokens", tokens), target) *
                             std::sqrt(static_cast<double>(width)) +
                         embedding.gather(embedding.concat("commands", tasks), target);
  Tensor alignment;
  const Tensor attended =
      attention(model, model.scope("attention"), shifted, rows, source, &alignment);
  entry.output("mixer.attention", alignment);
  Tensor x = merge(model.scope("merge"), attended, shifted, rows);
  for (int64_t index = 0; index < mixerBlocks; ++index) {
    x = convBlock(model.scope("mixer", index), x, rows);
  }
  entry.output("mixer", x);
  std::vector<Tensor> gates;
  for (size_t unit = 0; unit < decoder.size(); ++unit) {
    const Scope scope = model.scope("decoder", static_cast<int64_t>(unit));
    if (decoder[unit] == MultiModelUnit::Experts) {
      x = chooseExperts(scope.scope("moe"), x, rows.rows, gates);
      continue;
    }
    x = convBlock(scope.scope("block"), x, rows);
    x = x + attention(model, scope.scope("attention"), x, rows, source, &alignment);
  }
  if (!gates.empty()) {
    entry.output("decoder.gates", model.scope("decoder").concat(gates));
  }
  entry.output("logits",
               model.linear(x, model.parameter("output.weight", {targetVocabulary, width})));
  entry.output("attention", alignment);
}

} // namespace heddle
