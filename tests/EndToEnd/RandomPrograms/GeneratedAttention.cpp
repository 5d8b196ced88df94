// SPDX-License-Identifier: Apache-2.0
///
/// Random attention, in many forms, some of which are no attention: heads before or after the map,
/// transposed or shared; scores that are scaled, hidden, biased and used twice. In a decoder keys
/// and values come from caches, and no row sees a later one.
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <algorithm>
#include <cmath>

namespace heddle {

Written ProgramGenerator::split(const Written &x, int64_t heads) {
  const int64_t size = x.width / heads;
  return define(Kind::Heads, headsType(heads, size), heads, size, x.exponent,
                fmt::format("split_heads {} : {} -> {}", x.name, x.type, headsType(heads, size)));
}

Written ProgramGenerator::merge(const Written &x) {
  const int64_t columns = x.heads * x.width;
  return define(rowKind, rowsType(columns), 0, columns, x.exponent,
                fmt::format("merge_heads {} : {} -> {}", x.name, x.type, rowsType(columns)));
}

Written ProgramGenerator::repeatHeads(const Written &x, int64_t heads) {
  const std::string type = headsType(heads, x.width);
  return define(Kind::Heads, type, heads, x.width, x.exponent,
                fmt::format("repeat_heads {} : {} -> {}", x.name, x.type, type));
}

/// Writes mathematics on heads that is not attention.
Written ProgramGenerator::headStep(const Written &x) {
  const int64_t heads = x.width % 3 == 0 ? 3 : x.width % 2 == 0 ? 2 : 1;
  Written h = split(x, heads);
  switch (dice.below(6)) {
  case 5:
    h = repeatHeads(h, h.heads * dice.between(1, 3));
    break;
  case 0:
    h = activate(h);
    break;
  case 1:
    h = scale(h);
    break;
  case 2:
    h = add(h, weight({h.heads, h.width}, h.exponent));
    break;
  case 3:
    h = add(h, dice.once(2) ? h : weight({h.width}, h.exponent));
    break;
  default: {
    // Transposed and back.
    const std::string turned = fmt::format("tensor<{}x?x{}xf32>", h.heads, h.width);
    const Written t =
        define(Kind::Weight, turned, h.heads, h.width, h.exponent,
               fmt::format("transpose {} [1, 0, 2] : {} -> {}", h.name, h.type, turned));
    h = define(Kind::Heads, h.type, h.heads, h.width, h.exponent,
               fmt::format("transpose {} [1, 0, 2] : {} -> {}", t.name, turned, h.type));
    break;
  }
  }
  return merge(h);
}

// --- Keys and values -------------------------------------------------------------------------

Written ProgramGenerator::kept(const Written &x) {
  if (!inDecoder) {
    return x;
  }
  const std::string name = fmt::format("kept{}", keptHere.size());
  const std::string type = fmt::format("!transformer.cache<{}>", x.width);
  body += fmt::format("  %{0}.after = transformer.append %{0}, {1} in(%rows) : {2}\n", name, x.name,
                      type);
  keptHere.push_back({name, type, "%" + name + ".after"});
  Written read = x;
  read.name = fmt::format("%{}", nextValue++);
  body += fmt::format("  {} = transformer.cached %{}.after in(%seen) : {} -> {}\n", read.name, name,
                      type, x.type);
  return read;
}

Written ProgramGenerator::remembered(int64_t number) {
  const int64_t columns = memoryWidths[static_cast<size_t>(number)];
  Written read{rowKind, fmt::format("%{}", nextValue++), rowsType(columns), 0, columns};
  body += fmt::format("  {} = transformer.cached %memory{} in(%memory) : !transformer.cache<{}> -> "
                      "{}\n",
                      read.name, number, columns, read.type);
  return read;
}

Written ProgramGenerator::average(const Written &x) {
  const std::string name = fmt::format("kept{}", keptHere.size());
  const std::string type = fmt::format("!transformer.state<{}>", x.width);
  const auto accumulate = [&] {
    body += fmt::format("  %{0}.after = transformer.accumulate %{0}, {1} in(%rows) : {2}\n", name,
                        x.name, type);
  };
  const bool isFirst = dice.once(2);
  if (isFirst) {
    accumulate();
  }
  const Written mean =
      define(rowKind, x.type, 0, x.width, x.exponent,
             fmt::format("prefix_mean {}, %{} in(%rows) : {}", x.name, name, type));
  if (!isFirst) {
    accumulate();
  }
  keptHere.push_back({name, type, "%" + name + ".after"});
  return mean;
}

Written ProgramGenerator::lastRows(const Written &x, int64_t places) {
  Written state = x;
  state.name = fmt::format("%kept{}", keptHere.size());
  state.type = fmt::format("!transformer.state<{}>", places * x.width);
  body += fmt::format("  {0}.after = transformer.keep {0}, {1} in(%rows) : {2}, {3}\n", state.name,
                      x.name, state.type, x.type);
  keptHere.push_back({state.name.substr(1), state.type, state.name + ".after"});
  return state;
}

// --- Scores ----------------------------------------------------------------------------------

/// Writes queries, keys or values in heads.
Written ProgramGenerator::project(const Written &x, int64_t heads, int64_t size) {
  Written rows = x.width == heads * size && dice.once(5) ? x : linear(x, heads * size);
  if (dice.once(5)) {
    rows = scale(rows);
  }
  return rows;
}

Written ProgramGenerator::scores(const Written &queries, const Written &keys) {
  const bool isShared = keys.heads == 0;
  std::string left = queries.name, leftType = queries.type, leftAxes = "thd";
  std::string right = keys.name, rightType = keys.type, rightAxes = isShared ? "kd" : "khd";
  const auto turn = [&](std::string &name, std::string &type, std::string &axes,
                        const std::string &turnedAxes, const std::string &turnedType,
                        const std::string &order) {
    const std::string turned = fmt::format("%{}", nextValue++);
    body += fmt::format("  {} = transformer.transpose {} {} : {} -> {}\n", turned, name, order,
                        type, turnedType);
    name = turned;
    type = turnedType;
    axes = turnedAxes;
  };
  if (dice.once(4)) {
    turn(left, leftType, leftAxes, "htd",
         fmt::format("tensor<{}x?x{}xf32>", queries.heads, queries.width), "[1, 0, 2]");
  }
  if (!isShared && dice.once(4)) {
    turn(right, rightType, rightAxes, "hdk",
         fmt::format("tensor<{}x{}x?xf32>", keys.heads, keys.width), "[1, 2, 0]");
  }
  if (dice.once(4)) {
    std::swap(left, right);
    std::swap(leftType, rightType);
    std::swap(leftAxes, rightAxes);
  }
  const std::string type = fmt::format("tensor<?x{}x?xf32>", queries.heads);
  Written s = define(Kind::Scores, type, queries.heads, 0, queries.exponent + keys.exponent,
                     fmt::format("contract \"{},{}->thk\" {}, {} in({}, {}) : {}, {} -> {}",
                                 leftAxes, rightAxes, left, right, rowSegments, keySegments,
                                 leftType, rightType, type));
  s.keys = defined.back().keys = keySegments;
  return s;
}

/// Writes v . tanh(q + k), or another function, for each of some heads: possibly of a multiple,
/// with a bias for each column, or squared.
Written ProgramGenerator::pairScores(const Written &queries, const Written &keys, int64_t heads,
                                     const Written *looked) {
  const std::string type = fmt::format("tensor<?x?x{}xf32>", keys.width);
  const auto pairs = [&](const std::string &operation) {
    return define(Kind::Weight, type, 0, keys.width, 0, operation);
  };
  Written sums =
      pairs(fmt::format("pair_sum {}, {} in({}, {}) : {}, {} -> {}", queries.name, keys.name,
                        rowSegments, keySegments, queries.type, keys.type, type));
  if (looked != nullptr) {
    const std::string filters =
        parameter({keys.width, looked->heads, dice.of<int64_t>({1, 3, 7})}, 0);
    const Written beside =
        pairs(fmt::format("convolve_keys {}, @{} in({}, {}) : {} -> {}", looked->name, filters,
                          rowSegments, keySegments, looked->type, type));
    sums = add(sums, beside);
  }
  Written inner = dice.once(3) ? pairs(fmt::format("scale {}, {} : {}", sums.name,
                                                   dice.of({"5.0e-01", "-2.0e+00"}), type))
                               : sums;
  if (dice.once(3)) {
    const Written bias = weight({keys.width}, 0);
    inner = pairs(fmt::format("add {}, {} : {}, {}", inner.name, bias.name, type, bias.type));
  }
  Written bounded =
      pairs(fmt::format("activate {} {} : {}", dice.of({"tanh", "sigmoid"}), inner.name, type));
  if (dice.once(3)) {
    bounded =
        pairs(fmt::format("multiply {}, {} : {}, {}", bounded.name, bounded.name, type, type));
  }
  const Written by = weight({heads, keys.width}, 0);
  const std::string scoresType = fmt::format("tensor<?x{}x?xf32>", heads);
  Written s =
      define(Kind::Scores, scoresType, heads, 0, 0,
             fmt::format("contract \"tkw,hw->thk\" {}, {} in({}, {}) : {}, {} -> {}", bounded.name,
                         by.name, rowSegments, keySegments, type, by.type, scoresType));
  s.keys = defined.back().keys = keySegments;
  return s;
}

/// Hides keys. In a decoder, whether a query sees later keys determines how a sequence may be
/// divided.
Written ProgramGenerator::hide(const Written &s) {
  const std::string kind =
      inDecoder && s.keys == "%seen"
          ? dice.of({"causal", "causal", "from i - 2 to i + 1", "from i / 5 * 5 - 3 to i + 1"})
      : s.keys != rowSegments
          ? "all"
          : dice.of({"causal", "causal", "all", "from i - 2 to i + 3", "from i - 17", "to i + 2",
                     "from i / 4 * 4 - 1 to i / 4 * 4 + 6", "from (i + 2) / 5 * 3 to i * 2 + 3"});
  const std::string hidden = inDecoder || extreme
                                 ? dice.of({"0xFF800000", "-3.40282347e38"})
                                 : dice.of({"0xFF800000", "-3.40282347e38", "-1.0e9", "-1.0e4"});
  const std::string mask = fmt::format("%m{}", nextValue);
  body += fmt::format("  {} = transformer.mask {} in({}, {})\n", mask, kind, rowSegments, s.keys);
  Written result;
  if (dice.once(2)) {
    result = define(
        Kind::Scores, s.type, s.heads, 0, s.exponent,
        fmt::format("select {}, {} {{hidden = {} : f32}} : {}", mask, s.name, hidden, s.type));
  } else {
    const Written bias =
        define(Kind::Pairs, "tensor<?x?xf32>", 0, 0, 0,
               fmt::format("mask_bias {} {{hidden = {} : f32}} : tensor<?x?xf32>", mask, hidden));
    result = add(s, bias);
  }
  result.keys = defined.back().keys = s.keys;
  return result;
}

Written ProgramGenerator::scoreStep(const Written &s) {
  Written result = s;
  switch (dice.below(8)) {
  case 0:
    // In a decoder hiding comes last, so that nothing shows the keys again.
    result = inDecoder ? scale(s) : hide(s);
    break;
  case 1:
  case 2: {
    if (s.keys.starts_with("%b") && s.keys != rowSegments) {
      // Rows and blocks have no distance.
      result = scale(s);
      break;
    }
    const Written bias =
        define(Kind::Scores, s.type, s.heads, 0, s.exponent,
               fmt::format("relative_bias @{} in({}, {}) : {}", distanceTable(s.heads, s.exponent),
                           rowSegments, s.keys, s.type));
    result = dice.once(2) ? add(s, bias) : add(bias, s);
    break;
  }
  case 3: {
    const Written by = weight({1}, 0);
    result = define(Kind::Scores, s.type, s.heads, 0, s.exponent,
                    fmt::format("multiply {}, {} : {}, {}", s.name, by.name, s.type, by.type));
    break;
  }
  case 4:
    result = dice.once(3) ? activate(s) : scale(s);
    break;
  case 5:
    result = add(s, s);
    break;
  default:
    result = scale(s);
    break;
  }
  result.keys = defined.back().keys = s.keys;
  return result;
}

Written ProgramGenerator::softmax(const Written &s) {
  Written p = define(Kind::Scores, s.type, s.heads, 0, 0,
                     fmt::format("softmax {} in({}) : {}", s.name, s.keys, s.type));
  defined.back().keys = p.keys = s.keys;
  defined.back().isSoftmax = p.isSoftmax = true;
  return p;
}

Written ProgramGenerator::weigh(const Written &s) {
  if (!dice.once(8)) {
    return softmax(s);
  }
  const auto over = [&](const std::string &operation) {
    Written result = define(Kind::Scores, s.type, s.heads, 0, 0, operation);
    defined.back().keys = result.keys = s.keys;
    return result;
  };
  const Written gates = over(fmt::format("activate sigmoid {} : {}", s.name, s.type));
  return over(fmt::format("divide_by_sum {} in({}) : {}", gates.name, s.keys, s.type));
}

Written ProgramGenerator::sumValues(const Written &p, const Written &values) {
  const bool isShared = values.heads == 0;
  const std::string axes = isShared ? "kd" : "khd";
  const auto contract = [&](const std::string &result, const std::string &type, Kind kind,
                            int64_t heads) {
    const std::string both =
        dice.once(4)
            ? fmt::format("contract \"{},thk->{}\" {}, {} in({}, {}) : {}, {} -> {}", axes, result,
                          values.name, p.name, rowSegments, p.keys, values.type, p.type, type)
            : fmt::format("contract \"thk,{}->{}\" {}, {} in({}, {}) : {}, {} -> {}", axes, result,
                          p.name, values.name, rowSegments, p.keys, p.type, values.type, type);
    return define(kind, type, heads, values.width, values.exponent, both);
  };
  if (dice.once(12)) {
    // Over heads too.
    return contract("td", rowsType(values.width), rowKind, 0);
  }
  if (dice.once(5)) {
    const std::string turned = fmt::format("tensor<{}x?x{}xf32>", p.heads, values.width);
    const Written sum = contract("htd", turned, Kind::Weight, p.heads);
    const std::string type = headsType(p.heads, values.width);
    return merge(define(Kind::Heads, type, p.heads, values.width, values.exponent,
                        fmt::format("transpose {} [1, 0, 2] : {} -> {}", sum.name, turned, type)));
  }
  return merge(contract("thd", headsType(p.heads, values.width), Kind::Heads, p.heads));
}

/// Writes what each key receives from the queries that see it.
Written ProgramGenerator::keysFromQueries(const Written &p, const Written &x) {
  const Written h = split(linear(x, p.heads * dice.between(1, 5)), p.heads);
  return merge(
      define(Kind::Heads, h.type, h.heads, h.width, h.exponent,
             fmt::format("contract \"thk,thd->khd\" {}, {} in({}, {}) : {}, {} -> {}", p.name,
                         h.name, rowSegments, rowSegments, p.type, h.type, h.type)));
}

/// Writes values weighted according to products of queries and keys.
Written ProgramGenerator::attend(const Written &x, const Written &product, const Written &keyRows,
                                 const Written &values, bool hidesFuture, bool seesBlocks) {
  Written s = product;
  for (int64_t i = dice.of<int64_t>({0, 1, 1, 2, 3}); i > 0; --i) {
    s = scoreStep(s);
  }
  if (hidesFuture || dice.once(3)) {
    s = hide(s);
  }
  const Written p = weigh(s);
  Written result = sumValues(p, values);
  if (dice.once(10)) {
    sumValues(p, values);
  }
  if (dice.once(12)) {
    // The attention so far determines the next one. Hiding comes last, as above.
    const Written again = pairScores(linear(x, keyRows.width), keyRows, product.heads, &p);
    result = sumValues(weigh(hidesFuture ? hide(again) : again), values);
  }
  if (!inDecoder && !seesBlocks && dice.once(12)) {
    keysFromQueries(p, x);
  }
  return result;
}

Written ProgramGenerator::attention(const Written &x) {
  const bool isCross = inDecoder && nextMemory + 1 < memoryWidths.size() && dice.once(2);
  int64_t heads = headCount();
  int64_t size = dice.of<int64_t>({1, 4, 6, 17});
  int64_t valueSize = dice.once(4) ? dice.of<int64_t>({1, 6}) : size;
  const bool isCompressed = !inDecoder && rowKind != Kind::Blocks && !blockSegments.empty();
  const bool seesBlocks = isCompressed && !dice.once(4);
  const Written source = seesBlocks ? pick(Kind::Blocks) : dice.once(4) ? pickRows() : x;
  Written keys, values;
  // Heads of keys and values: as many as those of queries, or fewer that they share.
  int64_t groups = dice.once(6) ? dice.of<int64_t>({1, heads % 2 == 0 ? 2 : 1}) : heads;
  const std::string before = keySegments;
  bool sharesKeys = dice.once(8), sharesValues = dice.once(10);
  keySegments = seesBlocks ? blockSegments : keySegments;
  if (isCross) {
    keySegments = "%memory";
    const auto first = static_cast<int64_t>(nextMemory);
    nextMemory += 2;
    const int64_t k = memoryWidths[static_cast<size_t>(first)];
    const int64_t v = memoryWidths[static_cast<size_t>(first) + 1];
    heads = k % heads == 0 && v % heads == 0 ? heads : 1;
    groups = heads;
    keys = remembered(first);
    values = remembered(first + 1);
    sharesKeys = sharesValues = false;
    size = k / heads;
    valueSize = v / heads;
  } else {
    keys = kept(project(source, sharesKeys ? 1 : groups, size));
    values = kept(project(source, sharesValues ? 1 : groups, valueSize));
  }
  const auto spread = [&](const Written &rows) {
    const Written few = split(rows, groups);
    return groups == heads ? few : repeatHeads(few, heads);
  };
  const Written keyRows = keys;
  keys = sharesKeys ? keys : spread(keys);
  values = sharesValues ? values : spread(values);
  Written queries = split(project(x, heads, size), heads);
  if (dice.once(6)) {
    queries = scale(queries);
  }
  const Written product =
      dice.once(8) ? pairScores(linear(x, keyRows.width), keyRows, heads) : scores(queries, keys);
  Written result;
  // Sometimes two attentions over one product, or one with values of two kinds.
  for (int64_t left = dice.once(6) ? 2 : 1; left > 0; --left) {
    result = attend(x, product, keyRows, values, inDecoder && !isCross, seesBlocks);
  }
  keySegments = before;
  return dice.once(2) ? linear(result, dice.once(2) ? x.width : width()) : result;
}

} // namespace heddle
