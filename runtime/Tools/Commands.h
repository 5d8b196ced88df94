// SPDX-License-Identifier: Apache-2.0
///
/// The commands of the program `heddle`: the options of each, and the functions that declare and
/// run it. Every command has its own folder next to this file.
#ifndef HEDDLE_RUNTIME_TOOLS_COMMANDS_H
#define HEDDLE_RUNTIME_TOOLS_COMMANDS_H

#include "formats/Analysis/AttentionAnalysis.h"
#include "heddle/Generation.h"
#include "heddle/Status.h"
#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

struct AnalyzeOptions : SubcommandOptions, CorpusOptions {
  /// The file for the analysis as JSON, or "-" for standard output.
  std::string output = "-";
  /// The file for a picture; empty: none.
  std::string svg;
  /// The file for a picture of one text, and the line of that text; unset: the first usable one.
  std::string alignments;
  std::optional<int64_t> line;
  /// The similarity above which layers share; unset: no policy.
  std::optional<double> theta;
  BlockRule blocks = BlockRule::Largest;
};
void declare(OptionList &list, AnalyzeOptions &options);
Status execute(const AnalyzeOptions &options);

struct BenchOptions : SubcommandOptions, WorkOptions, ExecutionOptions {
  /// A file with one sentence length per line; empty: none.
  std::string lengths;
  /// Also measures the time of every kernel, and the memory bandwidth.
  bool roofline = false;
  /// Also measures the time of every dispatch.
  bool profile = false;
  /// The number of tokens allowed in `cases`, those with the lowest ids; 0: all.
  int32_t shortlist = 0;
  /// The number of leading tokens that all sources of `cases` share; they differ between runs.
  int32_t sharedLength = 0;
  /// The number of answers that run while `cases` arrive; 0: arrivals are not measured.
  int32_t beside = 0;
  /// Whether steps of `cases` may begin on a GPU before the one before them has ended.
  bool runsAhead = true;
  /// The number of timed runs; 0: as many as a stable median takes.
  int64_t runs = 0;
};
void declare(OptionList &list, BenchOptions &options);
Status execute(const BenchOptions &options);

struct ChatOptions : SubcommandOptions, ExecutionOptions {
  /// A system message; empty: none.
  std::string system;
  /// Empty: the default template.
  std::string chatTemplate;
  GenerationOptions generation;
  /// A file with the JSON schema that constrains answers; empty: none.
  std::string jsonSchema;
  /// Memory for keys and values, in MiB.
  int64_t cacheMegabytes = 1024;
};
void declare(OptionList &list, ChatOptions &options);
Status execute(const ChatOptions &options);

struct CompareOptions : SubcommandOptions, CorpusOptions {
  /// The binary that `model` is compared with.
  std::string other;
};
void declare(OptionList &list, CompareOptions &options);
Status execute(const CompareOptions &options);

struct EmbedOptions : SubcommandOptions, TextOptions, ExecutionOptions {
  /// .jsonl, .npy or "-" for standard output.
  std::string output = "-";
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, EmbedOptions &options);
Status execute(const EmbedOptions &options);

/// Returns the header of a float32 matrix in NumPy's .npy format, version 1.0. The values follow,
/// little-endian and row-major, at a multiple of 64 bytes.
std::string npyHeader(int64_t rows, int64_t columns);

struct GenerateOptions : SubcommandOptions, AnswerOptions, SourceOptions, ExecutionOptions {
  /// A file with one source or prompt per line, or "-" for standard input; or a file of tensors
  /// with one example for each first index. One of them is given.
  std::string input;
  std::string inputs;
  /// The only text to continue, instead of both; empty: none.
  std::string prompt;
  /// Whether lines are conversations in JSON, which a chat template renders to prompts, and which
  /// template.
  bool chat = false;
  std::string chatTemplate;
  /// The prefix of each source's text, the tokens that may occur in it, and its command. Empty:
  /// none.
  std::string prefix;
  std::string shortlist;
  std::string commands;
  GenerationOptions generation;
  /// A file with the JSON schema that constrains texts; empty: none.
  std::string jsonSchema;
  /// Memory for keys and values, in MiB.
  int64_t cacheMegabytes = 1024;
  /// The tokens of prompts that a step computes. Answers in a file are not displayed while they are
  /// generated, so they may wait for more.
  int64_t promptTokens = GeneratorOptions().promptTokens;
  /// Whether prompts share common prefixes.
  bool sharesPrefixes = true;
  /// Whether a step of a GPU may begin before the one before it has ended.
  bool runsAhead = true;
  /// Whether scores precede the texts.
  bool scores = false;

  /// Returns whether the answer is written while it is generated: there is only one, as text.
  bool streams() const {
    return !prompt.empty() && !jsonLines && !scores && generation.nbest == 1 && output == "-";
  }
};
void declare(OptionList &list, GenerateOptions &options);
Status execute(const GenerateOptions &options);
/// Declare options that commands share: sampling, repetition rules and JSON schemas.
void declareSampling(OptionList &list, GenerationOptions &options);
void declareRepetition(OptionList &list, GenerationOptions &options);
void declareSchema(OptionList &list, std::string &jsonSchema);

struct InfoOptions : SubcommandOptions {};
void declare(OptionList &list, InfoOptions &options);
Status execute(const InfoOptions &options);

/// How the dispatches are grouped into rows of the profile.
enum class ProfileBy {
  /// By name, ignoring the number of the layer.
  Name,
  /// Not grouped: every dispatch has a row.
  Dispatch,
  /// By layer.
  Layer,
  /// By the kind of kernel.
  Kind,
};

struct ProfileOptions : SubcommandOptions, WorkOptions, ExecutionOptions {
  /// Texts, or lines of ids; empty: none.
  std::string input;
  LineFormat inputFormat = LineFormat::ByName;
  bool tokens = false;
  /// The hypotheses for each text of `input`; unset: the model's default.
  std::optional<int32_t> beam;
  ProfileBy by = ProfileBy::Name;
  int64_t runs = 5;
  /// Files; empty: none.
  std::string trace;
  std::string output;
};
void declare(OptionList &list, ProfileOptions &options);
Status execute(const ProfileOptions &options);

struct RerankOptions : SubcommandOptions, TextOptions, ExecutionOptions {
  std::string query;
  /// The number of texts shown; unset: all.
  std::optional<int64_t> top;
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, RerankOptions &options);
Status execute(const RerankOptions &options);

struct RunOptions : SubcommandOptions, ExecutionOptions {
  /// Empty: the first entry of the model.
  std::string entry;
  std::string inputs;
  std::string outputs;
};
void declare(OptionList &list, RunOptions &options);
Status execute(const RunOptions &options);

struct ScoreOptions : SubcommandOptions, AnswerOptions, SourceOptions, ExecutionOptions {
  /// Files with one text per line and the same number of lines.
  std::string source;
  std::string target;
  /// Instead of both, the texts that a model without an encoder scores, and the distance in tokens
  /// between the windows of a long text; 0: half of the positions.
  std::string input;
  int64_t stride = 0;
  /// As in GenerationOptions.
  std::string sourceLanguage;
  std::string targetLanguage;
};
void declare(OptionList &list, ScoreOptions &options);
Status execute(const ScoreOptions &options);

struct SimilarityOptions : SubcommandOptions, ExecutionOptions {
  /// The first text is compared with the others.
  std::vector<std::string> texts;
  /// More texts to compare it with: .txt, .jsonl or "-" for standard input; empty: none.
  std::string input;
  LineFormat inputFormat = LineFormat::ByName;
  /// The number of texts shown; unset: all.
  std::optional<int64_t> top;
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, SimilarityOptions &options);
Status execute(const SimilarityOptions &options);

struct TokenizeOptions : SubcommandOptions, TextOptions {
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, TokenizeOptions &options);
Status execute(const TokenizeOptions &options);

struct VerifyOptions : SubcommandOptions {};
void declare(OptionList &list, VerifyOptions &options);
Status execute(const VerifyOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMMANDS_H
