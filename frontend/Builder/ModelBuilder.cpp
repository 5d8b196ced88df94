// SPDX-License-Identifier: Apache-2.0
///
/// Entries, generation settings, and finishing a model.
#include "frontend/Builder/ModelState.h"

#include "formats/Config/Generation.h"
#include "frontend/Builder/DiagnosticText.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle {

static std::unique_ptr<MLIRContext> makeContext() {
  return std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
}

ModelBuilder::ModelBuilder(std::string_view modelType) : ModelBuilder(makeContext(), modelType) {}

ModelBuilder::ModelBuilder(std::unique_ptr<MLIRContext> context, std::string_view modelType)
    : ModelBuilder(*context, modelType) {
  state->ownContext = std::move(context);
}

ModelBuilder::ModelBuilder(MLIRContext &context, std::string_view modelType)
    : state(std::make_unique<ModelState>()) {
  context.loadDialect<func::FuncDialect, transformer::TransformerDialect>();
  state->context = &context;
  state->module = ModuleOp::create(state->nameLocation(modelType));
  (*state->module)->setAttr("transformer.model_type", StringAttr::get(&context, modelType));
}

ModelBuilder::ModelBuilder(ModelBuilder &&) noexcept = default;
ModelBuilder &ModelBuilder::operator=(ModelBuilder &&) noexcept = default;
ModelBuilder::~ModelBuilder() = default;

Scope ModelBuilder::scope(std::string_view name) { return Scope(state.get(), std::string(name)); }

std::vector<Parameter> ModelBuilder::parameters() const { return state->tensors; }

Status ModelBuilder::status() const { return state->error; }

Entry ModelBuilder::entry(std::string_view name) {
  if (!state->works()) {
    return Entry(state.get(), 0);
  }
  const auto known = std::find_if(state->entries.begin(), state->entries.end(),
                                  [&](const EntryState &entry) { return entry.name == name; });
  if (name.empty() || known != state->entries.end()) {
    state->fail(name, name.empty() ? "an entry without a name" : "the entry appears twice");
    return Entry(state.get(), 0);
  }
  OpBuilder builder(state->context);
  builder.setInsertionPointToEnd(state->module->getBody());
  const Location location = state->nameLocation(name);
  auto function = func::FuncOp::create(builder, location, name, builder.getFunctionType({}, {}));
  Block *block = builder.createBlock(&function.getBody());
  block->addArgument(transformer::SegmentsType::get(state->context), location);
  state->entries.push_back({std::string(name), function, {}, {}, {}, {}});
  return Entry(state.get(), state->entries.size() - 1);
}

/// Adds an argument that callers pass; null after an error.
Value Entry::addInput(std::string_view name, bool optional, Type type) {
  EntryState &entry = model->entries[index];
  for (const EntryState::Input &input : entry.inputs) {
    if (input.name == name) {
      model->fail(entry.name, fmt::format("input \"{}\" appears twice", name));
      return {};
    }
  }
  BlockArgument argument = entry.body().insertArgument(static_cast<unsigned>(entry.inputs.size()),
                                                       type, model->nameLocation(name));
  entry.inputs.push_back({std::string(name), optional});
  return argument;
}

Ids Entry::addIds(std::string_view name, bool optional) {
  if (!model->works()) {
    return {};
  }
  Type element = IntegerType::get(model->context, 32);
  return Ids(model,
             addInput(name, optional, RankedTensorType::get({ShapedType::kDynamic}, element)));
}

Tensor Entry::addRows(std::string_view name, int64_t width, bool optional) {
  if (!model->works()) {
    return {};
  }
  if (width < 1) {
    model->fail(model->entries[index].name,
                fmt::format("input \"{}\" has width {}, expected 1 or more", name, width));
    return {};
  }
  Type element = Float32Type::get(model->context);
  return Tensor(model, addInput(name, optional,
                                RankedTensorType::get({ShapedType::kDynamic, width}, element)));
}

Ids Entry::input(std::string_view name) { return addIds(name, false); }

Ids Entry::optionalInput(std::string_view name) { return addIds(name, true); }

Tensor Entry::input(std::string_view name, int64_t width) { return addRows(name, width, false); }

Tensor Entry::optionalInput(std::string_view name, int64_t width) {
  return addRows(name, width, true);
}

/// Returns the input with a name; the end if there is none.
static auto findInput(EntryState &entry, std::string_view name) {
  return std::find_if(entry.inputs.begin(), entry.inputs.end(),
                      [&](const EntryState::Input &each) { return each.name == name; });
}

void Entry::limit(std::string_view input, int32_t most) {
  if (!model->works()) {
    return;
  }
  EntryState &entry = model->entries[index];
  const auto found = findInput(entry, input);
  if (found == entry.inputs.end() || most < 1) {
    model->fail(entry.name,
                fmt::format("input \"{}\" has ids less than {}, expected {}", input, most,
                            most < 1 ? "a limit of 1 or more" : "an input of the entry"));
    return;
  }
  found->limit = most;
}

void Entry::pad(std::string_view input, int32_t token) {
  if (!model->works()) {
    return;
  }
  EntryState &entry = model->entries[index];
  const auto found = findInput(entry, input);
  if (found == entry.inputs.end() || token < 0) {
    model->fail(entry.name, fmt::format("input \"{}\" is padded with {}, expected {}", input, token,
                                        token < 0 ? "0 or more" : "an input of the entry"));
    return;
  }
  found->pad = token;
}

Segments Entry::segments() const {
  if (!model->works()) {
    return {};
  }
  EntryState &entry = model->entries[index];
  return Segments(model, entry.body().getArgument(static_cast<unsigned>(entry.inputs.size())));
}

Tensor Entry::weight(const Parameter &parameter) const {
  const Segments rows = segments();
  OperationSite site(model, parameter.symbol(), {&rows});
  if (!site.ok()) {
    return {};
  }
  if (parameter.model() != model) {
    site.fail("the weight is not a parameter of this model");
    return {};
  }
  return site.make<Tensor, transformer::WeightOp>(site.tensorType(parameter.shape()),
                                                  StringRef(parameter.symbol()));
}

void Entry::output(std::string_view name, const Tensor &result) {
  if (!model->works()) {
    return;
  }
  EntryState &entry = model->entries[index];
  const auto wrong = [&](std::string_view what) {
    model->fail(entry.name, fmt::format("output \"{}\" {}", name, what));
  };
  if (!result.valid() || result.model() != model ||
      result.value().getParentBlock() != &entry.body()) {
    return wrong("is not a value of this entry");
  }
  const RankedTensorType type = typeOf(result);
  // [t, w], or [t, h, k].
  const bool isRows = type.getRank() == 2 && type.isDynamicDim(0) && !type.isDynamicDim(1);
  const bool isScores =
      type.getRank() == 3 && type.isDynamicDim(0) && !type.isDynamicDim(1) && type.isDynamicDim(2);
  if (!isRows && !isScores) {
    return wrong(fmt::format("has shape {}, expected rows [?, width] or scores [?, heads, ?]",
                             printSizes(type.getShape())));
  }
  for (const EntryState::Output &output : entry.outputs) {
    if (output.name == name) {
      return wrong("appears twice");
    }
  }
  entry.outputs.push_back({std::string(name), result.value()});
}

/// Finishes an entry: its return, its type and the names of arguments and results.
static void finishEntry(OpBuilder &builder, EntryState &entry) {
  const StringAttr nameKey = builder.getStringAttr("transformer.name");
  SmallVector<Value> results;
  SmallVector<Type> types;
  for (const EntryState::Output &output : entry.outputs) {
    results.push_back(output.value);
    types.push_back(output.value.getType());
  }
  SmallVector<StringRef> resultNames;
  for (const EntryState::Output &output : entry.outputs) {
    resultNames.push_back(output.name);
  }
  for (const EntryState::Cache &cache : entry.caches) {
    if (cache.appended) {
      results.push_back(cache.value);
      types.push_back(cache.value.getType());
      resultNames.push_back(cache.name);
    }
  }
  builder.setInsertionPointToEnd(&entry.body());
  func::ReturnOp::create(builder, entry.function.getLoc(), results);
  entry.function.setType(builder.getFunctionType(entry.body().getArgumentTypes(), types));
  for (auto [number, input] : llvm::enumerate(entry.inputs)) {
    entry.function.setArgAttr(number, nameKey, builder.getStringAttr(input.name));
    if (input.optional) {
      entry.function.setArgAttr(number, "transformer.optional", builder.getUnitAttr());
    }
    if (input.pad) {
      entry.function.setArgAttr(number, "transformer.pad", builder.getI32IntegerAttr(*input.pad));
    }
    if (input.limit) {
      entry.function.setArgAttr(number, "transformer.limit",
                                builder.getI32IntegerAttr(*input.limit));
    }
  }
  auto argument = static_cast<unsigned>(entry.inputs.size()) + 1;
  if (!entry.memory.empty()) {
    entry.function.setArgAttr(argument++, nameKey, builder.getStringAttr(entry.memory));
  }
  for (const EntryState::Cache &cache : entry.caches) {
    entry.function.setArgAttr(argument++, nameKey, builder.getStringAttr(cache.name));
  }
  for (auto [number, name] : llvm::enumerate(resultNames)) {
    entry.function.setResultAttr(number, nameKey, builder.getStringAttr(name));
  }
}

void ModelBuilder::generation(const Generation &settings) {
  if (!state->works()) {
    return;
  }
  Builder builder(state->context);
  const auto real = [&](double value) {
    return builder.getF32FloatAttr(static_cast<float>(value));
  };
  const NamedAttribute values[] = {
      builder.getNamedAttr("start", builder.getDenseI32ArrayAttr(settings.start)),
      builder.getNamedAttr("end", builder.getDenseI32ArrayAttr(settings.end)),
      builder.getNamedAttr("pad", builder.getI32IntegerAttr(settings.pad)),
      builder.getNamedAttr("forced_first", builder.getI32IntegerAttr(settings.forcedFirst)),
      builder.getNamedAttr("forced_last", builder.getI32IntegerAttr(settings.forcedLast)),
      builder.getNamedAttr("suppressed", builder.getDenseI32ArrayAttr(settings.suppressed)),
      builder.getNamedAttr("rules", builder.getStringAttr(settings.rules)),
      builder.getNamedAttr("max_length", builder.getI32IntegerAttr(settings.maxLength)),
      builder.getNamedAttr("num_beams", builder.getI32IntegerAttr(settings.beams)),
      builder.getNamedAttr("length_penalty", real(settings.lengthPenalty)),
      builder.getNamedAttr("early_stopping", builder.getBoolAttr(settings.earlyStopping)),
      builder.getNamedAttr("no_repeat_ngram", builder.getI32IntegerAttr(settings.noRepeatNgram)),
      builder.getNamedAttr("repetition_penalty", real(settings.repetitionPenalty)),
      builder.getNamedAttr("min_length", builder.getI32IntegerAttr(settings.minLength)),
      builder.getNamedAttr("never_stop_early", builder.getBoolAttr(settings.neverStopEarly)),
      builder.getNamedAttr("sample", builder.getBoolAttr(settings.sample)),
      builder.getNamedAttr("temperature", real(settings.temperature)),
      builder.getNamedAttr("top_k", builder.getI32IntegerAttr(settings.topK)),
      builder.getNamedAttr("top_p", real(settings.topP)),
      builder.getNamedAttr("min_p", real(settings.minP)),
      builder.getNamedAttr("context_length", builder.getI32IntegerAttr(settings.contextLength)),
  };
  (*state->module)->setAttr("transformer.generation", builder.getDictionaryAttr(values));
}

Result<OwningOpRef<ModuleOp>> ModelBuilder::build() {
  if (state->finished) {
    return HEDDLE_ERROR(InvalidArgument, "the model was built before, expected one call of build");
  }
  if (state->error.ok() && state->entries.empty()) {
    state->error = HEDDLE_ERROR(InvalidArgument, "the model has no entry, expected at least one");
  }
  for (const EntryState &entry : state->entries) {
    const bool keeps = std::any_of(entry.caches.begin(), entry.caches.end(),
                                   [](const EntryState::Cache &cache) { return cache.appended; });
    if (entry.outputs.empty() && !keeps) {
      state->fail(entry.name, "the entry has no output, expected at least one");
    }
  }
  HEDDLE_TRY(state->error);
  state->finished = true;
  OpBuilder builder(state->context);
  for (EntryState &entry : state->entries) {
    finishEntry(builder, entry);
  }
  DiagnosticText diagnostics(state->context);
  if (failed(verify(*state->module))) {
    state->error = diagnostics.status("the model is not valid");
    return state->error;
  }
  return std::move(state->module);
}

Result<std::string> ModelBuilder::text() {
  HEDDLE_ASSIGN(const OwningOpRef<ModuleOp> module, build());
  std::string text;
  llvm::raw_string_ostream stream(text);
  // With the names of the parameters' scopes, which errors and reports use.
  (*module)->print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

} // namespace heddle
