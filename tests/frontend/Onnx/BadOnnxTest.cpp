// SPDX-License-Identifier: Apache-2.0
///
/// Malformed ONNX files. tests/oracles/onnx/bad/bad.tsv describes the defect of each file and what
/// the message must name. No file may take excessive time or memory.
#include "frontend/Import/Import.h"

#include "mlir/IR/MLIRContext.h"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>

namespace heddle {
namespace {

const std::string folder = HEDDLE_TEST_DATA "/oracles/onnx/bad/";

struct BadFile {
  std::string name;
  std::string wrong;
  /// A word that the message must contain; empty if it need not name anything in particular.
  std::string word;

  /// Returns whether reading the file may succeed.
  bool mayBeRead() const { return wrong.find("import") != std::string::npos; }
};

std::vector<BadFile> badFiles() {
  std::ifstream list(folder + "bad.tsv");
  std::vector<BadFile> files;
  std::string line;
  std::getline(list, line);
  while (std::getline(list, line)) {
    std::istringstream fields(line);
    BadFile &file = files.emplace_back();
    std::getline(fields, file.name, '\t');
    std::getline(fields, file.wrong, '\t');
    std::getline(fields, file.word, '\t');
  }
  return files;
}

void PrintTo(const BadFile &file, std::ostream *stream) { *stream << file.name; }

int64_t mostKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class BadOnnx : public testing::TestWithParam<BadFile> {};

TEST_P(BadOnnx, IsRefusedByName) {
  const BadFile &file = GetParam();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const int64_t before = mostKilobytes();
  const auto begin = std::chrono::steady_clock::now();
  const auto model = importModel(context, folder + file.name);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 1);
  EXPECT_LT(mostKilobytes() - before, 100 * 1024);
  if (model.ok()) {
    EXPECT_TRUE(file.mayBeRead()) << file.wrong;
    return;
  }
  const std::string message(model.status().message());
  EXPECT_TRUE(message.starts_with(folder + file.name + ": ")) << message;
  EXPECT_NE(message.find(file.word), std::string::npos) << message << ", expected " << file.word;
}

INSTANTIATE_TEST_SUITE_P(All, BadOnnx, testing::ValuesIn(badFiles()), [](const auto &info) {
  std::string name = info.param.name.substr(0, info.param.name.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
} // namespace heddle
