// SPDX-License-Identifier: Apache-2.0
///
/// The commands of the program `heddle`: the options of each, and the functions that declare and
/// run it. Every command is a folder beside this file.
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
  /// The analysis as .json: a file, or "-" for standard output.
  std::string output = "-";
  /// A picture; empty: none.
  std::string svg;
  /// A picture of one text, and its line; unset: the first that can be used.
  std::string alignments;
  std::optional<int64_t> line;
  /// The similarity above which layers share; unset: no policy.
  std::optional<double> theta;
  BlockRule blocks = BlockRule::Largest;
};
void declare(OptionList &list, AnalyzeOptions &options);
Status execute(const AnalyzeOptions &options);

struct BenchOptions : SubcommandOptions, WorkOptions, ExecutionOptions {
  /// A file with one sentence length a line; empty: none.
  std::string lengths;
  /// Also the time of every kernel, and the bandwidth of the memory.
  bool roofline = false;
  /// Also the time of every dispatch.
  bool profile = false;
  /// The number of tokens that may come in `cases`, those with the lowest ids; 0: all.
  int32_t shortlist = 0;
  /// Tokens at the beginning that all sources of `cases` have in common, in each run others.
  int32_t sharedLength = 0;
  /// Answers that run while `cases` arrive; 0: arrivals are not measured.
  int32_t beside = 0;
  /// Runs to time; 0: as many as a stable median takes.
  int64_t runs = 0;
};
void declare(OptionList &list, BenchOptions &options);
Status execute(const BenchOptions &options);

struct ChatOptions : SubcommandOptions, ExecutionOptions {
  /// A system message; empty: none.
  std::string system;
  /// Empty: the one that fits.
  std::string chatTemplate;
  GenerationOptions generation;
  /// A file with the JSON schema that answers follow; empty: none.
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

struct EmbedOptions : SubcommandOptions, ExecutionOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  /// .jsonl, .npy or "-" for standard output.
  std::string output = "-";
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, EmbedOptions &options);
Status execute(const EmbedOptions &options);

/// The header of a float32 matrix in NumPy's .npy format, version 1.0. The values follow, little
/// endian and row major, at a multiple of 64 bytes.
std::string npyHeader(int64_t rows, int64_t columns);

struct GenerateOptions : SubcommandOptions, AnswerOptions, SourceOptions, ExecutionOptions {
  /// One source or prompt a line, or "-" for standard input; or tensors, an example for each first
  /// index. One of them is given.
  std::string input;
  std::string inputs;
  /// Instead of both, the one text to continue; empty: none.
  std::string prompt;
  /// Whether lines are conversations in JSON, which a chat template makes prompts of, and which.
  bool chat = false;
  std::string chatTemplate;
  /// What the text of each source begins with, the tokens that may come in it, and its command.
  /// Empty: none.
  std::string prefix;
  std::string shortlist;
  std::string commands;
  GenerationOptions generation;
  /// A file with the JSON schema that texts follow; empty: none.
  std::string jsonSchema;
  /// Memory for keys and values, in MiB.
  int64_t cacheMegabytes = 1024;
  /// Tokens of prompts that a step computes. Nobody watches answers to a file, so that these need
  /// not wait for less.
  int64_t promptTokens = GeneratorOptions().promptTokens;
  /// Prompts share what they begin with.
  bool sharesPrefixes = true;
  /// Scores before the texts.
  bool scores = false;

  /// Whether the answer is written as it is made: the only one there is, as a text.
  bool streams() const {
    return !prompt.empty() && !jsonLines && !scores && generation.nbest == 1 && output == "-";
  }
};
void declare(OptionList &list, GenerateOptions &options);
Status execute(const GenerateOptions &options);
/// Parts of its options that other commands have too: how tokens are drawn, what repeats, and what
/// answers look like.
void declareSampling(OptionList &list, GenerationOptions &options);
void declareRepetition(OptionList &list, GenerationOptions &options);
void declareSchema(OptionList &list, std::string &jsonSchema);

struct InfoOptions : SubcommandOptions {};
void declare(OptionList &list, InfoOptions &options);
Status execute(const InfoOptions &options);

/// Which dispatches a row of the profile adds up.
enum class ProfileBy {
  /// Those whose names differ only in the number of the layer.
  Name,
  /// None: every dispatch has a row.
  Dispatch,
  /// Those in one layer.
  Layer,
  /// Those computed by the same kind of kernel.
  Kind,
};

struct ProfileOptions : SubcommandOptions, WorkOptions, ExecutionOptions {
  /// Texts, or lines of ids; empty: none.
  std::string input;
  bool tokens = false;
  /// Hypotheses for each text of `input`; unset: as the model says.
  std::optional<int32_t> beam;
  ProfileBy by = ProfileBy::Name;
  int64_t runs = 5;
  /// Files; empty: none.
  std::string trace;
  std::string output;
};
void declare(OptionList &list, ProfileOptions &options);
Status execute(const ProfileOptions &options);

struct RerankOptions : SubcommandOptions, ExecutionOptions {
  std::string query;
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  /// How many are shown; unset: all.
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
  /// One a line; the files have the same number of lines.
  std::string source;
  std::string target;
  /// Instead of both, texts that a model without an encoder scores, and the tokens from a window of
  /// a long one to the next; 0: half of the positions.
  std::string input;
  int64_t stride = 0;
  /// As in GenerationOptions.
  std::string sourceLanguage;
  std::string targetLanguage;
};
void declare(OptionList &list, ScoreOptions &options);
Status execute(const ScoreOptions &options);

struct SimilarityOptions : SubcommandOptions, ExecutionOptions {
  /// The first is compared with the others.
  std::vector<std::string> texts;
  /// More to compare it with: .txt, .jsonl or "-" for standard input; empty: none.
  std::string input;
  /// How many are shown; unset: all.
  std::optional<int64_t> top;
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, SimilarityOptions &options);
Status execute(const SimilarityOptions &options);

struct TokenizeOptions : SubcommandOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  OnError onError = OnError::Continue;
};
void declare(OptionList &list, TokenizeOptions &options);
Status execute(const TokenizeOptions &options);

struct VerifyOptions : SubcommandOptions {};
void declare(OptionList &list, VerifyOptions &options);
Status execute(const VerifyOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMMANDS_H
