// SPDX-License-Identifier: Apache-2.0
///
/// Lines join the batch as they arrive, the longest first, and are answered in order. The command
/// never waits for input while there is work to do. The answer to a single prompt is written while
/// it is generated.
#include "runtime/Tools/Commands.h"

#include "formats/Binary/GenerationCheck.h"
#include "runtime/Tools/Generate/AnswerRecords.h"
#include "runtime/Tools/Generate/SourceStream.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace heddle::tools {

namespace {
/// A line that is being processed.
struct Pending {
  std::string source;
  /// Empty until the line is finished.
  std::optional<std::string> answer;
};

/// The entries of the other files for a source.
struct Beside {
  std::optional<Line> prefix;
  std::optional<Line> shortlist;
  std::optional<Line> command;
};

/// The state of one run.
class GenerateRun {
public:
  GenerateRun(const GenerateOptions &options, Generator generator, SourceStream sources,
              OutputStream output)
      : options(options), generator(std::move(generator)), sources(std::move(sources)),
        output(std::move(output)), errors(options.onError, this->sources.name()),
        progress("sentences", options.json || (options.output == "-" && isatty(STDOUT_FILENO))) {}

  Status run();

  std::optional<LineReader> prefixes;
  std::optional<LineReader> shortlists;
  std::optional<LineReader> commands;

private:
  struct Waiting {
    size_t number;
    GenerationRequest request;
  };

  Status takeLines();
  Status readBlock(std::vector<Waiting> &block);
  Result<Beside> readBeside();
  Status expectEnd(std::optional<LineReader> &reader) const;
  Result<std::optional<GenerationRequest>> requestOf(const Line &line, const Beside &beside) const;
  void fail(size_t number, const Status &problem);
  void accept(const GenerationResult &result);
  Result<std::string> answerOf(const GenerationResult &result, const std::string &source) const;
  Status writeAnswers();
  Status writeEvents();
  std::string countsText(double seconds) const;
  std::string cutText() const;
  bool isBeyondContext(const GenerationResult &result) const;
  std::string contextText() const;

  AnswerRecords records() const { return {options, generator}; }

  const GenerateOptions &options;
  Generator generator;
  SourceStream sources;
  OutputStream output;
  LineErrors errors;
  Progress progress;
  /// Whether reading has ended.
  bool ended = false;
  /// Lines that are not written yet; the first has the number `written`.
  std::deque<Pending> pending;
  size_t written = 0;
  std::map<int64_t, size_t> numbers;
  int64_t tokensGenerated = 0;
  int64_t tokensOfPrompts = 0;
  /// Answers that ended because they may have no more tokens.
  int64_t answersCut = 0;
  /// Texts that became longer than those of the model's training.
  int64_t textsBeyondContext = 0;
  /// Tokens of the answer that is written as it is made.
  int64_t tokensWritten = 0;
  /// The reason why a token of the streamed answer has no text.
  Status textStatus = {};
};
} // namespace

/// Reads the lines of the other files that belong to the source just read.
Result<Beside> GenerateRun::readBeside() {
  Beside beside;
  const std::pair<std::optional<LineReader> &, std::optional<Line> &> files[] = {
      {prefixes, beside.prefix}, {shortlists, beside.shortlist}, {commands, beside.command}};
  for (const auto &[reader, line] : files) {
    if (!reader) {
      continue;
    }
    HEDDLE_ASSIGN(line, reader->next());
    if (!line && !interrupted()) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: no line for {}, expected one for each "
                                                       "source",
                                                       reader->name(), sources.where()));
    }
  }
  return beside;
}

/// Checks after the last source that another file has no more lines either.
Status GenerateRun::expectEnd(std::optional<LineReader> &reader) const {
  if (!reader || interrupted()) {
    return {};
  }
  HEDDLE_ASSIGN(const std::optional<Line> line, reader->next());
  if (line) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: a line without a source, expected as "
                                                     "many lines as {} has",
                                                     reader->where(), sources.name()));
  }
  return {};
}

/// Parses the single number of a line of commands.
static Result<int32_t> parseCommand(const Line &line) {
  HEDDLE_TRY(line.status);
  HEDDLE_ASSIGN(const std::vector<int32_t> numbers, parseTokenLine(line.text));
  if (numbers.size() != 1) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} numbers, expected one command", numbers.size()));
  }
  return numbers.front();
}

/// Returns the request of a line; nullopt for an empty one. Every failure is the line's.
Result<std::optional<GenerationRequest>> GenerateRun::requestOf(const Line &line,
                                                                const Beside &beside) const {
  std::vector<int32_t> prefix, shortlist;
  std::optional<int32_t> command;
  if (beside.prefix) {
    HEDDLE_TRY(beside.prefix->status);
    const std::string_view text = beside.prefix->text;
    Result<std::vector<int32_t>> tokens =
        options.tokens ? parseTokenLine(text) : generator.encodeTarget(text);
    HEDDLE_TRY_WITH(tokens.status(), prefixes->where());
    prefix = std::move(*tokens);
  }
  if (beside.shortlist) {
    HEDDLE_TRY(beside.shortlist->status);
    Result<std::vector<int32_t>> tokens = parseTokenLine(beside.shortlist->text);
    HEDDLE_TRY_WITH(tokens.status(), shortlists->where());
    shortlist = std::move(*tokens);
  }
  if (beside.command) {
    const Result<int32_t> number = parseCommand(*beside.command);
    HEDDLE_TRY_WITH(number.status(), commands->where());
    command = *number;
  }
  HEDDLE_TRY(line.status);
  if (isBlank(line.text)) {
    return std::optional<GenerationRequest>();
  }
  Result<GenerationRequest> asked = sources.request(generator, options, line.text);
  HEDDLE_TRY_WITH(asked.status(), sources.where());
  GenerationRequest request = std::move(*asked);
  HEDDLE_TRY_WITH(generator.check(request), sources.where());
  // One after another, so that a failure is attributed to the file that caused it.
  if (prefixes) {
    request.prefix = std::move(prefix);
    HEDDLE_TRY_WITH(generator.check(request), prefixes->where());
  }
  if (shortlists) {
    request.shortlist = std::move(shortlist);
    HEDDLE_TRY_WITH(generator.check(request), shortlists->where());
  }
  if (commands) {
    request.options.command = command;
    HEDDLE_TRY_WITH(generator.check(request), commands->where());
  }
  return std::optional(std::move(request));
}

/// Reads the available lines, at most a block. Waits only if there is nothing else to do.
Status GenerateRun::readBlock(std::vector<Waiting> &block) {
  size_t bytes = 0;
  for (size_t lines = 0; lines < blockTexts && bytes < blockBytes && !interrupted();) {
    const bool idle = generator.idle() && pending.empty();
    HEDDLE_ASSIGN(const bool ready, sources.ready(idle ? waitMilliseconds : 0));
    if (!ready && !idle) {
      break;
    }
    if (!ready) {
      continue;
    }
    HEDDLE_ASSIGN(const std::optional<Line> line, sources.next());
    if (!line) {
      ended = true;
      HEDDLE_TRY(expectEnd(prefixes));
      HEDDLE_TRY(expectEnd(commands));
      return expectEnd(shortlists);
    }
    HEDDLE_ASSIGN(const Beside beside, readBeside());
    bytes += line->text.size();
    ++lines;
    Result<std::optional<GenerationRequest>> request = requestOf(*line, beside);
    bytes += request.ok() && *request ? (*request)->rows.size() * sizeof(float) : 0;
    if (!request.ok() && !errors.goOn(request.status())) {
      return {};
    }
    const size_t number = written + pending.size();
    pending.push_back({std::string(line->text), std::nullopt});
    if (!request.ok()) {
      pending.back().answer = records().errorRecord(pending.back().source, request.status());
    } else if (*request) {
      block.push_back({number, std::move(**request)});
    } else {
      pending.back().answer = records().emptyRecord(line->text);
    }
  }
  return {};
}

/// Queues the next lines, longest first: sentences that run together then end together. If a line
/// ends the run, the lines before it are queued.
Status GenerateRun::takeLines() {
  std::vector<Waiting> block;
  const Status failure = readBlock(block);
  const auto sizeOf = [](const Waiting &each) {
    return each.request.source.size() + each.request.rows.size() + each.request.prefix.size();
  };
  std::sort(block.begin(), block.end(), [&](const Waiting &a, const Waiting &b) {
    return sizeOf(a) != sizeOf(b) ? sizeOf(a) > sizeOf(b) : a.number < b.number;
  });
  for (Waiting &waiting : block) {
    const Result<int64_t> id = generator.add(std::move(waiting.request));
    if (id.ok()) {
      numbers[*id] = waiting.number;
    } else {
      fail(waiting.number, id.status());
    }
  }
  return failure;
}

Result<std::string> GenerateRun::answerOf(const GenerationResult &result,
                                          const std::string &source) const {
  if (result.status.code() == StatusCode::ResourceExhausted) {
    return Status(StatusCode::ResourceExhausted,
                  fmt::format("{}: --cache gives it more", result.status.message()));
  }
  HEDDLE_TRY(result.status);
  return records().generationRecord(source, result);
}

/// Fails a line that was already queued. If that ends the run, the lines after it are not answered.
void GenerateRun::fail(size_t number, const Status &problem) {
  const size_t place = number - written;
  if (place >= pending.size()) {
    return;
  }
  const Status failure = problem.annotate(sources.placeOf(number));
  if (errors.goOn(failure)) {
    pending[place].answer = records().errorRecord(pending[place].source, failure);
  } else {
    pending.resize(place);
  }
}

void GenerateRun::accept(const GenerationResult &result) {
  const size_t number = numbers.extract(result.id).mapped();
  const size_t place = number - written;
  if (place >= pending.size()) {
    return;
  }
  for (const Hypothesis &hypothesis : result.hypotheses) {
    tokensGenerated += static_cast<int64_t>(hypothesis.tokens.size()) -
                       (generator.hasSources() ? 0 : result.prefix);
  }
  if (!result.hypotheses.empty() && result.hypotheses[0].finish == FinishReason::Length) {
    ++answersCut;
  }
  textsBeyondContext += isBeyondContext(result) ? 1 : 0;
  Pending &line = pending[place];
  tokensOfPrompts += result.prefix;
  // A streamed answer only needs its end.
  const bool isWritten = options.streams() && result.status.ok();
  const Result<std::string> end =
      textStatus.ok() ? Result<std::string>("\n") : Result<std::string>(textStatus);
  Result<std::string> answer = isWritten ? end : answerOf(result, line.source);
  if (answer.ok()) {
    line.answer = std::move(*answer);
  } else {
    fail(number, answer.status());
  }
}

/// Writes the finished lines before the first unfinished one.
Status GenerateRun::writeAnswers() {
  std::string lines;
  while (!pending.empty() && pending.front().answer) {
    lines += *pending.front().answer;
    pending.pop_front();
    ++written;
  }
  return lines.empty() ? Status() : output.write(lines);
}

/// Writes the new text of the only answer. A token without a text fails its line, as in the other
/// formats.
Status GenerateRun::writeEvents() {
  std::string text;
  for (const TokenEvent &event : generator.takeEvents()) {
    if (!options.tokens && textStatus.ok()) {
      textStatus = event.status;
    }
    for (const int32_t token : options.tokens ? event.tokens : std::vector<int32_t>()) {
      text += fmt::format("{}{}", tokensWritten++ > 0 ? " " : "", token);
    }
    text += options.tokens ? "" : event.text;
  }
  return text.empty() ? Status() : output.write(text);
}

/// Returns the statistics that a user who watches an answer may want to see at the end.
std::string GenerateRun::countsText(double seconds) const {
  const int64_t shared = generator.sharedTokens();
  return fmt::format(
      "heddle: {} tokens of the prompt{}, {} generated in {:.2f} s, {:.1f} a second\n",
      tokensOfPrompts, shared > 0 ? fmt::format(" ({} shared)", shared) : "", tokensGenerated,
      seconds, static_cast<double>(tokensGenerated) / std::max(seconds, 1e-9));
}

/// Returns whether a prompt and its longest continuation have more tokens than the model was
/// trained for.
bool GenerateRun::isBeyondContext(const GenerationResult &result) const {
  const auto most = static_cast<size_t>(generator.contextLength());
  return most > 0 && std::any_of(result.hypotheses.begin(), result.hypotheses.end(),
                                 [&](const Hypothesis &each) { return each.tokens.size() > most; });
}

std::string GenerateRun::contextText() const {
  const bool isOne = textsBeyondContext == 1;
  return textsBeyondContext > 0
             ? fmt::format("heddle: note: {} {} more than {} tokens, the length that the model was "
                           "trained for: answers beyond it are rarely useful\n",
                           textsBeyondContext, isOne ? "text has" : "texts have",
                           generator.contextLength())
             : "";
}

/// Half a turn of a conversation, or half of a JSON value, is not what was asked for; half of a
/// text that is continued is.
std::string GenerateRun::cutText() const {
  const bool wantsWhole = options.chat || !options.jsonSchema.empty();
  return wantsWhole && answersCut > 0
             ? fmt::format("heddle: note: {} {} cut at the most tokens of an answer: --max-length "
                           "allows more\n",
                           answersCut, answersCut == 1 ? "answer was" : "answers were")
             : "";
}

Status GenerateRun::run() {
  noteInterruptions();
  const Progress::Clock::time_point start = Progress::Clock::now();
  Status failure;
  while (!interrupted() && !(ended && pending.empty())) {
    // The next block is read when the last one has joined the batch.
    if (generator.waiting() == 0 && !ended) {
      failure = takeLines();
      ended = ended || !failure.ok() || errors.stopped();
    }
    if (!generator.idle() && !interrupted()) {
      Result<std::vector<GenerationResult>> step = generator.step();
      if (!step.ok()) {
        const Status lost =
            step.status().annotate(placesFrom(sources.placeOf(written), pending.size()));
        return errors.finish(output, static_cast<int64_t>(written), lost);
      }
      if (options.streams()) {
        HEDDLE_TRY(writeEvents());
      }
      for (const GenerationResult &result : *step) {
        accept(result);
      }
      ended = ended || errors.stopped();
    }
    HEDDLE_TRY(writeAnswers());
    progress.update(static_cast<int64_t>(written), sources.total(), tokensGenerated);
  }
  if (options.streams() && tokensGenerated > 0 && isatty(STDERR_FILENO) != 0) {
    const std::chrono::duration<double> seconds = Progress::Clock::now() - start;
    sayAboveProgress(countsText(seconds.count()));
  }
  for (const std::string &note : {cutText(), contextText()}) {
    if (!note.empty()) {
      sayAboveProgress(note);
    }
  }
  return errors.finish(output, static_cast<int64_t>(written), failure);
}

/// Returns the shortest possible source of a model.
static GenerationRequest shortestSource(const EntryInfo &encode, const PortInfo &input) {
  GenerationRequest request;
  if (input.element == ElementType::F32) {
    request.rows.resize(static_cast<size_t>(encode.lengthMultiple * input.shape.back()));
    request.width = encode.hasWidths ? 1 : 0;
  } else {
    request.source = {0};
  }
  return request;
}

/// Rejects options that do not fit the model before anything is read.
static Status checkSearch(const Generator &generator, const GenerationRequest &shortest,
                          const GenerationOptions &given, const std::string &schemaFile) {
  const auto check = [&](GenerationOptions search) {
    // The maximum length of a text can depend on its source.
    if (!search.maxLength) {
      search.minLength.reset();
    }
    GenerationRequest request = shortest;
    request.options = std::move(search);
    // The shortest source has no language token.
    request.options.sourceLanguage.clear();
    return generator.check(request);
  };
  Status status = check(given);
  if (status.ok()) {
    return status;
  }
  GenerationRequest alone = shortest;
  alone.options.jsonSchema = given.jsonSchema;
  HEDDLE_TRY(checkSchema(generator, alone, schemaFile));
  GenerationOptions without = given;
  without.nbest = 1;
  if (check(without).ok()) {
    return optionError(
        fmt::format("--nbest {} needs --beam {}: {}", given.nbest, given.nbest, status.message()));
  }
  without = given;
  without.maxLength.reset();
  if (given.maxLength && check(without).ok()) {
    return optionError(fmt::format("--max-length {}: {}", *given.maxLength, status.message()));
  }
  // If the defaults are valid, the options are at fault, and the message names them.
  return check({}).ok() ? optionError(std::string(status.message())) : status;
}

/// Creates the generator of a model, and checks that the options and the input fit it.
static Result<Generator> openGenerator(const Model &model, const GenerateOptions &options) {
  const SessionOptions session = {.threads = options.threads,
                                  .cacheBytes = static_cast<uint64_t>(options.cacheMegabytes) << 20,
                                  .sharePrefixes = options.sharesPrefixes};
  HEDDLE_ASSIGN(Generator generator,
                Generator::create(model, {.session = session,
                                          .batchTokens = options.batchTokens,
                                          .promptTokens = options.promptTokens,
                                          .promptTokensBeside = options.promptTokens,
                                          .runAhead = options.runsAhead}));
  if (!generator.hasSources()) {
    if (!options.prefix.empty()) {
      return optionError(fmt::format("--prefix is given, and {} continues prompts: expected all of "
                                     "them in --input",
                                     model.path()));
    }
    if (options.truncate) {
      return optionError("--truncate is given, and the model continues prompts, which are not cut: "
                         "leave it out");
    }
    HEDDLE_TRY(checkSearch(generator, requestFor(generator, {0}, {}), options.generation,
                           options.jsonSchema));
    return generator;
  }
  if (!options.prompt.empty()) {
    return optionError(
        fmt::format("--prompt is given, and {} answers sources: expected --input", model.path()));
  }
  const EntryInfo &encode = *model.findEntry(encodeEntry);
  HEDDLE_ASSIGN(const PortInfo *const input, chooseInput(model, encode));
  if (input->element == ElementType::F32 && options.inputs.empty()) {
    return optionError(fmt::format("--input {}: {}: entry {} reads rows of {}, the input {}, "
                                   "expected --inputs with a tensor of that name",
                                   quote(options.input), model.path(), quote(encode.name),
                                   infoOf(input->element).name, quote(input->name)));
  }
  HEDDLE_TRY(checkSearch(generator, shortestSource(encode, *input), options.generation,
                         options.jsonSchema));
  return generator;
}

Status execute(const GenerateOptions &given) {
  GenerateOptions options = given;
  HEDDLE_ASSIGN(options.generation.jsonSchema, readSchema(options.jsonSchema));
  std::optional<SourceStream> sources;
  if (options.inputs.empty()) {
    HEDDLE_ASSIGN(SourceStream lines, SourceStream::openLines(options));
    sources.emplace(std::move(lines));
  }
  std::optional<LineReader> beside[3];
  const std::string *const paths[] = {&options.prefix, &options.shortlist, &options.commands};
  // A prefix has the type of texts; the others are always numbers.
  const bool areTokens[] = {options.tokens, true, true};
  for (size_t i = 0; i < 3; ++i) {
    if (!paths[i]->empty()) {
      HEDDLE_ASSIGN(LineReader reader, openSources(*paths[i], areTokens[i], LineFormat::ByName));
      beside[i].emplace(std::move(reader));
    }
  }
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  if (!options.tokens) {
    HEDDLE_TRY(checkTokenizer(model));
  }
  HEDDLE_TRY(checkLanguages(model, options.generation.sourceLanguage,
                            options.generation.targetLanguage, options.tokens));
  HEDDLE_ASSIGN(Generator generator, openGenerator(model, options));
  HEDDLE_TRY(checkSampling(generator, options.generation));
  if (!sources) {
    HEDDLE_ASSIGN(SourceStream examples,
                  SourceStream::openExamples(options, model, generator.sourcePad()));
    sources.emplace(std::move(examples));
  }
  if (options.chat) {
    HEDDLE_TRY(checkChat(model, options.chatTemplate));
  }
  HEDDLE_ASSIGN(OutputStream output, OutputStream::open(options.output));
  GenerateRun run(options, std::move(generator), *std::move(sources), std::move(output));
  std::optional<LineReader> *const readers[] = {&run.prefixes, &run.shortlists, &run.commands};
  for (size_t i = 0; i < 3; ++i) {
    if (beside[i]) {
      readers[i]->emplace(*std::move(beside[i]));
    }
  }
  return run.run();
}

} // namespace heddle::tools
