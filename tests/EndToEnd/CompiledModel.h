// SPDX-License-Identifier: Apache-2.0
///
/// Shared by end-to-end tests: compile with the real heddlec, run with the real runtime, compare.
#ifndef HEDDLE_TESTS_ENDTOEND_COMPILEDMODEL_H
#define HEDDLE_TESTS_ENDTOEND_COMPILEDMODEL_H

#include "heddle/Session.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// ModelOptions::device in these tests: a GPU that runs the target, real or emulated, if there is
/// one.
inline constexpr const char *anyDevice = "auto";

/// Returns the folder in which the compilers of this build cache the code of functions: heddlec,
/// heddlec-emulated, and those in test programs, which compile the same models. The programs with
/// MLIR depend on heddlec in CMake: rebuilt compilers have a new folder, so that no code outlives
/// its compiler; the old folders are removed.
std::string codeOfHeddlec();

/// Returns the targets of models for which a test names none: empty for those of a binary by
/// default, or "native" on machines without AVX-512, which could not run most of that code.
std::vector<std::string> usualTargets();

/// Returns --target with every processor target that this machine can run.
std::string presentTargets();

/// Returns the target of models for the emulated GPU: HEDDLE_TEST_TARGET, for example sm_90a, or
/// else sm_80.
std::string gpuTarget();

/// Returns the option for models that run on the processor and on the emulated GPU, one beside the
/// other.
std::string targetsOfBoth();

/// Runs heddlec and returns the path of the binary; the same arguments are compiled once per
/// process. A failed compilation fails the test and gives an empty path. With
/// HEDDLE_TEST_DEVICE=cuda models are compiled for the emulated GPU instead, by
/// tests/EmulatedCompiler, for gpuTarget() unless they name targets. Others are for usualTargets().
std::string compileModel(const std::string &input, const std::vector<std::string> &arguments = {});

/// The same for the targets of a binary by default.
std::string compileByDefault(const std::string &input,
                             const std::vector<std::string> &arguments = {});

/// Runs a command, with stdout and stderr in `text`, and returns its exit code.
int runCommand(const std::string &command, std::string &text);

/// Returns a file's bytes.
std::string readBytes(const std::string &path);

/// Concatenated sentences.
struct Ragged {
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;

  void append(std::span<const int32_t> sentence) {
    lengths.push_back(static_cast<int32_t>(sentence.size()));
    ids.insert(ids.end(), sentence.begin(), sentence.end());
  }
};

/// Returns `count` random sentences of 1 to `longest` ids less than `vocabulary`.
Ragged randomSentences(int count, int longest, int vocabulary, uint32_t seed);

/// Returns the outputs of one run by name; a failure fails the test and gives none.
std::map<std::string, std::vector<float>> runModel(Session &session, const std::string &entry,
                                                   const Ragged &batch);

/// As above, for a binary and target, on `threads` threads.
std::map<std::string, std::vector<float>> runBinary(const std::string &path, const Ragged &batch,
                                                    const std::string &isa = "", int threads = 1,
                                                    const std::string &entry = "encode");

/// Returns the largest difference of two vectors; infinite for different lengths and for NaN.
float largestDifference(std::span<const float> a, std::span<const float> b);

/// Returns the targets that both the binary and this machine have, including GPUs.
std::vector<std::string> runnableTargets(const std::string &path);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_COMPILEDMODEL_H
