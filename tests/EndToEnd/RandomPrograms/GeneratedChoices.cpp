// SPDX-License-Identifier: Apache-2.0
///
/// Rows that choose linear maps, and mathematics on their choices.
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <algorithm>
#include <cmath>

namespace heddle {

/// Writes the numbers that rows choose by: from a table, with duplicates, or any.
Written ProgramGenerator::preferences(const Written &x, int64_t columns) {
  if (!hasIds || dice.once(2)) {
    return linear(x, columns);
  }
  const std::string table = store({vocabulary, columns}, 0);
  for (float &value : tensors[table]) {
    value = dice.once(3) ? 0.5F : value;
  }
  return rows(columns, 0, fmt::format("gather @{}[%ids]", table));
}

Written ProgramGenerator::chosenLinear(const Written &x, const std::string &choice, int64_t maps,
                                       int64_t columns) {
  const double wanted = target();
  const double size = wanted - x.exponent - std::log10(static_cast<double>(x.width)) / 2;
  std::string operation =
      fmt::format("chosen_linear {}, @{}", x.name, parameter({maps * columns, x.width}, size));
  if (dice.once(3)) {
    operation += fmt::format(", @{}", parameter({maps * columns}, wanted));
  }
  return define(x.kind, rowsType(columns), 0, columns, wanted,
                fmt::format("{} of({}) {{maps = {} : i64}} : {} -> {}", operation, choice, maps,
                            x.type, rowsType(columns)));
}

/// Writes a chosen map of rows, possibly followed by mathematics on its result.
Written ProgramGenerator::chosenMaths(const Written &x, const std::string &choice, int64_t maps) {
  Written y = chosenLinear(x, choice, maps, width());
  switch (dice.below(4)) {
  case 0:
    return chosenLinear(activate(y), choice, maps, width());
  case 1: {
    // A gated map.
    const Written other = chosenLinear(x, choice, maps, y.width);
    return define(Kind::Choices, y.type, 0, y.width, y.exponent + other.exponent,
                  fmt::format("multiply {}, {} : {}, {}", y.name, other.name, y.type, other.type));
  }
  case 2:
    return norm(add(y, linear(x, y.width)));
  default:
    return y;
  }
}

void ProgramGenerator::onChoices(const Written &x) {
  if (rowKind != Kind::Rows) {
    norm(x);
    return;
  }
  if (hasIds && dice.once(6)) {
    chosenLinear(x, "%ids", vocabulary, width());
    return;
  }
  const int64_t maps = dice.between(2, 9), count = dice.between(1, std::min<int64_t>(maps, 4));
  const Written by = preferences(x, maps);
  const std::string segments = fmt::format("%c{}", nextValue);
  const std::string choice = segments + ".choice";
  const std::string valueType = rowsType(count);
  body += fmt::format("  {} = transformer.choices %rows, {}\n", segments, count);
  const Written values{Kind::Rows, segments + ".value", valueType, 0, count, "", by.exponent};
  body += fmt::format("  {}, {} = transformer.top_k {} to({}) : {} -> {}\n", choice, values.name,
                      by.name, segments, by.type, valueType);
  defined.push_back(values);
  Written gates = values;
  if (dice.once(2)) {
    gates = rows(count, 0, fmt::format("row_softmax {}", values.name));
  }
  if (dice.once(4)) {
    define(Kind::Rows, rowsType(maps), 0, maps, gates.exponent,
           fmt::format("place_columns {} at {} : {} -> {}", gates.name, choice, valueType,
                       rowsType(maps)));
  }
  const auto split = [&](const Written &from) {
    const int64_t columns = from.width / count;
    return define(Kind::Choices, rowsType(columns), 0, columns, from.exponent,
                  fmt::format("split_rows {} to({}) : {} -> {}", from.name, segments, from.type,
                              rowsType(columns)));
  };
  Written y = x.width % count == 0 && dice.once(4)
                  ? split(x)
                  : define(Kind::Choices, x.type, 0, x.width, x.exponent,
                           fmt::format("repeat {} to({}) : {}", x.name, segments, x.type));
  y = chosenMaths(y, choice, maps);
  if (dice.once(2)) {
    const Written factors = split(gates);
    y = define(Kind::Choices, y.type, 0, y.width, y.exponent + factors.exponent,
               fmt::format("multiply {}, {} : {}, {}", y.name, factors.name, y.type, factors.type));
  }
  define(Kind::Rows, y.type, 0, y.width, y.exponent,
         fmt::format("pool {} {} in({}) to(%rows) : {}",
                     dice.of({"sum", "sum", "mean", "cls", "max"}), y.name, segments, y.type));
}

/// Writes (x c - y s, y c + x s, z) of the columns x, y and z of each head; occasionally with
/// another sign, factor or order, which is not a rotation.
Written ProgramGenerator::turned(const Written &head, const std::string &heads) {
  const int64_t pairs = dice.between(1, head.width / 2);
  std::string frequencies = "1.0";
  for (int64_t i = 1; i < pairs; ++i) {
    frequencies += fmt::format(", {:.6f}", std::pow(100.0, -double(i) / double(pairs)));
  }
  const Written angles =
      rows(pairs, 0, fmt::format("angles %rows {{frequencies = array<f32: {}>}}", frequencies));
  const auto part = [&](int64_t first, int64_t count) {
    return define(
        Kind::Choices, rowsType(count), 0, count, head.exponent,
        fmt::format("columns {} from {} : {} -> {}", head.name, first, head.type, rowsType(count)));
  };
  const auto repeated = [&](const char *function) {
    const Written of = rows(pairs, 0, fmt::format("activate {} {}", function, angles.name));
    const Written some = dice.once(4) ? scale(of) : of;
    return define(Kind::Choices, some.type, 0, pairs, 0,
                  fmt::format("repeat {} to({}) : {}", some.name, heads, some.type));
  };
  const Written x = part(0, pairs), y = part(pairs, pairs);
  const Written c = repeated("cos"), s = repeated(dice.once(8) ? "cos" : "sin");
  const auto times = [&](const Written &a, const Written &b) {
    const bool isSwapped = dice.once(2);
    return define(Kind::Choices, a.type, 0, pairs, a.exponent + b.exponent,
                  fmt::format("multiply {}, {} : {}, {}", (isSwapped ? b : a).name,
                              (isSwapped ? a : b).name, a.type, a.type));
  };
  const Written product = times(y, s);
  const Written minus =
      define(Kind::Choices, x.type, 0, pairs, product.exponent,
             fmt::format("scale {}, {} : {}", product.name, dice.once(8) ? "0.5" : "-1.0", x.type));
  const Written near = dice.once(2) ? add(times(x, c), minus) : add(minus, times(x, c));
  const Written far = add(times(y, c), times(x, s));
  std::string names = near.name + ", " + far.name, types = near.type + ", " + far.type;
  if (head.width > 2 * pairs) {
    const Written rest = part(2 * pairs, head.width - 2 * pairs);
    names += ", " + rest.name;
    types += ", " + rest.type;
  }
  return define(Kind::Choices, head.type, 0, head.width, head.exponent,
                fmt::format("concat {} : ({}) -> {}", names, types, head.type));
}

Written ProgramGenerator::onHeads(const Written &x) {
  const int64_t count = x.width % 3 == 0 ? 3 : x.width % 2 == 0 ? 2 : 1;
  if (rowKind != Kind::Rows) {
    return norm(x);
  }
  const std::string heads = fmt::format("%h{}", nextValue);
  const int64_t size = x.width / count;
  body += fmt::format("  {} = transformer.choices %rows, {}\n", heads, count);
  Written head =
      define(Kind::Choices, rowsType(size), 0, size, x.exponent,
             fmt::format("split_rows {} to({}) : {} -> {}", x.name, heads, x.type, rowsType(size)));
  if (dice.once(3)) {
    head = norm(head);
  }
  if (size > 1 && !dice.once(4)) {
    head = turned(head, heads);
  }
  Written joined =
      define(Kind::Rows, x.type, 0, x.width, head.exponent,
             fmt::format("join_rows {} in({}) : {} -> {}", head.name, heads, head.type, x.type));
  if (count == 1 || !dice.once(4)) {
    return joined;
  }
  // Columns of the last head begin beyond a row of its memory.
  const int64_t others = x.width - size;
  const auto part = [&](int64_t first, int64_t width) {
    return define(Kind::Rows, rowsType(width), 0, width, joined.exponent,
                  fmt::format("columns {} from {} : {} -> {}", joined.name, first, joined.type,
                              rowsType(width)));
  };
  const Written last = norm(part(others, size)), rest = part(0, others);
  return define(Kind::Rows, x.type, 0, x.width, std::max(last.exponent, rest.exponent),
                fmt::format("concat {}, {} : ({}, {}) -> {}", last.name, rest.name, last.type,
                            rest.type, x.type));
}

Written ProgramGenerator::rowSoftmax(const Written &x) {
  return define(x.kind, x.type, 0, x.width, 0, fmt::format("row_softmax {} : {}", x.name, x.type));
}

} // namespace heddle
