// SPDX-License-Identifier: Apache-2.0
///
/// A recurrent encoder-decoder of the project's own format: its sizes, and its mathematics in the
/// order of the papers.
#ifndef HEDDLE_FRONTEND_FAMILIES_RECURRENT_H
#define HEDDLE_FRONTEND_FAMILIES_RECURRENT_H

#include "frontend/Builder/ModelBuilder.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

class Config;

/// What one step of a recurrent layer computes.
enum class CellKind {
  /// tanh(W x + U h + b)
  Tanh,
  /// The reset gate before the recurrent product, u for the new state.
  Gru,
  /// The reset gate after the recurrent product, u for the old state.
  GruResetAfter,
  Lstm,
};

/// Layers of one cell.
struct RecurrentStack {
  CellKind cell = CellKind::Tanh;
  int64_t hidden = 0;
  int64_t layers = 0;
  /// The first layer whose input is added to what it gives; `layers` if there is none.
  int64_t residualFrom = 0;
};

/// How the decoder's layers start.
enum class Bridge { Zeros, Copy, Backward, Linear };

/// When the decoder looks at the source: with the top layer's state before a step, or with what the
/// step gives.
enum class DecoderOrder { AttendFirst, StateFirst };

/// What goes into a step beside the embedding, of the step before.
enum class Feed { None, Context, Attentional };

/// How the decoder scores the states of the encoder. Last looks at the last of them alone.
enum class ScoreKind { None, Last, Additive, Dot, General, Concat, Location };

/// How the decoder looks at the source.
struct RecurrentAttention {
  ScoreKind kind = ScoreKind::None;
  /// How many terms are summed, where scores are no products.
  int64_t width = 0;
  /// Weights of keys are sigmoids of their scores over the sum of these, not a softmax.
  bool isSmooth = false;
  /// Location-sensitive scores: the filters over where steps have looked, their elements, whether
  /// they see the sum of all looks beside the last one, and whether the first step finds that the
  /// first key was looked at.
  int64_t filters = 0;
  int64_t kernel = 0;
  bool isCumulative = false;
  bool beginsAtFirstKey = false;
  /// Whether additive scores have a map of the memory.
  bool projectMemory = true;
  /// Which keys a step sees: all, those about its own number, or about a place that its state says.
  enum class Window { None, Monotonic, Predictive };
  Window window = Window::None;
  /// Keys on each side of the window's centre.
  int64_t reach = 0;

  /// Whether there are scores.
  bool hasScores() const { return kind != ScoreKind::None && kind != ScoreKind::Last; }
  bool hasLocation() const { return kind == ScoreKind::Location; }
  /// Whether scores are sums of a function of sums, no products.
  bool isSum() const {
    return kind == ScoreKind::Additive || kind == ScoreKind::Concat || hasLocation();
  }
  bool hasWindow() const { return window != Window::None; }
  bool isMonotonic() const { return window == Window::Monotonic; }
  bool isPredictive() const { return window == Window::Predictive; }
  /// Whether steps ask for the positions of keys.
  bool needsPlaces() const { return hasWindow() || beginsAtFirstKey; }
};

/// How states become logits.
struct Readout {
  enum class Kind { Linear, Attentional, Maxout };
  Kind kind = Kind::Linear;
  /// It takes the top layer's state before the step.
  bool isPrevious = false;
  /// The width of maxout, and that of the map after it; 0: no map.
  int64_t width = 0;
  int64_t rank = 0;
};

/// A model of the family.
struct Recurrent {
  int64_t vocabulary = 0;
  int64_t targetVocabulary = 0;
  int64_t width = 0;
  RecurrentStack encoder;
  RecurrentStack decoder;
  DecoderOrder order = DecoderOrder::AttendFirst;
  Feed feed = Feed::None;
  RecurrentAttention attention;
  Readout readout;
  /// How many layers, from the first on, go both ways.
  int64_t bothWays = 0;
  /// The source is read from its end.
  bool reverse = false;
  Bridge bridge = Bridge::Zeros;

  /// Reads the sizes from a configuration.
  static Result<Recurrent> read(const Config &config);
  /// The entry that reads the source.
  void encode(const Scope &model, Entry entry) const;
  /// The entry that writes the target.
  void decode(const Scope &model, Entry entry) const;
  /// Columns of what the encoder gives.
  int64_t memoryWidth() const { return encoder.hidden * (bothWays == encoder.layers ? 2 : 1); }

private:
  bool goesBothWays(int64_t layer) const { return layer < bothWays; }
  void remember(const Scope &model, Entry &entry, const Tensor &memory, const Segments &rows) const;
  Tensor read(const Scope &model, const Tensor &state, const Tensor &context,
              const Tensor &embedding) const;
  void start(const Scope &model, Entry &entry, const std::vector<Recurrence> &ends) const;
};

/// What one step of a layer computes of its input, columns in several pieces, and its state: h, and
/// c of an LSTM.
Recurrence stepCell(const Scope &cell, CellKind kind, std::span<const Tensor> x,
                    std::span<const Tensor> before, int64_t n);

/// W [a; b; ...] + bias with `name`.weight as W_a a + W_b b + ...: nothing needs to be put side by
/// side, and what no step changes is computed before all steps.
Tensor linearOfPieces(const Scope &scope, std::string_view name, std::span<const Tensor> pieces,
                      int64_t width, Bias bias = Bias::Yes);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_RECURRENT_H
