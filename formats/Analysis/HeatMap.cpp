// SPDX-License-Identifier: Apache-2.0
///
/// Draws heat maps.
#include "formats/Analysis/HeatMap.h"

#include "heddle/AttentionKind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

// Units of the drawing; viewers scale them.
static constexpr int margin = 16;
static constexpr int titleHeight = 46;
static constexpr int axisWidth = 26;
static constexpr int axisHeight = 20;
static constexpr int gap = 24;
/// The minimum width, which fits the longest title and the legend.
static constexpr int leastWidth = 340;

/// Returns the size of a square. It is larger if there are few layers, so that all maps have
/// similar sizes.
static int cellOf(size_t layers) { return layers <= 6 ? 48 : layers <= 12 ? 40 : 32; }

static int widthOf(const KindAnalysis &kind) {
  const int map = axisWidth + static_cast<int>(kind.layers.size()) * cellOf(kind.layers.size());
  return 2 * margin + std::max(map, leastWidth);
}

static int heightOf(const KindAnalysis &kind) {
  return 2 * margin + titleHeight + axisHeight +
         static_cast<int>(kind.layers.size()) * cellOf(kind.layers.size());
}

static std::string escaped(std::string_view text) {
  std::string result;
  for (const char each : text) {
    switch (each) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      // XML allows no control characters, not even escaped.
      result += static_cast<unsigned char>(each) < 0x20 ? ' ' : each;
    }
  }
  return result;
}

/// Returns the colour on a scale from pale yellow for equal layers through red to nearly black,
/// with even steps of lightness.
static std::string colourOf(double similarity) {
  using Colour = std::array<double, 3>;
  static constexpr std::array<Colour, 5> scale = {
      {{255, 246, 214}, {253, 198, 118}, {233, 124, 72}, {164, 48, 76}, {58, 15, 60}}};
  // NaN is drawn as 1.
  const double apart = similarity < 1 ? std::min(1 - similarity, 1.0) : 0.0;
  const double place = apart * (scale.size() - 1);
  const size_t low = std::min(static_cast<size_t>(place), scale.size() - 2);
  const double part = place - static_cast<double>(low);
  std::array<int, 3> mixed{};
  for (size_t i = 0; i < mixed.size(); ++i) {
    mixed[i] = static_cast<int>(std::lround(scale[low][i] * (1 - part) + scale[low + 1][i] * part));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

/// Returns black for pale squares and white for dark ones: a contrast of at least 4.5 to 1 anywhere
/// on the scale.
static const char *inkOf(double similarity) {
  return 1 - similarity < 0.635 ? "#000000" : "#ffffff";
}

static std::string titleOf(const KindAnalysis &kind) {
  const AttentionSpelling *spelling = findAttentionKind(kind.kind);
  return spelling ? std::string(spelling->title) : kind.kind;
}

static std::string subtitleOf(const KindAnalysis &kind) {
  std::string text = "similarity of layers, 1 for equal attention";
  if (kind.positions > 0) {
    text += fmt::format(", {} positions", kind.positions);
  }
  return kind.policy ? fmt::format("{}; policy {}", text, fmt::join(*kind.policy, ",")) : text;
}

/// Draws the squares with their numbers, and the names of the layers next to them.
static std::string drawCells(const KindAnalysis &kind, int left, int top) {
  const int cell = cellOf(kind.layers.size());
  const int number = cell * 3 / 10;
  std::string out;
  for (size_t row = 0; row < kind.layers.size(); ++row) {
    const int y = top + static_cast<int>(row) * cell;
    out += fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"end\" "
                       "font-size=\"12\">{}</text>\n",
                       left - 6, y + cell / 2 + 4, row + 1);
    out += fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" "
                       "font-size=\"12\">{}</text>\n",
                       left + static_cast<int>(row) * cell + cell / 2, top - 6, row + 1);
    for (size_t column = 0; column < kind.layers.size(); ++column) {
      const double value = kind.similarity[row][column];
      const int x = left + static_cast<int>(column) * cell;
      out +=
          fmt::format("<g><title>{} and {}: {:.4f}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" "
                      "height=\"{}\" fill=\"{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" "
                      "font-size=\"{}\" fill=\"{}\">{:.2f}</text></g>\n",
                      escaped(kind.layers[row]), escaped(kind.layers[column]), value, x, y,
                      cell - 1, cell - 1, colourOf(value), x + (cell - 1) / 2,
                      y + cell / 2 + number / 3, number, inkOf(value), value);
    }
  }
  return out;
}

/// Draws a frame around every block of several layers.
static std::string drawPolicy(const KindAnalysis &kind, int left, int top) {
  const int cell = cellOf(kind.layers.size());
  std::string out;
  int64_t first = 0;
  for (const int64_t size : kind.policy.value_or(std::vector<int64_t>())) {
    if (size > 1) {
      out += fmt::format("<rect class=\"block\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                         left + first * cell, top + first * cell, size * cell - 1, size * cell - 1);
    }
    first += size;
  }
  return out;
}

static std::string drawKind(const KindAnalysis &kind, int top) {
  const int left = margin + axisWidth;
  std::string out = fmt::format(
      "<text class=\"label\" x=\"{}\" y=\"{}\" font-size=\"16\" font-weight=\"600\">{}</text>\n"
      "<text class=\"label\" x=\"{}\" y=\"{}\" font-size=\"12\">{}</text>\n",
      margin, top + margin + 14, escaped(titleOf(kind)), margin, top + margin + 34,
      escaped(subtitleOf(kind)));
  const int cells = top + margin + titleHeight + axisHeight;
  return out + drawCells(kind, left, cells) + drawPolicy(kind, left, cells);
}

/// Wraps the drawing in an <svg> element. Class names are specific to it, because a style inside a
/// page applies to all of the page.
static std::string wrap(int width, int height, std::string_view label, const std::string &body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heat-map\" viewBox=\"0 0 {} {}\" "
      "width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"{}\" "
      "font-family=\"system-ui, sans-serif\" style=\"max-width: 100%; height: auto\">\n"
      "<style>\n"
      ".heat-map .label {{ fill: var(--heat-map-text, #1a1a1a); }}\n"
      ".heat-map .block {{ fill: none; stroke: var(--heat-map-frame, #0b63c5); stroke-width: 3; "
      "}}\n"
      "@media (prefers-color-scheme: dark) {{\n"
      ".heat-map .label {{ fill: var(--heat-map-text, #e8e8e8); }}\n"
      ".heat-map .block {{ stroke: var(--heat-map-frame, #58a6ff); }}\n"
      "}}\n"
      "</style>\n{}</svg>\n",
      width, height, width, height, escaped(label), body);
}

std::string heatMapSvg(const KindAnalysis &kind) {
  return wrap(widthOf(kind), heightOf(kind), titleOf(kind), drawKind(kind, 0));
}

std::string heatMapSvg(const AttentionAnalysis &analysis) {
  int width = 2 * margin + leastWidth;
  int height = 0;
  std::string body;
  for (const KindAnalysis &kind : analysis.kinds) {
    height += height > 0 ? gap : 0;
    body += drawKind(kind, height);
    width = std::max(width, widthOf(kind));
    height += heightOf(kind);
  }
  return wrap(width, std::max(height, 2 * margin),
              fmt::format("Similarity of attention between the layers of {}", analysis.model),
              body);
}

// --- alignments ------------------------------------------------------------------------------

static constexpr int wordCell = 18;
static constexpr int wordSize = 12;
/// The approximate width of a character of wordSize.
static constexpr double characterWidth = 7;
/// The maximum number of characters of a word that are shown.
static constexpr size_t longestWord = 18;
/// Maps are arranged side by side up to this width.
static constexpr int mostWidth = 1200;
/// A smaller weight has no square.
static constexpr float leastWeight = 0.005F;

namespace {
/// A map with its size and position in the drawing.
struct PlacedMap {
  const AlignmentMap &map;
  /// The space for the words on the left and above.
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};
} // namespace

/// Returns whether a byte begins a character of UTF-8.
static bool beginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// Returns a word without the spaces around it, truncated if it is long.
static std::string shortened(std::string_view word) {
  const size_t first = word.find_first_not_of(' ');
  if (first == std::string_view::npos) {
    return word.empty() ? "" : "␣";
  }
  word = word.substr(first);
  word = word.substr(0, word.find_last_not_of(' ') + 1);
  size_t characters = 0;
  for (size_t i = 0; i < word.size(); ++i) {
    if (beginsCharacter(word[i]) && ++characters > longestWord) {
      return std::string(word.substr(0, i)) + "…";
    }
  }
  return std::string(word);
}

/// Returns the width of the widest word.
static int widthOf(std::span<const std::string> words) {
  std::ptrdiff_t most = 0;
  for (const std::string &word : words) {
    const std::string shown = shortened(word);
    most = std::max(most, std::count_if(shown.begin(), shown.end(), beginsCharacter));
  }
  return static_cast<int>(std::ceil(static_cast<double>(most) * characterWidth)) + 8;
}

static PlacedMap placed(const AlignmentMap &map) {
  PlacedMap result{map};
  result.left = widthOf(map.rows);
  // Words above the map are rotated.
  result.top = 24 + widthOf(map.columns);
  const int cells = result.left + static_cast<int>(map.columns.size()) * wordCell;
  const int name = static_cast<int>(static_cast<double>(map.name.size()) * characterWidth) + 8;
  result.width = std::max(cells, name);
  result.height = result.top + static_cast<int>(map.rows.size()) * wordCell;
  return result;
}

static std::string drawWords(const PlacedMap &place, int left, int top) {
  std::string out;
  for (size_t row = 0; row < place.map.rows.size(); ++row) {
    out += fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"end\" "
                       "font-size=\"{}\">{}</text>\n",
                       left - 6, top + static_cast<int>(row) * wordCell + wordCell * 3 / 4,
                       wordSize, escaped(shortened(place.map.rows[row])));
  }
  for (size_t column = 0; column < place.map.columns.size(); ++column) {
    const int x = left + static_cast<int>(column) * wordCell + wordCell * 3 / 4;
    out += fmt::format("<text class=\"label\" transform=\"translate({} {}) rotate(-90)\" "
                       "font-size=\"{}\">{}</text>\n",
                       x, top - 6, wordSize, escaped(shortened(place.map.columns[column])));
  }
  return out;
}

static std::string drawMap(const PlacedMap &place, int left, int top) {
  const AlignmentMap &map = place.map;
  std::string out = fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\" font-size=\"{}\" "
                                "font-weight=\"600\">{}</text>\n",
                                left, top + 14, wordSize, escaped(map.name));
  left += place.left;
  top += place.top;
  out += drawWords(place, left, top);
  out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", left,
                     top, static_cast<int>(map.columns.size()) * wordCell,
                     static_cast<int>(map.rows.size()) * wordCell, colourOf(0));
  for (size_t row = 0; row < map.rows.size(); ++row) {
    for (size_t column = 0; column < map.columns.size(); ++column) {
      const float weight = map.weights[row * map.columns.size() + column];
      if (weight >= leastWeight) {
        out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                           "fill=\"{}\"><title>{}, {}: {:.3f}</title></rect>\n",
                           left + static_cast<int>(column) * wordCell,
                           top + static_cast<int>(row) * wordCell, wordCell, wordCell,
                           colourOf(weight), escaped(map.rows[row]), escaped(map.columns[column]),
                           weight);
      }
    }
  }
  return out;
}

std::string alignmentSvg(std::string_view title, std::span<const AlignmentMap> maps) {
  std::string body = fmt::format(
      "<text class=\"label\" x=\"{}\" y=\"{}\" font-size=\"16\" font-weight=\"600\">{}</text>\n",
      margin, margin + 14, escaped(title));
  int left = margin;
  int top = margin + gap + 8;
  int lineHeight = 0;
  int width = 2 * margin + leastWidth;
  for (const AlignmentMap &map : maps) {
    const PlacedMap place = placed(map);
    if (left > margin && left + place.width > mostWidth) {
      left = margin;
      top += lineHeight + gap;
      lineHeight = 0;
    }
    body += drawMap(place, left, top);
    left += place.width + gap;
    lineHeight = std::max(lineHeight, place.height);
    width = std::max(width, left - gap + margin);
  }
  return wrap(width, top + lineHeight + margin, title, body);
}

} // namespace heddle
