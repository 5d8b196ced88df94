// SPDX-License-Identifier: Apache-2.0
///
/// Rotary positions: Su et al., "RoFormer: enhanced Transformer with rotary position embedding".
/// Pairs of columns of every head of queries and keys are rotated by angles proportional to the
/// position; a pair has one column in each half of the rotated columns. This file computes the
/// frequencies from configurations, so that families only rotate.
#ifndef HEDDLE_FRONTEND_FAMILIES_ROTARY_H
#define HEDDLE_FRONTEND_FAMILIES_ROTARY_H

#include "frontend/Builder/ModelBuilder.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class Config;

/// The rotary positions of a model, or of some of its layers.
struct Rotary {
  /// The angle between consecutive positions for each pair of columns, in f32, as in Transformers.
  /// Empty: no rotation.
  std::vector<float> frequencies;
  /// A factor of cosines and sines.
  double factor = 1;
  /// The most rows of a sequence for which the frequencies are valid; 0: any.
  int64_t mostRows = 0;
  /// Whether the frequencies depend on the text length, so that one length is chosen for all; and a
  /// note with that length.
  bool dependsOnLength = false;
  std::string note;
};

/// The names of a family's rotary settings in config.json.
struct RotarySpelling {
  /// Keys of folders without "rope_parameters", and defaults.
  std::string_view base = "rope_theta";
  double absentBase = 10000;
  std::string_view fraction = "partial_rotary_factor";
  double absentFraction = 1;
  /// The part of "rope_parameters" to read, for a family with one per type of layers; empty: one
  /// for all.
  std::string_view layers = {};
  /// Whether "rope_scaling" applies to these layers.
  bool isScaled = true;
  /// The default of "original_max_position_embeddings" outside the parameters, for a family that
  /// always has it there and ignores one inside; 0: for a family that reads either.
  int64_t absentOriginal = 0;
  /// Whether "su" and "yarn" mean "longrope", as in the first folders of Phi-3.
  bool hasOldNames = false;
};

/// Reads either form, for heads of a size: "rope_parameters", or "rope_scaling" with keys of the
/// family. Every kind of scaling is either supported or rejected. `textLength` is that of
/// ModelSource.
Result<Rotary> readRotary(const Config &config, int64_t headSize, int64_t textLength,
                          const RotarySpelling &spelling = {});

struct FamilyModel;

/// Adds notes about a model's rotary positions; `where` is its configuration.
void describeRotary(const Rotary &rotary, std::string_view where, FamilyModel &model);

/// The cosines and sines of an entry's rows, [rows, pairs] each.
class Rotation {
public:
  Rotation(const Scope &scope, const Rotary &rotary, const Segments &rows);

  /// Rotates the heads of queries or keys, which are side by side: [rows, width] to the same.
  Tensor of(const Scope &scope, const Tensor &x, int64_t heads) const;

private:
  Segments rows;
  int64_t pairs;
  Tensor cosine, sine;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_ROTARY_H
