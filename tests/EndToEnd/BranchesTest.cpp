// SPDX-License-Identifier: Apache-2.0
///
/// Every function of the lit tests of fuse-branches, executed: the program gives the same results
/// with and without the pass, whether the fusion was taken or declined.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>

namespace heddle {
namespace {

/// The functions of a lit test as entries that look their arguments up, and random weights.
struct Programs {
  std::string text;
  std::vector<std::string> entries;
  std::vector<Matrix> parameters;
};

/// Declares a parameter [rows, columns], or [rows] for 0 columns, with its own values.
void declare(Programs &programs, const std::string &name, int64_t rows, int64_t columns) {
  std::mt19937 random(static_cast<unsigned>(programs.parameters.size()));
  programs.parameters.push_back(randomMatrix(name, rows, columns, random));
}

/// Converts `func.func @f(%a: tensor<?x16xf32>) -> tensor<?x24xf32> {` to an entry of ids.
std::string entryText(Programs &programs, const std::string &line) {
  static const std::regex signature(R"(func\.func @(\w+)\((.*)\) -> (.*) \{)");
  static const std::regex rows(R"(tensor<\?x(\d+)xf32>)");
  static const std::regex argument(R"((%\w+): tensor<\?x(\d+)xf32>)");
  std::smatch parts;
  EXPECT_TRUE(std::regex_match(line, parts, signature)) << line;
  const std::string name = parts[1];
  const std::string arguments = parts[2];
  const std::string types = parts[3];
  programs.entries.push_back(name);
  std::string results;
  for (std::sregex_iterator it(types.begin(), types.end(), rows), end; it != end; ++it) {
    const std::string number =
        std::to_string(std::distance(std::sregex_iterator(types.begin(), types.end(), rows), it));
    results +=
        (results.empty() ? "" : ", ") + it->str() + " {transformer.name = \"out" + number + "\"}";
  }
  std::string text = "func.func @" + name +
                     "(%ids: tensor<?xi32> {transformer.name = \"input_ids\"}, "
                     "%rows: !transformer.segments) -> (" +
                     results + ") {\n";
  for (std::sregex_iterator it(arguments.begin(), arguments.end(), argument), end; it != end;
       ++it) {
    const std::string table = "table." + name + "." + it->str(1).substr(1);
    const int64_t width = std::stoll(it->str(2));
    declare(programs, table, vocabulary, width);
    programs.text += "transformer.parameter @" + table + " : tensor<" + std::to_string(vocabulary) +
                     "x" + it->str(2) + "xf32> from \"" + table + "\"\n";
    text += "  " + it->str(1) + " = transformer.gather @" + table + "[%ids] : tensor<?x" +
            it->str(2) + "xf32>\n";
  }
  return text;
}

Programs readPrograms(const std::string &path) {
  static const std::regex parameter(
      R"(transformer\.parameter @(\S+) : tensor<(\d+)(?:x(\d+))?xf32> from .*)");
  Programs programs;
  std::string functions;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    std::smatch parts;
    if (std::regex_match(line, parts, parameter)) {
      declare(programs, parts[1], std::stoll(parts[2]),
              parts[3].matched ? std::stoll(parts[3]) : 0);
      programs.text += line + "\n";
    } else if (line.starts_with("func.func")) {
      functions += entryText(programs, line);
    } else {
      functions += line + "\n";
    }
  }
  programs.text += functions;
  return programs;
}

std::vector<std::string> litTests() {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(HEDDLE_TEST_DATA "/compiler/Model/Branches")) {
    const std::string name = entry.path().stem();
    if (name.starts_with("fuse-branches")) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Branches : public testing::TestWithParam<std::string> {};

TEST_P(Branches, AreThoseOfTheProgram) {
  const Programs programs =
      readPrograms(HEDDLE_TEST_DATA "/compiler/Model/Branches/" + GetParam() + ".mlir");
  ASSERT_FALSE(programs.entries.empty());
  std::vector<SafetensorsTensor> tensors;
  for (const Matrix &matrix : programs.parameters) {
    std::vector<int64_t> shape = {matrix.rows};
    if (matrix.columns > 0) {
      shape.push_back(matrix.columns);
    }
    tensors.push_back(
        {matrix.name, ElementType::F32, shape, std::as_bytes(std::span(matrix.values))});
  }
  const TemporaryFolder folder;
  const std::string program = folder.write("program.mlir", programs.text);
  ASSERT_TRUE(writeSafetensors(folder / "program.safetensors", tensors).ok());
  const std::string fused = compileModel(program);
  const std::string unfused = compileModel(program, {"--disable-pass=fuse-branches"});
  ASSERT_FALSE(fused.empty() || unfused.empty());
  const Ragged batch = randomSentences(5, 23, vocabulary, 3);
  for (const std::string &isa : runnableTargets(fused)) {
    for (const std::string &entry : programs.entries) {
      const auto expected = runBinary(unfused, batch, isa, 1, entry);
      const auto outputs = runBinary(fused, batch, isa, 1, entry);
      ASSERT_FALSE(expected.empty());
      for (const auto &[name, values] : expected) {
        ASSERT_TRUE(outputs.contains(name));
        float largest = 1;
        for (float value : values) {
          largest = std::max(largest, std::abs(value));
        }
        EXPECT_LE(largestDifference(outputs.at(name), values), 2e-5f * largest)
            << isa << " " << entry << " " << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spellings, Branches, testing::ValuesIn(litTests()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
} // namespace heddle
