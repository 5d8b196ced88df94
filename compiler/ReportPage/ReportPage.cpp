// SPDX-License-Identifier: Apache-2.0
///
/// The page: template, style and script as the build embeds them, and the document.
#include "compiler/ReportPage/ReportPage.h"

#include "compiler/ReportPage/PageFiles.h.inc"
#include "formats/Analysis/HeatMap.h"

#include "llvm/Support/raw_ostream.h"

namespace heddle {

/// Where in the template each part goes, in this order.
static constexpr llvm::StringLiteral styleMark = "/* style */";
static constexpr llvm::StringLiteral dataMark = "/* data */";
static constexpr llvm::StringLiteral scriptMark = "/* script */";

std::string escapedForPage(llvm::StringRef json) {
  std::string escaped;
  escaped.reserve(json.size());
  // These stand only in strings of JSON, where they may be written by their numbers.
  for (char c : json) {
    switch (c) {
    case '<':
      escaped += "\\u003c";
      break;
    case '>':
      escaped += "\\u003e";
      break;
    case '&':
      escaped += "\\u0026";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

/// The numbers of an analysis are in its pictures.
static void writeAnalysis(llvm::json::OStream &json, const AttentionAnalysis &analysis) {
  json.attributeObject("analysis", [&] {
    json.attribute("sentences", analysis.sentences);
    json.attribute("positions", analysis.positions);
    if (analysis.theta) {
      json.attribute("theta", *analysis.theta);
    }
    json.attributeArray("heat_maps", [&] {
      for (const KindAnalysis &kind : analysis.kinds) {
        json.value(llvm::json::fixUTF8(heatMapSvg(kind)));
      }
    });
  });
}

std::string ReportPage::json(const std::string &model, const Report &report) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("model", llvm::json::fixUTF8(model));
    json.attributeArray("facts", [&] {
      for (const auto &[name, value] : facts) {
        json.array([&] {
          json.value(llvm::json::fixUTF8(name));
          json.value(llvm::json::fixUTF8(value));
        });
      }
    });
    json.attributeObject("programs", [&] {
      for (const auto &[phase, entries] : programs) {
        json.attributeArray(phase, [&] {
          for (const EntryGraph &entry : entries) {
            writeGraph(json, entry);
          }
        });
      }
    });
    json.attributeArray("costs", [&] {
      for (const EntryCosts &entry : costs) {
        writeCosts(json, entry);
      }
    });
    json.attributeArray("gain", [&] { writeGain(json, gain); });
    json.attributeBegin("decisions");
    json.rawValue([&](llvm::raw_ostream &raw) { report.writeJson(raw); });
    json.attributeEnd();
    if (analysis) {
      writeAnalysis(json, *analysis);
    }
  });
  return text;
}

/// A file of the page; its bytes are embedded as numbers.
template <size_t size> static llvm::StringRef fileText(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

std::string ReportPage::html(const std::string &model, const Report &report) const {
  // Cut once, at the template's own marks: nothing that is put in is searched.
  auto [beforeStyle, afterStyle] = fileText(page::pageHtml).split(styleMark);
  auto [beforeData, afterData] = afterStyle.split(dataMark);
  auto [beforeScript, afterScript] = afterData.split(scriptMark);
  return (beforeStyle + fileText(page::pageCss) + beforeData + escapedForPage(json(model, report)) +
          beforeScript + fileText(page::numbersJs) + fileText(page::layoutJs) +
          fileText(page::graphJs) + fileText(page::gainJs) + fileText(page::costsJs) +
          fileText(page::decisionsJs) + fileText(page::heatMapJs) + fileText(page::pageJs) +
          afterScript)
      .str();
}

} // namespace heddle
