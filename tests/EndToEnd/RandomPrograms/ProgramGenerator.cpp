// SPDX-License-Identifier: Apache-2.0
///
/// Entries and parameters of random programs.
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace heddle {

/// The maximum length of a sequence, and thus the minimum number of rows of a table of positions.
static constexpr int64_t longest = 45;

Result<TestProgram> generateProgram(mlir::MLIRContext &context, uint64_t seed) {
  ProgramGenerator generator(seed);
  generator.write();
  Result<TestProgram> program =
      parseProgram(context, generator.text(), std::move(generator.tensors));
  if (!program.ok()) {
    return HEDDLE_ERROR(Internal, fmt::format("seed {} gives {}\n{}", seed,
                                              program.status().message(), generator.text()));
  }
  program->notes = {fmt::format("The random program of seed {}.", seed)};
  return program;
}

ProgramGenerator::ProgramGenerator(uint64_t seed) : dice(seed * 2 + 1) {
  extreme = seed % 10 == 9;
  recurs = seed % 8 == 5;
  vocabulary = dice.between(2, 30);
  mainWidth = width();
}

void ProgramGenerator::write() {
  if (dice.once(3)) {
    writeDecoding();
    return;
  }
  hasIds = !dice.once(5);
  hasTypes = hasIds && dice.once(4);
  featureWidth = !hasIds || dice.once(3) ? dice.of<int64_t>({1, 3, 16, 40, mainWidth}) : 0;
  optionalWidth = dice.once(12) ? width() : 0;
  writeEncoder("encode", true);
  if (dice.once(3)) {
    writeEncoder("embed", false);
  }
  writeSequences(false);
}

// --- Entries ---------------------------------------------------------------------------------

void ProgramGenerator::writeSequences(bool decodes) {
  const auto ids = [&](int64_t count, int64_t limit) {
    std::vector<int64_t> result(static_cast<size_t>(count));
    std::generate(result.begin(), result.end(), [&] { return dice.below(limit); });
    return fmt::format("{}", fmt::join(result, " "));
  };
  const int64_t count = dice.between(2, 4);
  for (int64_t i = 0; i < count; ++i) {
    // Whole rows of pixels.
    const int64_t drawn = dice.between(1, dice.once(4) ? longest : 9);
    const int64_t most = longest / pixelsAcross * pixelsAcross;
    const int64_t length = std::min((drawn + pixelsAcross - 1) / pixelsAcross * pixelsAcross, most);
    const int64_t target = dice.between(1, dice.once(4) ? longest : 9);
    sequencesText +=
        fmt::format("// sequence: {} | {} | {}\n", ids(length, vocabulary),
                    hasTypes ? ids(length, 2) : "", decodes ? ids(target, vocabulary) : "");
  }
}

Written ProgramGenerator::argument(const std::string &name, int64_t width) {
  defined.push_back({Kind::Rows, name, rowsType(width), 0, width});
  return defined.back();
}

Written ProgramGenerator::writeGiven() {
  std::vector<Written> given;
  // A decoder only takes ids.
  for (const auto &[name, width] :
       {std::pair("%features", featureWidth), std::pair("%spare", optionalWidth)}) {
    if (width > 0) {
      const Written rows = argument(name, width);
      given.push_back(width == mainWidth && dice.once(2) ? rows : linear(rows, mainWidth));
    }
  }
  if (hasIds) {
    const std::string table = parameter({vocabulary, mainWidth}, target());
    given.push_back(rows(mainWidth, 0, fmt::format("gather @{}[%ids]", table)));
  }
  Written x = given.back();
  for (size_t i = 0; i + 1 < given.size(); ++i) {
    x = add(x, given[i]);
  }
  return x;
}

void ProgramGenerator::writeInputs(bool withTypes) {
  body.clear();
  defined.clear();
  keptHere.clear();
  blockSegments.clear();
  innerSegments.clear();
  const auto table = [&](int64_t rows) { return parameter({rows, mainWidth}, target()); };
  Written x = writeGiven();
  if (dice.once(3)) {
    x = scale(x);
  }
  if (withTypes) {
    x = add(x, rows(mainWidth, 0, fmt::format("gather @{}[%types]", table(2))));
  }
  if (dice.once(2)) {
    const int64_t offset = dice.once(2) ? 0 : dice.between(1, 3);
    body += fmt::format("  %p{} = transformer.positions %rows {{offset = {} : i64}}\n", nextValue,
                        offset);
    const Written looked = rows(
        mainWidth, 0, fmt::format("gather @{}[%p{}]", positionTable(mainWidth, offset), nextValue));
    x = dice.once(2) ? add(x, looked) : add(looked, x);
  }
  if (dice.once(2)) {
    norm(x);
  }
}

void ProgramGenerator::steps(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    step();
  }
}

void ProgramGenerator::finishEntry(const std::string &head, const std::vector<Written> &outputs,
                                   const std::vector<std::string> &names,
                                   const std::vector<std::pair<std::string, Written>> &extra) {
  std::vector<std::string> results, values, types;
  for (size_t i = 0; i < outputs.size(); ++i) {
    // Probabilities are observed outputs; only a decoder has them as ordinary outputs.
    const bool isObserved = outputs[i].isSoftmax && !inDecoder;
    results.push_back(fmt::format("{} {{transformer.name = \"{}\"{}}}", outputs[i].type, names[i],
                                  isObserved ? ", transformer.observed = \"encoder\"" : ""));
    values.push_back(outputs[i].name);
    types.push_back(outputs[i].type);
  }
  for (const auto &[name, value] : extra) {
    results.push_back(fmt::format("{} {{transformer.name = \"{}\"}}", value.type, name));
    values.push_back(value.name);
    types.push_back(value.type);
  }
  entriesText +=
      fmt::format("{} -> ({}) {{\n{}  return {} : {}\n}}\n", head, fmt::join(results, ", "), body,
                  fmt::join(values, ", "), fmt::join(types, ", "));
}

void ProgramGenerator::poolRows() {
  const bool ofBlocks = !blockSegments.empty() && dice.once(3);
  const Written x = ofBlocks ? pick(Kind::Blocks) : pickRows();
  Written pooled = rows(x.width, x.exponent,
                        fmt::format("pool {} {} in({})", dice.of({"mean", "cls", "max", "sum"}),
                                    x.name, ofBlocks ? blockSegments : "%rows"),
                        Kind::Pooled);
  while (!dice.once(3)) {
    switch (dice.below(4)) {
    case 0:
      pooled = linear(pooled, width());
      break;
    case 1:
      pooled = norm(pooled);
      break;
    case 2:
      pooled = activate(pooled);
      break;
    default:
      pooled = add(pooled, dice.once(2) ? pooled : scale(pooled));
      break;
    }
  }
}

void ProgramGenerator::writeEncoder(const std::string &name, bool isPlain) {
  writeInputs(hasTypes);
  steps(dice.between(1, isPlain ? 4 : 1));
  if (recurs) {
    recurrences(pickRows());
  }
  if (!isPlain || dice.once(4)) {
    poolRows();
  }
  // The last value, and some others.
  std::vector<Written> outputs = {
      pick(defined.back().kind == Kind::Pooled ? Kind::Pooled : Kind::Rows)};
  std::vector<Written> observed;
  for (const Written &value : defined) {
    const bool isRows = value.kind == Kind::Rows || value.kind == Kind::Blocks ||
                        value.kind == Kind::Choices || value.kind == Kind::Pooled;
    const bool isObserved = value.isSoftmax && value.keys == "%rows";
    if ((isRows || isObserved) && dice.once(value.kind == Kind::Blocks ? 3 : 10)) {
      (value.isSoftmax ? observed : outputs).push_back(value);
    }
  }
  if (dice.once(12)) {
    outputs.push_back(outputs.front());
  }
  // Observed outputs come after all others.
  outputs.insert(outputs.end(), observed.begin(), observed.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    names.push_back(fmt::format("out{}", i));
  }
  std::vector<std::string> arguments;
  if (hasIds) {
    arguments.emplace_back("%ids: tensor<?xi32> {transformer.name = \"input_ids\"}");
  }
  if (featureWidth > 0) {
    arguments.push_back(
        fmt::format("%features: {} {{transformer.name = \"features\"}}", rowsType(featureWidth)));
  }
  if (hasTypes) {
    arguments.emplace_back("%types: tensor<?xi32> {transformer.name = \"token_type_ids\", "
                           "transformer.optional}");
  }
  if (optionalWidth > 0) {
    arguments.push_back(
        fmt::format("%spare: {} {{transformer.name = \"spare\", transformer.optional}}",
                    rowsType(optionalWidth)));
  }
  arguments.emplace_back("%rows: !transformer.segments");
  finishEntry(fmt::format("func.func @{}({})", name, fmt::join(arguments, ", ")), outputs, names,
              {});
}

/// Returns the arguments of an entry's caches or states.
template <typename List> static std::string argumentsOf(const List &kept) {
  std::string text;
  for (const auto &each : kept) {
    text += fmt::format(", %{}: {} {{transformer.name = \"{}\"}}", each.name, each.type, each.name);
  }
  return text;
}

void ProgramGenerator::writeSourceEntry() {
  writeInputs(false);
  steps(dice.between(0, 1));
  const Written encoder = pickRows();
  std::vector<std::pair<std::string, Written>> changed;
  // Memories may have positions of blocks; states belong to entries whose rows are tokens.
  const bool ofBlocks = !recurs && !memoryWidths.empty() && dice.once(3);
  if (ofBlocks) {
    body += fmt::format("  %remembered = transformer.blocks %rows, {}\n", dice.between(2, 5));
  }
  const std::string remembered = ofBlocks ? "%remembered" : "%rows";
  for (size_t i = 0; i < memoryWidths.size(); ++i) {
    Written x = linear(pickRows(), memoryWidths[i]);
    if (ofBlocks) {
      // Not rows of tokens, which other operations could pick.
      const std::string pooled = fmt::format("%{}", nextValue++);
      body += fmt::format("  {} = transformer.pool {} {} in(%rows) to(%remembered) : {}\n", pooled,
                          dice.of({"mean", "cls", "max"}), x.name, x.type);
      x.name = pooled;
    }
    const std::string name = fmt::format("memory{}", i);
    const std::string type = fmt::format("!transformer.cache<{}>", memoryWidths[i]);
    body += fmt::format("  %{0}.after = transformer.append %{0}, {1} in({2}) : {3}\n", name, x.name,
                        remembered, type);
    keptHere.push_back({name, type, ""});
    changed.emplace_back(name, Written{Kind::Rows, "%" + name + ".after", type, 0, 0});
  }
  if (recurs) {
    givenWidth = width();
    const Written x = pickRows();
    const Written row = linear(
        rows(x.width, x.exponent, fmt::format("pool mean {} in(%rows)", x.name), Kind::Pooled),
        givenWidth);
    const std::string type = fmt::format("!transformer.state<{}>", givenWidth);
    body += fmt::format("  %given.after = transformer.store %given, {} : {}\n", row.name, type);
    keptHere.push_back({"given", type, ""});
    changed.emplace_back("given", Written{Kind::Rows, "%given.after", type, 0, 0});
  }
  finishEntry("func.func @encode(%ids: tensor<?xi32> {transformer.name = \"source\"}, "
              "%rows: !transformer.segments" +
                  argumentsOf(keptHere) + ")",
              {encoder}, {"encoder"}, changed);
}

void ProgramGenerator::writeTargetEntry() {
  inDecoder = true;
  keySegments = "%seen";
  writeInputs(false);
  body += "  %seen = transformer.history %rows\n";
  if (recurs) {
    recurrences(pickRows());
  }
  if (keptHere.empty()) {
    const Written x = pickRows();
    const int64_t kind = dice.below(3);
    kind == 0 ? average(x) : kind == 1 ? attention(x) : write<transformer::ConvolveOp>(x);
  }
  steps(dice.between(0, 2));
  // At least one must be kept, or there is nothing to decode from.
  if (keptHere.empty()) {
    average(pickRows());
  }
  const int64_t words = dice.between(2, 60);
  const Written logits = linear(pickRows(), words);
  std::vector<Kept> arguments = keptHere;
  for (size_t i = 0; i < memoryWidths.size(); ++i) {
    arguments.push_back(
        {fmt::format("memory{}", i), fmt::format("!transformer.cache<{}>", memoryWidths[i]), ""});
  }
  std::vector<std::pair<std::string, Written>> changed;
  for (const Kept &each : keptHere) {
    changed.emplace_back(each.name, Written{Kind::Rows, each.result, each.type, 0, 0});
  }
  std::vector<Written> outputs = {logits};
  std::vector<std::string> names = {"logits"};
  for (const Written &value : defined) {
    if (value.isSoftmax && value.keys == "%memory" && outputs.size() == 1) {
      outputs.push_back(value);
      names.push_back("attention");
    }
  }
  finishEntry("func.func @decode(%ids: tensor<?xi32> {transformer.name = \"target\"}, "
              "%rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "
              "\"memory\"}" +
                  argumentsOf(arguments) + ")",
              outputs, names, changed);
}

void ProgramGenerator::writeDecoding() {
  // Two for every attention to the source, with equal head sizes or not.
  for (int64_t i = 2 * dice.below(3); i > 0; --i) {
    memoryWidths.push_back(headCount() * dice.between(1, 12));
  }
  writeSourceEntry();
  writeTargetEntry();
  writeSequences(true);
}

// --- Parameters ------------------------------------------------------------------------------

std::string ProgramGenerator::shapeType(const std::vector<int64_t> &shape) {
  return fmt::format("tensor<{}xf32>", fmt::join(shape, "x"));
}

std::vector<float> ProgramGenerator::values(const std::vector<int64_t> &shape, double exponent) {
  size_t count = 1;
  for (const int64_t size : shape) {
    count *= static_cast<size_t>(size);
  }
  const double magnitude = std::pow(10.0, std::clamp(exponent, -37.0, 37.0));
  std::vector<float> result(count);
  const int64_t form = dice.below(24);
  for (size_t i = 0; i < count; ++i) {
    double value = dice.signedUnit() * 1.7;
    // Some that algebra may simplify.
    if (form == 0) {
      value = 1;
    } else if (form == 1) {
      value = 0;
    } else if (form == 2 && shape.size() == 2) {
      value = static_cast<int64_t>(i) / shape[1] == static_cast<int64_t>(i) % shape[1] ? 1 : 0;
    } else if (form == 3) {
      value = -0.0;
    }
    result[i] = static_cast<float>(value * magnitude);
  }
  return result;
}

std::string ProgramGenerator::declare(const std::vector<int64_t> &shape,
                                      const std::string &origin) {
  const std::string name = fmt::format("w{}", nextParameter++);
  parametersText +=
      fmt::format("transformer.parameter @{} : {} {}\n", name, shapeType(shape), origin);
  return name;
}

std::string ProgramGenerator::store(const std::vector<int64_t> &shape, double exponent) {
  const std::string name = fmt::format("w{}", nextParameter);
  tensors[name] = values(shape, exponent);
  stored.push_back({name, shape, exponent});
  return declare(shape, fmt::format("from \"{}\"", name));
}

std::string ProgramGenerator::derive(const std::vector<int64_t> &shape, double exponent) {
  std::vector<int64_t> wider = shape;
  const size_t axis = shape.size() == 2 ? static_cast<size_t>(dice.below(2)) : 0;
  const int64_t first = dice.between(0, 5);
  wider[axis] += first + dice.between(0, 5);
  const std::string whole = store(wider, exponent);
  return declare(shape, fmt::format("= {}(@{}, {})", axis == 0 ? "rows" : "columns", whole, first));
}

std::string ProgramGenerator::parameter(const std::vector<int64_t> &shape, double exponent) {
  std::vector<Stored> fitting;
  std::copy_if(stored.begin(), stored.end(), std::back_inserter(fitting), [&](const Stored &each) {
    return each.shape == shape && std::abs(each.exponent - exponent) < 2;
  });
  if (!fitting.empty() && dice.once(4)) {
    // The same one, another name for it, or a copy of it.
    const Stored &other = dice.of(fitting);
    switch (dice.below(3)) {
    case 0:
      return other.name;
    case 1:
      return declare(shape, fmt::format("from \"{}\"", other.name));
    default:
      const std::string name = store(shape, exponent);
      tensors[name] = tensors[other.name];
      return name;
    }
  }
  return shape.size() <= 2 && dice.once(8) ? derive(shape, exponent) : store(shape, exponent);
}

std::string ProgramGenerator::distanceTable(int64_t heads, double exponent) {
  const int64_t distance = dice.between(0, 6);
  if (distance > 0 && dice.once(3)) {
    const int64_t isBidirectional = dice.below(2);
    const std::string buckets = store({2 * dice.between(2, 5), heads}, exponent);
    return declare({heads, 2 * distance + 1}, fmt::format("= relative_buckets(@{}, {}, {})",
                                                          buckets, isBidirectional, distance));
  }
  return parameter({heads, 2 * distance + 1}, exponent);
}

std::string ProgramGenerator::positionTable(int64_t width, int64_t offset) {
  const std::vector<int64_t> shape = {longest + offset + dice.below(3), width};
  switch (dice.below(4)) {
  case 0:
    if (width % 2 == 0) {
      return declare(shape, fmt::format("= {}({}, {})",
                                        dice.of({"sinusoid_interleaved", "sinusoid_split"}),
                                        dice.below(3), std::max<int64_t>(width / 2, 1)));
    }
    [[fallthrough]];
  case 1:
    return declare(shape, fmt::format("= ones_from({})", dice.below(6)));
  default:
    return parameter(shape, target());
  }
}

Written ProgramGenerator::weight(const std::vector<int64_t> &shape, double exponent) {
  const std::string type = shapeType(shape);
  const std::string name = fmt::format("%{}", nextValue++);
  body +=
      fmt::format("  {} = transformer.weight @{} : {}\n", name, parameter(shape, exponent), type);
  return {Kind::Weight, name, type, 0, 0, "", exponent};
}

// --- Text ------------------------------------------------------------------------------------

Written ProgramGenerator::define(Kind kind, std::string type, int64_t heads, int64_t width,
                                 double exponent, const std::string &operation) {
  Written value{kind, fmt::format("%{}", nextValue++), std::move(type), heads, width, "", exponent};
  body += fmt::format("  {} = transformer.{}\n", value.name, operation);
  defined.push_back(value);
  return value;
}

Written ProgramGenerator::rows(int64_t width, double exponent, const std::string &operation,
                               Kind kind) {
  return define(kind, rowsType(width), 0, width, exponent, operation + " : " + rowsType(width));
}

Written ProgramGenerator::pick(Kind kind) {
  std::vector<Written> fitting;
  std::copy_if(defined.begin(), defined.end(), std::back_inserter(fitting),
               [&](const Written &each) { return each.kind == kind; });
  const auto count = static_cast<int64_t>(fitting.size());
  const int64_t back = std::min(dice.below(count), dice.below(count));
  return fitting[static_cast<size_t>(count - 1 - back)];
}

// Few sizes in one program: values of the same shape are more frequent, and kernels are compiled
// once.
int64_t ProgramGenerator::width() {
  if (widths.size() < 2) {
    widths.push_back(dice.once(6) ? dice.between(1, 70)
                                  : dice.of<int64_t>({1, 6, 7, 12, 17, 48, 49}));
  }
  return dice.of(widths);
}

int64_t ProgramGenerator::headCount() { return dice.of<int64_t>({1, 2, 2, 3}); }

double ProgramGenerator::target() {
  return extreme && dice.once(2) ? static_cast<double>(dice.between(-25, 25)) : 0;
}

double ProgramGenerator::factor(double from, double to) {
  return std::pow(10.0, std::clamp(to - from, -37.0, 37.0));
}

} // namespace heddle
