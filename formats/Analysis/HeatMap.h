// SPDX-License-Identifier: Apache-2.0
///
/// Draws an analysis as a self-contained SVG. Each pair of layers has a square with its divergence,
/// pale where the two attentions agree and dark where they differ. Frames show the blocks of a
/// policy.
///
/// Within a page, text and frames take their colours from the custom properties --heat-map-text and
/// --heat-map-frame. Alone, they are readable in light and dark viewers.
#ifndef HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
#define HEDDLE_FORMATS_ANALYSIS_HEATMAP_H

#include "formats/Analysis/AttentionAnalysis.h"

#include <string>

namespace heddle {

/// One <svg> element with all kinds, one below the other. It can be saved as a file.
std::string heatMapSvg(const AttentionAnalysis &analysis);

/// One <svg> element for one kind, for a page that arranges several.
std::string heatMapSvg(const KindAnalysis &kind);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
