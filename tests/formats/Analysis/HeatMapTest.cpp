// SPDX-License-Identifier: Apache-2.0
///
/// The picture contains every number, is well formed, and names cannot break out of it.
#include "formats/Analysis/HeatMap.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <vector>

using namespace heddle;

static size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// Returns whether all elements are closed in order and all attributes are quoted.
static bool isWellFormed(const std::string &xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
    const size_t end = xml.find('>', at);
    if (end == std::string::npos) {
      return false;
    }
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", tag[0] == '/' ? 1 : 0));
    if (countOf(tag, "\"") % 2 != 0) {
      return false;
    }
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) {
        return false;
      }
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

static KindAnalysis kindOf(const std::string &kind, size_t layers) {
  KindAnalysis result{kind, {}, 7, SimilarityMatrix(layers, std::vector<double>(layers, 1.0))};
  for (size_t i = 0; i < layers; ++i) {
    result.layers.push_back("layer." + std::to_string(i));
    for (size_t j = 0; j < layers; ++j) {
      result.similarity[i][j] =
          i == j ? 1 : 1 - static_cast<double>(i + j) / static_cast<double>(2 * layers);
    }
  }
  return result;
}

TEST(HeatMap, HasAPanelForEachKindAndANumberForEachPair) {
  AttentionAnalysis analysis;
  analysis.model = "m.so";
  analysis.kinds = {kindOf("encoder", 6), kindOf("decoder", 6), kindOf("cross", 3)};
  analysis.kinds[1].policy = std::vector<int64_t>{1, 5};
  const std::string svg = heatMapSvg(analysis);
  EXPECT_TRUE(isWellFormed(svg)) << svg;
  EXPECT_EQ(countOf(svg, "<svg"), 1U);
  for (const char *const title :
       {"Encoder self-attention", "Decoder self-attention", "Cross-attention"}) {
    EXPECT_EQ(countOf(svg, std::string(">") + title + "<"), 1U) << title;
  }
  EXPECT_EQ(countOf(svg, "<title>"), 36U + 36 + 9);
  EXPECT_EQ(countOf(svg, "<title>layer.0 and layer.1: 0.9167</title>"), 2U);
  EXPECT_EQ(countOf(svg, ">0.92</text>"), 4U);
  // A block of several layers has a frame.
  EXPECT_EQ(countOf(svg, "class=\"block\""), 1U);
  EXPECT_NE(svg.find("policy 1,5"), std::string::npos);
  // The only URL is that of the namespace: the picture loads nothing.
  EXPECT_EQ(countOf(svg, "http"), 1U);
  EXPECT_EQ(countOf(svg, "prefers-color-scheme: dark"), 1U);
}

TEST(HeatMap, OfOneKindForAPage) {
  for (const size_t layers : {1U, 2U, 12U, 24U, 80U}) {
    const std::string svg = heatMapSvg(kindOf("decoder", layers));
    EXPECT_TRUE(isWellFormed(svg)) << layers;
    EXPECT_EQ(countOf(svg, "<rect"), layers * layers);
  }
}

TEST(HeatMap, NamesAreText) {
  KindAnalysis kind = kindOf("cross", 1);
  kind.layers[0] = "<script>\"&\x01";
  AttentionAnalysis analysis;
  analysis.model = "\"><script>";
  analysis.kinds = {kind};
  for (const std::string &svg : {heatMapSvg(kind), heatMapSvg(analysis)}) {
    EXPECT_TRUE(isWellFormed(svg)) << svg;
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_NE(svg.find("&lt;script&gt;&quot;&amp; "), std::string::npos) << svg;
  }
  EXPECT_TRUE(isWellFormed(heatMapSvg(AttentionAnalysis())));
}

static AlignmentMap alignmentOf(std::vector<std::string> rows, std::vector<std::string> columns) {
  std::vector<float> weights(rows.size() * columns.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(i) / static_cast<float>(weights.size());
  }
  return {"layer.0", std::move(rows), std::move(columns), std::move(weights)};
}

TEST(Alignments, HaveASquareForEachPairAndTheWordsOnTheirAxes) {
  const AlignmentMap map = alignmentOf({"la", "<end>", " "}, {" the", "cat", "\xc3\xa9t\xc3\xa9"});
  const std::string svg = alignmentSvg("Attention of <m>", {&map, 1});
  EXPECT_TRUE(isWellFormed(svg)) << svg;
  EXPECT_NE(svg.find(">Attention of &lt;m&gt;<"), std::string::npos);
  for (const char *const word :
       {">layer.0<", ">la<", ">&lt;end&gt;<", ">the<", ">cat<", ">\xc3\xa9t\xc3\xa9<", ">␣<"}) {
    EXPECT_EQ(countOf(svg, word), 1U) << word;
  }
  EXPECT_EQ(countOf(svg, "rotate(-90)"), 3U);
  // The background, and a square for each weight but the first, which is 0.
  EXPECT_EQ(countOf(svg, "<rect"), 9U);
  EXPECT_EQ(countOf(svg, "<title>la, cat: 0.111</title>"), 1U);
  EXPECT_EQ(countOf(svg, "<title>&lt;end&gt;, \xc3\xa9t\xc3\xa9: 0.556</title>"), 1U);
}

TEST(Alignments, CutLongWordsBetweenCharacters) {
  std::string word;
  for (int i = 0; i < 19; ++i) {
    word += "\xc3\xa9";
  }
  const AlignmentMap map = alignmentOf({word}, {word.substr(2)});
  const std::string svg = alignmentSvg("m", {&map, 1});
  EXPECT_EQ(countOf(svg, ">" + word.substr(2) + "\xe2\x80\xa6<"), 1U) << svg;
  EXPECT_EQ(countOf(svg, ">" + word.substr(2) + "<"), 1U) << svg;
}

TEST(Alignments, StandSideBySideWhileThereIsRoom) {
  const std::vector<AlignmentMap> maps(
      7, alignmentOf(std::vector<std::string>(9, "row"), std::vector<std::string>(9, "key")));
  const std::string svg = alignmentSvg("m", maps);
  EXPECT_TRUE(isWellFormed(svg));
  EXPECT_EQ(countOf(svg, ">layer.0<"), 7U);
  const long width = std::strtol(svg.c_str() + svg.find("viewBox=\"0 0 ") + 13, nullptr, 10);
  EXPECT_GT(width, 1000);
  EXPECT_LE(width, 1232);
  EXPECT_TRUE(isWellFormed(alignmentSvg("m", {})));
}

TEST(Alignments, DrawWhatIsNoNumberAsNothing) {
  AlignmentMap map = alignmentOf({"a"}, {"b", "c"});
  map.weights = {std::nanf(""), 2};
  const std::string svg = alignmentSvg("m", {&map, 1});
  EXPECT_EQ(countOf(svg, "<rect"), 2U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

/// Returns the relative luminance of a hexadecimal colour.
static double luminanceOf(const std::string &hex) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    const double part =
        static_cast<double>(std::strtol(hex.substr(1 + 2 * i, 2).c_str(), nullptr, 16)) / 255;
    sum += weights[i] * (part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(HeatMap, NumbersCanBeReadOnEveryColour) {
  double last = 2;
  for (int percent = 0; percent <= 100; ++percent) {
    KindAnalysis kind = kindOf("cross", 1);
    kind.similarity[0][0] = 1 - percent / 100.0;
    const std::string svg = heatMapSvg(kind);
    const size_t cell = svg.find("<g>");
    const size_t back = svg.find("fill=\"#", cell) + 6;
    const size_t ink = svg.find("fill=\"#", back) + 6;
    const double ground = luminanceOf(svg.substr(back, 7));
    const double text = luminanceOf(svg.substr(ink, 7));
    const double contrast = (std::max(ground, text) + 0.05) / (std::min(ground, text) + 0.05);
    EXPECT_GE(contrast, 4.5) << percent;
    // Colours get darker with the percentage.
    EXPECT_LT(ground, last) << percent;
    last = ground;
  }
}
