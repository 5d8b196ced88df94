// SPDX-License-Identifier: Apache-2.0
///
/// Compares names, shapes and types of tensors with those of parameters.
#include "frontend/Import/ProgramCheck.h"

#include "base/Utf8.h"
#include "dialects/Transformer/Transformer.h"
#include "frontend/Import/CodesOfFiles.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace mlir;
using heddle::transformer::ParameterOp;

namespace heddle {

/// Returns where a missing tensor was expected: the only file, or the folder if there are several.
static const std::string &placeOf(const Checkpoint &checkpoint) {
  if (checkpoint.ctranslate2() != nullptr) {
    return checkpoint.ctranslate2()->path();
  }
  return checkpoint.files().size() == 1 ? checkpoint.files().front().path() : checkpoint.path();
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Checks that a program declares no property of codes that the file does not have: kernels rely on
/// it.
static Status checkCodes(const Checkpoint &checkpoint, const StoredTensor &tensor,
                         transformer::QuantizedType expected, const std::string &where) {
  const transformer::QuantizedType found = codesTypeOf(checkpoint, tensor, expected.getContext());
  if (found == expected) {
    return {};
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{} has elements of {}, expected {}", where,
                                  found ? textOf(found) : std::string(infoOf(tensor.dtype).name),
                                  textOf(expected)));
}

static Status checkParameter(llvm::StringRef source, RankedTensorType type,
                             const Checkpoint &checkpoint) {
  const llvm::ArrayRef<int64_t> shape = type.getShape();
  const StoredTensor *tensor = checkpoint.find(source);
  if (tensor == nullptr) {
    return HEDDLE_ERROR(NotFound,
                        fmt::format("{}: tensor {} is missing, expected one of shape {}",
                                    placeOf(checkpoint), quote(source), formatShape(shape)));
  }
  HEDDLE_ASSIGN(const std::string file, checkpoint.fileOf(source));
  if (!std::equal(tensor->shape.begin(), tensor->shape.end(), shape.begin(), shape.end())) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {} has shape {}, expected {}", file, quote(source),
                                    formatShape(tensor->shape), formatShape(shape)));
  }
  if (auto expected = dyn_cast<transformer::QuantizedType>(type.getElementType())) {
    return checkCodes(checkpoint, *tensor, expected,
                      fmt::format("{}: tensor {}", file, quote(source)));
  }
  const ElementType element = elementTypeOf(type.getElementType());
  const bool fits = element == ElementType::F32
                        ? tensor->isReal()
                        : tensor->dtype == element && tensor->scales.empty() && !tensor->codes;
  if (!fits) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: tensor {} has type {}, expected {}", file, quote(source),
                                    infoOf(tensor->dtype).safetensors,
                                    element == ElementType::F32 ? typeChoices(realTypes)
                                                                : typeChoices({&element, 1})));
  }
  return {};
}

Status checkParameters(ModuleOp module, const Checkpoint &checkpoint) {
  for (auto parameter : module.getOps<transformer::ParameterOp>()) {
    if (std::optional<llvm::StringRef> source = parameter.getSource()) {
      HEDDLE_TRY(checkParameter(*source, parameter.getTensorType(), checkpoint));
    }
  }
  return {};
}

void keepStoredTypes(ModuleOp module, const Checkpoint &checkpoint) {
  SymbolTable symbols(module);
  for (auto parameter : llvm::make_early_inc_range(module.getOps<ParameterOp>())) {
    const std::optional<llvm::StringRef> source = parameter.getSource();
    const StoredTensor *tensor = source ? checkpoint.find(*source) : nullptr;
    if (tensor == nullptr || !parameter.getTensorType().getElementType().isF32()) {
      continue;
    }
    Type element = codesTypeOf(checkpoint, *tensor, module.getContext());
    if (!element && tensor->scales.empty() && tensor->blocks == nullptr &&
        (tensor->dtype == ElementType::F16 || tensor->dtype == ElementType::BF16)) {
      element = typeOf(tensor->dtype, module.getContext());
    }
    if (!element) {
      continue;
    }
    OpBuilder builder(parameter);
    const std::string name = fmt::format("{}.{}", parameter.getSymName().str(),
                                         tensor->codes ? "codes" : infoOf(tensor->dtype).name);
    Type type = parameter.getTensorType().clone(element);
    auto stored = ParameterOp::create(builder, parameter.getLoc(), builder.getStringAttr(name),
                                      TypeAttr::get(type), parameter.getSourceAttr(),
                                      transformer::ParameterExpressionAttr());
    symbols.insert(stored, Block::iterator(parameter));
    parameter.removeSourceAttr();
    parameter.setExpressionAttr(transformer::ParameterExpressionAttr::get(
        module.getContext(), transformer::ExpressionKind::Convert, {FlatSymbolRefAttr::get(stored)},
        {}));
  }
}

/// Returns the item of `unused` that covers a name; empty if there is none.
static std::string_view unusedAs(std::string_view name, std::span<const std::string> unused) {
  for (const std::string &item : unused) {
    if (item.ends_with('.') ? name.starts_with(item) : name == item) {
      return item;
    }
  }
  return {};
}

/// Returns the tensors that parameters name.
static std::set<std::string_view> sourcesOf(ModuleOp module) {
  std::set<std::string_view> sources;
  for (auto parameter : module.getOps<transformer::ParameterOp>()) {
    if (std::optional<llvm::StringRef> source = parameter.getSource()) {
      sources.insert(*source);
    }
  }
  return sources;
}

Status checkSurplus(ModuleOp module, const Checkpoint &checkpoint,
                    std::span<const std::string> unused, std::vector<std::string> &notes) {
  const std::set<std::string_view> sources = sourcesOf(module);
  std::set<std::string_view> ignored;
  for (const std::string &name : checkpoint.names()) {
    if (sources.contains(name)) {
      continue;
    }
    const std::string_view item = unusedAs(name, unused);
    if (item.empty()) {
      HEDDLE_ASSIGN(const std::string file, checkpoint.fileOf(name));
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: tensor {} is unused, expected only the {} of the model",
                                      file, quote(name), sources.size()));
    }
    ignored.insert(item);
  }
  if (!ignored.empty()) {
    notes.push_back(fmt::format("tensors the model does not use: {}", fmt::join(ignored, ", ")));
  }
  return {};
}

void noteSurplus(ModuleOp module, const Checkpoint &checkpoint, std::vector<std::string> &notes) {
  constexpr size_t mostNames = 8;
  const std::set<std::string_view> sources = sourcesOf(module);
  std::vector<std::string_view> unused;
  for (const std::string &name : checkpoint.names()) {
    if (!sources.contains(name)) {
      unused.emplace_back(name);
    }
  }
  if (unused.empty()) {
    return;
  }
  std::sort(unused.begin(), unused.end());
  const std::span shown = std::span(unused).first(std::min(unused.size(), mostNames));
  notes.push_back(fmt::format("tensors the model does not use: {}{}", fmt::join(shown, ", "),
                              shown.size() < unused.size()
                                  ? fmt::format(" and {} more", unused.size() - shown.size())
                                  : ""));
}

} // namespace heddle
