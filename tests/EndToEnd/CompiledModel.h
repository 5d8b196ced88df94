// SPDX-License-Identifier: Apache-2.0
///
/// What end-to-end tests share: compile with the real heddlec, run with the real runtime, compare.
#ifndef HEDDLE_TESTS_ENDTOEND_COMPILEDMODEL_H
#define HEDDLE_TESTS_ENDTOEND_COMPILEDMODEL_H

#include "heddle/Session.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// ModelOptions::device in these tests: where there is a GPU that runs the target, real or
/// emulated, that one.
inline constexpr const char *anyDevice = "auto";

/// A folder for the code of functions that a compiler, a program, has compiled. Programs of tests
/// share that of heddlec: they compile the same models, and models have kernels in common. A
/// compiler that is built anew has a folder of its own, so that no code outlives what made it, and
/// those before it are removed.
std::string codeFolder(const std::string &compiler);

/// Runs heddlec and returns the path of the binary; the same arguments compile once in a process.
/// A failed compilation fails the test and gives an empty path. With HEDDLE_TEST_DEVICE=cuda models
/// are also compiled for the emulated GPU, by tests/EmulatedCompiler, unless they name targets.
std::string compileModel(const std::string &input, const std::vector<std::string> &arguments = {});

/// Runs a command, with stdout and stderr in `text`; its exit code.
int runCommand(const std::string &command, std::string &text);

/// A file's bytes.
std::string readBytes(const std::string &path);

/// Sentences, end to end.
struct Ragged {
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;

  void append(std::span<const int32_t> sentence) {
    lengths.push_back(static_cast<int32_t>(sentence.size()));
    ids.insert(ids.end(), sentence.begin(), sentence.end());
  }
};

/// Random sentences: `count` of them, 1 to `longest` ids below `vocabulary`.
Ragged randomSentences(int count, int longest, int vocabulary, uint32_t seed);

/// Outputs by name of one run; a failure fails the test and gives none.
std::map<std::string, std::vector<float>> runModel(Session &session, const std::string &entry,
                                                   const Ragged &batch);

/// As above for a binary and target, on `threads`.
std::map<std::string, std::vector<float>> runBinary(const std::string &path, const Ragged &batch,
                                                    const std::string &isa = "", int threads = 1,
                                                    const std::string &entry = "encode");

/// The largest difference of two equally long vectors; infinite for others and for NaN.
float largestDifference(std::span<const float> a, std::span<const float> b);

/// Targets that both the binary and this machine have, GPUs included.
std::vector<std::string> runnableTargets(const std::string &path);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_COMPILEDMODEL_H
