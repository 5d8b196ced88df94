// SPDX-License-Identifier: Apache-2.0
///
/// The work that `heddle compare` gives to two models: the same sources, to generate from or to
/// embed, timed in turn.
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
  // Models that generate have these,
  std::optional<Generator> generator;
  std::optional<TeacherForcer> forcer;
  // and models that embed a session and the size of an embedding.
  std::optional<Session> session;
  int64_t width = 0;

  /// The text that the last run generated for each source, including its end; after the source
  /// itself, where that is a prompt.
  std::vector<Tokens> texts;
  /// Seconds of each round that was timed.
  std::vector<double> times;
  /// The limits that a round is compared with, and the least seconds it takes within them.
  MachineRoof roof;
  double leastSeconds = 0;
};

/// Both models and what goes through them. The options outlive it.
class CompareWork {
public:
  /// Loads both models; those that are not of one kind, or differ in vocabulary or width, are
  /// InvalidArgument. Then reads the sources: a line that either refuses is left out, or the end,
  /// as the options say; one that they cut into different tokens is the end, and so is an input
  /// without any.
  static Result<CompareWork> open(const CompareOptions &options);

  bool generates() const { return sides[0].generator.has_value(); }
  const std::vector<Tokens> &sources() const { return sourceList; }
  /// Whether the models continue what they are given.
  bool continues() const { return generates() && !sides[0].generator->hasSources(); }
  /// The part of a text that a model has generated for a source.
  std::span<const int32_t> generatedPart(const ComparedModel &side, size_t index) const;
  ComparedModel &side(size_t index) { return sides[index]; }
  const ComparedModel &side(size_t index) const { return sides[index]; }

  /// The failure at the end of a run in which lines were left out.
  Status leftOut() const { return errors.finish(lineCount); }

  /// All sources through one model: generated from, or embedded a block at a time.
  Status run(ComparedModel &side);
  /// Runs of both models in turn, until there are enough of each.
  Status time();
  /// One more run of each, profiled, by sessions of its own; gives both their least time by what
  /// the machine can do, measured now.
  Status predict();

  /// The failure for two models that are not of one kind.
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
