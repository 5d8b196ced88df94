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

namespace heddle {

using transformer::Activation;

static Tensor tanh(const Tensor &x) { return x.activate(Activation::Tanh); }

// --- attention -------------------------------------------------------------------------------

static constexpr std::string_view keyName = "attention.key";
static constexpr std::string_view valueName = "attention.value";

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

  /// The context of queries, and where they look.
  Attended operator()(const Tensor &query, const Segments &rows) const {
    if (!weights.valid()) {
      return attend(scope, query, rows, memory, 1, {});
    }
    const Tensor pairs = tanh(query.pairSum(memory.key, rows, memory.rows));
    const Tensor scores = scope.contract("tkw,hw->thk", pairs, weights, rows, memory.rows);
    const Tensor probabilities = scores.softmax(memory.rows);
    return {mixValues(scope, probabilities, rows, memory.value, memory.rows, 1), probabilities};
  }

private:
  const RecurrentAttention &attention;
  int64_t n, w;
  Scope scope;
  Memory memory;
  /// The v of scores that are no products, [1, width].
  Tensor weights;
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
  const bool attendsFirst = order == StepOrder::AttendFirst;
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

  // What a step gives, beside the state of the top layer that comes first.
  enum Given : size_t { Query = 1, Context, Previous, Attentional, count };
  std::array<size_t, Given::count> places = {};
  const auto step = [&](std::span<const Tensor> now, std::span<const Tensor> before) {
    Recurrence left;
    const Tensor previous = before[parts * static_cast<size_t>(decoder.layers - 1)];
    Tensor seen = attention.kind == ScoreKind::Last ? now[1] : Tensor();
    Tensor query;
    const auto lookWith = [&](const Tensor &state) {
      query = look.query(state);
      seen = look(query, rows).context;
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
        x = {(x.size() == 1 ? x[0] : model.concat(x)) + y};
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
  if (looksInStep) {
    context = result.given[places[Context]];
    alignment = look(result.given[places[Query]], rows).probabilities;
  } else if (attention.hasScores()) {
    const Attended attended = look(look.query(top), rows);
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
  if (alignment.valid()) {
    entry.output("attention", alignment);
  }
}

} // namespace heddle
