// SPDX-License-Identifier: Apache-2.0
///
/// Reads lines in blocks, searches for the best text of each, then runs source and text through the
/// model again and reads the attention. For a model that continues texts, the lines are the texts.
#include "runtime/Tools/Commands.h"

#include "formats/Analysis/HeatMap.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Tools/Analyze/AttentionObserver.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <fmt/format.h>

namespace heddle::tools {

static constexpr Word<BlockRule> blockWords[] = {{"largest", BlockRule::Largest},
                                                 {"extend", BlockRule::Extend}};

void declare(OptionList &list, AnalyzeOptions &options) {
  declareModel(list, options);
  declareCorpus(list, options);
  const std::string help =
      fmt::format("Where the similarities of layers go, as .json: {}", similarityMeaning);
  list.output("--output", options.output, help.c_str());
  list.output("--svg", options.svg, "Where a heat map of the similarities goes");
  list.output("--alignments", options.alignments,
              "Where a drawing of one text goes: what each attention looks at, word by word");
  list.number("--line", options.line, numbersBetween<int64_t>(1, int64_t(1) << 53), "N",
              "The line of --alignments")
      .otherwise("the first that can be used")
      .needs("--alignments");
  list.number(
      "--theta", options.theta, numbersBetween(0.0, 1.0), "T",
      "Also choose a policy of sharing: blocks of layers whose mean similarity is above T share");
  list.word("--blocks", options.blocks, blockWords, "RULE",
            "How far a block reaches: largest, to the last layer with which its mean similarity is "
            "above T; extend, to the last one before it falls to T")
      .needs("--theta");
}

namespace {
/// The number of sentences that are searched together.
constexpr size_t blockSentences = 256;

/// One run of the command.
struct Analyzer {
  const AnalyzeOptions &options;
  const Model &model;
  AttentionObserver observer;
  /// Set only for a model that generates.
  std::optional<Generator> generator;
  GenerationOptions search;
  LineReader lines;
  LineErrors errors;
  /// The text to draw, once it was found.
  std::optional<Sentence> drawn = {};

  /// Returns whether the line read last is the one to draw.
  bool isDrawn() const {
    return !options.alignments.empty() && !drawn &&
           (!options.line || *options.line == lines.number());
  }
  Result<Tokens> sourceOf(std::string_view line);
  Result<std::vector<Sentence>> nextBlock();
};
} // namespace

/// Returns the ids of a line, checked, so that messages name the line.
Result<Tokens> Analyzer::sourceOf(std::string_view line) {
  Result<Tokens> ids = generator ? sourceTokens(*generator, options, line)
                                 : textTokens(model, observer.entry(), options, line);
  HEDDLE_TRY(ids.status());
  if (generator && !observer.continues()) {
    HEDDLE_TRY(generator->check(GenerationRequest{.source = *ids, .options = search}));
  } else {
    HEDDLE_TRY(checkText(observer.entry(), observer.input(), *ids));
  }
  return ids;
}

/// Returns the next non-empty lines with the texts generated for them; empty at the end. Lines that
/// cannot be used are skipped.
Result<std::vector<Sentence>> Analyzer::nextBlock() {
  std::vector<Tokens> sources;
  std::optional<size_t> drawnSource;
  while (sources.size() < blockSentences) {
    HEDDLE_ASSIGN(const std::optional<Line> line, lines.nextText());
    if (!line) {
      break;
    }
    Result<Tokens> source = line->status.ok() ? sourceOf(line->text) : line->status;
    if (source.ok()) {
      if (!drawnSource && isDrawn()) {
        drawnSource = sources.size();
      }
      sources.push_back(*std::move(source));
      continue;
    }
    Status failure = line->status.ok() ? source.status().annotate(lines.where()) : line->status;
    if (!errors.goOn(failure)) {
      return failure;
    }
  }
  std::vector<Tokens> targets(sources.size());
  if (observer.continues()) {
    sources.swap(targets);
  } else if (generator) {
    HEDDLE_ASSIGN(targets, generateBest(*generator, sources, search, lines.name()));
  }
  std::vector<Sentence> block;
  for (size_t i = 0; i < sources.size(); ++i) {
    block.push_back({std::move(sources[i]), std::move(targets[i])});
  }
  if (drawnSource) {
    drawn = block[*drawnSource];
  }
  return block;
}

static Status writeTo(const std::string &path, const std::string &text) {
  HEDDLE_ASSIGN(OutputStream output, OutputStream::open(path));
  HEDDLE_TRY(output.write(text));
  return output.finish();
}

/// Runs all sentences through the model.
static Result<AttentionAnalysis> analyze(Analyzer &analyzer, const AnalyzeOptions &options) {
  HEDDLE_ASSIGN(const std::optional<int64_t> total, countTexts(options.input));
  Progress progress("sentences", options.json);
  for (int64_t done = 0;;) {
    HEDDLE_ASSIGN(const std::vector<Sentence> block, analyzer.nextBlock());
    if (block.empty()) {
      break;
    }
    HEDDLE_TRY_WITH(analyzer.observer.add(block), analyzer.lines.name());
    done += static_cast<int64_t>(block.size());
    progress.update(done, total);
  }
  AttentionAnalysis analysis = analyzer.observer.analysis();
  if (analysis.sentences == 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no texts, expected at least one", analyzer.lines.name()));
  }
  return analysis;
}

static Status drawAlignments(Analyzer &analyzer, const AnalyzeOptions &options) {
  if (!analyzer.drawn) {
    return optionError(fmt::format("--line is {}, and {} has no text there that can be used",
                                   *options.line, analyzer.lines.name()));
  }
  HEDDLE_ASSIGN(const std::vector<AlignmentMap> maps,
                analyzer.observer.alignments(*analyzer.drawn, options.tokens));
  const std::string &model = options.model;
  return writeTo(options.alignments,
                 alignmentSvg("Attention of " + model.substr(model.rfind('/') + 1), maps));
}

Status execute(const AnalyzeOptions &options) {
  HEDDLE_ASSIGN(LineReader lines, openSources(options.input, options.tokens, options.inputFormat));
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  if (!options.tokens) {
    HEDDLE_TRY(checkTokenizer(model));
  }
  const SessionOptions session = {.threads = options.threads};
  HEDDLE_ASSIGN(AttentionObserver observer,
                AttentionObserver::create(model, session, !options.alignments.empty()));
  std::optional<Generator> generator;
  if (observer.generates()) {
    HEDDLE_ASSIGN(Generator made, Generator::create(model, {.session = session}));
    generator.emplace(std::move(made));
  }
  if (options.beam && (!generator || observer.continues())) {
    return optionError(fmt::format("--beam is given, and {}: leave it out",
                                   generator ? "texts are analyzed as they are given"
                                             : options.model + " does not generate"));
  }
  LineErrors errors(options.onError, lines.name());
  Analyzer analyzer{
      options,          model, std::move(observer), std::move(generator), {}, std::move(lines),
      std::move(errors)};
  analyzer.search.beam = options.beam;
  analyzer.search.sample = false;
  HEDDLE_ASSIGN(AttentionAnalysis analysis, analyze(analyzer, options));
  HEDDLE_TRY(checkSimilarities(analysis, options.model));
  if (options.theta) {
    choosePolicies(analysis, *options.theta, options.blocks);
  }
  if (!options.alignments.empty()) {
    HEDDLE_TRY(drawAlignments(analyzer, options));
  }
  if (!options.svg.empty()) {
    HEDDLE_TRY(writeTo(options.svg, heatMapSvg(analysis)));
  }
  HEDDLE_TRY(writeTo(options.output, writeAnalysis(analysis)));
  return analyzer.errors.finish(analyzer.lines.number());
}

} // namespace heddle::tools
