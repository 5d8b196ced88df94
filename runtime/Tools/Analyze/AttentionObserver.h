// SPDX-License-Identifier: Apache-2.0
///
/// Runs a model on sentences, reads the attention weights of every layer, and adds up how much the
/// layers of each kind differ. Runs a few sentences at a time, so that memory stays bounded.
#ifndef HEDDLE_RUNTIME_TOOLS_ANALYZE_ATTENTIONOBSERVER_H
#define HEDDLE_RUNTIME_TOOLS_ANALYZE_ATTENTIONOBSERVER_H

#include "formats/Analysis/AttentionAnalysis.h"
#include "formats/Analysis/HeatMap.h"
#include "runtime/Kernels/JensenShannon.h"
#include "runtime/Tools/Models/TeacherForcing.h"

#include <optional>

namespace heddle::tools {

/// A source and, for a model that generates, the text that it generates from it; an empty source
/// and a text for a model that continues texts.
struct Sentence {
  Tokens source;
  Tokens target = {};
};

/// Observes one model: the entries "encode" and "decode" of a model that generates, "decode" alone
/// of a model that continues texts, otherwise the first entry with attention weights among its
/// outputs.
class AttentionObserver {
public:
  /// Creates an observer. Unsupported for a model that exposes no attention weights, unless it
  /// generates from sources and `draws` is set: alignments() then works for every model.
  static Result<AttentionObserver> create(const Model &model, const SessionOptions &options,
                                          bool draws);

  /// Return whether sentences have targets, and whether they have nothing else.
  bool generates() const { return forcer.has_value(); }
  bool continues() const { return encoder == nullptr; }
  /// Return the entry that encodes sources or texts, and its input of ids.
  const EntryInfo &entry() const { return continues() ? *decoder : *encoder; }
  const PortInfo &input() const { return *ids; }

  Status add(std::span<const Sentence> sentences);

  /// Returns the result over all sentences so far.
  AttentionAnalysis analysis() const;

  /// Returns a map of each attention for one sentence, averaged over its heads: those of the
  /// encoder, then those of the decoder, whose rows are the tokens that it generates, or those of a
  /// given text. If a decoder has an output "attention", that final distribution is drawn instead
  /// of the intermediate softmax. For a decoder without attention to the source, the map shows how
  /// much probability its tokens lose if a word is omitted. With `asIds` words are numbers.
  Result<std::vector<AlignmentMap>> alignments(const Sentence &sentence, bool asIds);

private:
  /// The attentions of one kind in one entry.
  struct Group {
    Observed kind;
    const EntryInfo *entry;
    /// Their indices in EntryInfo::observed.
    std::vector<size_t> numbers;
    int64_t heads;
    DivergenceSum sum;
    int64_t rows = 0;
  };
  /// The probabilities of one output, [rows, heads, pitch].
  struct Weights {
    std::vector<float> values;
    int64_t pitch;
  };
  /// The attention weights of a pass: the outputs of the encoder, and of the decoder if there is
  /// one.
  struct Shown {
    std::vector<Weights> encoder;
    std::vector<Weights> decoder;
  };

  /// The words of a sentence, as displayed in maps.
  struct Words {
    std::vector<std::string> source;
    /// The input token of each decoder position, and the token that is generated there.
    std::vector<std::string> fed;
    std::vector<std::string> generated;
  };

  AttentionObserver(const Model &model, const EntryInfo *encoder)
      : model(model), encoder(encoder) {}
  Status addGroups(const EntryInfo &entry);
  size_t batchFrom(std::span<const Sentence> sentences) const;
  Status addBatch(std::span<const Sentence> batch);
  Status runEncoder(std::span<const Sentence> batch, std::span<const Output> outputs);
  Status runBoth(std::span<const Sentence> batch, std::span<const Output> outputs,
                 std::vector<ObservedWeights> &observed);
  Result<Shown> observe(std::span<const Sentence> batch);
  Result<std::vector<std::string>> textOf(std::span<const int32_t> ids, bool isGenerated,
                                          bool asIds) const;
  Result<Words> wordsOf(const Sentence &sentence, bool asIds) const;
  bool isOnTheWay(const Group &group, size_t number) const;
  Result<AlignmentMap> attentionMap(const Sentence &sentence, const Words &words);
  Result<AlignmentMap> influenceMap(const Sentence &sentence, const Words &words);
  void addRows(const EntryInfo &entry, std::span<const Weights> weights,
               std::span<const Sentence> batch);

  Model model;
  const EntryInfo *encoder;
  const EntryInfo *decoder = nullptr;
  const PortInfo *ids = nullptr;
  /// Whether the decoder has an output "attention".
  bool givesAttention = false;
  std::optional<Session> session;
  std::optional<TeacherForcer> forcer;
  std::vector<Group> groups;
  int64_t sentenceCount = 0;
  int64_t positionCount = 0;
};

/// Returns the failure for an analysis in which some similarity is not a number.
Status checkSimilarities(const AttentionAnalysis &analysis, const std::string &model);
/// Chooses policies by which the layers of a kind share if their mean similarity is above `theta`.
void choosePolicies(AttentionAnalysis &analysis, double theta, BlockRule rule);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_ANALYZE_ATTENTIONOBSERVER_H
