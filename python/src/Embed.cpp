// SPDX-License-Identifier: Apache-2.0
///
/// Embeds texts in blocks; between blocks the interpreter may run, and Ctrl-C is handled.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Texts.h"

#include <cmath>

namespace nb = nanobind;

namespace heddle::python {

namespace {
/// Some texts, kept alive while they are read without the GIL.
struct Block {
  std::vector<nb::object> kept;
  std::vector<std::string_view> views;
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;

  void fill(const nb::list &texts, size_t first, size_t count);
};
} // namespace

void Block::fill(const nb::list &texts, size_t first, size_t count) {
  kept.clear();
  views.clear();
  for (size_t i = first; i < first + count; ++i) {
    kept.push_back(texts[i]);
    views.push_back(textOf(kept.back(), numbered("text", i)));
  }
}

/// Divides a row by its Euclidean norm, which is summed in f64; a row of zeros stays unchanged.
static void normalizeRow(std::span<float> row) {
  double sum = 0;
  for (const float value : row) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  const double norm = std::max(std::sqrt(sum), 1e-12);
  for (float &value : row) {
    value = static_cast<float>(static_cast<double>(value) / norm);
  }
}

static Status embedBlock(Session &session, Block &block, size_t first, std::span<float> rows,
                         bool normalize) {
  const EntryInfo &entry = *session.model().findEntry("embed");
  block.lengths.clear();
  block.ids.clear();
  for (size_t i = 0; i < block.views.size(); ++i) {
    Result<std::vector<int32_t>> tokens = session.model().tokenize(block.views[i]);
    HEDDLE_TRY_WITH(tokens.status(), numbered("text", first + i));
    if (entry.maxLength != 0 && static_cast<int64_t>(tokens->size()) > entry.maxLength) {
      return HEDDLE_ERROR(OutOfRange,
                          numbered("text", first + i) + " has " + std::to_string(tokens->size()) +
                              " tokens, expected at most " + std::to_string(entry.maxLength) +
                              ", the positions of the model");
    }
    block.lengths.push_back(static_cast<int32_t>(tokens->size()));
    block.ids.insert(block.ids.end(), tokens->begin(), tokens->end());
  }
  const Input ids{entry.inputs.front().name, block.ids};
  const Output output{entry.outputs.front().name, rows};
  HEDDLE_TRY(session.run("embed", block.lengths, {&ids, 1}, {&output, 1}));
  if (normalize && !block.views.empty()) {
    const size_t width = rows.size() / block.views.size();
    for (size_t i = 0; i < block.views.size(); ++i) {
      normalizeRow(rows.subspan(i * width, width));
    }
  }
  return {};
}

/// Rejects objects that are not texts before any text is embedded: an error in the last of a
/// million texts must not waste the others.
static void checkTexts(const nb::list &texts) {
  for (size_t i = 0; i < nb::len(texts); ++i) {
    const nb::object text = texts[i];
    textOf(text, numbered("text", i));
  }
}

void Core::embed(const nb::list &texts, const FloatsOut &out, size_t batch, bool normalize,
                 const nb::object &progress) const {
  const std::shared_ptr<Loaded> model = loaded();
  const Loaded::Lease session(*model, model->takeSession());
  check(session->embeddingWidth().status());
  const size_t width = out.shape(1);
  checkTexts(texts);
  Block block;
  for (size_t first = 0; first < out.shape(0);) {
    // Another thread may have removed texts from the list.
    const size_t length = std::min(nb::len(texts), out.shape(0));
    if (first >= length) {
      invalid("the list of texts has become shorter while it was read");
    }
    const size_t count = std::min(batch, length - first);
    block.fill(texts, first, count);
    {
      const nb::gil_scoped_release unlocked;
      const std::span<float> rows(out.data() + first * width, count * width);
      check(embedBlock(*session, block, first, rows, normalize));
    }
    first += count;
    checkSignals();
    if (!progress.is_none()) {
      progress(first);
    }
  }
}

} // namespace heddle::python
