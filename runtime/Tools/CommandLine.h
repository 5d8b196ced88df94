// SPDX-License-Identifier: Apache-2.0
///
/// The command line of `heddle` as plain data: one structure of options per command. All that can
/// be said about the arguments alone is said here; commands meet values that are well formed.
#ifndef HEDDLE_RUNTIME_TOOLS_COMMANDLINE_H
#define HEDDLE_RUNTIME_TOOLS_COMMANDLINE_H

#include "formats/Analysis/SimilarLayers.h"
#include "heddle/Generation.h"
#include "runtime/Tools/LineErrors.h"
#include "runtime/Tools/Shapes.h"

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace heddle::tools {

/// What every command has.
struct SubcommandOptions {
  /// The compiled model.
  std::string model;
  /// For programs: JSON where there is a choice, and no progress.
  bool json = false;
};

/// heddle embed: texts to embeddings.
struct EmbedOptions : SubcommandOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  /// .jsonl, .npy or "-" for standard output.
  std::string output = "-";
  int threads = 1;
  /// The target to run; empty: the best of this machine.
  std::string isa;
  /// What becomes of a line that cannot be used.
  OnError onError = OnError::Continue;
};

/// heddle tokenize: texts to token ids, on standard output.
struct TokenizeOptions : SubcommandOptions {
  std::string input;
  /// What becomes of a line that cannot be used.
  OnError onError = OnError::Continue;
};

/// heddle run: one entry over tensors.
struct RunOptions : SubcommandOptions {
  /// Empty: the first entry of the model.
  std::string entry;
  std::string inputs;
  std::string outputs;
  int threads = 1;
  std::string isa;
};

/// heddle generate: sources to the texts a model makes of them.
struct GenerateOptions : SubcommandOptions {
  /// One source a line, or "-" for standard input; and of each source, what its text begins with
  /// and the tokens that may come. Empty: none.
  std::string input;
  std::string prefix;
  std::string shortlist;
  /// A file, or "-" for standard output.
  std::string output = "-";
  GenerationOptions generation;
  int64_t batchTokens = 4096;
  /// Keys and values, in MiB.
  int64_t cacheMegabytes = 1024;
  int threads = 1;
  std::string isa;
  /// Scores before the texts.
  bool scores = false;
  /// .jsonl instead of one text a line.
  bool jsonLines = false;
  /// Lines are ids, not texts.
  bool tokens = false;
  /// Sources that are too long are cut.
  bool truncate = false;
  /// What becomes of a line that cannot be used.
  OnError onError = OnError::Continue;
};

/// heddle score: the probability of translations that are given.
struct ScoreOptions : SubcommandOptions {
  /// One a line; the files have as many lines.
  std::string source;
  std::string target;
  std::string output = "-";
  int64_t batchTokens = 4096;
  int threads = 1;
  std::string isa;
  bool jsonLines = false;
  bool tokens = false;
  /// Sources that are too long are cut.
  bool truncate = false;
  /// What becomes of a line that cannot be used.
  OnError onError = OnError::Continue;
};

/// A case of `heddle bench --cases`: sentences generated together, and hypotheses of each.
struct GenerationCase {
  int32_t batch = 1;
  int32_t beam = 1;
};

/// heddle bench: the speed of one entry, or of generation.
struct BenchOptions : SubcommandOptions {
  std::vector<Shape> shapes;
  /// A file with one sentence length a line; empty: none.
  std::string lengths;
  std::string entry;
  int threads = 1;
  std::string isa;
  /// Also what every kernel takes, and the bandwidth of the memory.
  bool roofline = false;
  /// Also what every dispatch takes.
  bool profile = false;
  /// Generation of targets of exactly so many tokens.
  std::vector<GenerationCase> cases = {};
  int32_t sourceLength = 24;
  int32_t targetLength = 24;
  /// Tokens that may come, the ones of the lowest ids; 0: all.
  int32_t shortlist = 0;
  /// Runs to time; 0: as long as it takes.
  int64_t runs = 0;
};

/// heddle analyze: how much the attention of a model's layers differs.
struct AnalyzeOptions : SubcommandOptions {
  /// One text a line, or "-".
  std::string input;
  /// The analysis as .json: a file, or "-" for standard output.
  std::string output = "-";
  /// A picture; empty: none.
  std::string svg;
  /// Hypotheses of the search whose best text is looked at; as the binary says.
  std::optional<int32_t> beam;
  /// The similarity above which layers share; nothing: no policy.
  std::optional<double> theta;
  BlockRule blocks = BlockRule::Largest;
  int threads = 1;
  std::string isa;
  /// Lines are ids, not texts.
  bool tokens = false;
  /// Sources that are too long are cut.
  bool truncate = false;
  /// What becomes of a line that cannot be used.
  OnError onError = OnError::Continue;
};

/// heddle compare: what another binary makes of the same texts, and how fast.
struct CompareOptions : SubcommandOptions {
  /// What `model` is compared with.
  std::string other;
  std::string input;
  std::optional<int32_t> beam;
  int threads = 1;
  std::string isa;
  bool tokens = false;
  /// Sources that are too long are cut.
  bool truncate = false;
  /// What becomes of a line that cannot be used.
  OnError onError = OnError::Continue;
};

/// What the rows of a profile add up.
enum class ProfileBy {
  /// Dispatches whose names differ in the number of the layer only.
  Name,
  /// Nothing: every dispatch has a row.
  Dispatch,
  /// What is in one layer.
  Layer,
  /// What is computed by the same kind of kernel.
  Kind,
};

/// heddle profile: where the time goes.
struct ProfileOptions : SubcommandOptions {
  std::vector<Shape> shapes = {};
  std::string entry = {};
  std::vector<GenerationCase> cases = {};
  int32_t sourceLength = 24;
  int32_t targetLength = 24;
  /// Texts, or lines of ids; empty: none.
  std::string input = {};
  bool tokens = false;
  /// Of `input`; nothing: as the model says.
  std::optional<int32_t> beam = std::nullopt;
  ProfileBy by = ProfileBy::Name;
  int64_t runs = 5;
  int threads = 1;
  std::string isa = {};
  /// Files; empty: none.
  std::string trace = {};
  std::string output = {};
};

/// heddle info: what is inside.
struct InfoOptions : SubcommandOptions {};

/// heddle verify: whether all of it is whole.
struct VerifyOptions : SubcommandOptions {};

/// Asked for with --help or --version: goes to standard output.
struct HelpText {
  std::string text;
};

/// Arguments that make no sense. `command` is the one they were given to, or empty.
struct UsageError {
  std::string message;
  std::string command;
};

using CommandLine = std::variant<UsageError, HelpText, EmbedOptions, TokenizeOptions, RunOptions,
                                 GenerateOptions, ScoreOptions, AnalyzeOptions, CompareOptions,
                                 BenchOptions, ProfileOptions, InfoOptions, VerifyOptions>;

/// Reads the arguments of main(), the program's name first.
CommandLine parseCommandLine(std::span<const char *const> arguments);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMMANDLINE_H
