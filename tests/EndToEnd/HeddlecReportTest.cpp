// SPDX-License-Identifier: Apache-2.0
///
/// heddlec --report=FILE.html and --analysis: what is written when, and every message about an
/// analysis that is not one, or is of another model. How the page looks is tested in a browser.
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"

#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using Json = nlohmann::json;

class HeddlecReport : public HeddlecTest {
protected:
  const std::string page = work / "report.html";

  /// An analysis of the two layers of the tiny model.
  static Json analysis() {
    return {{"model", "bert-tiny"},
            {"theta", 0.25},
            {"sentences", 3},
            {"positions", 20},
            {"kinds",
             {{{"kind", "encoder"},
               {"layers", {"encoder.layer.0.attention.self", "encoder.layer.1.attention.self"}},
               {"divergence", {{0.0, 0.5}, {0.5, 0.0}}},
               {"policy", {1, 1}}}}}};
  }

  std::vector<std::string> arguments(const std::string &analysisFile) const {
    return {tiny,        "--stop-after=dataflow", "-o", "/dev/null", "--report", page, "--analysis",
            analysisFile};
  }

  /// The analysis with one member changed is refused, for that reason.
  void refuses(const std::string &member, const Json &value, const std::string &message) {
    Json changed = analysis();
    changed[Json::json_pointer(member)] = value;
    refusesText(changed.dump(), message);
  }
  void refusesText(const std::string &text, const std::string &message) {
    const std::string file = work.write("analysis.json", text);
    expectError(arguments(file), file + ": " + message);
  }
};

TEST_F(HeddlecReport, IsAPageByItsName) {
  ASSERT_EQ(heddlec({tiny, "--stop-after=fused", "-o", work / "out.mlir", "--report", page}).code,
            0);
  const std::string text = readBytes(page);
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  // All of it is in the file: nothing is left to put in, and nothing is fetched.
  for (const char *mark : {"/* style */", "/* data */", "/* script */", " src=", "@import"}) {
    EXPECT_EQ(text.find(mark), std::string::npos) << mark;
  }
  const std::string json = work / "report.json";
  ASSERT_EQ(heddlec({tiny, "--stop-after=fused", "-o", work / "out.mlir", "--report", json}).code,
            0);
  const std::string data = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = text.find(data) + data.size();
  const Json inPage = Json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  EXPECT_EQ(inPage["decisions"], Json::parse(readBytes(json)));
  EXPECT_EQ(inPage["model"], "bert-tiny");
  EXPECT_EQ(inPage["programs"].size(), 2u);
}

TEST_F(HeddlecReport, TheSameModelGivesTheSamePage) {
  const std::string second = work / "second.html";
  for (const std::string &file : {page, second}) {
    ASSERT_EQ(heddlec({tiny, "-o", work / "out.so", "--report", file}).code, 0);
  }
  EXPECT_EQ(readBytes(page), readBytes(second));
}

TEST_F(HeddlecReport, ShowsAnAnalysis) {
  const std::string file = work.write("analysis.json", analysis().dump());
  ASSERT_EQ(heddlec(arguments(file)).code, 0);
  EXPECT_NE(readBytes(page).find("policy 1,1"), std::string::npos);
  EXPECT_NE(readBytes(page).find("\"theta\":0.25"), std::string::npos);
  Json without = analysis();
  without["theta"] = nullptr;
  without["kinds"][0]["policy"] = nullptr;
  ASSERT_EQ(heddlec(arguments(work.write("analysis.json", without.dump()))).code, 0);
  EXPECT_EQ(readBytes(page).find("policy 1,1"), std::string::npos);
  EXPECT_EQ(readBytes(page).find("\"theta\":"), std::string::npos);
}

TEST_F(HeddlecReport, AnalysisNeedsAPage) {
  const std::string message = "--analysis is shown by --report=FILE.html, which is not asked for";
  expectUsage({tiny, "-o", work / "out.so", "--analysis=a.json"}, message);
  expectUsage({tiny, "-o", work / "out.so", "--analysis=a.json", "--report=r.json"}, message);
  expectUsage({tiny, "-o", work / "out.so", "--analysis="},
              "--analysis has no value, expected one after it");
}

// Every message about the text of an analysis is tested where it is read.
TEST_F(HeddlecReport, FilesThatAreNoAnalyses) {
  const std::string absent = work / "absent.json";
  expectError(arguments(absent), absent + ": cannot open: No such file or directory");
  refusesText("[]", "no JSON object, expected one as heddle analyze writes");
  refuses("/theta", "x", R"("theta" is "x", expected a number or null)");
  const std::string deep = work.write("analysis.json", std::string(1'000'000, '['));
  expectError(arguments(deep), deep + ": no JSON object, expected one as heddle analyze writes");
}

TEST_F(HeddlecReport, AnalysesOfOtherModels) {
  refuses("/kinds/0/layers/1", "encoder.layer.9.attention.self",
          "the attention \"encoder.layer.9.attention.self\" is none of this model, expected names "
          "such as \"encoder.layer.0.attention.self\"");
}

TEST_F(HeddlecReport, NothingHalfWritten) {
  const std::string old = work.write("old.html", "old");
  expectError({tiny, "-o", work / "out.so", "--report", old},
              old + ": cannot write: File too large", {.fileLimit = 1000});
  EXPECT_EQ(readBytes(old), "old");
  const std::string absent = work / "absent/report.html";
  expectError({tiny, "-o", work / "out.so", "--report", absent},
              absent + ": cannot create: No such file or directory");
}

} // namespace
} // namespace heddle
