// SPDX-License-Identifier: Apache-2.0
///
/// Parses patterns of layers, matches them with the names of tensors, and applies them to
/// parameters.
#include "compiler/Parameters/LayerPrecisions.h"

#include "base/NearestName.h"
#include "base/Utf8.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace heddle {

using transformer::ParameterOp;

// --- patterns --------------------------------------------------------------------------------

std::string unknownPrecision(std::string_view name) {
  std::vector<std::string> known;
  for (const Precision &each : precisions) {
    known.emplace_back(each.name);
  }
  return quote(name) + ", expected one of " + llvm::join(known, ", ") +
         " or int4-gN, N a multiple of 8 up to 65536" + didYouMean(name, known);
}

static Status wrong(const llvm::Twine &message) {
  return HEDDLE_ERROR(InvalidArgument, message.str());
}

static SmallVector<StringRef> partsOf(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  return parts;
}

Result<std::vector<KeptLayers>> parseKept(StringRef text) {
  const std::string seen = "is " + quote(text.str());
  // Names may contain "=", precisions do not.
  auto [layers, precision] = text.rsplit('=');
  if (layers.size() == text.size()) {
    return wrong(seen + ", expected LAYERS=PRECISION, for example attention.self=int8");
  }
  if (precision.empty() || !findPrecision(precision)) {
    return wrong(seen + ", whose precision is " + unknownPrecision(precision));
  }
  std::vector<KeptLayers> kept;
  for (StringRef pattern : llvm::split(layers, ',')) {
    if (llvm::is_contained(partsOf(pattern), "")) {
      return wrong(seen + ", where the pattern " + quote(pattern.str()) +
                   " has an empty part, expected names of layers, for example layer.4,layer.5");
    }
    kept.push_back({pattern.str(), precision.str()});
  }
  return kept;
}

Result<std::vector<KeptLayers>> readPrecisions(StringRef precision, ArrayRef<std::string> keep) {
  if (!findPrecision(precision)) {
    return wrong("precision is " + unknownPrecision(precision));
  }
  std::vector<KeptLayers> kept;
  for (const std::string &text : keep) {
    const Result<std::vector<KeptLayers>> parsed = parseKept(text);
    if (!parsed.ok()) {
      return wrong("keep " + llvm::Twine(parsed.status().message()));
    }
    llvm::append_range(kept, *parsed);
  }
  return kept;
}

bool matchesLayer(StringRef pattern, StringRef name) {
  const SmallVector<StringRef> wanted = partsOf(pattern), parts = partsOf(name);
  for (size_t begin = 0; begin + wanted.size() <= parts.size(); ++begin) {
    const auto window = ArrayRef(parts).slice(begin, wanted.size());
    if (llvm::all_of(llvm::zip_equal(wanted, window), [](const auto &pair) {
          return std::get<0>(pair) == "*" || std::get<0>(pair) == std::get<1>(pair);
        })) {
      return true;
    }
  }
  return false;
}

// --- against a program -----------------------------------------------------------------------

static bool isMatrix(ParameterOp tensor) { return tensor.getTensorType().getRank() >= 2; }

/// Returns all sequences of as many parts as a pattern has, for suggestions.
static std::vector<std::string> runsOfParts(ArrayRef<ParameterOp> tensors, size_t count) {
  std::set<std::string> runs;
  for (ParameterOp tensor : tensors) {
    const SmallVector<StringRef> parts = partsOf(*tensor.getSource());
    for (size_t begin = 0; begin + count <= parts.size(); ++begin) {
      runs.insert(llvm::join(ArrayRef(parts).slice(begin, count), "."));
    }
  }
  return std::vector<std::string>(runs.begin(), runs.end());
}

static Status checkPattern(ArrayRef<ParameterOp> tensors, const KeptLayers &kept) {
  for (ParameterOp tensor : tensors) {
    if (matchesLayer(kept.pattern, *tensor.getSource())) {
      return {};
    }
  }
  if (tensors.empty()) {
    return wrong("has " + quote(kept.pattern) + ", and the model reads no tensors of a checkpoint");
  }
  ParameterOp example = tensors.front();
  const size_t count = partsOf(kept.pattern).size();
  const std::vector<std::string> known = runsOfParts(tensors, count);
  if (known.empty()) {
    size_t most = 0;
    for (ParameterOp tensor : tensors) {
      most = std::max(most, partsOf(*tensor.getSource()).size());
    }
    return wrong("has " + quote(kept.pattern) + ", a pattern of " + llvm::Twine(count) +
                 " dotted parts, and the names of tensors, such as " +
                 quote(example.getSource()->str()) + ", have at most " + llvm::Twine(most));
  }
  return wrong("has " + quote(kept.pattern) + ", which is in the name of none of " +
               llvm::Twine(tensors.size()) + " tensors, expected dotted parts of names such as " +
               quote(example.getSource()->str()) + didYouMean(kept.pattern, known));
}

Status checkKept(ModuleOp program, ArrayRef<KeptLayers> kept) {
  SmallVector<ParameterOp> tensors;
  for (auto parameter : program.getOps<ParameterOp>()) {
    if (parameter.getSource()) {
      tensors.push_back(parameter);
    }
  }
  for (const KeptLayers &each : kept) {
    HEDDLE_TRY(checkPattern(tensors, each));
  }
  for (ParameterOp tensor : tensors) {
    const KeptLayers *first = nullptr;
    for (const KeptLayers &each : kept) {
      if (!isMatrix(tensor) || !matchesLayer(each.pattern, *tensor.getSource())) {
        continue;
      }
      const auto isSame = [&](const KeptLayers &other) {
        return isAsFine(*findPrecision(other.precision), *findPrecision(each.precision));
      };
      if (first && !isSame(*first)) {
        return wrong("has " + quote(first->text()) + " and " + quote(each.text()) +
                     ", which both match the tensor " + quote(tensor.getSource()->str()) +
                     ", expected one precision for it");
      }
      first = first ? first : &each;
    }
  }
  return {};
}

SmallVector<ParameterOp> matricesOf(const SymbolTable &symbols, ParameterOp parameter) {
  llvm::SmallSetVector<Operation *, 8> pending;
  pending.insert(parameter);
  SmallVector<ParameterOp> matrices;
  for (size_t next = 0; next < pending.size(); ++next) {
    auto part = cast<ParameterOp>(pending[next]);
    if (part.getSource() && isMatrix(part)) {
      matrices.push_back(part);
    }
    if (auto expression = part.getExpressionAttr()) {
      for (FlatSymbolRefAttr operand : expression.getOperands()) {
        pending.insert(symbols.lookup<ParameterOp>(operand.getAttr()));
      }
    }
  }
  return matrices;
}

LayerPrecisions::Choice LayerPrecisions::ofTensor(ParameterOp tensor) const {
  const auto rule = llvm::find_if(kept, [&](const KeptLayers &each) {
    return matchesLayer(each.pattern, *tensor.getSource());
  });
  if (rule != kept.end()) {
    const Precision asked = *findPrecision(rule->precision);
    return {asked, asked, &*rule};
  }
  Choice choice{base, base};
  auto codes = dyn_cast<transformer::QuantizedType>(tensor.getTensorType().getElementType());
  if (base.keepsCodes && codes) {
    choice.fineness.bits = codes.getCodes().getIntOrFloatBitWidth();
    choice.fineness.group = codes.getGroup();
  } else if (base.keepsCodes) {
    // Rows are not narrowed for weights without codes.
    choice.fineness.narrowsRows = false;
  }
  return choice;
}

LayerPrecisions::Choice LayerPrecisions::of(ParameterOp parameter) const {
  SmallVector<Choice> parts;
  if (!kept.empty()) {
    llvm::transform(matricesOf(symbols, parameter), std::back_inserter(parts),
                    [&](ParameterOp tensor) { return ofTensor(tensor); });
  }
  if (parts.empty()) {
    return {base, base};
  }
  Choice choice = parts.front();
  for (const Choice &part : parts) {
    const bool isAsked = part.kept && !choice.kept && isAsFine(part.fineness, choice.fineness);
    choice = isAsked || isFiner(part.fineness, choice.fineness) ? part : choice;
  }
  for (const Choice &part : parts) {
    const bool isCoarser = isFiner(choice.fineness, part.fineness);
    choice.overruled = isCoarser && !choice.overruled ? part.kept : choice.overruled;
    choice.isMixed |= isCoarser;
  }
  return choice;
}

} // namespace heddle
