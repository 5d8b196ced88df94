// SPDX-License-Identifier: Apache-2.0
///
/// Recurrent cells and encoders. The plain cell: Elman, "Finding structure in time". The gated
/// recurrent unit: Cho et al., "Learning phrase representations using RNN encoder-decoder for
/// statistical machine translation"; with the reset gate after the recurrent product: cuDNN and
/// PyTorch. The long short-term memory: Hochreiter and Schmidhuber, with a forget gate: Gers,
/// Schmidhuber and Cummins. Both directions: Schuster and Paliwal, "Bidirectional recurrent neural
/// networks". How a decoder starts: Bahdanau, Cho and Bengio, "Neural machine translation by
/// jointly learning to align and translate"; Luong, Pham and Manning, "Effective approaches to
/// attention-based neural machine translation".
#include "frontend/Families/Recurrent.h"

#include "formats/Config/Config.h"
#include "frontend/Families/Family.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

// --- cells -----------------------------------------------------------------------------------

/// Part `index` of rows whose parts are `width` columns each.
static Tensor part(const Tensor &x, int64_t index, int64_t width) {
  return x.columns(index * width, width);
}

static Tensor sigmoid(const Tensor &x) { return x.activate(Activation::Sigmoid); }

/// (1 - gate) * zero + gate * one
static Tensor between(const Tensor &gate, const Tensor &zero, const Tensor &one) {
  return zero + gate * (one + zero * -1.0);
}

Tensor linearOfPieces(const Scope &scope, std::string_view name, std::span<const Tensor> pieces,
                      int64_t width, Bias bias) {
  if (pieces.size() == 1) {
    return scope.linear(name, pieces[0], width, bias);
  }
  const Scope own = scope.scope(name);
  int64_t total = 0;
  for (const Tensor &piece : pieces) {
    total += piece.width();
  }
  const Parameter weight = own.parameter("weight", {width, total});
  Tensor sum;
  int64_t first = 0;
  for (const Tensor &piece : pieces) {
    const Parameter columns =
        own.columns(fmt::format("weight.{}", first), weight, first, piece.width());
    const bool hasBias = bias == Bias::Yes && first == 0;
    const Tensor term =
        own.linear(piece, columns, hasBias ? own.parameter("bias", {width}) : Parameter());
    sum = sum.valid() ? sum + term : term;
    first += piece.width();
  }
  return sum;
}

/// h = tanh(W x + U h + b)
static Recurrence stepTanh(const Scope &cell, std::span<const Tensor> x,
                           std::span<const Tensor> before, int64_t n) {
  const Tensor h =
      tanh(linearOfPieces(cell, "input", x, n) + cell.linear("hidden", before[0], n, Bias::No));
  return {{h}, {h}};
}

/// r, u = sigmoid(W x + U h + b); h = (1 - u) h + u tanh(W x + U (r h) + b)
static Recurrence stepGru(const Scope &cell, std::span<const Tensor> x,
                          std::span<const Tensor> before, int64_t n) {
  const Scope hidden = cell.scope("hidden");
  const Parameter weight = hidden.parameter("weight", {3 * n, n});
  const Tensor w = linearOfPieces(cell, "input", x, 3 * n);
  const Tensor gates =
      sigmoid(w.columns(0, 2 * n) +
              hidden.linear(before[0], hidden.rows("gates.weight", weight, 0, 2 * n)));
  const Tensor reset = part(gates, 0, n) * before[0];
  const Tensor candidate =
      tanh(part(w, 2, n) + hidden.linear(reset, hidden.rows("candidate.weight", weight, 2 * n, n)));
  const Tensor h = between(part(gates, 1, n), before[0], candidate);
  return {{h}, {h}};
}

/// r, u = sigmoid(W x + b + U h + b'); h = (1 - u) tanh(W x + b + r (U h + b')) + u h
static Recurrence stepGruResetAfter(const Scope &cell, std::span<const Tensor> x,
                                    std::span<const Tensor> before, int64_t n) {
  const Tensor w = linearOfPieces(cell, "input", x, 3 * n);
  const Tensor v = cell.linear("hidden", before[0], 3 * n);
  const Tensor gates = sigmoid(w.columns(0, 2 * n) + v.columns(0, 2 * n));
  const Tensor candidate = tanh(part(w, 2, n) + part(gates, 0, n) * part(v, 2, n));
  const Tensor h = between(part(gates, 1, n), candidate, before[0]);
  return {{h}, {h}};
}

/// i, f, g, o = W x + U h + b; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c)
static Recurrence stepLstm(const Scope &cell, std::span<const Tensor> x,
                           std::span<const Tensor> before, int64_t n) {
  const Tensor gates =
      linearOfPieces(cell, "input", x, 4 * n) + cell.linear("hidden", before[0], 4 * n, Bias::No);
  const Tensor c =
      sigmoid(part(gates, 1, n)) * before[1] + sigmoid(part(gates, 0, n)) * tanh(part(gates, 2, n));
  const Tensor h = sigmoid(part(gates, 3, n)) * tanh(c);
  return {{h, c}, {h}};
}

Recurrence stepCell(const Scope &cell, CellKind kind, std::span<const Tensor> x,
                    std::span<const Tensor> before, int64_t n) {
  switch (kind) {
  case CellKind::Tanh:
    return stepTanh(cell, x, before, n);
  case CellKind::Gru:
    return stepGru(cell, x, before, n);
  case CellKind::GruResetAfter:
    return stepGruResetAfter(cell, x, before, n);
  case CellKind::Lstm:
    return stepLstm(cell, x, before, n);
  }
  return {};
}

/// Runs one layer in one direction: returns its rows, and the state (h, and c of an LSTM) after the
/// last step.
static Recurrence runLayer(const Scope &cell, CellKind kind, const Tensor &x, int64_t n,
                           const Segments &rows, bool reversed) {
  std::vector<int64_t> carried(kind == CellKind::Lstm ? 2 : 1, n);
  const auto step = [&](std::span<const Tensor> now, std::span<const Tensor> before) {
    return stepCell(cell, kind, now, before, n);
  };
  return cell.recurrence({x}, carried, rows, step, {.reversed = reversed});
}

// --- the encoder -----------------------------------------------------------------------------

/// Computes the initial states of the decoder's layers: "Neural machine translation by jointly
/// learning", appendix A.2.2, for `backward`; "Effective approaches", section 3, for `copy`.
void Recurrent::start(const Scope &model, Entry &entry, const std::vector<Recurrence> &ends) const {
  if (bridge == Bridge::Zeros) {
    return;
  }
  const auto begin = [&](const std::string &name, const Tensor &x) {
    entry.output("start." + name, x);
    entry.state(name, decoder.hidden).store(x);
  };
  for (int64_t index = 0; index < decoder.layers; ++index) {
    const std::string number = std::to_string(index);
    if (bridge == Bridge::Copy) {
      const std::vector<Tensor> &end = ends[static_cast<size_t>(index)].carried;
      begin("hidden." + number, end[0]);
      if (end.size() > 1) {
        begin("cell." + number, end[1]);
      }
      continue;
    }
    const Tensor &last = ends.back().carried[0];
    const bool isBackward = bridge == Bridge::Backward;
    const Tensor x =
        isBackward ? last.columns(last.width() - encoder.hidden, encoder.hidden) : last;
    const Scope layer = model.scope("bridge", index);
    const Parameter weight = layer.parameter("weight", {decoder.hidden, x.width()});
    const Parameter bias = isBackward ? Parameter() : layer.parameter("bias", {decoder.hidden});
    begin("hidden." + number, tanh(layer.linear(x, weight, bias)));
  }
}

void Recurrent::encode(const Scope &model, Entry entry) const {
  const Ids source = entry.input("source");
  const Segments rows = entry.segments();
  Tensor x = model.gather("source", source, vocabulary, width);
  std::vector<Recurrence> ends;
  for (int64_t index = 0; index < encoder.layers; ++index) {
    const Scope layer = model.scope("encoder.layers", index);
    Recurrence end =
        runLayer(layer.scope("forwards"), encoder.cell, x, encoder.hidden, rows, reverse);
    Tensor y = end.given[0];
    if (goesBothWays(index)) {
      const Recurrence back =
          runLayer(layer.scope("backwards"), encoder.cell, x, encoder.hidden, rows, !reverse);
      y = layer.concat({y, back.given[0]});
      for (size_t i = 0; i < end.carried.size(); ++i) {
        end.carried[i] = layer.concat({end.carried[i], back.carried[i]});
      }
    }
    x = index >= encoder.residualFrom ? x + y : y;
    ends.push_back(std::move(end));
  }
  entry.output("encoder", x);
  start(model, entry, ends);
  if (attention.kind == ScoreKind::Last) {
    entry.state("context", memoryWidth()).store(ends.back().carried[0]);
  }
  if (attention.hasScores()) {
    remember(model, entry, x, rows);
  }
}

} // namespace heddle
