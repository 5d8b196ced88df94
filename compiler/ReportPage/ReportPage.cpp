// SPDX-License-Identifier: Apache-2.0
///
/// Inserts the document into the template, with the style and scripts that the build embeds.
#include "compiler/ReportPage/ReportPage.h"

#include "compiler/ReportPage/PageFiles.h.inc"
#include "dialects/Transformer/Transformer.h"
#include "formats/Analysis/HeatMap.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace heddle {

/// Marks in the template, in this order, that are replaced.
static constexpr llvm::StringLiteral styleMark = "/* style */";
static constexpr llvm::StringLiteral dataMark = "/* data */";
static constexpr llvm::StringLiteral scriptMark = "/* script */";

std::string escapedForPage(llvm::StringRef json) {
  std::string escaped;
  escaped.reserve(json.size());
  // In JSON they only occur in strings, where an escape is equivalent.
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

Status ReportPage::setAnalysis(AttentionAnalysis measured, ModuleOp module,
                               const std::string &path) {
  llvm::StringSet<> known;
  std::string example;
  module.walk([&](Operation *operation) {
    if (isa<transformer::SoftmaxOp, transformer::AttentionOp, transformer::AttentionWeightsOp>(
            operation)) {
      std::string name = checkpointName(operation->getLoc());
      example = example.empty() ? name : example;
      known.insert(name);
    }
  });
  for (const KindAnalysis &kind : measured.kinds) {
    for (const std::string &layer : kind.layers) {
      if (!known.contains(layer)) {
        const std::string expected =
            known.empty() ? "which has no attention" : "expected names such as \"" + example + "\"";
        return HEDDLE_ERROR(InvalidArgument, (llvm::Twine(path) + ": the attention \"" + layer +
                                              "\" is none of this model, " + expected)
                                                 .str());
      }
    }
  }
  analysis = std::move(measured);
  return {};
}

/// Writes the heat maps of an analysis, which contain its numbers.
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

/// JSON has no NaN; null stands for it.
static void writeRounded(llvm::json::OStream &json, const RoundedWeights &rounded) {
  json.object([&] {
    json.attribute("where", llvm::json::fixUTF8(rounded.where));
    json.attribute("stored", rounded.stored);
    json.attribute("error", std::isnan(rounded.error) ? llvm::json::Value(nullptr)
                                                      : llvm::json::Value(rounded.error));
    json.attribute("bytes", rounded.bytes);
    json.attribute("bytes_in_bf16", rounded.bytesInBf16);
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
    json.attributeArray("rounding", [&] {
      for (const RoundedWeights &each : rounded) {
        writeRounded(json, each);
      }
    });
    json.attributeArray("worth_keeping", [&] {
      for (const KeepOption &each : worthKeeping) {
        json.object([&] {
          json.attribute("option", llvm::json::fixUTF8("--keep " + each.option));
          json.attribute("share", each.share);
          json.attribute("bytes", each.bytes);
        });
      }
    });
  });
  return text;
}

/// Returns the text of an embedded file.
template <size_t size> static llvm::StringRef fileText(const unsigned char (&bytes)[size]) {
  return {reinterpret_cast<const char *>(bytes), size};
}

std::string ReportPage::html(const std::string &model, const Report &report) const {
  // Splits the template before inserting anything, so that marks in the data have no effect.
  auto [beforeStyle, afterStyle] = fileText(page::pageHtml).split(styleMark);
  auto [beforeData, afterData] = afterStyle.split(dataMark);
  auto [beforeScript, afterScript] = afterData.split(scriptMark);
  return (beforeStyle + fileText(page::pageCss) + beforeData + escapedForPage(json(model, report)) +
          beforeScript + fileText(page::numbersJs) + fileText(page::layoutJs) +
          fileText(page::graphJs) + fileText(page::gainJs) + fileText(page::costsJs) +
          fileText(page::decisionsJs) + fileText(page::heatMapJs) + fileText(page::roundingJs) +
          fileText(page::pageJs) + afterScript)
      .str();
}

} // namespace heddle
