// SPDX-License-Identifier: Apache-2.0
///
/// Runs encoder and decoder together, over sources and given targets: one pass without a search, as
/// in `heddle run`.
#include "python/src/Core.h"
#include "python/src/Errors.h"

#include <algorithm>
#include <numeric>

namespace nb = nanobind;

namespace heddle::python {

namespace {
/// Keeps all logits of a pass, [rows, vocabulary].
class Logits final : public LogitsSink {
public:
  void begin(int64_t rows, int64_t vocabulary, int /*workers*/) override {
    width = static_cast<size_t>(vocabulary);
    values.resize(static_cast<size_t>(rows) * width);
  }
  void deliver(int /*worker*/, int64_t chunk, int64_t count, const float *from,
               int64_t stride) override {
    const auto first = static_cast<size_t>(chunk * logitsChunk);
    for (size_t row = 0; row * width < values.size(); ++row) {
      std::copy_n(from + row * static_cast<size_t>(stride), count,
                  values.begin() + static_cast<std::ptrdiff_t>(row * width + first));
    }
  }

  std::vector<float> values;
  size_t width = 0;
};

/// The rows of one output of an entry.
struct Rows {
  std::string name;
  std::vector<float> values;
  size_t width = 1;
};
} // namespace

/// Allocates the outputs that have a row of constant width for each token or sequence.
static std::vector<Rows> roomFor(const EntryInfo &entry, std::span<const int32_t> lengths,
                                 bool onlyTokens) {
  std::vector<Rows> all;
  for (const PortInfo &port : entry.outputs) {
    const bool constant = std::all_of(port.shape.begin() + 1, port.shape.end(),
                                      [](int64_t size) { return size > 0; });
    if (!constant || (onlyTokens && (port.shape.size() != 2 || port.shape[0] != tokensDimension))) {
      continue;
    }
    Rows &rows = all.emplace_back();
    rows.name = port.name;
    for (size_t i = 1; i < port.shape.size(); ++i) {
      rows.width *= static_cast<size_t>(port.shape[i]);
    }
    rows.values.resize(static_cast<size_t>(port.rowsOf(lengths)) * rows.width);
  }
  return all;
}

static std::vector<Output> wantedOf(std::vector<Rows> &rows) {
  std::vector<Output> wanted;
  for (Rows &each : rows) {
    wanted.push_back({each.name, each.values});
  }
  return wanted;
}

static std::vector<int32_t> lengthsOf(const std::vector<Ids> &lists) {
  std::vector<int32_t> lengths;
  for (const Ids &list : lists) {
    lengths.push_back(static_cast<int32_t>(list.shape(0)));
  }
  return lengths;
}

namespace {
struct DecodedRows {
  std::vector<Rows> encoded;
  std::vector<Rows> decoded;
  Logits logits;
};
} // namespace

static Status runBoth(const Model &model, const SessionOptions &options,
                      const std::vector<Ids> &sources, const std::vector<Ids> &targets,
                      DecodedRows &result) {
  HEDDLE_ASSIGN(const std::unique_ptr<PagedDecoder> decoder, PagedDecoder::create(model, options));
  result.encoded = roomFor(*model.findEntry("encode"), lengthsOf(sources), false);
  std::vector<SourceView> views;
  for (const Ids &source : sources) {
    views.emplace_back(spanOf(source));
  }
  std::vector<SourceId> ids(sources.size());
  HEDDLE_TRY(decoder->encode(views, ids, wantedOf(result.encoded)));
  result.decoded = roomFor(*model.findEntry("decode"), lengthsOf(targets), true);
  std::erase_if(result.decoded, [](const Rows &rows) { return rows.name == "logits"; });
  std::vector<Extension> extensions;
  for (size_t i = 0; i < ids.size(); ++i) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder->start(ids[i]));
    extensions.push_back({hypothesis, spanOf(targets[i])});
  }
  const std::vector<Output> rows = wantedOf(result.decoded);
  return decoder->decode(extensions, result.logits,
                         {.attention = nullptr, .observed = {}, .rows = rows});
}

nb::dict Core::runDecoder(const nb::list &sourceList, const nb::list &targetList) const {
  const std::shared_ptr<Loaded> model = loaded();
  std::vector<Ids> sources, targets;
  for (const auto &[from, to] :
       {std::pair(&sourceList, &sources), std::pair(&targetList, &targets)}) {
    for (const nb::handle each : *from) {
      to->push_back(nb::cast<Ids>(each, false));
    }
  }
  DecodedRows result;
  if (!sources.empty()) {
    const nb::gil_scoped_release unlocked;
    const LoadOptions &given = model->options();
    check(runBoth(model->model(), {.threads = given.threads, .cacheBytes = given.cacheBytes},
                  sources, targets, result));
  }
  nb::dict arrays;
  const auto put = [&](const std::string &name, std::vector<float> values, size_t width) {
    const size_t rows = width == 0 ? 0 : values.size() / width;
    arrays[name.c_str()] = arrayOf(std::move(values), {rows, width});
  };
  for (Rows &rows : result.encoded) {
    put("encode." + rows.name, std::move(rows.values), rows.width);
  }
  for (Rows &rows : result.decoded) {
    put("decode." + rows.name, std::move(rows.values), rows.width);
  }
  put("decode.logits", std::move(result.logits.values), result.logits.width);
  return arrays;
}

} // namespace heddle::python
