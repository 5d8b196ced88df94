// SPDX-License-Identifier: Apache-2.0
///
/// Runs batches with attention weights among their outputs, and sums the differences between
/// layers.
#include "runtime/Tools/Analyze/AttentionObserver.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle::tools {

/// The bytes of probabilities of a pass that are in memory at once; a single longer sentence may
/// need more.
static constexpr double passBytes = 64 << 20;
/// The tokens of a pass, whose keys and values fill the cache.
static constexpr int64_t passTokens = 4096;

namespace {
/// Skips the computation after the attention.
class NoLogits final : public LogitsSink {
public:
  void begin(int64_t /*rows*/, int64_t /*vocabulary*/, int /*workers*/) override {}
  bool wants(int64_t /*chunk*/) const override { return false; }
  void deliver(int /*worker*/, int64_t /*chunk*/, int64_t /*count*/, const float * /*values*/,
               int64_t /*stride*/) override {}
};
} // namespace

Status AttentionObserver::addGroups(const EntryInfo &entry) {
  for (const AttentionSpelling &spelling : attentionSpellings) {
    const Observed kind = spelling.kind;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < entry.observed.size(); ++i) {
      if (entry.observed[i].observed == kind) {
        numbers.push_back(i);
      }
    }
    if (numbers.empty()) {
      continue;
    }
    const PortInfo &first = entry.observed[numbers.front()];
    for (const size_t number : numbers) {
      const PortInfo &port = entry.observed[number];
      if (port.shape[1] != first.shape[1]) {
        return HEDDLE_ERROR(Unsupported,
                            fmt::format("{}: attention {} has {} heads and {} has {}, expected as "
                                        "many: head is compared with head",
                                        model.path(), quote(first.name), first.shape[1],
                                        quote(port.name), port.shape[1]));
      }
    }
    const size_t layers = numbers.size();
    groups.push_back({kind, &entry, std::move(numbers), first.shape[1], DivergenceSum(layers)});
  }
  return {};
}

/// Returns the entry that takes sources: for a model that does not generate, the first without
/// caches and with observable outputs; null for one that continues texts.
static const EntryInfo *findEncoder(const Model &model, bool generates) {
  if (generates) {
    return PagedDecoder::hasSources(model) ? model.findEntry(encodeEntry) : nullptr;
  }
  const std::vector<EntryInfo> &entries = model.entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [](const EntryInfo &entry) {
    return entry.caches.empty() && !entry.observed.empty();
  });
  return found == entries.end() ? nullptr : &*found;
}

/// Returns whether an entry has an output for its final attention to the memory.
static bool hasAttentionOutput(const EntryInfo &entry) {
  return std::any_of(entry.outputs.begin(), entry.outputs.end(), [](const PortInfo &port) {
    return port.name == attentionOutput && port.shape.back() == longestDimension;
  });
}

Result<AttentionObserver> AttentionObserver::create(const Model &model,
                                                    const SessionOptions &options, bool draws) {
  const bool generates = PagedDecoder::supports(model);
  const EntryInfo *const encoder = findEncoder(model, generates);
  const EntryInfo *const decoder = generates ? model.findEntry(decodeEntry) : nullptr;
  AttentionObserver observer(model, encoder);
  if (encoder != nullptr) {
    HEDDLE_TRY(observer.addGroups(*encoder));
  }
  if (decoder != nullptr) {
    HEDDLE_TRY(observer.addGroups(*decoder));
    observer.givesAttention = hasAttentionOutput(*decoder);
  }
  const bool readsSources = generates && encoder != nullptr;
  if (observer.groups.empty() && !(readsSources && draws)) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: no output shows an attention, expected a model that has "
                                    "some, compiled without --disable-pass=observe-attention",
                                    model.path()));
  }
  observer.decoder = decoder;
  HEDDLE_ASSIGN(observer.ids, chooseIds(model, observer.entry()));
  if (generates) {
    HEDDLE_ASSIGN(TeacherForcer forcer, TeacherForcer::create(model, options));
    const RowSpace rows = forcer.decoder().rowsOfMemory();
    if (readsSources && rows != RowSpace::tokens()) {
      return HEDDLE_ERROR(
          Unsupported, fmt::format("{}: the source is remembered as rows of {}, expected tokens, "
                                   "which attention is shown for",
                                   model.path(), rows.text()));
    }
    observer.forcer.emplace(std::move(forcer));
  } else {
    HEDDLE_ASSIGN(Session session, Session::create(model, options));
    observer.session.emplace(std::move(session));
  }
  return observer;
}

/// Returns the number of heads of all attentions of an entry together.
static int64_t headsOf(const EntryInfo *entry) {
  int64_t heads = 0;
  for (size_t i = 0; entry != nullptr && i < entry->observed.size(); ++i) {
    heads += entry->observed[i].shape[1];
  }
  return heads;
}

/// Returns how many of the next sentences one pass takes: at least one.
size_t AttentionObserver::batchFrom(std::span<const Sentence> sentences) const {
  const auto encoderHeads = static_cast<double>(headsOf(encoder));
  const auto decoderHeads = static_cast<double>(headsOf(decoder));
  int64_t sources = 0;
  int64_t targets = 0;
  size_t longestSource = 0;
  size_t longest = 0;
  size_t count = 0;
  while (count < sentences.size()) {
    const Sentence &next = sentences[count];
    const size_t fed = forcer ? forcer->fedFor(next.target).size() : 0;
    sources += static_cast<int64_t>(next.source.size());
    targets += static_cast<int64_t>(fed);
    longestSource = std::max(longestSource, next.source.size());
    longest = std::max({longest, next.source.size(), fed});
    const double floats =
        encoderHeads * static_cast<double>(sources) * static_cast<double>(longestSource) +
        decoderHeads * static_cast<double>(targets) * static_cast<double>(longest);
    if (count > 0 && (floats * sizeof(float) > passBytes || sources + targets > passTokens)) {
      break;
    }
    ++count;
  }
  return count;
}

Status AttentionObserver::add(std::span<const Sentence> sentences) {
  while (!sentences.empty()) {
    const size_t count = batchFrom(sentences);
    HEDDLE_TRY(addBatch(sentences.first(count)));
    sentences = sentences.subspan(count);
  }
  return {};
}

Status AttentionObserver::runEncoder(std::span<const Sentence> batch,
                                     std::span<const Output> outputs) {
  std::vector<int32_t> lengths;
  Tokens values;
  for (const Sentence &sentence : batch) {
    lengths.push_back(static_cast<int32_t>(sentence.source.size()));
    values.insert(values.end(), sentence.source.begin(), sentence.source.end());
  }
  const Input given{ids->name, values};
  return session->run(encoder->name, lengths, {&given, 1}, outputs);
}

Status AttentionObserver::runBoth(std::span<const Sentence> batch, std::span<const Output> outputs,
                                  std::vector<ObservedWeights> &observed) {
  std::vector<ForcedSentence> forced;
  for (const Sentence &sentence : batch) {
    forced.push_back({sentence.source, forcer->fedFor(sentence.target)});
  }
  for (size_t i = 0; i < decoder->observed.size(); ++i) {
    observed.push_back({i, {}});
  }
  NoLogits nothing;
  return forcer->run(forced, outputs, nothing, observed);
}

Result<AttentionObserver::Shown> AttentionObserver::observe(std::span<const Sentence> batch) {
  size_t tokens = 0;
  size_t longest = 0;
  for (const Sentence &sentence : batch) {
    tokens += sentence.source.size();
    longest = std::max(longest, sentence.source.size());
  }
  Shown shown;
  std::vector<Output> outputs;
  for (size_t i = 0; encoder != nullptr && i < encoder->observed.size(); ++i) {
    const auto heads = static_cast<size_t>(encoder->observed[i].shape[1]);
    shown.encoder.push_back(
        {std::vector<float>(tokens * heads * longest), static_cast<int64_t>(longest)});
  }
  for (size_t i = 0; i < shown.encoder.size(); ++i) {
    outputs.push_back({encoder->observed[i].name, shown.encoder[i].values});
  }
  if (!forcer) {
    HEDDLE_TRY(runEncoder(batch, outputs));
    return shown;
  }
  std::vector<ObservedWeights> observed;
  HEDDLE_TRY(runBoth(batch, outputs, observed));
  for (ObservedWeights &each : observed) {
    shown.decoder.push_back({std::move(each.weights.values), each.weights.pitch});
  }
  return shown;
}

Status AttentionObserver::addBatch(std::span<const Sentence> batch) {
  HEDDLE_ASSIGN(const Shown shown, observe(batch));
  sentenceCount += static_cast<int64_t>(batch.size());
  for (const Sentence &sentence : batch) {
    positionCount += static_cast<int64_t>(sentence.source.size());
    positionCount += forcer ? static_cast<int64_t>(forcer->fedFor(sentence.target).size()) : 0;
  }
  if (encoder != nullptr) {
    addRows(*encoder, shown.encoder, batch);
  }
  if (decoder != nullptr) {
    addRows(*decoder, shown.decoder, batch);
  }
  return {};
}

/// Adds the observations of one entry. Probabilities of keys that a row does not see are zero,
/// which adds nothing to a divergence.
void AttentionObserver::addRows(const EntryInfo &entry, std::span<const Weights> weights,
                                std::span<const Sentence> batch) {
  std::vector<const float *> layers;
  for (Group &group : groups) {
    if (group.entry != &entry) {
      continue;
    }
    int64_t row = 0;
    for (const Sentence &sentence : batch) {
      const auto sources = static_cast<int64_t>(sentence.source.size());
      const auto fed =
          forcer ? static_cast<int64_t>(forcer->fedFor(sentence.target).size()) : int64_t(0);
      const int64_t rows = &entry == decoder ? fed : sources;
      for (int64_t position = 0; position < rows; ++position, ++row) {
        const int64_t keys = group.kind == Observed::Cross ? sources : rows;
        for (int64_t head = 0; head < group.heads; ++head) {
          layers.clear();
          for (const size_t number : group.numbers) {
            const Weights &each = weights[number];
            layers.push_back(each.values.data() + (row * group.heads + head) * each.pitch);
          }
          group.sum.add(layers, keys);
        }
      }
    }
    group.rows += row;
  }
}

AttentionAnalysis AttentionObserver::analysis() const {
  AttentionAnalysis analysis;
  const std::string &path = model.path();
  analysis.model = path.substr(path.rfind('/') + 1);
  analysis.sentences = sentenceCount;
  analysis.positions = positionCount;
  for (const Group &group : groups) {
    KindAnalysis kind;
    kind.kind = spellingOf(group.kind)->name;
    for (const size_t number : group.numbers) {
      kind.layers.push_back(group.entry->observed[number].name);
    }
    kind.positions = group.rows;
    kind.similarity = group.sum.similarity();
    analysis.kinds.push_back(std::move(kind));
  }
  return analysis;
}

// --- drawing ---------------------------------------------------------------------------------

Result<std::vector<std::string>> AttentionObserver::textOf(std::span<const int32_t> ids,
                                                           bool isGenerated, bool asIds) const {
  if (!asIds) {
    return model.textOfEach(ids, isGenerated);
  }
  std::vector<std::string> words;
  for (const int32_t id : ids) {
    words.push_back(std::to_string(id));
  }
  return words;
}

Result<AttentionObserver::Words> AttentionObserver::wordsOf(const Sentence &sentence,
                                                            bool asIds) const {
  Words words;
  HEDDLE_ASSIGN(words.source, textOf(sentence.source, false, asIds));
  if (forcer) {
    HEDDLE_ASSIGN(words.fed, textOf(forcer->fedFor(sentence.target), true, asIds));
    HEDDLE_ASSIGN(words.generated, textOf(sentence.target, true, asIds));
    // If a text was cut, the last position generates no token.
    words.generated.resize(words.fed.size());
    if (continues()) {
      // A given text is not generated: each row is labelled with its own token, not the next one.
      words.generated = words.fed;
    }
  }
  return words;
}

/// Returns whether an attention is an intermediate softmax of the output "attention": the compiler
/// names it after that, with a number appended.
bool AttentionObserver::isOnTheWay(const Group &group, size_t number) const {
  return givesAttention && group.entry == decoder && group.kind == Observed::Cross &&
         group.entry->observed[number].name.starts_with(std::string(attentionOutput) + "#");
}

/// Returns a map of probabilities [rows, heads, pitch], averaged over the heads.
static AlignmentMap meanOfHeads(const std::string &name, const std::vector<std::string> &rows,
                                const std::vector<std::string> &columns,
                                std::span<const float> values, int64_t heads, int64_t pitch) {
  AlignmentMap map{name, rows, columns, {}};
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t column = 0; column < columns.size(); ++column) {
      float sum = 0;
      for (int64_t head = 0; head < heads; ++head) {
        const auto line = static_cast<int64_t>(row) * heads + head;
        sum += values[static_cast<size_t>(line * pitch) + column];
      }
      map.weights.push_back(sum / static_cast<float>(heads));
    }
  }
  return map;
}

Result<AlignmentMap> AttentionObserver::attentionMap(const Sentence &sentence, const Words &words) {
  const ForcedSentence forced{sentence.source, forcer->fedFor(sentence.target)};
  NoLogits nothing;
  AttentionWeights weights;
  HEDDLE_TRY(forcer->run({&forced, 1}, {}, nothing, {}, &weights));
  return meanOfHeads(std::string(attentionOutput), words.generated, words.source, weights.values,
                     weights.heads, weights.pitch);
}

/// Returns the softmax of one logit.
static double probabilityOf(std::span<const float> logits, int32_t token) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(logit - most);
  }
  return std::exp(logits[static_cast<size_t>(token)] - most) / sum;
}

/// Omits each word of the source once. Tokens that become more probable without it have no square.
Result<AlignmentMap> AttentionObserver::influenceMap(const Sentence &sentence, const Words &words) {
  const Tokens fed = forcer->fedFor(sentence.target);
  const size_t count = std::min(fed.size(), sentence.target.size());
  const auto probabilities = [&](const Tokens &source) -> Result<std::vector<double>> {
    const ForcedSentence forced{source, fed};
    LogitsTable logits;
    HEDDLE_TRY(forcer->run({&forced, 1}, {}, logits, {}));
    std::vector<double> found;
    for (size_t row = 0; row < count; ++row) {
      found.push_back(probabilityOf(logits.row(static_cast<int64_t>(row)), sentence.target[row]));
    }
    return found;
  };
  AlignmentMap map{"probability lost without a word of the source", words.generated, words.source,
                   std::vector<float>(words.generated.size() * words.source.size())};
  // The only word of a source cannot be omitted.
  if (sentence.source.size() < 2) {
    return map;
  }
  HEDDLE_ASSIGN(const std::vector<double> whole, probabilities(sentence.source));
  for (size_t column = 0; column < sentence.source.size(); ++column) {
    Tokens rest = sentence.source;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(column));
    HEDDLE_ASSIGN(const std::vector<double> without, probabilities(rest));
    for (size_t row = 0; row < count; ++row) {
      map.weights[row * sentence.source.size() + column] =
          static_cast<float>(std::max(0.0, whole[row] - without[row]));
    }
  }
  return map;
}

Result<std::vector<AlignmentMap>> AttentionObserver::alignments(const Sentence &sentence,
                                                                bool asIds) {
  HEDDLE_ASSIGN(const Shown shown, observe({&sentence, 1}));
  HEDDLE_ASSIGN(const Words words, wordsOf(sentence, asIds));
  std::vector<AlignmentMap> maps;
  bool drawsSource = false;
  for (const Group &group : groups) {
    const bool isDecoder = group.entry == decoder;
    const auto &rows = isDecoder ? words.generated : words.source;
    const auto &columns = group.kind == Observed::Decoder ? words.fed : words.source;
    for (const size_t number : group.numbers) {
      if (isOnTheWay(group, number)) {
        continue;
      }
      drawsSource |= group.kind == Observed::Cross;
      const Weights &each = (isDecoder ? shown.decoder : shown.encoder)[number];
      maps.push_back(meanOfHeads(group.entry->observed[number].name, rows, columns, each.values,
                                 group.heads, each.pitch));
    }
  }
  if (forcer && !continues() && !drawsSource) {
    HEDDLE_ASSIGN(AlignmentMap map,
                  givesAttention ? attentionMap(sentence, words) : influenceMap(sentence, words));
    maps.push_back(std::move(map));
  }
  return maps;
}

Status checkSimilarities(const AttentionAnalysis &analysis, const std::string &model) {
  for (const KindAnalysis &kind : analysis.kinds) {
    for (size_t row = 0; row < kind.layers.size(); ++row) {
      for (size_t column = 0; column < row; ++column) {
        if (std::isnan(kind.similarity[row][column])) {
          return HEDDLE_ERROR(InvalidArgument,
                              fmt::format("{}: attention {} or {} has probabilities that are no "
                                          "numbers",
                                          model, quote(kind.layers[column]),
                                          quote(kind.layers[row])));
        }
      }
    }
  }
  return {};
}

void choosePolicies(AttentionAnalysis &analysis, double theta, BlockRule rule) {
  analysis.theta = theta;
  for (KindAnalysis &kind : analysis.kinds) {
    kind.policy = sharingPolicy(kind.similarity, theta, rule);
  }
}

} // namespace heddle::tools
