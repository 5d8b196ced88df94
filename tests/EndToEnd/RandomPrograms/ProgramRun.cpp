// SPDX-License-Identifier: Apache-2.0
///
/// Concatenates sequences to batches, and splits results.
#include "tests/EndToEnd/RandomPrograms/ProgramRun.h"

#include "runtime/Session/PagedDecoder.h"

#include <algorithm>
#include <limits>
#include <span>

namespace heddle {

ProgramRun::ProgramRun() = default;
ProgramRun::ProgramRun(ProgramRun &&) noexcept = default;
ProgramRun &ProgramRun::operator=(ProgramRun &&) noexcept = default;
ProgramRun::~ProgramRun() = default;

Result<ProgramRun> ProgramRun::create(const Model &model, bool decodes, int threads,
                                      Schedule schedule) {
  ProgramRun result;
  const SessionOptions options{.threads = threads, .schedule = schedule};
  if (decodes) {
    HEDDLE_ASSIGN(result.decoder, PagedDecoder::create(model, options));
  } else {
    HEDDLE_ASSIGN(Session session, Session::create(model, options));
    result.session = std::make_unique<Session>(std::move(session));
  }
  return result;
}

/// The outputs of an entry for a batch, and the place of each sequence in them.
class OutputBuffers {
public:
  OutputBuffers(const EntryInfo &entry, const std::vector<Sequence> &batch, bool withObserved)
      : entry(entry), batch(batch), ports(entry.outputs) {
    if (withObserved) {
      ports.insert(ports.end(), entry.observed.begin(), entry.observed.end());
    }
    for (const Sequence &sequence : batch) {
      longest = std::max(longest, sequence.ids.size());
    }
    for (const PortInfo &port : ports) {
      std::vector<float> &values = buffers.emplace_back();
      size_t rows = 0;
      for (const Sequence &sequence : batch) {
        rows += rowsOf(port, sequence);
      }
      values.assign(rows * rowSize(port, longest), std::numeric_limits<float>::quiet_NaN());
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      outputs.push_back({ports[i].name, buffers[i]});
    }
  }

  std::span<const Output> all() const { return outputs; }

  void distribute(std::vector<SequenceValues> &results) const {
    for (size_t port = 0; port < buffers.size(); ++port) {
      const PortInfo &info = ports[port];
      const size_t width = rowSize(info, longest);
      const float *from = buffers[port].data();
      for (size_t i = 0; i < batch.size(); ++i) {
        const size_t rows = rowsOf(info, batch[i]);
        std::vector<float> &values = results[i][entry.name + "." + info.name];
        const size_t columns = info.shape.back() == longestDimension ? longest : width;
        const size_t kept = info.shape.back() == longestDimension ? batch[i].ids.size() : width;
        for (size_t piece = 0; piece < rows * width / columns; ++piece) {
          values.insert(values.end(), from + piece * columns, from + piece * columns + kept);
        }
        from += rows * width;
      }
    }
  }

private:
  static size_t rowsOf(const PortInfo &port, const Sequence &sequence) {
    return static_cast<size_t>(
        port.rowsOf(static_cast<int64_t>(sequence.ids.size()), imageWidthOf(sequence.ids)));
  }
  static size_t rowSize(const PortInfo &port, size_t longest) {
    size_t size = 1;
    for (size_t axis = 1; axis < port.shape.size(); ++axis) {
      size *=
          port.shape[axis] == longestDimension ? longest : static_cast<size_t>(port.shape[axis]);
    }
    return size;
  }

  const EntryInfo &entry;
  const std::vector<Sequence> &batch;
  std::vector<PortInfo> ports;
  size_t longest = 0;
  std::vector<std::vector<float>> buffers;
  std::vector<Output> outputs;
};

/// Returns the rows of floats of all sequences.
static std::vector<float> rowsOf(const std::vector<Sequence> &batch, int64_t width) {
  std::vector<float> rows;
  for (const Sequence &sequence : batch) {
    const std::vector<float> mine = featuresOf(sequence.ids, width);
    rows.insert(rows.end(), mine.begin(), mine.end());
  }
  return rows;
}

Status ProgramRun::runEntry(const EntryInfo &entry, const std::vector<Sequence> &batch,
                            std::vector<SequenceValues> &results) {
  std::vector<int32_t> lengths, widths, ids, types;
  for (const Sequence &sequence : batch) {
    lengths.push_back(static_cast<int32_t>(sequence.ids.size()));
    if (entry.hasWidths) {
      widths.push_back(static_cast<int32_t>(imageWidthOf(sequence.ids)));
    }
    ids.insert(ids.end(), sequence.ids.begin(), sequence.ids.end());
    types.insert(types.end(), sequence.types.begin(), sequence.types.end());
  }
  OutputBuffers buffers(entry, batch, /*withObserved=*/true);
  std::vector<Input> inputs;
  std::vector<std::vector<float>> features;
  features.reserve(entry.inputs.size());
  for (const PortInfo &port : entry.inputs) {
    if (port.element == ElementType::F32) {
      if (!port.optional) {
        inputs.emplace_back(port.name, features.emplace_back(rowsOf(batch, port.shape.back())));
      }
    } else if (!port.optional || !types.empty()) {
      inputs.emplace_back(port.name, port.optional ? types : ids);
    }
  }
  HEDDLE_TRY(session->run(entry.name, lengths, inputs, buffers.all(), widths));
  buffers.distribute(results);
  return {};
}

namespace {
/// Keeps logits, [rows][vocabulary].
class KeptLogits final : public LogitsSink {
public:
  void begin(int64_t rows, int64_t vocabulary, int /*workers*/) override {
    width = vocabulary;
    logits.assign(static_cast<size_t>(rows * vocabulary), std::numeric_limits<float>::quiet_NaN());
  }
  void deliver(int /*worker*/, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override {
    const int64_t rows = static_cast<int64_t>(logits.size()) / width;
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(values + row * stride, count, logits.begin() + row * width + chunk * logitsChunk);
    }
  }

  std::vector<float> logits;
  int64_t width = 0;
};

/// Sequences that are being decoded.
struct Decoding {
  std::vector<SourceId> sources;
  std::vector<HypothesisId> hypotheses;
};
} // namespace

/// Runs one step, which extends sequences by some of their tokens. Returns false when all are done.
static Result<bool> decodeStep(PagedDecoder &decoder, const std::vector<Sequence> &batch,
                               const Decoding &decoding, Pieces pieces, Dice &dice,
                               bool hasAttention, std::vector<SequenceValues> &results) {
  std::vector<Extension> extensions;
  std::vector<size_t> which;
  bool isDone = true;
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto done = static_cast<size_t>(decoder.length(decoding.hypotheses[i]));
    const size_t left = batch[i].target.size() - done;
    size_t count = pieces == Pieces::Whole ? left : std::min<size_t>(left, 1);
    if (pieces == Pieces::Random) {
      count = std::min(left, static_cast<size_t>(dice.below(dice.once(2) ? 3 : 20)));
    }
    isDone = isDone && left == 0;
    if (count > 0) {
      extensions.push_back(
          {decoding.hypotheses[i], std::span(batch[i].target).subspan(done, count)});
      which.push_back(i);
    }
  }
  if (extensions.empty()) {
    return !isDone;
  }
  KeptLogits sink;
  AttentionWeights attention;
  HEDDLE_TRY(decoder.decode(extensions, sink, hasAttention ? &attention : nullptr));
  const float *logits = sink.logits.data();
  const float *weights = attention.values.data();
  for (size_t i = 0; i < which.size(); ++i) {
    const auto rows = static_cast<int64_t>(extensions[i].tokens.size());
    std::vector<float> &mine = results[which[i]]["decode.logits"];
    mine.insert(mine.end(), logits, logits + rows * sink.width);
    logits += rows * sink.width;
    for (int64_t piece = 0; hasAttention && piece < rows * attention.heads; ++piece) {
      std::vector<float> &seen = results[which[i]]["decode.attention"];
      seen.insert(seen.end(), weights, weights + decoder.positions(decoding.sources[which[i]]));
      weights += attention.pitch;
    }
  }
  return true;
}

Status ProgramRun::decode(const std::vector<Sequence> &batch, Pieces pieces, Dice &dice,
                          std::vector<SequenceValues> &results) {
  const EntryInfo &encode = *decoder->model().findEntry("encode");
  const EntryInfo &step = *decoder->model().findEntry("decode");
  std::vector<SourceView> sources;
  for (const Sequence &sequence : batch) {
    SourceView &source = sources.emplace_back(sequence.ids);
    source.width = encode.hasWidths ? static_cast<int32_t>(imageWidthOf(sequence.ids)) : 0;
  }
  OutputBuffers buffers(encode, batch, /*withObserved=*/false);
  Decoding decoding;
  decoding.sources.resize(batch.size());
  HEDDLE_TRY(decoder->encode(sources, decoding.sources, buffers.all()));
  buffers.distribute(results);
  for (const SourceId source : decoding.sources) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder->start(source));
    decoding.hypotheses.push_back(hypothesis);
  }
  const bool hasAttention =
      std::any_of(step.outputs.begin(), step.outputs.end(),
                  [](const PortInfo &port) { return port.name == "attention"; });
  for (bool goesOn = true; goesOn;) {
    HEDDLE_ASSIGN(goesOn,
                  decodeStep(*decoder, batch, decoding, pieces, dice, hasAttention, results));
  }
  for (const HypothesisId hypothesis : decoding.hypotheses) {
    decoder->release(hypothesis);
  }
  for (const SourceId source : decoding.sources) {
    decoder->release(source);
  }
  return decoder->blocksInUse() == 0
             ? Status()
             : HEDDLE_ERROR(Internal,
                            "blocks of the cache are in use after everything was released");
}

Result<std::vector<SequenceValues>> ProgramRun::run(const std::vector<Sequence> &batch,
                                                    Pieces pieces, Dice &dice) {
  std::vector<SequenceValues> results(batch.size());
  if (decoder) {
    HEDDLE_TRY(decode(batch, pieces, dice, results));
    return results;
  }
  for (const EntryInfo &entry : session->model().entries()) {
    HEDDLE_TRY(runEntry(entry, batch, results));
  }
  return results;
}

} // namespace heddle
