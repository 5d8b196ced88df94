// SPDX-License-Identifier: Apache-2.0
///
/// Attention to the source: Bahdanau, Cho and Bengio, "Neural machine translation by jointly
/// learning to align and translate" (additive); Luong, Pham and Manning, "Effective approaches to
/// attention-based neural machine translation" (dot, general, concat, windows); Chorowski et al.,
/// "Attention-based models for speech recognition" (location-sensitive, smooth).
#include "frontend/Families/RecurrentAttention.h"

#include <cmath>
#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

static constexpr std::string_view keyName = "attention.key";
static constexpr std::string_view valueName = "attention.value";
static constexpr std::string_view placeName = "attention.place";

/// Returns the number one, [1].
static Tensor oneOf(const Scope &scope, Entry &entry) {
  return entry.weight(scope.reshape("one", scope.onesFrom("one.table", 0, 1, 1), {1}));
}

// --- the memory ------------------------------------------------------------------------------

/// Returns the keys of the memory, computed once for each sentence: U h of v . tanh(W q + U h), W h
/// of q W h.
static Tensor keysOf(const Scope &scope, const Recurrent &model, const Tensor &memory) {
  const RecurrentAttention &attention = model.attention;
  const int64_t n = model.decoder.hidden;
  const int64_t w = model.memoryWidth();
  switch (attention.kind) {
  case ScoreKind::Additive:
  case ScoreKind::Location:
    return attention.projectMemory ? scope.linear("memory", memory, attention.width,
                                                  attention.hasLocation() ? Bias::Yes : Bias::No)
                                   : memory;
  case ScoreKind::General:
    return scope.linear(memory, scope.parameter("weight", {n, w}));
  case ScoreKind::Concat:
    return scope.linear(
        memory,
        scope.columns("memory.weight", scope.parameter("weight", {attention.width, n + w}), n, w));
  default:
    return memory;
  }
}

void Recurrent::remember(const Scope &model, Entry &entry, const Tensor &memory,
                         const Segments &rows) const {
  const Tensor keys = keysOf(model.scope("attention"), *this, memory);
  entry.cache(keyName, keys.width()).append(keys, rows);
  entry.cache(valueName, memory.width()).append(memory, rows);
  if (!attention.needsPlaces()) {
    return;
  }
  // The positions of the keys, computed by counting, and the number of keys.
  const Tensor one = oneOf(model.scope("attention"), entry);
  const auto count = [&](std::span<const Tensor>, std::span<const Tensor> before) {
    return Recurrence{{before[0] + one}, {before[0]}};
  };
  const Recurrence counted = model.scope("attention").recurrence({memory}, {1}, rows, count);
  if (counted.given.empty()) {
    return;
  }
  entry.cache(placeName, 1).append(counted.given[0], rows);
  if (attention.hasWindow()) {
    entry.state(keyCountState, 1).store(counted.carried[0]);
  }
}

/// Composes the filters over each of `maps` alignments with the linear map after them: L F.
static std::vector<Parameter> composeFilters(const Scope &scope,
                                             const RecurrentAttention &attention) {
  const int64_t maps = attention.isCumulative ? 2 : 1;
  const int64_t elements = attention.kernel;
  const Parameter own = scope.parameter("filters", {attention.filters, maps, elements});
  const Parameter map =
      scope.scope("location").parameter("weight", {attention.width, attention.filters});
  const Parameter both =
      scope.product("location.filters", map,
                    scope.reshape("filters.matrix", own, {attention.filters, maps * elements}));
  std::vector<Parameter> filters;
  for (int64_t look = 0; look < maps; ++look) {
    const Parameter columns =
        scope.columns(fmt::format("location.filters.{}", look), both, look * elements, elements);
    filters.push_back(scope.reshape(fmt::format("location.filters.{}.keys", look), columns,
                                    {attention.width, 1, elements}));
  }
  return filters;
}

Look::Look(const Recurrent &model, const Scope &scope, Entry &entry)
    : attention(model.attention), n(model.decoder.hidden), w(model.memoryWidth()), scope(scope) {
  if (!attention.hasScores()) {
    return;
  }
  memory.rows = entry.memory("memory");
  memory.key = entry.cache(keyName, attention.isSum() ? attention.width : n).rows(memory.rows);
  memory.value = entry.cache(valueName, w).rows(memory.rows);
  if (attention.isSum()) {
    const Parameter v = scope.parameter("v", {attention.width});
    weights = entry.weight(scope.reshape("v.heads", v, {1, attention.width}));
  }
  if (attention.hasLocation()) {
    filters = composeFilters(scope, attention);
  }
  if (attention.needsPlaces()) {
    one = oneOf(scope, entry);
    ones = entry.weight(scope.onesFrom("one.table", 0, 1, 1));
    places = entry.cache(placeName, 1).rows(memory.rows);
  }
}

// --- scores ----------------------------------------------------------------------------------

Tensor Look::query(const Tensor &state) const {
  switch (attention.kind) {
  case ScoreKind::Additive:
  case ScoreKind::Location:
    return scope.linear("query", state, attention.width, Bias::No);
  case ScoreKind::Concat:
    return scope.linear(
        state,
        scope.columns("query.weight", scope.parameter("weight", {attention.width, n + w}), 0, n));
  default:
    return state;
  }
}

/// Returns one number for each row and key: v . tanh(W q + U h + L f + b), where f are filters over
/// previous alignments, or q h.
Tensor Look::scores(const Tensor &query, const Segments &rows,
                    std::span<const Tensor> before) const {
  if (!attention.isSum()) {
    return scope.contract("thd,khd->thk", query.splitHeads(1), memory.key.splitHeads(1), rows,
                          memory.rows);
  }
  Tensor sum = query.pairSum(memory.key, rows, memory.rows);
  for (size_t look = 0; look < filters.size(); ++look) {
    sum = sum + scope.convolveKeys(before[look], filters[look], rows, memory.rows);
  }
  return scope.contract("tkw,hw->thk", tanh(sum), weights, rows, memory.rows);
}

Attended Look::operator()(const Tensor &query, const Segments &rows, const Tensor &place,
                          const Tensor &length, std::span<const Tensor> before) const {
  Tensor e = scores(query, rows, before);
  if (attention.hasWindow()) {
    e = e + windowBias(rows, place, length);
  }
  Tensor a = attention.isSmooth ? e.activate(Activation::Sigmoid).divideBySum(memory.rows)
                                : e.softmax(memory.rows);
  if (attention.isPredictive()) {
    a = a * nearness(rows, place);
  }
  return {mixValues(scope, a, rows, memory.value, memory.rows, 1), a};
}

Tensor Look::looked(const Tensor &before, const Segments &rows, const Tensor &step) const {
  if (!attention.beginsAtFirstKey) {
    return before;
  }
  // The position of the key plus the index of the step is only zero for the first key at the first
  // step: max(1 - (j + t), 0).
  const Tensor less = (step * -1.0 + one) * -1.0;
  const Tensor first = less.pairSum(places, rows, memory.rows) * -1.0;
  return before + asScores(first.activate(Activation::Relu), rows);
}

// --- windows ---------------------------------------------------------------------------------

/// The element-wise minimum.
static Tensor least(const Tensor &a, const Tensor &b) {
  return a + (a + b * -1.0).activate(Activation::Relu) * -1.0;
}

Tensor Look::place(const Tensor &state, const Tensor &step, const Tensor &length) const {
  if (attention.isMonotonic()) {
    const Tensor last = (length * -1.0 + one) * -1.0;
    return least(step, last);
  }
  const Tensor inner = tanh(scope.linear("position", state, n, Bias::No));
  const Parameter v = scope.reshape("position_v.row", scope.parameter("position_v", {n}), {1, n});
  return length * scope.linear(inner, v).activate(Activation::Sigmoid);
}

/// Returns the distance of each key from a place, [rows, keys, 1].
Tensor Look::distances(const Segments &rows, const Tensor &place) const {
  return (place * -1.0).pairSum(places, rows, memory.rows);
}

/// Returns one number for each row and key as scores of one head.
Tensor Look::asScores(const Tensor &pairs, const Segments &rows) const {
  return scope.contract("tkw,hw->thk", pairs, ones, rows, memory.rows);
}

/// Returns a bias that hides the keys that are more than D from the centre: the step's own index,
/// or min(floor(p), S - 1) of a predicted place p. Keys and centres are integers, so the limit is D
/// + 1/2.
Tensor Look::windowBias(const Segments &rows, const Tensor &place, const Tensor &length) const {
  const Tensor last = (length * -1.0 + one) * -1.0;
  const Tensor centre =
      attention.isMonotonic() ? place : least(place.activate(Activation::Floor), last);
  const double within = 1 / (static_cast<double>(attention.reach) + 0.5);
  const Tensor inside = distances(rows, centre).activate(Activation::Abs) * -within + one;
  constexpr double hidden = -1e30;
  return asScores((inside * -1.0).activate(Activation::Relu) * hidden, rows);
}

/// exp(-(j - p)^2 / (2 (D/2)^2)). Below -20, a sigmoid equals the exponential function bitwise.
Tensor Look::nearness(const Segments &rows, const Tensor &place) const {
  constexpr double far = 20;
  const auto reach = static_cast<double>(attention.reach);
  const Tensor distance = distances(rows, place);
  const Tensor exponent = (distance * distance * (2 / (reach * reach * far)) + one) * -far;
  return asScores(exponent.activate(Activation::Sigmoid) * std::exp(far), rows);
}

} // namespace heddle
