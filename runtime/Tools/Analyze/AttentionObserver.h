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

/// A source and, for a model that generates, the text it generates from it; no source and a text
/// for a model that continues texts.
struct Sentence {
  Tokens source;
  Tokens target = {};
};

/// Observes one model: the entries "encode" and "decode" of one that generates, "decode" alone of
/// one that continues texts, otherwise the first entry that has attention weights among its
/// outputs.
class AttentionObserver {
public:
  /// Unsupported for a model that shows none, unless it generates from sources and texts are to be
  /// drawn: for these, alignments() finds something in every model.
  static Result<AttentionObserver> create(const Model &model, const SessionOptions &options,
                                          bool draws);

  /// Whether sentences have targets, and whether they have nothing else.
  bool generates() const { return forcer.has_value(); }
  bool continues() const { return encoder == nullptr; }
  /// The entry that sources go through, or texts, and its input that they are ids of.
  const EntryInfo &entry() const { return continues() ? *decoder : *encoder; }
  const PortInfo &input() const { return *ids; }

  Status add(std::span<const Sentence> sentences);

  /// The result over all sentences so far.
  AttentionAnalysis analysis() const;

  /// What every attention makes of one sentence, the mean of its heads: those of the encoder, then
  /// those of the decoder, whose rows are the tokens that it generates, or those of a text that is
  /// given to it. Where a decoder says under
  /// "attention" what it makes of its scores in the end, that is drawn, and not a softmax on the
  /// way there. A decoder without attention to the source has a map of what its tokens lose of
  /// their probability when a word is left out. With `asIds` words are numbers.
  Result<std::vector<AlignmentMap>> alignments(const Sentence &sentence, bool asIds);

private:
  /// The attentions of one kind in one entry.
  struct Group {
    Observed kind;
    const EntryInfo *entry;
    /// Their places in EntryInfo::observed.
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
  /// What a pass shows: the outputs of the encoder, and of the decoder if there is one.
  struct Shown {
    std::vector<Weights> encoder;
    std::vector<Weights> decoder;
  };

  /// The words of a sentence, as maps show them.
  struct Words {
    std::vector<std::string> source;
    /// What each position of the decoder is fed, and the token that comes of it.
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

/// The failure of an analysis in which some similarity is no number.
Status checkSimilarities(const AttentionAnalysis &analysis, const std::string &model);
/// Lets layers of each kind share whose mean similarity is above `theta`.
void choosePolicies(AttentionAnalysis &analysis, double theta, BlockRule rule);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_ANALYZE_ATTENTIONOBSERVER_H
