// SPDX-License-Identifier: Apache-2.0
///
/// Draws attention as a self-contained SVG: the differences between layers, with a square for each
/// pair, pale if the two attentions agree and dark if they differ, and frames around the blocks of
/// a policy; or the alignment of the words of one text.
///
/// Within a page, text and frames take their colours from the custom properties --heat-map-text and
/// --heat-map-frame. A standalone picture is readable in light and dark viewers.
#ifndef HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
#define HEDDLE_FORMATS_ANALYSIS_HEATMAP_H

#include "formats/Analysis/AttentionAnalysis.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Returns one <svg> element with all kinds, one below the other. It can be saved as a file.
std::string heatMapSvg(const AttentionAnalysis &analysis);

/// Returns one <svg> element for one kind, for a page that arranges several.
std::string heatMapSvg(const KindAnalysis &kind);

/// The attention weights for one text: the weight of each column's key for each row.
struct AlignmentMap {
  /// Its name in the model.
  std::string name;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  /// [rows, columns], from 0 to 1; NaN is drawn as 0.
  std::vector<float> weights;
};

/// Returns one <svg> element with a map for each attention: the words of its rows on the left,
/// those of its keys above, and squares that are darker for larger weights.
std::string alignmentSvg(std::string_view title, std::span<const AlignmentMap> maps);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
