// SPDX-License-Identifier: Apache-2.0
///
/// A recurrent encoder-decoder of the project's own format: its sizes, and the mathematics of its
/// encoder in the order of the papers.
#ifndef HEDDLE_FRONTEND_FAMILIES_RECURRENT_H
#define HEDDLE_FRONTEND_FAMILIES_RECURRENT_H

#include "frontend/Builder/ModelBuilder.h"
#include "heddle/Status.h"

#include <cstdint>
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

/// A model of the family.
struct Recurrent {
  int64_t vocabulary = 0;
  int64_t width = 0;
  RecurrentStack encoder;
  RecurrentStack decoder;
  /// How many layers, from the first on, go both ways.
  int64_t bothWays = 0;
  /// The source is read from its end.
  bool reverse = false;
  Bridge bridge = Bridge::Zeros;

  /// Reads the sizes from a configuration.
  static Result<Recurrent> read(const Config &config);
  /// The entry that reads the source.
  void encode(const Scope &model, Entry entry) const;

private:
  bool goesBothWays(int64_t layer) const { return layer < bothWays; }
  void start(const Scope &model, Entry &entry, const std::vector<Recurrence> &ends) const;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_RECURRENT_H
