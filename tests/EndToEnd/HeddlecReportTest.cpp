// SPDX-License-Identifier: Apache-2.0
///
/// heddlec --report=FILE.html and --analysis: which files are written when, and every message about
/// an invalid analysis, or one of another model. The appearance of the page is tested in a browser.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>
#include <map>
#include <span>

namespace heddle {
namespace {

using Json = nlohmann::json;

class HeddlecReport : public HeddlecTest {
protected:
  const std::string page = work / "report.html";

  /// Returns an analysis of the two layers of the tiny model.
  static Json analysis() {
    return {{"model", "bert-tiny"},
            {"theta", 0.25},
            {"sentences", 3},
            {"positions", 20},
            {"kinds",
             {{{"kind", "encoder"},
               {"layers", {"encoder.layer.0.attention.self", "encoder.layer.1.attention.self"}},
               {"similarity", {{1.0, 0.5}, {0.5, 1.0}}},
               {"policy", {1, 1}}}}}};
  }

  std::vector<std::string> arguments(const std::string &analysisFile) const {
    return {tiny,        "--stop-after=dataflow", "-o", "/dev/null", "--report", page, "--analysis",
            analysisFile};
  }

  /// Checks that the analysis with one member changed is rejected with this message.
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

/// Returns the data of a page.
Json dataOf(const std::string &text) {
  const std::string data = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = text.find(data) + data.size();
  return Json::parse(text.substr(begin, text.find("</script>", begin) - begin), nullptr, false);
}

TEST_F(HeddlecReport, IsAPageByItsName) {
  ASSERT_EQ(heddlec({tiny, "--stop-after=fused", "-o", work / "out.mlir", "--report", page}).code,
            0);
  const std::string text = readBytes(page);
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  // The file is self-contained: no placeholder is left, and nothing is fetched.
  for (const char *mark : {"/* style */", "/* data */", "/* script */", " src=", "@import"}) {
    EXPECT_EQ(text.find(mark), std::string::npos) << mark;
  }
  const std::string json = work / "report.json";
  ASSERT_EQ(heddlec({tiny, "--stop-after=fused", "-o", work / "out.mlir", "--report", json}).code,
            0);
  const Json inPage = dataOf(text);
  EXPECT_EQ(inPage["decisions"], Json::parse(readBytes(json)));
  EXPECT_EQ(inPage["model"], "bert-tiny");
  EXPECT_EQ(inPage["programs"].size(), 2u);
}

// Every matrix and table that is stored in fewer bits, the largest error first; bf16 is closer than
// 8 bits, which are closer than 4.
TEST_F(HeddlecReport, ShowsWhatFewerBitsChange) {
  std::map<std::string, double> largest;
  for (const std::string precision : {"f32", "bf16", "int8", "int4"}) {
    ASSERT_EQ(
        heddlec({tiny, "-o", work / "out.so", "--precision", precision, "--report", page}).code, 0);
    const Json rounding = dataOf(readBytes(page))["rounding"];
    EXPECT_EQ(rounding.empty(), precision == "f32");
    double before = 1;
    for (const Json &each : rounding) {
      EXPECT_NE(each["where"], "");
      EXPECT_LE(each["error"], before);
      EXPECT_GT(each["error"], 0);
      before = each["error"];
    }
    if (!rounding.empty()) {
      largest[precision] = rounding[0]["error"];
      EXPECT_EQ(rounding[0]["stored"],
                precision == "bf16"   ? "bf16"
                : precision == "int8" ? "i8, one scale for each row"
                                      : "i4, one scale and code of zero for every 32 of a row");
    }
  }
  EXPECT_LT(largest["bf16"], 1.0 / 256);
  EXPECT_LT(3 * largest["bf16"], largest["int8"]);
  EXPECT_LT(5 * largest["int8"], largest["int4"]);
  EXPECT_LT(largest["int4"], 0.15);
}

/// Returns the sum of the squared errors of a page's matrices.
double squaredErrors(const Json &page) {
  double sum = 0;
  for (const Json &each : page["rounding"]) {
    sum += each["error"].get<double>() * each["error"].get<double>();
  }
  return sum;
}

// The options are in heddlec's syntax, and together save what they claim.
TEST_F(HeddlecReport, SaysWhatIsWorthKeeping) {
  std::vector<std::string> arguments = {
      tiny, "--stop-after=dataflow", "-o", "/dev/null", "--precision=int4", "--report", page};
  ASSERT_EQ(heddlec(arguments).code, 0);
  const Json before = dataOf(readBytes(page));
  const Json &worth = before["worth_keeping"];
  ASSERT_FALSE(worth.empty());
  double share = 0;
  for (const Json &each : worth) {
    const std::string option = each["option"];
    ASSERT_TRUE(option.starts_with("--keep ") && option.ends_with("=int8")) << option;
    arguments.insert(arguments.end(), {"--keep", option.substr(option.find(' ') + 1)});
    EXPECT_GT(each["bytes"], 0);
    share += each["share"].get<double>();
  }
  ASSERT_EQ(heddlec(arguments).code, 0);
  const Json after = dataOf(readBytes(page));
  const double left = squaredErrors(after) / squaredErrors(before);
  EXPECT_NEAR(left, 1 - share, 0.02);
  ASSERT_EQ(heddlec({tiny, "--stop-after=dataflow", "-o", "/dev/null", "--report", page}).code, 0);
  EXPECT_TRUE(dataOf(readBytes(page))["worth_keeping"].empty());
}

// The precision of caches is reported as chosen: one number for each position stays unchanged.
TEST_F(HeddlecReport, SaysWhatCachesKeep) {
  const auto program = [](int width) {
    const std::string rows = "tensor<?x" + std::to_string(width) + "xf32>";
    const std::string cache = "!transformer.cache<" + std::to_string(width) + ">";
    const std::string name = " {transformer.name = \"seen\"}";
    const std::string result = rows + " {transformer.name = \"y\"}, " + cache + name;
    return "func.func @step(%x: " + rows +
           " {transformer.name = \"x\"}, %rows: !transformer.segments, %c: " + cache + name +
           ") -> (" + result + ") {\n  %d = transformer.append %c, %x in(%rows) : " + cache +
           "\n  %past = transformer.history %rows\n  %k = transformer.cached %d in(%past) : " +
           cache + " -> " + rows +
           "\n  %y = transformer.attention %x, %k, %k in(%rows, %past) {heads = 1 : i64, scale = "
           "1.0 "
           ": f32, visibility = #transformer.visibility<all>} : " +
           rows + ", " + rows + ", " + rows + " -> " + rows + "\n  return %y, %d : " + rows + ", " +
           cache + "\n}\n";
  };
  for (const auto &[width, asked, said, note] : {std::tuple(8, "int8", "int8", ""),
                                                 {8, "f32", "f32", ""},
                                                 {1, "int8", "f32",
                                                  "heddlec: note: --cache=int8 changes nothing: "
                                                  "caches have one number for each position\n"}}) {
    const std::string path = work.write("p.mlir", program(width));
    const tools::Outcome outcome = heddlec({path, "--stop-after=fused", "-o", work / "out.mlir",
                                            "--report", page, std::string("--cache=") + asked});
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    std::string caches;
    const Json data = dataOf(readBytes(page));
    for (const Json &fact : data["facts"]) {
      caches = fact[0] == "caches" ? fact[1].get<std::string>() : caches;
    }
    EXPECT_EQ(caches, said) << width;
    EXPECT_EQ(outcome.error.find("changes nothing") != std::string::npos, *note != '\0');
    EXPECT_NE(outcome.error.find(note), std::string::npos) << outcome.error;
  }
}

// A quantised cache counts bytes, including those of its scales.
TEST_F(HeddlecReport, InfoSaysTheBytesOfCodes) {
  const std::string binary =
      compileModel(HEDDLE_TEST_DATA "/oracles/marian-tiny", {"--cache=int8", "--target=x86-64-v3"});
  const tools::Outcome outcome = tools::runProgram("heddle", {"info", binary, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  size_t caches = 0;
  const Json info = Json::parse(outcome.output);
  for (const Json &entry : info["entries"]) {
    for (const Json &cache : entry.value("caches", Json::array())) {
      EXPECT_EQ(cache["element"], "i8");
      EXPECT_EQ(cache.count("width"), 0U);
      EXPECT_GT(cache["bytes"], 0);
      ++caches;
    }
  }
  EXPECT_GT(caches, 0U);
}

// The error of NaN is not a number.
TEST_F(HeddlecReport, ShowsWeightsThatAreNoNumbers) {
  const std::string copy = work / "spoilt";
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(tiny + "/config.json", copy + "/config.json");
  const auto file = SafetensorsFile::open(tiny + "/model.safetensors");
  ASSERT_TRUE(file.ok());
  const std::vector<float> spoilt(1 << 16, std::numeric_limits<float>::quiet_NaN());
  std::vector<SafetensorsTensor> tensors;
  for (SafetensorsTensor each : file->tensors()) {
    if (each.name.ends_with("output.dense.weight")) {
      each.bytes = std::as_bytes(std::span(spoilt)).first(each.bytes.size());
    }
    tensors.push_back(each);
  }
  ASSERT_TRUE(writeSafetensors(copy + "/model.safetensors", tensors).ok());
  ASSERT_EQ(heddlec({copy, "--stop-after=dataflow", "-o", work / "out.mlir", "--precision", "int8",
                     "--report", page})
                .code,
            0);
  const Json rounding = dataOf(readBytes(page))["rounding"];
  EXPECT_TRUE(rounding[0]["error"].is_null());
  EXPECT_FALSE(rounding.back()["error"].is_null());
}

/// It only depends on decisions before code generation, so nothing is missing.
TEST_F(HeddlecReport, NeedsNoOtherOutput) {
  const std::string alone = work / "alone.json";
  const tools::Outcome outcome = heddlec({tiny, "--report", alone});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, "");
  const std::string beside = work / "beside.json";
  ASSERT_EQ(heddlec({tiny, "-o", work / "out.so", "--report", beside}).code, 0);
  EXPECT_EQ(readBytes(alone), readBytes(beside));
  ASSERT_EQ(heddlec({tiny, "--report", page}).code, 0);
  const Json shown = dataOf(readBytes(page));
  EXPECT_EQ(shown["decisions"].size() + shown["gain"].size(),
            Json::parse(readBytes(beside)).size());
}

TEST_F(HeddlecReport, TheSameModelGivesTheSamePage) {
  const std::string second = work / "second.html";
  for (const std::string &file : {page, second}) {
    ASSERT_EQ(heddlec({tiny, "-o", work / "out.so", "--report", file}).code, 0);
  }
  EXPECT_EQ(readBytes(page), readBytes(second));
}

/// Returns the entries that predict a gain.
Json gains(const std::string &file) {
  Json found = Json::array();
  for (const Json &entry : Json::parse(readBytes(file), nullptr, false)) {
    if (entry["pass"] == "predicted-gain") {
      found.push_back(entry);
    }
  }
  return found;
}

TEST_F(HeddlecReport, PredictsTheGainOfBranches) {
  const std::string json = work / "report.json";
  const std::string folder = HEDDLE_TEST_DATA "/oracles/weighted";
  for (const std::string &file : {json, page}) {
    ASSERT_EQ(heddlec({folder, "--stop-after=dataflow", "-o", "/dev/null", "--report", file}).code,
              0);
  }
  const Json found = gains(json);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["where"], "encode");
  EXPECT_EQ(found[0]["predicted"][0]["tokens"], 16);
  // The longest sequence that it has positions for.
  EXPECT_EQ(found[0]["predicted"][1]["tokens"], 64);
  EXPECT_EQ(found[1]["where"], "decode");
  for (const Json &entry : found) {
    EXPECT_EQ(entry["taken"], true);
    // Those belong to the passes' own elements.
    for (const Json &saved : entry["savings"]) {
      EXPECT_EQ(saved, 0);
    }
    for (const Json &size : entry["predicted"]) {
      EXPECT_GT(size["arithmetic"], 1.1);
      EXPECT_GT(size["memory"], 1.1);
    }
  }
  // Four heads of 12 to 48 and 48 to 24, which become 12 to 24, in each of three layers.
  EXPECT_EQ(found[1]["before"]["flops_per_token"],
            found[1]["after"]["flops_per_token"].get<int64_t>() +
                3 * 4 * 2 * (12 * 48 + 48 * 24 - 12 * 24));
  EXPECT_EQ(
      found[1]["what"],
      "1.25 times as fast as without the passes where arithmetic limits, 1.26 where memory "
      "does, 1.40 where activations are in memory too, with 24 positions of history and 24 of "
      "source; 1.22 where arithmetic limits, 1.22 where memory does, 1.39 where activations "
      "are in memory too, with 64 positions of history and 24 of source");
  // The page has the same data.
  EXPECT_EQ(dataOf(readBytes(page))["gain"], found);
}

TEST_F(HeddlecReport, PredictsNoGainWithoutPasses) {
  const std::string json = work / "report.json";
  std::vector<std::string> arguments = withoutPasses();
  arguments.insert(arguments.begin(),
                   {"", "--stop-after=dataflow", "-o", "/dev/null", "--report", json});
  for (const char *model : {"weighted", "san-average", "bert-tiny", "t5-tiny"}) {
    arguments[0] = std::string(HEDDLE_TEST_DATA "/oracles/") + model;
    ASSERT_EQ(heddlec(arguments).code, 0) << model;
    const Json found = gains(json);
    EXPECT_EQ(found.size(), 2u) << model;
    for (const Json &entry : found) {
      EXPECT_EQ(entry["before"], entry["after"]) << model;
      EXPECT_GT(entry["after"]["flops_per_token"], 0) << model;
      for (const Json &size : entry["predicted"]) {
        EXPECT_EQ(size["arithmetic"], 1.0) << model;
        EXPECT_EQ(size["memory"], 1.0) << model;
        EXPECT_EQ(size["memory_with_activations"], 1.0) << model;
      }
    }
  }
}

TEST_F(HeddlecReport, FusionAloneSavesNoProductsButActivations) {
  // The probabilities that a model itself outputs cost attention a second product with the keys,
  // but only if they are requested. The widths 72 and 100 fill no panel of weights.
  const std::string json = work / "report.json";
  for (const char *model : {"transformer-post", "bert-tiny"}) {
    ASSERT_EQ(heddlec({std::string(HEDDLE_TEST_DATA "/oracles/") + model, "--stop-after=dataflow",
                       "-o", "/dev/null", "--report", json})
                  .code,
              0);
    EXPECT_EQ(gains(json).size(), 2u) << model;
    for (const Json &entry : gains(json)) {
      EXPECT_GT(entry["before"]["activation_bytes_per_token"],
                entry["after"]["activation_bytes_per_token"])
          << model;
      EXPECT_EQ(entry["before"]["weight_bytes_read"], entry["after"]["weight_bytes_read"]) << model;
      for (const Json &size : entry["predicted"]) {
        EXPECT_EQ(size["arithmetic"], 1.0) << model;
        EXPECT_EQ(size["memory"], 1.0) << model;
        EXPECT_GT(size["memory_with_activations"], 1.05) << model << size;
      }
      EXPECT_NE(entry["what"].get<std::string>().find("where activations are in memory too"),
                std::string::npos)
          << entry["what"];
      // Only attention had scores, which are now internal to its kernel.
      const bool isEncoder = entry["before"]["activation_bytes_per_token_and_row"] > 0;
      EXPECT_TRUE(isEncoder || entry["before"]["activation_bytes_per_token_and_history"] > 0);
      EXPECT_NE(isEncoder, entry["before"]["activation_bytes_per_token_and_source"] > 0);
      for (const char *keys : {"row", "history", "source"}) {
        EXPECT_EQ(entry["after"][std::string("activation_bytes_per_token_and_") + keys], 0)
            << model;
      }
    }
  }
}

TEST_F(HeddlecReport, PredictsFromTheModelToItsDispatchesOnly) {
  const std::string json = work / "report.json", program = work / "fused.mlir";
  ASSERT_EQ(heddlec({tiny, "--stop-after=fused", "-o", program, "--report", json}).code, 0);
  EXPECT_EQ(gains(json), Json::array());
  std::filesystem::copy(tiny + "/model.safetensors", work / "fused.safetensors");
  ASSERT_EQ(heddlec({program, "--start-at=dataflow", "--stop-after=dataflow", "-o", "/dev/null",
                     "--report", json})
                .code,
            0);
  EXPECT_EQ(gains(json), Json::array());
}

TEST_F(HeddlecReport, SaysWhyItPredictsNothing) {
  // Unused operations are removed, except without passes.
  const std::string program = work.write("program.mlir", R"(
    transformer.parameter @w : tensor<5x8xf32> from "w"
    func.func @encode(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
        -> (tensor<?x8xf32> {transformer.name = "states"}) {
      %unused = arith.constant dense<0.0> : tensor<8xf32> loc("unused")
      %states = transformer.gather @w[%ids] : tensor<?x8xf32>
      return %states : tensor<?x8xf32>
    })");
  const std::vector<float> zeros(5 * 8);
  const std::vector<SafetensorsTensor> tensors = {
      {"w", ElementType::F32, {5, 8}, std::as_bytes(std::span(zeros))}};
  ASSERT_TRUE(writeSafetensors(work / "program.safetensors", tensors).ok());
  const std::string json = work / "report.json";
  const tools::Outcome outcome =
      heddlec({program, "--stop-after=dataflow", "-o", "/dev/null", "--report", json});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(withoutNotes(outcome.error), "");
  const Json found = gains(json);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["taken"], false);
  EXPECT_EQ(found[0]["where"], "the program");
  EXPECT_EQ(found[0]["reason"],
            "without the passes the program cannot be taken to the phase \"dataflow\": \"unused\": "
            "'arith.constant' op has no kernel at the dataflow level");
  EXPECT_EQ(found[0]["savings"]["flops_per_token"], 0);
}

TEST_F(HeddlecReport, ChangesNoBinary) {
  const std::string plain = work / "plain.so", reported = work / "reported.so";
  ASSERT_EQ(heddlec({tiny, "-o", plain}).code, 0);
  ASSERT_EQ(heddlec({tiny, "-o", reported, "--report", page}).code, 0);
  // This includes the manifest, with its summary of the passes.
  EXPECT_EQ(readBytes(plain), readBytes(reported));
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

// Every message about the text of an analysis is tested with its parser.
TEST_F(HeddlecReport, FilesThatAreNoAnalyses) {
  const std::string absent = work / "absent.json";
  expectError(arguments(absent), absent + ": cannot open: No such file or directory");
  refusesText("[]", "not a JSON object, expected what 'heddle analyze' writes");
  refuses("/theta", "x", R"("theta" is "x", expected a number or null)");
  const std::string deep = work.write("analysis.json", std::string(1'000'000, '['));
  expectError(arguments(deep), deep + ": not a JSON object, expected what 'heddle analyze' writes");
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
