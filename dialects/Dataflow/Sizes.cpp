// SPDX-License-Identifier: Apache-2.0
///
/// Parsers and printers of sizes that depend on the batch, and the row spaces that a kernel names.
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;

namespace heddle::dataflow {

/// Returns the row spaces for messages: "'tokens', 'sequences', 'blocks(tokens, size)'".
static std::string spaceChoices() {
  std::string choices;
  for (const RowSpaceInfo &info : rowSpaceTable) {
    choices += (choices.empty() ? "'" : ", '") + std::string(info.name);
    const bool isGrid = info.name == rowSpaceTable[static_cast<size_t>(RowSpaceKind::Grid)].name;
    choices += isGrid                                   ? "(tokens, across, down, right)'"
               : info.origin == RowSpaceOrigin::Derived ? "(tokens, size)'"
               : info.origin == RowSpaceOrigin::Split   ? "(tokens, count)'"
                                                        : "'";
  }
  return choices;
}

static const RowSpaceInfo *findSpace(StringRef name) {
  const auto *found = llvm::find_if(
      rowSpaceTable, [&](const RowSpaceInfo &info) { return name == StringRef(info.name); });
  return found == std::end(rowSpaceTable) ? nullptr : found;
}

/// Parses `(tokens, 2)` of the derived space `kind`.
static FailureOr<RowSpace> parseDerived(AsmParser &parser, RowSpaceKind kind) {
  StringRef tokens = rowSpaceTable[static_cast<size_t>(RowSpaceKind::Tokens)].name;
  llvm::SMLoc location;
  int64_t size = 0, down = 1, right = 1;
  bool isGrid = kind == RowSpaceKind::Grid;
  if (parser.parseLParen() || parser.parseKeyword(tokens) || parser.parseComma() ||
      parser.getCurrentLocation(&location)) {
    return failure();
  }
  bool isOfAnyWidth = isGrid && succeeded(parser.parseOptionalQuestion());
  if ((!isOfAnyWidth && parser.parseInteger(size)) ||
      (isGrid && (parser.parseComma() || parser.parseInteger(down) || parser.parseComma() ||
                  parser.parseInteger(right))) ||
      parser.parseRParen()) {
    return failure();
  }
  if (isGrid) {
    std::optional<RowSpace> grid = RowSpace::tokens().strided(size, down, right);
    if (!grid || grid->kind() != kind || isOfAnyWidth != grid->hasWidths()) {
      return parser.emitError(location, "expects rows of 2 to ")
             << GridSize::mostAcross << " pixels and strides of 1 to " << GridSize::mostStride
             << ", got " << (isOfAnyWidth ? "any number of" : Twine(size))
             << " pixels and strides of " << down << " and " << right;
    }
    return *grid;
  }
  std::optional<RowSpace> space = RowSpace::of(kind, size);
  if (!space) {
    return parser.emitError(location, "expects a size of ")
           << RowSpace::leastSize << " to " << RowSpace::largestSize << ", got " << size;
  }
  return *space;
}

static FailureOr<RowSpace> parseSpace(AsmParser &parser, llvm::SMLoc location, StringRef name,
                                      const Twine &choices);

/// Parses `(blocks(tokens, 3), 2)` of a split space.
static FailureOr<RowSpace> parseSplit(AsmParser &parser) {
  llvm::SMLoc location, countLocation;
  StringRef name;
  if (parser.parseLParen() || parser.getCurrentLocation(&location) || parser.parseKeyword(&name)) {
    return failure();
  }
  FailureOr<RowSpace> base = parseSpace(parser, location, name, spaceChoices());
  int64_t count = 0;
  if (failed(base) || parser.parseComma() || parser.getCurrentLocation(&countLocation) ||
      parser.parseInteger(count) || parser.parseRParen()) {
    return failure();
  }
  if (base->isSplit()) {
    return parser.emitError(location, "expects rows that are no choices themselves, got '")
           << base->text() << "'";
  }
  std::optional<RowSpace> space = base->choices(count);
  if (!space) {
    return parser.emitError(countLocation, "expects 1 to ")
           << SplitSize::mostParts << " choices, got " << count;
  }
  return *space;
}

/// Parses the rest of a space whose name has been read. `choices` are the alternatives for
/// messages.
static FailureOr<RowSpace> parseSpace(AsmParser &parser, llvm::SMLoc location, StringRef name,
                                      const Twine &choices) {
  const RowSpaceInfo *info = findSpace(name);
  if (!info) {
    return parser.emitError(location, "expects ") << choices << ", got '" << name << "'";
  }
  auto kind = static_cast<RowSpaceKind>(info - rowSpaceTable);
  switch (info->origin) {
  case RowSpaceOrigin::Derived:
    return parseDerived(parser, kind);
  case RowSpaceOrigin::Split:
    return parseSplit(parser);
  case RowSpaceOrigin::Given:
  case RowSpaceOrigin::Ordered:
    return *RowSpace::of(kind, 0);
  }
  llvm_unreachable("every origin of rows has its text");
}

/// Parses the rest of a dimension whose name has been read.
static FailureOr<RowDimension> parseNamed(AsmParser &parser, llvm::SMLoc location, StringRef name) {
  if (name != "longest") {
    FailureOr<RowSpace> space =
        parseSpace(parser, location, name, "a number, " + spaceChoices() + " or 'longest'");
    return failed(space) ? FailureOr<RowDimension>(failure()) : RowDimension{*space, false};
  }
  if (failed(parser.parseOptionalLParen())) {
    return RowDimension{RowSpace::tokens(), true};
  }
  location = parser.getCurrentLocation();
  if (parser.parseKeyword(&name)) {
    return failure();
  }
  FailureOr<RowSpace> space = parseSpace(parser, location, name, spaceChoices());
  if (failed(space) || parser.parseRParen()) {
    return failure();
  }
  RowDimension dimension{*space, true};
  if (!RowDimension::of(dimension.number())) {
    return parser.emitError(location, "expects a space with several rows a sequence, got '")
           << space->text() << "'";
  }
  return dimension;
}

FailureOr<RowDimension> parseRowDimension(AsmParser &parser) {
  llvm::SMLoc location = parser.getCurrentLocation();
  StringRef name;
  return parser.parseKeyword(&name) ? FailureOr<RowDimension>(failure())
                                    : parseNamed(parser, location, name);
}

/// Parses `tokens * longest = 48`: an optional factor `longest`, then the bytes. The first name has
/// been read.
static ParseResult parseSizeTerm(AsmParser &parser, llvm::SMLoc location, StringRef name,
                                 SmallVector<SizeTerm> &terms) {
  FailureOr<RowDimension> rows = parseNamed(parser, location, name);
  if (failed(rows)) {
    return failure();
  }
  SizeTerm term{rows->number(), 0, 0};
  bool fits = !rows->isLongest;
  if (succeeded(parser.parseOptionalStar())) {
    FailureOr<RowDimension> longest = parseRowDimension(parser);
    if (failed(longest)) {
      return failure();
    }
    fits &= longest->isLongest;
    term.longest = longest->number();
  }
  if (!fits) {
    return parser.emitError(location, "expects the rows of a space, or those times the longest of "
                                      "one, got '")
           << rows->text() << "'";
  }
  if (parser.parseEqual() || parser.parseInteger(term.bytes)) {
    return failure();
  }
  if (!terms.empty() && !(terms.back() < term)) {
    return parser.emitError(location, "expects each size once, tokens first and products last, got "
                                      "'")
           << rows->text() << "' after '" << dimensionText(terms.back().rows) << "'";
  }
  terms.push_back(term);
  return success();
}

ParseResult parseSizeTerms(AsmParser &parser, SmallVector<SizeTerm> &terms) {
  llvm::SMLoc location = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name))) {
    return success();
  }
  if (parseSizeTerm(parser, location, name, terms)) {
    return failure();
  }
  while (succeeded(parser.parseOptionalComma())) {
    location = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parseSizeTerm(parser, location, name, terms)) {
      return failure();
    }
  }
  return success();
}

void printSizeTerms(AsmPrinter &printer, ArrayRef<SizeTerm> terms) {
  llvm::interleaveComma(terms, printer.getStream(), [&](const SizeTerm &term) {
    printer << dimensionText(term.rows);
    if (term.longest != 0) {
      printer << " * " << dimensionText(term.longest);
    }
    printer << " = " << term.bytes;
  });
}

SmallVector<RowSpace> namedSpaces(FunctionType type) {
  SmallVector<RowSpace> spaces;
  auto visit = [&](Type each) {
    auto buffer = dyn_cast<BufferType>(each);
    for (int64_t dimension : buffer ? buffer.getShape() : ArrayRef<int64_t>()) {
      std::optional<RowSpace> space = spaceOfDimension(dimension);
      if (space && !llvm::is_contained(spaces, *space)) {
        spaces.push_back(*space);
      }
    }
  };
  llvm::for_each(type.getResults(), visit);
  llvm::for_each(type.getInputs(), visit);
  // Rows in time order find a cache through the tokens of their sequence.
  bool areOrdered = llvm::any_of(spaces, [](RowSpace space) { return space.isOrdered(); });
  if (areOrdered && llvm::any_of(type.getInputs(), llvm::IsaPred<CacheType>) &&
      !llvm::is_contained(spaces, RowSpace::tokens())) {
    spaces.push_back(RowSpace::tokens());
  }
  return spaces;
}

} // namespace heddle::dataflow
