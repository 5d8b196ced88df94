// SPDX-License-Identifier: Apache-2.0
///
/// Rearranges MLIR's output. MLIR prints the locations of block arguments in full, and defines the
/// aliases in them before the program; its parser accepts aliases there too, defined anywhere.
#include "compiler/Driver/ProgramText.h"

#include "compiler/Link/LinkModel.h"
#include "frontend/Import/SharedFunctions.h"

#include "mlir/IR/AsmState.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <vector>

using namespace mlir;

namespace heddle {

static constexpr llvm::StringLiteral phaseAttribute = "transformer.phase";

// --- locations at the end --------------------------------------------------------------------

namespace {
/// `#loc7 = loc("encoder.layer.0")`.
struct LocationAlias {
  uint64_t number = 0;
  llvm::StringRef line;
};
} // namespace

/// Returns the end of the string that begins at `at`, after its closing quote.
static size_t skipString(llvm::StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return std::min(at + 1, text.size());
}

/// Returns the end of the location, `loc(...)`, that begins at `at`.
static size_t skipLocation(llvm::StringRef text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at = skipString(text, at);
      continue;
    }
    depth += text[at] == '(' ? 1 : 0;
    if (text[at] == ')' && --depth == 0) {
      return at + 1;
    }
    ++at;
  }
  return at;
}

/// Appends a line with its locations replaced by their aliases.
static void appendLine(std::string &result, llvm::StringRef line,
                       const llvm::StringMap<llvm::StringRef> &aliases) {
  constexpr llvm::StringLiteral start = " loc(";
  size_t copied = 0;
  for (size_t at = 0; at < line.size();) {
    if (line[at] == '"') {
      at = skipString(line, at);
    } else if (line.substr(at).starts_with(start)) {
      const size_t end = skipLocation(line, at + 1);
      const auto alias = aliases.find(line.slice(at + 1, end));
      if (alias != aliases.end()) {
        result.append(line.slice(copied, at));
        result.append((" loc(" + alias->second + ")").str());
        copied = end;
      }
      at = end;
    } else {
      ++at;
    }
  }
  result.append(line.substr(copied));
  result += '\n';
}

std::string withLocationsAtEnd(std::string_view text) {
  std::vector<LocationAlias> definitions;
  llvm::StringMap<llvm::StringRef> aliases;
  std::vector<llvm::StringRef> lines;
  for (llvm::StringRef rest(text); !rest.empty();) {
    const auto [line, after] = rest.split('\n');
    rest = after;
    const auto [name, value] = line.split(" = ");
    LocationAlias alias{0, line};
    const bool isDefinition = name.starts_with("#loc") && value.starts_with("loc(") &&
                              (name.size() == 4 || !name.substr(4).getAsInteger(10, alias.number));
    if (isDefinition) {
      definitions.push_back(alias);
      aliases.try_emplace(value, name);
    } else {
      lines.push_back(line);
    }
  }
  std::string result;
  result.reserve(text.size());
  for (llvm::StringRef line : lines) {
    appendLine(result, line, aliases);
  }
  // The number of an alias is higher than those of aliases in it.
  std::sort(definitions.begin(), definitions.end(),
            [](const auto &a, const auto &b) { return a.number < b.number; });
  for (const LocationAlias &alias : definitions) {
    result.append(alias.line);
    result += '\n';
  }
  return result;
}

// --- programs --------------------------------------------------------------------------------

Result<std::string> programText(ModuleOp module, Phase phase) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (phase == Phase::Assembly) {
    HEDDLE_ASSIGN(auto listings, assemblyOfKernels(module));
    for (const auto &listing : listings) {
      stream << llvm::StringRef(listing.data(), listing.size());
    }
    return text;
  }
  OwningOpRef<ModuleOp> shown = module.clone();
  if (phase <= Phase::Fused) {
    shareBeginnings(*shown);
  }
  shown->getOperation()->removeAttr(phaseAttribute);
  if (phase > Phase::Model) {
    (*shown)->setAttr(phaseAttribute,
                      StringAttr::get(module.getContext(), StringRef(phaseName(phase))));
  }
  shown->print(stream, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  return withLocationsAtEnd(text);
}

Result<Phase> phaseOfText(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(phaseAttribute);
  if (!name) {
    return Phase::Model;
  }
  const std::optional<Phase> phase = parsePhase(name.getValue());
  if (!phase || *phase >= Phase::Assembly) {
    return HEDDLE_ERROR(InvalidArgument,
                        ("\"" + phaseAttribute + "\" is \"" + name.getValue() +
                         "\", expected a phase whose result is a program: model, fused, dataflow, "
                         "kernels or llvm")
                            .str());
  }
  return *phase;
}

} // namespace heddle
