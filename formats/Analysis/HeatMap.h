// SPDX-License-Identifier: Apache-2.0
///
/// Draws what attention does as a self-contained SVG: how much layers differ, with a square for
/// each pair, pale where the two attentions agree and dark where they differ, and frames around the
/// blocks of a policy; or how the words of one text are aligned.
///
/// Within a page, text and frames take their colours from the custom properties --heat-map-text and
/// --heat-map-frame. Alone, they are readable in light and dark viewers.
#ifndef HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
#define HEDDLE_FORMATS_ANALYSIS_HEATMAP_H

#include "formats/Analysis/AttentionAnalysis.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One <svg> element with all kinds, one below the other. It can be saved as a file.
std::string heatMapSvg(const AttentionAnalysis &analysis);

/// One <svg> element for one kind, for a page that arranges several.
std::string heatMapSvg(const KindAnalysis &kind);

/// What one attention makes of one text: the weight of each column's key for each row.
struct AlignmentMap {
  /// Its name in the model.
  std::string name;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  /// [rows, columns], from 0 to 1; what is no number is drawn as 0.
  std::vector<float> weights;
};

/// One <svg> element with a map for each attention: the words of its rows on the left, those of its
/// keys above, a square that is the darker the larger a weight is.
std::string alignmentSvg(std::string_view title, std::span<const AlignmentMap> maps);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
