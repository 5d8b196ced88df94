// SPDX-License-Identifier: Apache-2.0
///
/// Random mathematics on rows: one step at a time, or in the forms that passes match.
#include "tests/EndToEnd/ActivationTwins.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <algorithm>
#include <cmath>

namespace heddle {

/// Returns a number in MLIR's syntax.
static std::string numberText(double value) { return fmt::format("{:.9e}", value); }

/// In a decoder, a state has the rows before a run.
template <> Written ProgramGenerator::write<transformer::ConvolveOp>(const Written &x) {
  const double wanted = target();
  const int64_t kernel = dice.of<int64_t>({1, 2, 3, 3, 4, 5, 7, 15});
  const bool isCausal = inDecoder || dice.once(2);
  std::string operation =
      fmt::format("convolve {}, @{}", x.name, parameter({x.width, kernel}, wanted - x.exponent));
  if (dice.once(2)) {
    operation += fmt::format(", @{}", parameter({x.width}, wanted));
  }
  const int64_t dilation = dice.of<int64_t>({1, 1, 2, 3});
  operation += fmt::format(" in({})", rowSegments);
  if (inDecoder && kernel > 1) {
    const Written state = lastRows(x, (kernel - 1) * dilation);
    operation += fmt::format(" after({} : {})", state.name, state.type);
  }
  return rows(
      x.width, wanted,
      fmt::format("{} {{dilation = {} : i64{}}}", operation, dilation, isCausal ? ", causal" : ""),
      rowKind);
}

/// Repeats one row of a sequence at all of its rows.
template <> Written ProgramGenerator::write<transformer::SpreadOp>(const Written &x) {
  const Written row = rows(
      x.width, x.exponent,
      fmt::format("pool {} {} in(%rows)", dice.of({"mean", "cls", "max"}), x.name), Kind::Pooled);
  return rows(x.width, x.exponent, fmt::format("spread {} to(%rows)", row.name), rowKind);
}

/// Without strides the row space is unchanged; in a decoder, a state has the rows before a run.
template <> Written ProgramGenerator::write<transformer::SlideOp>(const Written &x) {
  return slide(x, "", "");
}

Written ProgramGenerator::slide(const Written &x, const std::string &strides,
                                const std::string &to) {
  const bool isImage = strides.find("across") != std::string::npos;
  const int64_t broad = isImage ? dice.between(1, 3) : 1;
  const std::string kind = dice.of({"patches", "patches", "depthwise", "max"});
  const int64_t height = dice.of<int64_t>({1, 2, 3, 3, 4, 5, 9}), elements = height * broad;
  const int64_t dilation = kind == "max" ? 1 : dice.of<int64_t>({1, 1, 2, 3});
  const bool isCausal = inDecoder || dice.once(2);
  const double wanted = kind == "depthwise" ? target() : x.exponent;
  std::string operation = fmt::format("slide {} {}", kind, x.name);
  if (kind == "depthwise") {
    operation += fmt::format(", @{}", parameter({x.width, elements}, wanted - x.exponent));
  }
  operation += fmt::format(" in({})", rowSegments);
  operation += to.empty() ? "" : fmt::format(" to({})", to);
  if (inDecoder && height > 1) {
    const Written state = lastRows(x, (height - 1) * dilation);
    operation += fmt::format(" after({} : {})", state.name, state.type);
  }
  operation += fmt::format(" window<height = {}, width = {}, dilationDown = {}, causal = {}{}>",
                           height, broad, dilation, isCausal, strides);
  const bool isGrouped = kind == "patches" && x.width % 2 == 0 && dice.once(2);
  operation += isGrouped ? " {groups = 2 : i64}" : "";
  const int64_t wide = kind == "patches" ? x.width * elements : x.width;
  Written seen = define(to.empty() ? rowKind : Kind::Weight, rowsType(wide), 0, wide, wanted,
                        fmt::format("{} : {} -> {}", operation, x.type, rowsType(wide)));
  if (kind != "patches") {
    return seen;
  }
  // A convolution over all channels.
  return define(
      seen.kind, rowsType(x.width), 0, x.width, target(),
      fmt::format("linear {}, @{} : {} -> {}", seen.name,
                  parameter({x.width, wide}, target() - x.exponent - std::log10(double(wide)) / 2),
                  seen.type, rowsType(x.width)));
}

void ProgramGenerator::step() {
  using Step = void (*)(ProgramGenerator &, const Written &);
  using Self = ProgramGenerator;
  static constexpr Step steps[] = {
      [](Self &self, const Written &x) { self.linear(x, self.width()); },
      [](Self &self, const Written &x) { self.columns(x); },
      [](Self &self, const Written &x) { self.addOther(x); },
      [](Self &self, const Written &x) { self.multiplyOther(x); },
      [](Self &self, const Written &x) { self.scale(x); },
      [](Self &self, const Written &x) { self.activate(x); },
      [](Self &self, const Written &x) { self.norm(x); },
      [](Self &self, const Written &x) { self.branches(x); },
      [](Self &self, const Written &x) { self.feedForward(x); },
      [](Self &self, const Written &x) { self.contractWeights(x); },
      [](Self &self, const Written &x) { self.contractRows(x); },
      [](Self &self, const Written &x) { self.repeated(x); },
      [](Self &self, const Written &x) { self.headStep(x); },
      [](Self &self, const Written &x) {
        self.inDecoder &&self.dice.once(2) ? self.average(x) : self.lookUp();
      },
      [](Self &self, const Written &x) { self.onBlocks(x); },
      [](Self &self, const Written &x) {
        !self.inDecoder &&self.rowKind == Kind::Rows &&self.dice.once(3)
            ? self.write<transformer::SpreadOp>(x)
            : self.write<transformer::ConvolveOp>(x);
      },
      [](Self &self, const Written &x) { self.onChoices(x); },
      [](Self &self, const Written &x) { self.onHeads(x); },
      [](Self &self, const Written &x) { self.dice.once(3) ? self.rowSoftmax(x) : self.norm(x); },
      [](Self &self, const Written &x) { self.write<transformer::SlideOp>(x); },
      [](Self &self, const Written &x) { self.elementwise(x); },
      [](Self &self, const Written &x) {
        self.dice.once(2) ? self.spelledNorm(x) : self.spelledActivation(x);
      },
      // Attention has more forms than the others.
      [](Self &self, const Written &x) { self.attention(x); },
      [](Self &self, const Written &x) { self.attention(x); },
  };
  const Written x = pickRows();
  steps[dice.below(std::size(steps))](*this, x);
}

/// Looks up words again, or positions: in another table, or the same.
Written ProgramGenerator::lookUp() {
  const double exponent = target();
  const int64_t columns = dice.once(2) ? mainWidth : width();
  if (hasIds && rowKind != Kind::Blocks && !dice.once(4)) {
    return rows(columns, exponent,
                fmt::format("gather @{}[%ids]", parameter({vocabulary, columns}, exponent)));
  }
  const std::string positions = fmt::format("%p{}", nextValue);
  body += fmt::format("  {} = transformer.positions {}\n", positions, rowSegments);
  return rows(columns, 0, fmt::format("gather @{}[{}]", positionTable(columns, 0), positions),
              rowKind);
}

/// Defines the segments of an entry's blocks: blocks, blocks of blocks, or strided rows or pixels
/// of images.
void ProgramGenerator::defineBlocks() {
  innerSegments = dice.once(3) ? fmt::format("%b{}.inner", nextValue) : "";
  blockSegments = fmt::format("%b{}", nextValue);
  blockStrides.clear();
  const int64_t stride = dice.between(2, 5);
  if (!innerSegments.empty()) {
    body += fmt::format("  {} = transformer.blocks %rows, 2\n", innerSegments);
    body += fmt::format("  {} = transformer.blocks {}, {}\n", blockSegments, innerSegments, stride);
  } else if (dice.once(2)) {
    // Images of any width, or all of one width.
    std::string across = "?";
    if (dice.once(2)) {
      pixelsAcross = pixelsAcross == 1 ? dice.between(2, 4) : pixelsAcross;
      across = std::to_string(pixelsAcross);
    }
    const int64_t down = dice.between(1, 3), right = dice.between(1, 2);
    body += fmt::format("  {} = transformer.strided %rows down {} right {} across {}\n",
                        blockSegments, down, right, across);
    blockStrides =
        fmt::format(", strideDown = {}, strideRight = {}, across = {}", down, right, across);
  } else {
    body += dice.once(2)
                ? fmt::format("  {} = transformer.strided %rows down {}\n", blockSegments, stride)
                : fmt::format("  {} = transformer.blocks %rows, {}\n", blockSegments, stride);
    blockStrides = fmt::format(", strideDown = {}", stride);
  }
}

/// Writes rows of blocks, and mathematics on them. An entry has blocks of one size; those of two
/// steps are blocks of blocks.
void ProgramGenerator::onBlocks(const Written &x) {
  if (inDecoder || rowKind == Kind::Blocks) {
    norm(x);
    return;
  }
  const std::string method = dice.of({"mean", "cls", "max", "sum"});
  std::string outer = "%rows", rowsName = x.name;
  if (blockSegments.empty()) {
    defineBlocks();
  }
  if (!innerSegments.empty() && dice.once(2)) {
    // In two steps. The intermediate value is of no kind that another operation takes.
    const Written inner = define(
        Kind::Weight, x.type, 0, x.width, x.exponent,
        fmt::format("pool {} {} in(%rows) to({}) : {}", method, x.name, innerSegments, x.type));
    outer = innerSegments;
    rowsName = inner.name;
  }
  const bool isImage = blockStrides.find("across") != std::string::npos;
  if (isImage || (!blockStrides.empty() && dice.once(2))) {
    const Written strided = slide(x, blockStrides, blockSegments);
    define(Kind::Blocks, strided.type, 0, strided.width, strided.exponent,
           fmt::format("scale {}, {} : {}", strided.name, numberText(0.5), strided.type));
  } else {
    define(Kind::Blocks, x.type, 0, x.width, x.exponent,
           fmt::format("pool {} {} in({}) to({}) : {}", method, rowsName, outer, blockSegments,
                       x.type));
  }
  rowKind = Kind::Blocks;
  rowSegments = keySegments = blockSegments;
  steps(dice.between(0, 2));
  rowKind = Kind::Rows;
  rowSegments = keySegments = "%rows";
  if (dice.once(3)) {
    attention(pickRows());
  }
}

Written ProgramGenerator::linear(const Written &x, int64_t width) {
  const double wanted = target();
  const double size = wanted - x.exponent - std::log10(static_cast<double>(x.width)) / 2;
  std::string operation = fmt::format("linear {}, @{}", x.name, parameter({width, x.width}, size));
  if (dice.once(2)) {
    operation += fmt::format(", @{}", parameter({width}, wanted));
  }
  return define(x.kind, rowsType(width), 0, width, wanted,
                fmt::format("{} : {} -> {}", operation, x.type, rowsType(width)));
}

Written ProgramGenerator::columns(const Written &x) {
  const int64_t count = dice.between(1, x.width);
  return define(x.kind, rowsType(count), 0, count, x.exponent,
                fmt::format("columns {} from {} : {} -> {}", x.name,
                            dice.below(x.width - count + 1), x.type, rowsType(count)));
}

Written ProgramGenerator::add(const Written &a, const Written &b) {
  return define(a.kind, a.type, a.heads, a.width, std::max(a.exponent, b.exponent),
                fmt::format("add {}, {} : {}, {}", a.name, b.name, a.type, b.type));
}

Written ProgramGenerator::addOther(const Written &x) {
  if (dice.once(4)) {
    return add(x, weight({x.width}, x.exponent));
  }
  std::vector<Written> fitting;
  std::copy_if(defined.begin(), defined.end(), std::back_inserter(fitting),
               [&](const Written &each) { return each.kind == x.kind && each.type == x.type; });
  const Written other = dice.of(fitting);
  return dice.once(2) ? add(x, other) : add(other, linear(x, x.width));
}

Written ProgramGenerator::multiplyOther(const Written &x) {
  const auto multiply = [&](const Written &factor) {
    return define(
        x.kind, x.type, x.heads, x.width, x.exponent + factor.exponent,
        fmt::format("multiply {}, {} : {}, {}", x.name, factor.name, x.type, factor.type));
  };
  const double by = target() - x.exponent;
  switch (dice.below(4)) {
  case 0:
    return multiply(weight({x.width}, by));
  case 1:
    return multiply(weight({1}, by));
  case 2: {
    Written gate = linear(x, 1);
    gate = dice.once(2) ? gate : activate(gate);
    return multiply(gate);
  }
  default:
    return multiply(dice.once(2) ? x : linear(x, x.width));
  }
}

Written ProgramGenerator::scale(const Written &x) {
  const double wanted = target();
  double by = factor(x.exponent, wanted);
  by = by == 1 ? dice.of({0.5, -1.0, 2.0, 1.0, 0.125, -0.3, 0.0, 7.0}) : by;
  return define(x.kind, x.type, x.heads, x.width, wanted,
                fmt::format("scale {}, {} : {}", x.name, numberText(by), x.type));
}

Written ProgramGenerator::activate(const Written &x) {
  const ActivationTwin &twin =
      activationTwins[static_cast<size_t>(dice.below(activationTwins.size()))];
  const auto apply = [&](std::string_view name, const Written &given, double exponent) {
    return define(given.kind, given.type, given.heads, given.width, exponent,
                  fmt::format("activate {} {} : {}", name, given.name, given.type));
  };
  if (twin.isOfPositives()) {
    return apply(twin.name, shift(apply("abs", x, x.exponent), 1), 0);
  }
  if (twin.rounding == TwinRounding::Rises && !twin.isBounded) {
    // Exponentials of large numbers exceed the range of f32.
    return apply(twin.name, apply("tanh", x, 0), 0);
  }
  return apply(twin.name, x, twin.isBounded ? 0 : x.exponent);
}

Written ProgramGenerator::norm(const Written &x) {
  const double wanted = target();
  const std::string epsilon = dice.of({"1.0e-5", "9.99999996e-13", "1.0e-6", "0.1"});
  std::string operation;
  switch (dice.below(3)) {
  case 0:
    operation = fmt::format("layer_norm {}, @{}, @{}", x.name, parameter({x.width}, wanted),
                            parameter({x.width}, wanted));
    break;
  case 1:
    operation = fmt::format("rms_norm {}, @{}", x.name, parameter({x.width}, wanted));
    break;
  default:
    operation = fmt::format("normalize {}", x.name);
    break;
  }
  return define(x.kind, x.type, 0, x.width, wanted,
                fmt::format("{} {{epsilon = {} : f32}} : {}", operation, epsilon, x.type));
}

/// Writes scaled sums of chains of linear maps: of columns, of the rows, of earlier values.
Written ProgramGenerator::branches(const Written &x) {
  const int64_t wide = dice.once(2) ? x.width : width();
  Written total = dice.once(2) ? linear(x, wide) : scale(linear(x, wide));
  for (int64_t i = dice.of<int64_t>({1, 1, 2, 3}); i > 0; --i) {
    Written branch = dice.once(3) ? columns(x) : dice.once(4) ? total : x;
    if (dice.once(2)) {
      branch = linear(branch, width());
    }
    if (dice.once(3)) {
      branch = dice.once(2) ? scale(branch) : multiplyOther(branch);
    }
    if (dice.once(4)) {
      branch = activate(branch);
    }
    branch = linear(branch, wide);
    if (dice.once(3)) {
      branch = dice.once(2) ? scale(branch) : multiplyOther(branch);
    }
    total = dice.once(2) ? add(total, branch) : add(branch, total);
  }
  return total;
}

Written ProgramGenerator::feedForward(const Written &x) {
  const Written inner = activate(linear(x, width()));
  const Written outer = linear(inner, x.width);
  const Written residual = dice.once(2) ? add(outer, x) : add(x, outer);
  return dice.once(2) ? norm(residual) : residual;
}

/// Writes a linear map as a contraction with a weight.
Written ProgramGenerator::contractWeights(const Written &x) {
  const int64_t wide = width();
  const double wanted = target();
  const double size = wanted - x.exponent - std::log10(static_cast<double>(x.width)) / 2;
  const auto contract = [&](const std::string &axes, const Written &left, const Written &right,
                            Kind kind, const std::string &type, int64_t heads, int64_t columns) {
    return define(kind, type, heads, columns, wanted,
                  fmt::format("contract \"{}\" {}, {} : {}, {} -> {}", axes, left.name, right.name,
                              left.type, right.type, type));
  };
  switch (dice.below(5)) {
  case 0:
    return contract("tm,nm->tn", x, weight({wide, x.width}, size), x.kind, rowsType(wide), 0, wide);
  case 1:
    return contract("ta,ab->tb", x, weight({x.width, wide}, size), x.kind, rowsType(wide), 0, wide);
  case 2:
    return contract("mn,tm->tn", weight({x.width, wide}, size), x, x.kind, rowsType(wide), 0, wide);
  case 3: {
    const int64_t heads = headCount(), each = dice.between(1, 9);
    return merge(contract("tm,mhd->thd", x, weight({x.width, heads, each}, size), Kind::Heads,
                          headsType(heads, each), heads, each));
  }
  default: {
    const int64_t heads = x.width % 3 == 0 ? 3 : x.width % 2 == 0 ? 2 : 1;
    const Written xh = split(x, heads);
    if (dice.once(2)) {
      return contract("thd,hdm->tm", xh, weight({heads, xh.width, wide}, size), rowKind,
                      rowsType(wide), 0, wide);
    }
    const int64_t each = dice.between(1, 9);
    return merge(contract("thd,hed->the", xh, weight({heads, each, xh.width}, size), Kind::Heads,
                          headsType(heads, each), heads, each));
  }
  }
}

/// Writes products of rows with themselves.
Written ProgramGenerator::contractRows(const Written &x) {
  const int64_t heads = x.width % 2 == 0 ? 2 : 1;
  if (dice.once(2)) {
    const Written a = split(x, heads);
    const Written b = dice.once(2) ? a : split(linear(x, x.width), heads);
    return define(rowKind, rowsType(heads), 0, heads, a.exponent + b.exponent,
                  fmt::format("contract \"thd,thd->th\" {}, {} : {}, {} -> {}", a.name, b.name,
                              a.type, b.type, rowsType(heads)));
  }
  const Written a = linear(x, dice.between(1, 5)), b = linear(x, dice.between(1, 5));
  const std::string type = headsType(a.width, b.width);
  return merge(define(Kind::Heads, type, a.width, b.width, a.exponent + b.exponent,
                      fmt::format("contract \"td,te->tde\" {}, {} : {}, {} -> {}", a.name, b.name,
                                  a.type, b.type, type)));
}

/// Writes the same operation twice, which is merged.
Written ProgramGenerator::repeated(const Written &x) {
  const std::string function = dice.of({"gelu", "relu", "tanh"});
  const auto once = [&] {
    return define(x.kind, x.type, 0, x.width, x.exponent,
                  fmt::format("activate {} {} : {}", function, x.name, x.type));
  };
  const Written first = once(), second = once();
  return dice.once(2) ? add(first, second) : add(linear(first, x.width), linear(second, x.width));
}

} // namespace heddle
