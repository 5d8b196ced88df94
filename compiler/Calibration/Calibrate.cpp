// SPDX-License-Identifier: Apache-2.0
///
/// Divides matrices into rounds; in each round, runs the texts and chooses codes.
#include "compiler/Calibration/Calibrate.h"

#include "compiler/Calibration/Moments.h"
#include "compiler/Calibration/TextRun.h"
#include "compiler/Dataflow/ProductRows.h"
#include "compiler/Link/ParameterValues.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/IR/SymbolTable.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

using namespace mlir;

namespace heddle {

using transformer::ExpressionKind;

namespace {
/// A matrix whose codes are chosen.
struct Matrix {
  mutable transformer::ParameterOp parameter; // a handle, its accessors are not const
  /// The rows that it is multiplied with, and their number for each part of the matrix.
  std::vector<int64_t> sites;
  int64_t groups, k;

  uint64_t momentsBytes() const { return sites.size() * Moments::bytesOf(groups, k); }
};

/// Matrices whose moments are in memory at the same time.
struct Round {
  std::vector<const Matrix *> matrices;
  std::set<int64_t> sites;
  uint64_t bytes = 0;
};
} // namespace

/// Returns the row numbers of moments, from a source or a sum of sources.
static std::vector<int64_t> sitesOf(transformer::ParameterOp moments, SymbolTable &symbols) {
  if (moments.getSource()) {
    return {*siteOfMoments(*moments.getSource())};
  }
  std::vector<int64_t> sites;
  for (FlatSymbolRefAttr operand : moments.getExpression()->getOperands()) {
    auto part = symbols.lookup<transformer::ParameterOp>(operand.getAttr());
    sites.push_back(*siteOfMoments(*part.getSource()));
  }
  return sites;
}

static std::vector<Matrix> findMatrices(ModuleOp module) {
  std::vector<Matrix> matrices;
  SymbolTable symbols(module);
  for (auto parameter : module.getOps<transformer::ParameterOp>()) {
    auto expression = parameter.getExpressionAttr();
    if (expression && expression.getKind() == ExpressionKind::Compensate) {
      auto moments =
          symbols.lookup<transformer::ParameterOp>(expression.getOperands()[1].getAttr());
      const ArrayRef<int64_t> shape = moments.getTensorType().getShape();
      matrices.push_back({parameter, sitesOf(moments, symbols), shape[0] / shape[1], shape[1]});
    }
  }
  return matrices;
}

std::vector<int64_t> neededRows(ModuleOp module) {
  std::set<int64_t> sites;
  for (const Matrix &matrix : findMatrices(module)) {
    sites.insert(matrix.sites.begin(), matrix.sites.end());
  }
  return {sites.begin(), sites.end()};
}

/// In program order, in which matrices that are multiplied with the same rows are adjacent.
static std::vector<Round> makeRounds(const std::vector<Matrix> &matrices, uint64_t mostBytes) {
  std::vector<Round> rounds;
  for (const Matrix &matrix : matrices) {
    const auto isNew = [&](int64_t site) {
      return rounds.empty() || !rounds.back().sites.contains(site);
    };
    const auto added = static_cast<uint64_t>(std::ranges::count_if(matrix.sites, isNew)) *
                       Moments::bytesOf(matrix.groups, matrix.k);
    if (rounds.empty() || (added > 0 && rounds.back().bytes + added > mostBytes)) {
      rounds.emplace_back();
      rounds.back().bytes = matrix.momentsBytes();
    } else {
      rounds.back().bytes += added;
    }
    rounds.back().matrices.push_back(&matrix);
    rounds.back().sites.insert(matrix.sites.begin(), matrix.sites.end());
  }
  return rounds;
}

namespace {
/// A calibration in progress.
class Calibrator {
public:
  Calibrator(ModuleOp module, const ParameterSource &source, const CalibrationTexts &texts,
             const CalibrationOptions &options, TextRun run, CompensatedValues values)
      : module(module), source(source), texts(texts), options(options), run(std::move(run)),
        values(std::move(values)) {}

  Result<Calibration> calibrate();

private:
  Status observe(const Round &round, size_t number, size_t rounds);
  Status choose(const Round &round);
  std::string unseenGroups(const Matrix &matrix) const;
  Status read(llvm::StringRef name, ElementType element, std::span<std::byte> bytes) const;
  Calibration finish(const std::vector<Matrix> &matrices);

  ModuleOp module;
  const ParameterSource &source;
  const CalibrationTexts &texts;
  const CalibrationOptions &options;
  TextRun run;
  CompensatedValues values;
  /// The moments of the round, by row number.
  std::map<int64_t, Moments> moments;
  CompensationGain gain;
};
} // namespace

/// Sums the moments of a round.
Status Calibrator::observe(const Round &round, size_t number, size_t rounds) {
  moments.clear();
  struct Observed {
    int64_t site;
    bool areChoices;
  };
  std::vector<Observed> observed;
  std::vector<std::string> outputs;
  // If rows choose groups, the choices must arrive before the rows.
  for (const int64_t site : round.sites) {
    observed.push_back({site, true});
    outputs.push_back(choicesName(site));
    observed.push_back({site, false});
    outputs.push_back(rowsName(site));
  }
  for (const Matrix *const matrix : round.matrices) {
    for (const int64_t site : matrix->sites) {
      moments.try_emplace(site, matrix->groups, matrix->k);
    }
  }
  std::vector<float> chosen;
  const std::string which = rounds == 1 ? "" : fmt::format(", pass {} of {}", number, rounds);
  HEDDLE_TRY(run.run(
      outputs,
      [&](size_t output, std::span<const float> rows) {
        if (observed[output].areChoices) {
          chosen.assign(rows.begin(), rows.end());
          return;
        }
        Moments &sums = moments.at(observed[output].site);
        const auto threads = static_cast<unsigned>(options.threads);
        if (chosen.empty()) {
          sums.add(rows, threads);
        } else {
          sums.addChosen(rows, std::exchange(chosen, {}), threads);
        }
      },
      [&](size_t done) {
        options.onStep(
            fmt::format("calibration: {} of {} texts{}", done, texts.texts.size(), which));
      }));
  for (const Matrix *const matrix : round.matrices) {
    for (const int64_t site : matrix->sites) {
      if (!moments.at(site).areFinite()) {
        return HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{}: what {} is multiplied with on these texts, or its "
                                        "squares, are no finite numbers of f32",
                                        texts.path, placeName(matrix->parameter.getLoc())));
      }
    }
  }
  return {};
}

/// Reads moments of the round; all other parameters come from the model.
Status Calibrator::read(llvm::StringRef name, ElementType element,
                        std::span<std::byte> bytes) const {
  const std::optional<int64_t> site = siteOfMoments(name);
  const auto found = site ? moments.find(*site) : moments.end();
  if (found == moments.end()) {
    return source(name, element, bytes);
  }
  std::vector<float> numbers(bytes.size() / sizeof(float));
  found->second.write(numbers);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return {};
}

/// Reports how many groups of a matrix no row of the texts chose: their codes are the nearest ones.
std::string Calibrator::unseenGroups(const Matrix &matrix) const {
  int64_t unseen = 0;
  for (int64_t group = 0; group < matrix.groups; ++group) {
    unseen += std::ranges::none_of(matrix.sites,
                                   [&](int64_t site) { return moments.at(site).hasRows(group); });
  }
  return unseen == 0 ? ""
                     : fmt::format(", {} of {} groups are chosen by no row and rounded to the "
                                   "nearest",
                                   unseen, matrix.groups);
}

/// Chooses the codes of the matrices of a round.
Status Calibrator::choose(const Round &round) {
  const ParameterSource withMoments(
      [this](llvm::StringRef name, ElementType element, std::span<std::byte> bytes) {
        return read(name, element, bytes);
      },
      [this](llvm::StringRef name, transformer::QuantizedType type) {
        return source.codes(name, type);
      });
  ParameterEvaluator evaluator(module, withMoments);
  for (const Matrix *const matrix : round.matrices) {
    const std::string name = placeName(matrix->parameter.getLoc());
    options.onStep("calibration: " + name);
    Result<ParameterEvaluator::Compensated> chosen =
        evaluator.evaluateCompensated(matrix->parameter);
    HEDDLE_TRY_WITH(chosen.status(), name);
    HEDDLE_TRY(values.add(matrix->parameter.getSymName(), chosen->values));
    gain.nearest += chosen->gain.nearest;
    gain.chosen += chosen->gain.chosen;
    reportTaken(matrix->parameter.getLoc(), passNames::compensateWeights,
                fmt::format("squared errors of products on {} texts fall to {:.1f} %{}",
                            texts.texts.size(), 100 * chosen->gain.remaining(),
                            unseenGroups(*matrix)));
  }
  return {};
}

Calibration Calibrator::finish(const std::vector<Matrix> &matrices) {
  Calibration done{std::move(values), {}};
  done.notes.push_back(fmt::format(
      "{} matrices calibrated by {} texts of {} tokens: squared errors of their products fall to "
      "{:.1f} %",
      done.values.size(), texts.texts.size(), run.tokens(), 100 * gain.remaining()));
  if (run.textsOfMostTokens() > 0) {
    done.notes.push_back(fmt::format("{}: {} texts have as many tokens as the model takes, or were "
                                     "cut to that",
                                     texts.path, run.textsOfMostTokens()));
  }
  const int64_t widest = std::ranges::max(matrices, {}, &Matrix::k).k;
  if (run.tokens() < widest) {
    done.notes.push_back(fmt::format("{}: {} tokens are few for products of {} elements: more "
                                     "texts say more",
                                     texts.path, run.tokens(), widest));
  }
  return done;
}

Result<Calibration> Calibrator::calibrate() {
  const std::vector<Matrix> matrices = findMatrices(module);
  const std::vector<Round> rounds = makeRounds(matrices, options.momentsBytes);
  for (size_t i = 0; i < rounds.size(); ++i) {
    HEDDLE_TRY(observe(rounds[i], i + 1, rounds.size()));
    HEDDLE_TRY(choose(rounds[i]));
  }
  return finish(matrices);
}

Result<Calibration> calibrate(ModuleOp module, const ParameterSource &source,
                              const std::string &observed, const CalibrationTexts &texts,
                              const CalibrationOptions &options) {
  std::vector<std::string> outputs;
  for (const int64_t site : neededRows(module)) {
    outputs.push_back(rowsName(site));
  }
  options.onStep("calibration: texts");
  HEDDLE_ASSIGN(TextRun run, TextRun::create(observed, outputs, texts, options.threads));
  HEDDLE_ASSIGN(CompensatedValues values, CompensatedValues::create());
  return Calibrator(module, source, texts, options, std::move(run), std::move(values)).calibrate();
}

} // namespace heddle
