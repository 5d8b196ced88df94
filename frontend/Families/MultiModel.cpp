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
  /// Channels of one: those it sees and those it makes.
  int64_t summed = 0, made = 0;

  Parts(const ConvStep &step, int64_t width)
      : count(std::max<int64_t>(1, std::abs(step.separability))), summed(width / count),
        made(step.made / count) {}
};

static Window windowOf(const ConvStep &step, bool causal) {
  return {.height = step.kernel,
          .strideDown = step.stride,
          .dilationDown = step.dilation,
          .causal = causal};
}

/// The state with the rows that a decoder's step sees before a run.
static State rowsBefore(const Scope &scope, const Tensor &x, const ConvStep &step,
                        const ConvRows &rows) {
  return rows.keeps && step.kernel > 1
             ? rows.entry->state(scope.scope("before").name(),
                                 (step.kernel - 1) * step.dilation * x.width())
             : State();
}

/// A linear map of each group: their matrices lie one below the other in `matrix`.
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

/// The tensors `name` of `parts` parts from `first` on, one below the other.
static Parameter stacked(const Scope &scope, const Scope &derived, std::string_view name,
                         int64_t first, int64_t parts, std::initializer_list<int64_t> shape) {
  std::vector<Parameter> all;
  for (int64_t part = first; part < first + parts; ++part) {
    all.push_back(
        scope.scope("parts", part).parameter(name, std::span(shape.begin(), shape.size())));
  }
  return parts == 1 ? all.front() : derived.concat(name, all);
}

/// Depthwise convolutions, zero outside the sequence, with the weights `depthwise`,
/// [w, 1, kernel, 1].
static Tensor depthwise(const Scope &derived, const Tensor &x, const Parameter &weight,
                        const ConvStep &step, const ConvRows &rows) {
  const State before = rowsBefore(derived, x, step, rows);
  const Parameter flat = derived.reshape("elements", weight, {x.width(), step.kernel});
  const Tensor y =
      derived.convolve(x, flat, windowOf(step, rows.causal), rows.in, rows.out, before);
  if (before.valid()) {
    before.keep(x, rows.in);
  }
  return y;
}

/// Ordinary convolutions of `groups` groups of channels, with weights [n, w / groups, kernel, 1];
/// those that see one row are a linear map.
static Tensor ordinary(const Scope &derived, const Tensor &x, const Parameter &weight,
                       int64_t groups, const ConvStep &step, const ConvRows &rows) {
  const State before = rowsBefore(derived, x, step, rows);
  const bool seesOne = step.kernel == 1 && step.stride == 1;
  const Tensor seen =
      seesOne ? x : x.patches(windowOf(step, rows.causal), rows.in, rows.out, groups, before);
  if (before.valid()) {
    before.keep(x, rows.in);
  }
  return mapGroups(derived, rows, seen, derived.patchMatrix("matrix", weight), groups);
}

/// Section 2.2: LN(conv(ReLU(x))).
Tensor MultiModel::step(const Scope &scope, const Tensor &given, const ConvStep &step,
                        const ConvRows &rows) const {
  const Tensor x = step.rectifies ? given.activate(Activation::Relu) : given;
  const Parts parts(step, x.width());
  const Scope all = scope.scope("parts");
  Tensor y;
  if (step.separability <= 0) {
    const Parameter deep =
        stacked(scope, all, "depthwise", 0, parts.count, {parts.summed, 1, step.kernel, 1});
    const Parameter pointwise = stacked(scope, all.scope("pointwise"), "pointwise.weight", 0,
                                        parts.count, {parts.made, parts.summed});
    y = mapGroups(all.scope("pointwise"), rows, depthwise(all, x, deep, step, rows), pointwise,
                  parts.count);
  } else {
    const Parameter weight =
        stacked(scope, all, "weight", 0, parts.count, {parts.made, parts.summed, step.kernel, 1});
    y = ordinary(all, x, weight, parts.count, step, rows);
    if (parts.count > 1) {
      y = scope.linear("mix", y, step.made);
    }
  }
  return scope.layerNorm("norm", y, epsilon);
}

/// The step of the mixer, of [attended; target] side by side: half of its groups see the one, half
/// the other, and what mixes them is a sum of two linear maps. Nothing needs to be side by side.
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
      y = own.linear(ordinary(own, x, weight, half, step, rows),
                     own.columns("mix", mix, side * (width / 2), width / 2),
                     side == 0 ? scope.parameter("mix.bias", {width}) : Parameter());
    } else if (step.separability == 1) {
      const Parameter both = scope.reshape(
          "flat", scope.parameter("parts.0.weight", {width, 2 * width, step.kernel, 1}),
          {width, 2 * width * step.kernel});
      const Parameter half =
          own.columns("flat", both, side * width * step.kernel, width * step.kernel);
      y = ordinary(own, x, own.reshape("weight", half, {width, width, step.kernel, 1}), 1, step,
                   rows);
    } else {
      const Parameter both = scope.parameter("parts.0.depthwise", {2 * width, 1, step.kernel, 1});
      y = own.linear(
          depthwise(own, x, own.rows("depthwise", both, side * width, width), step, rows),
          own.columns("pointwise", mix, side * width, width));
    }
    sum = side == 0 ? y : sum + y;
  }
  return scope.layerNorm("norm", sum, epsilon);
}

/// Section 2.2: four steps in two pairs with residual connections. tensor2tensor's has the result
/// of the first pair twice.
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

/// Section 2.2.2: LN(x + the sum of g_e E_e(x) over the experts e that a row chooses), g the
/// softmax over these alone. `gates` get those of all experts, 0 for the others.
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

/// Section 2.3. The target, with timing and convolved, attends to itself and then to the source; or
/// without projections to the source alone, whose rows are keys and values.
Tensor MultiModel::attention(const Scope &model, const Scope &scope, const Tensor &x,
                             const ConvRows &rows, const Memory &source, Tensor *alignment) const {
  Entry &entry = *rows.entry;
  Tensor query = addTiming(model, x, rows.in);
  for (size_t i = 0; i < queries.size(); ++i) {
    query = step(scope.scope("steps", static_cast<int64_t>(i)), query, queries[i], rows);
  }
  Attended attended;
  if (heads == 0) {
    attended = attend(scope, query, rows.in, source, 1, {.scale = dotProductScale(width)});
    *alignment = attended.probabilities;
    return scope.layerNorm("norm", x + attended.context, epsilon);
  }
  const Scope self = scope.scope("self_attention"), cross = scope.scope("cross_attention");
  const double scale = dotProductScale(width / heads);
  const Segments seen = rows.in.history();
  const auto keep = [&](std::string_view name) {
    return entry.cache(self.scope(name).name(), width)
        .append(self.linear(name, query, width), rows.in)
        .rows(seen);
  };
  const Tensor key = keep("key"), value = keep("value");
  attended = attend(self, self.linear("query", query, width), rows.in, {key, value, seen}, heads,
                    {.scale = scale, .visibility = Visibility::causal()});
  query = self.linear("output", attended.context, width);
  const Memory memory = {entry.cache(cross.scope("key").name(), width).rows(source.rows),
                         entry.cache(cross.scope("value").name(), width).rows(source.rows),
                         source.rows};
  attended =
      attend(cross, cross.linear("query", query, width), rows.in, memory, heads, {.scale = scale});
  *alignment = attended.probabilities;
  return cross.linear("output", attended.context, width);
}

// --- Stacks ----------------------------------------------------------------------------------

/// Section 2.5.2, Xception's exit on a text, then ReLU, the mean of all places and a linear map.
Tensor MultiModel::classify(const Scope &top, const Tensor &x, Entry &entry) const {
  const Segments rows = entry.segments();
  const ConvRows all{.entry = &entry, .in = rows, .causal = true};
  const Segments fewer = rows.strided(4);
  const ConvRows strided{.entry = &entry, .in = rows, .out = fewer, .causal = true};
  const ConvRows left{.entry = &entry, .in = fewer, .causal = true};
  const int64_t wide = 5 * width / 4;
  const auto separable = [&](int64_t index, const Tensor &input, int64_t made, bool rectifies,
                             const ConvRows &over) {
    return step(top.scope("steps", index), input,
                {.made = made, .kernel = 5, .rectifies = rectifies}, over);
  };
  const Tensor skip = step(top.scope("skip"), x,
                           {.made = wide, .kernel = 5, .stride = 4, .separability = 1}, strided);
  Tensor y = separable(1, separable(0, x, width, true, all), wide, true, all);
  y = y.largest({.height = 5, .strideDown = 4, .causal = true}, rows, fewer) + skip;
  y = separable(3, separable(2, y, 2 * width, false, left), 5 * width / 2, true, left);
  const Tensor mean = y.activate(Activation::Relu).pool(transformer::Pooling::Mean, fewer);
  return top.linear("output", mean, classes);
}

void MultiModel::encode(const Scope &model, Entry entry) const {
  const Ids source = entry.input("source");
  const ConvRows rows{.entry = &entry, .in = entry.segments()};
  const Tensor bottom =
      model.gather(model.parameter("source.weight", {sourceVocabulary, width}), source) *
      std::sqrt(static_cast<double>(width));
  Tensor x = addTiming(model, bottom, rows.in);
  std::vector<Tensor> gates;
  for (size_t unit = 0; unit < encoder.size(); ++unit) {
    const Scope scope = model.scope("encoder", static_cast<int64_t>(unit));
    x = encoder[unit] == MultiModelUnit::Block
            ? convBlock(scope.scope("block"), x, rows)
            : chooseExperts(scope.scope("moe"), x, rows.in, gates);
  }
  entry.output("encoder", x);
  if (!gates.empty()) {
    entry.output("encoder.gates", model.scope("encoder").concat(gates));
  }
  if (targetVocabulary == 0) {
    entry.output("class.logits", classify(model.scope("top"), x, entry));
    return;
  }
  const auto remember = [&](const Scope &cross) {
    for (std::string_view name : {"key", "value"}) {
      entry.cache(cross.scope(name).name(), width).append(cross.linear(name, x, width), rows.in);
    }
  };
  if (heads == 0) {
    entry.cache("source.key", width).append(x, rows.in);
    entry.cache("source.value", width).append(x, rows.in);
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
/// embedding of a command, which is the token that many tokens after the last of the vocabulary.
void MultiModel::decode(const Scope &model, Entry entry) const {
  const Ids target = entry.input("target");
  const ConvRows rows{.entry = &entry, .in = entry.segments(), .causal = true, .keeps = true};
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
      x = chooseExperts(scope.scope("moe"), x, rows.in, gates);
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
