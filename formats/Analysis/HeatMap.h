// SPDX-License-Identifier: Apache-2.0
///
/// Pictures of an analysis, as SVG that needs nothing else: a square for each pair of layers, pale
/// where their attention agrees and dark where it differs, with its divergence printed in it and
/// the blocks of a policy framed.
///
/// Text and frames take the colours of the page around them from the custom properties
/// --heat-map-text and --heat-map-frame; where there is no such page, they are readable in a light
/// and in a dark viewer.
#ifndef HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
#define HEDDLE_FORMATS_ANALYSIS_HEATMAP_H

#include "formats/Analysis/AttentionAnalysis.h"

#include <string>

namespace heddle {

/// One <svg> element for all kinds, one under the other: a file of its own.
std::string heatMapSvg(const AttentionAnalysis &analysis);

/// One <svg> element for one kind: a part of a page that places several as there is room.
std::string heatMapSvg(const KindAnalysis &kind);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_HEATMAP_H
