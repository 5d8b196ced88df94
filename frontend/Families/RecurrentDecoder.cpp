// SPDX-License-Identifier: Apache-2.0
///
/// Recurrent decoders. With attention: Bahdanau, Cho and Bengio, "Neural machine translation by
/// jointly learning to align and translate" (maxout); Luong, Pham and Manning, "Effective
/// approaches to attention-based neural machine translation" (input feeding); Cho et al., "Learning
/// phrase representations using RNN encoder-decoder" (the last state at every step); without:
/// Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks".
#include "frontend/Families/Recurrent.h"

#include "frontend/Families/RecurrentAttention.h"

namespace heddle {

using transformer::Activation;

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

/// The maximum of columns 2k and 2k + 1 of A state + a + B embedding + C context. Both maps are
/// stored as one, in alternating rows.
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

/// Returns the logits of states, or of attentional vectors.
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
/// The carried values of the steps: states of the entry, loaded before the first step and stored
/// after the last.
class Carried {
public:
  explicit Carried(Entry &entry) : entry(entry) {}

  /// Adds a value and returns its index.
  size_t add(const std::string &name, int64_t width, bool isGiven) {
    states.push_back(entry.state(name, width));
    initial.push_back(states.back().load(isGiven ? Begins::Given : Begins::Zero));
    widths.push_back(width);
    return states.size() - 1;
  }
  /// Adds a number for each key of a memory.
  size_t addKeyed(const std::string &name, const Segments &memory) {
    states.push_back(entry.keyedState(name, 1));
    initial.push_back(states.back().load(memory));
    widths.push_back(1);
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

/// The values of a step; later steps and outputs use some of them.
struct StepValues {
  Tensor top, previous, query, place, context, alignment, attentional;
};

/// Writes the entry for the target: the carried values, one step, and the results of all steps.
class Decoding {
public:
  Decoding(const Recurrent &model, const Scope &scope, Entry &entry);
  /// Runs the steps over the embeddings and stores the carried values; returns false after an
  /// error.
  bool run(const Tensor &embedding);
  /// Returns the values of all steps as rows, for outputs.
  const StepValues &values() const { return all; }

private:
  Recurrence step(std::span<const Tensor> now, std::span<const Tensor> before);
  void look(StepValues &values, const Tensor &state, std::span<const Tensor> now,
            std::span<const Tensor> before, std::vector<Tensor> &looked) const;
  void advance(StepValues &values, std::vector<Tensor> x, std::span<const Tensor> before,
               Recurrence &left) const;
  void lookAfterwards();

  const Recurrent &model;
  const RecurrentAttention &attention;
  const Scope &scope;
  Segments rows;
  Look looking;
  bool attendsFirst, feedsContext, feedsAttentional, looksInStep;
  /// The number of states of a layer: h, and c of an LSTM.
  size_t parts;
  Tensor lastState, keyCount;
  Carried carried;
  /// The indices of carried values other than the layers' states.
  size_t fed = 0, counted = 0, aligned = 0, summed = 0;
  /// The values that steps return, in order.
  std::vector<Tensor StepValues::*> given;
  StepValues all;
};
} // namespace

Decoding::Decoding(const Recurrent &model, const Scope &scope, Entry &entry)
    : model(model), attention(model.attention), scope(scope), rows(entry.segments()),
      looking(model, scope.scope("attention"), entry),
      attendsFirst(model.order == DecoderOrder::AttendFirst),
      feedsContext(!attendsFirst && model.feed == Feed::Context &&
                   attention.kind != ScoreKind::None),
      feedsAttentional(!attendsFirst && model.feed == Feed::Attentional),
      // Attends within the steps only if a later step needs the result.
      looksInStep(attention.hasScores() &&
                  (attendsFirst || feedsContext || feedsAttentional || attention.hasLocation())),
      parts(model.decoder.cell == CellKind::Lstm ? 2 : 1), carried(entry) {
  if (attention.kind == ScoreKind::Last) {
    lastState = entry.state("context", model.memoryWidth()).load(Begins::Given).spread(rows);
  }
  if (attention.hasWindow()) {
    keyCount = entry.state(keyCountState, 1).load(Begins::Given).spread(rows);
  }
  const int64_t n = model.decoder.hidden;
  for (int64_t layer = 0; layer < model.decoder.layers; ++layer) {
    const std::string number = std::to_string(layer);
    carried.add("hidden." + number, n, model.bridge != Bridge::Zeros);
    if (parts == 2) {
      carried.add("cell." + number, n, model.bridge == Bridge::Copy);
    }
  }
  if (feedsContext) {
    fed = carried.add("feed.context", model.memoryWidth(), false);
  } else if (feedsAttentional) {
    fed = carried.add("feed.attentional", n, false);
  }
  if (attention.isMonotonic() || attention.beginsAtFirstKey) {
    counted = carried.add("feed.step", 1, false);
  }
  if (attention.hasLocation()) {
    aligned = carried.addKeyed("feed.alignment", looking.memoryRows());
  }
  if (attention.isCumulative) {
    summed = carried.addKeyed("feed.alignments", looking.memoryRows());
  }
}

/// Attends to the source with a state; appends the previous alignment and, if needed, the sum of
/// all alignments before this one to `looked`.
void Decoding::look(StepValues &values, const Tensor &state, std::span<const Tensor> now,
                    std::span<const Tensor> before, std::vector<Tensor> &looked) const {
  values.query = looking.query(state);
  const Tensor number = counted != 0 ? before[counted] : Tensor();
  if (attention.hasWindow()) {
    values.place = looking.place(state, number, now.back());
  }
  if (attention.hasLocation()) {
    looked.push_back(looking.looked(before[aligned], rows, number));
  }
  if (attention.isCumulative) {
    looked.push_back(looking.looked(before[summed], rows, number));
  }
  const Attended attended = looking(values.query, rows, values.place, now.back(), looked);
  values.context = attended.context;
  values.alignment = attended.probabilities;
}

/// One step of all layers.
void Decoding::advance(StepValues &values, std::vector<Tensor> x, std::span<const Tensor> before,
                       Recurrence &left) const {
  for (int64_t layer = 0; layer < model.decoder.layers; ++layer) {
    const size_t first = parts * static_cast<size_t>(layer);
    Recurrence next = stepCell(scope.scope("layers", layer), model.decoder.cell, x,
                               before.subspan(first, parts), model.decoder.hidden);
    const Tensor y = next.given[0];
    if (layer >= model.decoder.residualFrom) {
      x = {scope.concat(x) + y};
    } else {
      x = {y};
    }
    left.carried.insert(left.carried.end(), next.carried.begin(), next.carried.end());
  }
  values.top = x[0];
}

Recurrence Decoding::step(std::span<const Tensor> now, std::span<const Tensor> before) {
  Recurrence left;
  StepValues values;
  std::vector<Tensor> looked;
  values.previous = before[parts * static_cast<size_t>(model.decoder.layers - 1)];
  values.context = attention.kind == ScoreKind::Last ? now[1] : Tensor();
  if (looksInStep && attendsFirst) {
    look(values, values.previous, now, before, looked);
  }
  std::vector<Tensor> x = {now[0]};
  if (attendsFirst && values.context.valid()) {
    x.push_back(values.context);
  } else if (feedsContext || feedsAttentional) {
    x.push_back(before[fed]);
  }
  advance(values, x, before, left);
  if (looksInStep && !attendsFirst) {
    look(values, values.top, now, before, looked);
  } else if (attention.isMonotonic() && !looksInStep) {
    values.place = looking.place(values.top, before[counted], now.back());
  }
  if (feedsContext) {
    left.carried.push_back(values.context);
  } else if (feedsAttentional) {
    values.attentional =
        combine(scope, values.context, model.readout.isPrevious ? values.previous : values.top);
    left.carried.push_back(values.attentional);
  }
  if (counted != 0) {
    left.carried.push_back(looking.after(before[counted]));
  }
  if (attention.hasLocation()) {
    left.carried.push_back(values.alignment);
  }
  if (attention.isCumulative) {
    left.carried.push_back(looked[1] + values.alignment);
  }
  for (Tensor StepValues::*value : given) {
    left.given.push_back(values.*value);
  }
  return left;
}

bool Decoding::run(const Tensor &embedding) {
  std::vector<Tensor> inputs = {embedding};
  if (lastState.valid()) {
    inputs.push_back(lastState);
  }
  if (keyCount.valid()) {
    inputs.push_back(keyCount);
  }
  given = {&StepValues::top};
  const auto give = [&](Tensor StepValues::*value, bool isWanted) {
    if (isWanted) {
      given.push_back(value);
    }
  };
  give(&StepValues::query, looksInStep && !attention.hasLocation());
  give(&StepValues::context, looksInStep);
  give(&StepValues::alignment, attention.hasLocation());
  give(&StepValues::place, attention.hasWindow() && (looksInStep || attention.isMonotonic()));
  give(&StepValues::previous, model.readout.isPrevious);
  give(&StepValues::attentional, feedsAttentional);
  const Recurrence result = scope.scope("layers").recurrence(
      inputs, carried.widths, rows,
      [&](std::span<const Tensor> now, std::span<const Tensor> before) {
        return step(now, before);
      },
      {.initial = carried.initial});
  if (result.given.empty()) {
    return false;
  }
  carried.store(result.carried);
  for (size_t i = 0; i < given.size(); ++i) {
    all.*given[i] = result.given[i];
  }
  lookAfterwards();
  return true;
}

/// Computes results that only callers request from the results of all steps.
void Decoding::lookAfterwards() {
  if (!looksInStep) {
    all.context = lastState;
  }
  if (!attention.hasScores() || all.alignment.valid()) {
    return;
  }
  if (!looksInStep) {
    all.query = looking.query(all.top);
    if (attention.isPredictive()) {
      all.place = looking.place(all.top, Tensor(), keyCount);
    }
  }
  const Attended attended = looking(all.query, rows, all.place, keyCount, {});
  all.alignment = attended.probabilities;
  if (!looksInStep) {
    all.context = attended.context;
  }
}

void Recurrent::decode(const Scope &model, Entry entry) const {
  const Ids target = entry.input("target");
  Decoding decoding(*this, model, entry);
  const Tensor embedding = model.gather("target", target, targetVocabulary, width);
  if (!decoding.run(embedding)) {
    return;
  }
  const StepValues &values = decoding.values();
  const Tensor state = values.attentional.valid() ? values.attentional
                       : readout.isPrevious       ? values.previous
                                                  : values.top;
  entry.output("logits", read(model, state, values.context, embedding));
  entry.output("decoder", values.top);
  if (values.context.valid()) {
    entry.output("context", values.context);
  }
  if (attention.isPredictive()) {
    entry.output("position", values.place);
  }
  if (values.alignment.valid()) {
    entry.output("attention", values.alignment);
  }
}

} // namespace heddle
