// SPDX-License-Identifier: Apache-2.0
///
/// The work that `heddle compare` gives to two models: the same sources to generate from or to
/// embed, timed alternately.
#ifndef HEDDLE_RUNTIME_TOOLS_COMPARE_COMPAREWORK_H
#define HEDDLE_RUNTIME_TOOLS_COMPARE_COMPAREWORK_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Measure/MachineRoof.h"
#include "runtime/Tools/Models/TeacherForcing.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// One of the two models.
struct ComparedModel {
  explicit ComparedModel(Model loaded) : model(std::move(loaded)) {}

  Model model;
  // Models that generate have these members,
  std::optional<Generator> generator;
  std::optional<TeacherForcer> forcer;
  // and models that embed have a session and the width of an embedding.
  std::optional<Session> session;
  int64_t width = 0;

  /// The text that the last run generated for each source, including its end token; preceded by the
  /// source if that is a prompt.
  std::vector<Tokens> texts;
  /// The seconds of each timed round.
  std::vector<double> times;
  /// The limits that a round is compared with, and the minimum time according to them.
  MachineRoof roof;
  double leastSeconds = 0;
};

/// Both models and their inputs. The options must outlive it.
class CompareWork {
public:
  /// Loads both models; InvalidArgument if they are of different kinds, or differ in vocabulary or
  /// width. Then reads the sources: a line that either model rejects is skipped or ends the run,
  /// according to the options; a line that they tokenise differently ends it, and so does an input
  /// without lines.
  static Result<CompareWork> open(const CompareOptions &options);

  bool generates() const { return sides[0].generator.has_value(); }
  const std::vector<Tokens> &sources() const { return sourceList; }
  /// Returns whether the models continue prompts.
  bool continues() const { return generates() && !sides[0].generator->hasSources(); }
  /// Returns the part of a text that a model has generated for a source.
  std::span<const int32_t> generatedPart(const ComparedModel &side, size_t index) const;
  ComparedModel &side(size_t index) { return sides[index]; }
  const ComparedModel &side(size_t index) const { return sides[index]; }

  /// Returns the failure at the end of a run in which lines were skipped.
  Status leftOut() const { return errors.finish(lineCount); }

  /// Runs one model on all sources: generates from them, or embeds one block at a time.
  Status run(ComparedModel &side);
  /// Runs both models alternately until there are enough timed runs.
  Status time();
  /// Runs each model once more, profiled, in a separate session, and sets its minimum time
  /// according to the limits of the machine, which are measured now.
  Status predict();

  /// Returns the failure for two models that are of different kinds.
  Status differ(const std::string &what) const;

private:
  CompareWork(const CompareOptions &options, Model a, Model b)
      : options(&options), sides{ComparedModel(std::move(a)), ComparedModel(std::move(b))},
        errors(options.onError, options.input == "-" ? "standard input" : options.input) {}
  Status open();
  Result<std::vector<Tokens>> generate(Generator &generator, const Model &model) const;
  Status embed(Session &session, const ComparedModel &side) const;
  Result<std::vector<DispatchProfile>> profile(const ComparedModel &side) const;
  Status openGenerating();
  Status openEmbedding();
  Status readSources();
  Result<std::array<Tokens, 2>> sourcesOf(const Line &line, const std::string &where) const;
  Result<Tokens> sourceFor(const ComparedModel &side, std::string_view line) const;

  const CompareOptions *options;
  std::array<ComparedModel, 2> sides;
  std::vector<Tokens> sourceList;
  int64_t lineCount = 0;
  LineErrors errors;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARE_COMPAREWORK_H
