// SPDX-License-Identifier: Apache-2.0
///
/// The properties that must hold for a program: it compiles with any set of passes; on every target
/// its results are within the bounds of the interpreter; and a sequence has the same bits alone, in
/// any batch, on any number of threads, and whether it is decoded at once or in pieces.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCHECK_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCHECK_H

#include "tests/EndToEnd/RandomPrograms/ProgramCompiler.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A property that does not hold.
struct Failure {
  enum class Kind : uint8_t {
    /// The interpreter finds rows that do not match: the program is invalid.
    Meaning,
    /// It does not compile.
    Compile,
    /// The runtime rejects it.
    Run,
    /// A result is out of its bounds.
    Value,
    /// A sequence has two different results.
    Bits,
  };
  Kind kind;
  PassChoice passes;
  /// Empty if it does not compile.
  std::string target;
  std::string text;

  std::string message() const;
};

/// The results of one sequence by "entry.output"; scores have no columns beyond its own keys.
using SequenceValues = std::map<std::string, std::vector<float>>;

/// The expected results of one sequence, by the same names.
using SequenceBounds = std::map<std::string, BoundedTensor>;

/// Returns the interpreter's results for every sequence of a program. InvalidArgument if rows do
/// not match.
Result<std::vector<SequenceBounds>> expectedValues(const TestProgram &program);

class ProgramCheck {
public:
  /// Compiles into `folder`, for all targets that this machine has; or, for a device other than
  /// processors ("cuda"), for its first target.
  explicit ProgramCheck(const std::string &folder, std::string device = "");

  /// Returns the sets of passes to compile with: on other devices than processors few, because an
  /// emulated one is slow.
  std::vector<PassChoice> choices() const;

  /// Returns the first property that fails with these choices, on `targets`; if that is empty, on
  /// all.
  std::optional<Failure> run(const TestProgram &program, const std::vector<PassChoice> &choices,
                             const std::vector<std::string> &onTargets = {},
                             const Corruption &corruption = nullptr);

  /// Returns the first set of passes after which the program has another meaning, or larger errors
  /// than before: judged by the interpreter, without code, in a hundredth of the time.
  std::optional<Failure> runFused(const TestProgram &program,
                                  const std::vector<PassChoice> &choices,
                                  const Corruption &corruption = nullptr);

  /// The numbers of checks, so that a test can verify that there were some.
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

  /// The results of a binary for every sequence alone, by the targets that were checked.
  std::map<std::string, std::vector<SequenceValues>> results;

  std::string device;
  std::vector<std::string> targets;
  ProgramCompiler compiler;
  Counts counted;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMCHECK_H
