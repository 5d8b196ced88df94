// SPDX-License-Identifier: Apache-2.0
///
/// Rotary positions: Su et al., "RoFormer: enhanced Transformer with rotary position embedding".
/// Pairs of columns of every head of queries and keys are turned by angles that grow with the
/// position, one column of each pair in the first half of what turns and one in the second. What
/// configurations say of frequencies becomes numbers here, so that families only rotate.
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
  /// The angle from a position to the next, one for each pair of columns; as Transformers computes
  /// them, in f32. None: nothing turns.
  std::vector<float> frequencies;
  /// What cosines and sines are multiplied with.
  double factor = 1;
  /// The most rows of a sequence for which the frequencies hold; 0: any.
  int64_t mostRows = 0;
  /// Whether other texts have other frequencies, so that one length is chosen for all; and which
  /// one it is, as a note.
  bool dependsOnLength = false;
  std::string note;
};

/// How a family spells its rotary positions in config.json.
struct RotarySpelling {
  /// Keys of folders that have no "rope_parameters", and what stands for keys that are absent.
  std::string_view base = "rope_theta";
  double absentBase = 10000;
  std::string_view fraction = "partial_rotary_factor";
  double absentFraction = 1;
  /// The part of "rope_parameters" that is read, of a family that has one for each type of layers;
  /// empty: it has one for all.
  std::string_view layers = {};
  /// Whether "rope_scaling" is about these layers.
  bool isScaled = true;
  /// What stands for "original_max_position_embeddings" outside of the parameters in a family that
  /// always has one there, and so ignores one inside; 0: a family that reads either.
  int64_t absentOriginal = 0;
  /// Whether "su" and "yarn" mean "longrope", as first folders of Phi-3 do.
  bool hasOldNames = false;
};

/// Reads either spelling, for heads of a size: "rope_parameters", or "rope_scaling" beside keys of
/// the family's own. Every kind of scaling is computed or refused. `textLength` is that of
/// ModelSource.
Result<Rotary> readRotary(const Config &config, int64_t headSize, int64_t textLength,
                          const RotarySpelling &spelling = {});

struct FamilyModel;

/// Tells what is to be known of a model's rotary positions; `where` is its configuration.
void describeRotary(const Rotary &rotary, std::string_view where, FamilyModel &model);

/// The cosines and sines of an entry's rows, [rows, pairs] each.
class Rotation {
public:
  Rotation(const Scope &scope, const Rotary &rotary, const Segments &rows);

  /// Turns the heads of queries or keys, which are side by side: [rows, width] to the same.
  Tensor of(const Scope &scope, const Tensor &x, int64_t heads) const;

private:
  Segments rows;
  int64_t pairs;
  Tensor cosine, sine;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_ROTARY_H
