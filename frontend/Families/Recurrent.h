// SPDX-License-Identifier: Apache-2.0
///
/// A recurrent encoder-decoder of the project's own format: its sizes, and its layers in the order
/// of the papers.
#ifndef HEDDLE_FRONTEND_FAMILIES_RECURRENT_H
#define HEDDLE_FRONTEND_FAMILIES_RECURRENT_H

#include "frontend/Builder/ModelBuilder.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

class Config;

inline Tensor tanh(const Tensor &x) { return x.activate(transformer::Activation::Tanh); }

/// The computation of one step of a recurrent layer.
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
  /// The first layer with a residual connection; `layers` if there is none.
  int64_t residualFrom = 0;
};

/// How the decoder's layers are initialised.
enum class Bridge { Zeros, Copy, Backward, Linear };

/// When the decoder attends to the source: with the top layer's state before a step, or with the
/// step's result.
enum class DecoderOrder { AttendFirst, StateFirst };

/// The result of the previous step that a step takes in addition to the embedding.
enum class Feed { None, Context, Attentional };

/// How the decoder scores the states of the encoder. Last uses only the last state.
enum class ScoreKind { None, Last, Additive, Dot, General, Concat, Location };

/// How the decoder attends to the source.
struct RecurrentAttention {
  ScoreKind kind = ScoreKind::None;
  /// The number of summed terms, if scores are not products.
  int64_t width = 0;
  /// Whether weights are sigmoids of scores divided by their sum, instead of a softmax.
  bool isSmooth = false;
  /// Location-sensitive scores: the number of filters over previous alignments, their size, whether
  /// they also see the sum of all alignments, and whether the first step sees an alignment to the
  /// first key.
  int64_t filters = 0;
  int64_t kernel = 0;
  bool isCumulative = false;
  bool beginsAtFirstKey = false;
  /// Whether additive scores have a map of the memory.
  bool projectMemory = true;
  /// Which keys a step sees: all, those around its own index, or those around a predicted place.
  enum class Window { None, Monotonic, Predictive };
  Window window = Window::None;
  /// Keys on each side of the window's centre.
  int64_t reach = 0;

  /// Whether there are scores.
  bool hasScores() const { return kind != ScoreKind::None && kind != ScoreKind::Last; }
  bool hasLocation() const { return kind == ScoreKind::Location; }
  /// Whether scores are sums of a function of sums, not products.
  bool isSum() const {
    return kind == ScoreKind::Additive || kind == ScoreKind::Concat || hasLocation();
  }
  bool hasWindow() const { return window != Window::None; }
  bool isMonotonic() const { return window == Window::Monotonic; }
  bool isPredictive() const { return window == Window::Predictive; }
  /// Whether steps need the positions of keys.
  bool needsPlaces() const { return hasWindow() || beginsAtFirstKey; }
};

/// How states become logits.
struct Readout {
  enum class Kind { Linear, Attentional, Maxout };
  Kind kind = Kind::Linear;
  /// Whether it takes the top layer's state before the step.
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
  /// How many of the first layers are bidirectional.
  int64_t bothWays = 0;
  /// Whether the source is read in reverse.
  bool reverse = false;
  Bridge bridge = Bridge::Zeros;

  /// Reads the sizes from a configuration.
  static Result<Recurrent> read(const Config &config);
  /// The entry that reads the source.
  void encode(const Scope &model, Entry entry) const;
  /// The entry that writes the target.
  void decode(const Scope &model, Entry entry) const;
  /// Returns the columns of the encoder's result.
  int64_t memoryWidth() const { return encoder.hidden * (bothWays == encoder.layers ? 2 : 1); }

private:
  bool goesBothWays(int64_t layer) const { return layer < bothWays; }
  void remember(const Scope &model, Entry &entry, const Tensor &memory, const Segments &rows) const;
  Tensor read(const Scope &model, const Tensor &state, const Tensor &context,
              const Tensor &embedding) const;
  void start(const Scope &model, Entry &entry, const std::vector<Recurrence> &ends) const;
};

/// Computes one step of a layer from its input, given as several pieces of columns, and its state:
/// h, and c of an LSTM.
Recurrence stepCell(const Scope &cell, CellKind kind, std::span<const Tensor> x,
                    std::span<const Tensor> before, int64_t n);

/// W [a; b; ...] + bias with `name`.weight, computed as W_a a + W_b b + ...: the pieces need not be
/// concatenated, and loop-invariant terms are hoisted.
Tensor linearOfPieces(const Scope &scope, std::string_view name, std::span<const Tensor> pieces,
                      int64_t width, Bias bias = Bias::Yes);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_RECURRENT_H
