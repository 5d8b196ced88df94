// SPDX-License-Identifier: Apache-2.0
///
/// Recurrent decoders. Looking at the source: Bahdanau, Cho and Bengio, "Neural machine translation
/// by jointly learning to align and translate" (additive, maxout); Luong, Pham and Manning,
/// "Effective approaches to attention-based neural machine translation" (dot, general, concat,
/// input feeding); Cho et al., "Learning phrase representations using RNN encoder-decoder" (the
/// last state at every step); without: Sutskever, Vinyals and Le, "Sequence to sequence learning
/// with neural networks".
#include "frontend/Families/Recurrent.h"

#include "frontend/Families/DotProductAttention.h"

#include <array>
#include <cmath>

namespace heddle {

using transformer::Activation;

static Tensor tanh(const Tensor &x) { return x.activate(Activation::Tanh); }

// --- attention -------------------------------------------------------------------------------

static constexpr std::string_view keyName = "attention.key";
static constexpr std::string_view valueName = "attention.value";
static constexpr std::string_view placeName = "attention.place";
static constexpr std::string_view lengthName = "attention.length";

/// The number one, [1].
static Tensor oneOf(const Scope &scope, Entry &entry) {
  return entry.weight(scope.reshape("one", scope.onesFrom("one.table", 0, 1, 1), {1}));
}

/// The keys of the memory, once for each sentence: U h of v . tanh(W q + U h), W h of q W h.
static Tensor keysOf(const Scope &scope, const Recurrent &model, const Tensor &memory) {
  const RecurrentAttention &attention = model.attention;
  const int64_t n = model.decoder.hidden;
  const int64_t w = model.memoryWidth();
  switch (attention.kind) {
  case ScoreKind::Additive:
    return attention.projectMemory ? scope.linear("memory", memory, attention.width, Bias::No)
                                   : memory;
  case ScoreKind::General:
    return scope.linear(memory, scope.parameter("weight", {n, w}));
  case ScoreKind::Concat:
    return scope.linear(
        memory,
        scope.columns("memory.weight", scope.parameter("weight", {attention.width, n + w}), n, w));
  default:
    return memory;
  }
}

void Recurrent::remember(const Scope &model, Entry &entry, const Tensor &memory,
                         const Segments &rows) const {
  const Tensor keys = keysOf(model.scope("attention"), *this, memory);
  entry.cache(keyName, keys.width()).append(keys, rows);
  entry.cache(valueName, memory.width()).append(memory, rows);
  if (attention.window == RecurrentAttention::Window::None) {
    return;
  }
  // The positions of the keys, counted, and how many there are.
  const Tensor one = oneOf(model.scope("attention"), entry);
  const auto count = [&](std::span<const Tensor>, std::span<const Tensor> before) {
    return Recurrence{{before[0] + one}, {before[0]}};
  };
  const Recurrence counted = model.scope("attention").recurrence({memory}, {1}, rows, count);
  if (!counted.given.empty()) {
    entry.cache(placeName, 1).append(counted.given[0], rows);
    entry.state(lengthName, 1).store(counted.carried[0]);
  }
}

namespace {
/// The memory of the source, and how a state looks at it.
class Look {
public:
  Look(const Recurrent &model, const Scope &scope, Entry &entry)
      : attention(model.attention), n(model.decoder.hidden), w(model.memoryWidth()), scope(scope) {
    if (!attention.hasScores()) {
      return;
    }
    memory.rows = entry.memory("memory");
    const bool isProduct = attention.kind == ScoreKind::Dot || attention.kind == ScoreKind::General;
    memory.key = entry.cache(keyName, isProduct ? n : attention.width).rows(memory.rows);
    memory.value = entry.cache(valueName, w).rows(memory.rows);
    if (!isProduct) {
      const Parameter v = scope.parameter("v", {attention.width});
      weights = entry.weight(scope.reshape("v.heads", v, {1, attention.width}));
    }
    if (hasWindow()) {
      one = oneOf(scope, entry);
      ones = entry.weight(scope.onesFrom("one.table", 0, 1, 1));
      places = entry.cache(placeName, 1).rows(memory.rows);
    }
  }

  bool hasWindow() const { return attention.window != RecurrentAttention::Window::None; }
  bool isMonotonic() const { return attention.window == RecurrentAttention::Window::Monotonic; }
  bool isPredictive() const { return attention.window == RecurrentAttention::Window::Predictive; }
  /// The number of the step after `step`.
  Tensor after(const Tensor &step) const { return step + one; }

  /// Where a step looks among the `length` keys, "Effective approaches", section 3.2: at the key of
  /// its own number or, if there are not so many, the last; or at S sigmoid(v . tanh(W q)). All are
  /// rows of one number.
  Tensor place(const Tensor &state, const Tensor &step, const Tensor &length) const {
    if (isMonotonic()) {
      const Tensor last = (length * -1.0 + one) * -1.0;
      return least(step, last);
    }
    const Tensor inner = tanh(scope.linear("position", state, n, Bias::No));
    const Parameter v = scope.reshape("position_v.row", scope.parameter("position_v", {n}), {1, n});
    return length * scope.linear(inner, v).activate(Activation::Sigmoid);
  }

  /// What the scores take of a state: W q of v . tanh(W q + U h).
  Tensor query(const Tensor &state) const {
    switch (attention.kind) {
    case ScoreKind::Additive:
      return scope.linear("query", state, attention.width, Bias::No);
    case ScoreKind::Concat:
      return scope.linear(
          state,
          scope.columns("query.weight", scope.parameter("weight", {attention.width, n + w}), 0, n));
    default:
      return state;
    }
  }

  /// The context of queries, and where they look; `place` and `length` are of windows.
  Attended operator()(const Tensor &query, const Segments &rows, const Tensor &place,
                      const Tensor &length) const {
    Tensor scores;
    if (weights.valid()) {
      const Tensor pairs = tanh(query.pairSum(memory.key, rows, memory.rows));
      scores = scope.contract("tkw,hw->thk", pairs, weights, rows, memory.rows);
    } else {
      scores = scope.contract("thd,khd->thk", query.splitHeads(1), memory.key.splitHeads(1), rows,
                              memory.rows);
    }
    if (hasWindow()) {
      scores = scores + windowBias(rows, place, length);
    }
    Tensor probabilities = scores.softmax(memory.rows);
    if (isPredictive()) {
      probabilities = probabilities * nearness(rows, place);
    }
    return {mixValues(scope, probabilities, rows, memory.value, memory.rows, 1), probabilities};
  }

private:
  /// The smaller of two, by elements.
  static Tensor least(const Tensor &a, const Tensor &b) {
    return a + (a + b * -1.0).activate(Activation::Relu) * -1.0;
  }
  /// x - 1/2
  Tensor lessHalf(const Tensor &x) const { return (x * -2.0 + one) * -0.5; }
  /// How far each key is after a place, [rows, keys, 1].
  Tensor distances(const Segments &rows, const Tensor &place) const {
    return (place * -1.0).pairSum(places, rows, memory.rows);
  }
  /// One number for each row and key as scores of one head.
  Tensor asScores(const Tensor &pairs, const Segments &rows) const {
    return scope.contract("tkw,hw->thk", pairs, ones, rows, memory.rows);
  }

  /// What hides the keys j that are more than D from the centre, a step's own number or
  /// min(floor(p), S - 1) of a predicted place p: |j - floor(p)| <= D is |j - (p - 1/2)| <= D + 1/2
  /// where p is no integer.
  Tensor windowBias(const Segments &rows, const Tensor &place, const Tensor &length) const {
    const Tensor middle = isMonotonic() ? place : lessHalf(least(place, lessHalf(length)));
    const double within = 1 / (static_cast<double>(attention.reach) + 0.5);
    const Tensor inside = distances(rows, middle).activate(Activation::Abs) * -within + one;
    constexpr double hidden = -1e30;
    return asScores((inside * -1.0).activate(Activation::Relu) * hidden, rows);
  }

  /// exp(-(j - p)^2 / (2 (D/2)^2)). Below -20 a sigmoid is the exponential function to the last
  /// bit.
  Tensor nearness(const Segments &rows, const Tensor &place) const {
    constexpr double far = 20;
    const auto reach = static_cast<double>(attention.reach);
    const Tensor distance = distances(rows, place);
    const Tensor exponent = (distance * distance * (2 / (reach * reach * far)) + one) * -far;
    return asScores(exponent.activate(Activation::Sigmoid) * std::exp(far), rows);
  }

private:
  const RecurrentAttention &attention;
  int64_t n, w;
  Scope scope;
  Memory memory;
  /// The v of scores that are no products, [1, width].
  Tensor weights;
  /// One, [1] and [1, 1], and the positions of the keys.
  Tensor one, ones, places;
};
} // namespace

// --- readout ---------------------------------------------------------------------------------

/// tanh(W [context; state]); without a context, tanh(W state).
static Tensor combine(const Scope &model, const Tensor &context, const Tensor &state) {
  std::vector<Tensor> pieces;
  if (context.valid()) {
    pieces.push_back(context);
  }
  pieces.push_back(state);
  return tanh(linearOfPieces(model, "combine", pieces, state.width(), Bias::No));
}

/// Columns 2k and 2k + 1 of A state + a + B embedding + C context, the larger one of each pair. The
/// rows of a map of one of both lie in every second row of the map.
static Tensor maxout(const Scope &scope, const Tensor &state, const Tensor &embedding,
                     const Tensor &context, int64_t width) {
  const auto half = [&](int64_t index) {
    const std::string number = std::to_string(index);
    const auto piece = [&](std::string_view name, const Tensor &x, Bias bias) {
      const Scope own = scope.scope(name);
      const int64_t inputs = x.width();
      const Parameter weight = own.reshape(
          "weight.pairs", own.parameter("weight", {2 * width, inputs}), {width, 2 * inputs});
      Parameter added;
      if (bias == Bias::Yes) {
        const Parameter pairs =
            own.reshape("bias.pairs", own.parameter("bias", {2 * width}), {width, 2});
        added = own.reshape("bias." + number, own.columns("bias.column." + number, pairs, index, 1),
                            {width});
      }
      return own.linear(x, own.columns("weight." + number, weight, index * inputs, inputs), added);
    };
    Tensor sum = piece("state", state, Bias::Yes) + piece("embedding", embedding, Bias::No);
    return context.valid() ? sum + piece("context", context, Bias::No) : sum;
  };
  const Tensor even = half(0);
  return even + (half(1) + even * -1.0).activate(Activation::Relu);
}

/// The logits of states, or of attentional vectors.
Tensor Recurrent::read(const Scope &model, const Tensor &state, const Tensor &context,
                       const Tensor &embedding) const {
  Tensor z = state;
  if (readout.kind == Readout::Kind::Attentional && feed != Feed::Attentional) {
    z = combine(model, context, state);
  } else if (readout.kind == Readout::Kind::Maxout) {
    const Scope scope = model.scope("readout");
    z = maxout(scope, state, embedding, context, readout.width);
    z = readout.rank > 0 ? scope.linear("factor", z, readout.rank, Bias::No) : z;
  }
  return model.linear("output", z, targetVocabulary);
}

// --- the decoder -----------------------------------------------------------------------------

namespace {
/// What is carried from step to step: states of the entry, loaded before the first and stored after
/// the last.
class Carried {
public:
  explicit Carried(Entry &entry) : entry(entry) {}

  /// Adds a value; its number.
  size_t add(const std::string &name, int64_t width, bool isGiven) {
    states.push_back(entry.state(name, width));
    initial.push_back(states.back().load(isGiven ? Begins::Given : Begins::Zero));
    widths.push_back(width);
    return states.size() - 1;
  }
  void store(const std::vector<Tensor> &last) const {
    for (size_t i = 0; i < last.size(); ++i) {
      states[i].store(last[i]);
    }
  }

  std::vector<int64_t> widths;
  std::vector<Tensor> initial;

private:
  Entry &entry;
  std::vector<State> states;
};
} // namespace

void Recurrent::decode(const Scope &model, Entry entry) const {
  const Ids target = entry.input("target");
  const Segments rows = entry.segments();
  const int64_t n = decoder.hidden;
  const int64_t w = memoryWidth();
  const Look look(*this, model.scope("attention"), entry);
  const Tensor embedding = model.gather("target", target, targetVocabulary, width);
  const bool hasContext = attention.kind != ScoreKind::None;
  const bool attendsFirst = order == DecoderOrder::AttendFirst;
  const bool feedsContext = !attendsFirst && feed == Feed::Context && hasContext;
  const bool feedsAttentional = !attendsFirst && feed == Feed::Attentional;
  // Only what a later step needs is looked up step by step.
  const bool looksInStep =
      attention.hasScores() && (attendsFirst || feedsContext || feedsAttentional);

  std::vector<Tensor> inputs = {embedding};
  Tensor context;
  if (attention.kind == ScoreKind::Last) {
    context = entry.state("context", w).load(Begins::Given).spread(rows);
    inputs.push_back(context);
  }
  Tensor length;
  if (look.hasWindow()) {
    length = entry.state(lengthName, 1).load(Begins::Given).spread(rows);
    inputs.push_back(length);
  }
  Carried carried(entry);
  const size_t parts = decoder.cell == CellKind::Lstm ? 2 : 1;
  for (int64_t layer = 0; layer < decoder.layers; ++layer) {
    const std::string number = std::to_string(layer);
    carried.add("hidden." + number, n, bridge != Bridge::Zeros);
    if (parts == 2) {
      carried.add("cell." + number, n, bridge == Bridge::Copy);
    }
  }
  size_t fed = 0;
  if (feedsContext) {
    fed = carried.add("feed.context", w, false);
  } else if (feedsAttentional) {
    fed = carried.add("feed.attentional", n, false);
  }
  const size_t counted = look.isMonotonic() ? carried.add("feed.step", 1, false) : 0;

  // What a step gives, beside the state of the top layer that comes first.
  enum Given : size_t { Query = 1, Context, Previous, Attentional, Place, count };
  std::array<size_t, Given::count> places = {};
  const auto step = [&](std::span<const Tensor> now, std::span<const Tensor> before) {
    Recurrence left;
    const Tensor previous = before[parts * static_cast<size_t>(decoder.layers - 1)];
    Tensor seen = attention.kind == ScoreKind::Last ? now[1] : Tensor();
    Tensor query;
    Tensor place;
    const auto lookWith = [&](const Tensor &state) {
      query = look.query(state);
      if (look.hasWindow()) {
        place = look.place(state, look.isMonotonic() ? before[counted] : Tensor(), now.back());
      }
      seen = look(query, rows, place, now.back()).context;
    };
    if (looksInStep && attendsFirst) {
      lookWith(previous);
    }
    std::vector<Tensor> x = {now[0]};
    if (attendsFirst && seen.valid()) {
      x.push_back(seen);
    } else if (feedsContext || feedsAttentional) {
      x.push_back(before[fed]);
    }
    for (int64_t layer = 0; layer < decoder.layers; ++layer) {
      const size_t first = parts * static_cast<size_t>(layer);
      Recurrence next =
          stepCell(model.scope("layers", layer), decoder.cell, x, before.subspan(first, parts), n);
      const Tensor y = next.given[0];
      if (layer >= decoder.residualFrom) {
        x = {model.concat(x) + y};
      } else {
        x = {y};
      }
      left.carried.insert(left.carried.end(), next.carried.begin(), next.carried.end());
    }
    const Tensor top = x[0];
    if (looksInStep && !attendsFirst) {
      lookWith(top);
    }
    left.given = {top};
    const auto give = [&](Given what, const Tensor &value) {
      places[what] = left.given.size();
      left.given.push_back(value);
    };
    if (looksInStep) {
      give(Query, query);
      give(Context, seen);
    }
    if (look.isMonotonic() && !looksInStep) {
      place = look.place(top, before[counted], now.back());
    }
    if (place.valid()) {
      give(Place, place);
    }
    if (readout.isPrevious) {
      give(Previous, previous);
    }
    if (feedsContext) {
      left.carried.push_back(seen);
    } else if (feedsAttentional) {
      const Tensor vector = combine(model, seen, readout.isPrevious ? previous : top);
      left.carried.push_back(vector);
      give(Attentional, vector);
    }
    if (look.isMonotonic()) {
      left.carried.push_back(look.after(before[counted]));
    }
    return left;
  };
  const Recurrence result = model.scope("layers").recurrence(inputs, carried.widths, rows, step,
                                                             {.initial = carried.initial});
  if (result.given.empty()) {
    return;
  }
  carried.store(result.carried);
  const Tensor top = result.given[0];
  Tensor alignment;
  Tensor place = places[Place] > 0 ? result.given[places[Place]] : Tensor();
  if (look.isPredictive() && !looksInStep) {
    place = look.place(top, Tensor(), length);
  }
  if (looksInStep) {
    context = result.given[places[Context]];
    alignment = look(result.given[places[Query]], rows, place, length).probabilities;
  } else if (attention.hasScores()) {
    const Attended attended = look(look.query(top), rows, place, length);
    context = attended.context;
    alignment = attended.probabilities;
  }
  Tensor state = readout.isPrevious ? result.given[places[Previous]] : top;
  state = feedsAttentional ? result.given[places[Attentional]] : state;
  entry.output("logits", read(model, state, context, embedding));
  entry.output("decoder", top);
  if (context.valid()) {
    entry.output("context", context);
  }
  if (look.isPredictive()) {
    entry.output("position", place);
  }
  if (alignment.valid()) {
    entry.output("attention", alignment);
  }
}

} // namespace heddle
