// SPDX-License-Identifier: Apache-2.0
///
/// What must hold of a program: it compiles with any set of passes; on every target its results are
/// within the bounds of the interpreter; and a sequence has the same bits alone, in any batch, on
/// any number of threads, and whether it is decoded at once or in pieces.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCHECK_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCHECK_H

#include "tests/EndToEnd/RandomPrograms/ProgramCompiler.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// What does not hold.
struct Failure {
  enum class Kind : uint8_t {
    /// The interpreter meets rows that do not fit together: it is no program.
    Meaning,
    /// It does not compile.
    Compile,
    /// The runtime refuses it.
    Run,
    /// A result is out of its bounds.
    Value,
    /// A sequence has two results.
    Bits,
  };
  Kind kind;
  PassChoice passes;
  /// Empty for one that does not compile.
  std::string target;
  std::string text;

  std::string message() const;
};

/// Results of one sequence by "entry.output"; scores have no columns beyond its own keys.
using SequenceValues = std::map<std::string, std::vector<float>>;

/// What is expected of one sequence, by the same names.
using SequenceBounds = std::map<std::string, BoundedTensor>;

/// What the interpreter says of every sequence of a program. InvalidArgument where rows do not fit
/// together.
Result<std::vector<SequenceBounds>> expectedValues(const TestProgram &program);

class ProgramCheck {
public:
  /// Compiles into `folder`, for all targets that this machine has.
  explicit ProgramCheck(const std::string &folder);

  /// The first thing that does not hold with these choices, on `targets`, empty: on all.
  std::optional<Failure> run(const TestProgram &program, const std::vector<PassChoice> &choices,
                             const std::vector<std::string> &onTargets = {},
                             const Corruption &corruption = nullptr);

  /// The first set of passes after which the program means something else, or may lose what it did
  /// not lose before: judged by the interpreter, without code. It takes a hundredth of the time.
  std::optional<Failure> runFused(const TestProgram &program,
                                  const std::vector<PassChoice> &choices,
                                  const Corruption &corruption = nullptr);

  /// What there was to check, so that a test can see that there was something.
  struct Counts {
    int64_t binaries = 0;
    /// Elements with a bound, and those for which f32 may give anything.
    int64_t judged = 0;
    int64_t unknown = 0;
    /// The judged values whose bound is a hundredth of their value or less.
    int64_t sharp = 0;
  };
  const Counts &counts() const { return counted; }

private:
  std::optional<Failure> checkTarget(const ProgramCompiler::Binary &binary,
                                     const TestProgram &program,
                                     const std::vector<SequenceBounds> &expected,
                                     const std::string &target);

  /// What a binary gives for every sequence alone, by the targets that were checked.
  std::map<std::string, std::vector<SequenceValues>> results;

  std::vector<std::string> targets;
  ProgramCompiler compiler;
  Counts counted;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCHECK_H
