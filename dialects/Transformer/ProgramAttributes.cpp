// SPDX-License-Identifier: Apache-2.0
///
/// Verifies the attributes of a whole program, which hold the settings from the model's folder. An
/// unknown name is an error, because a misspelt limit would have no effect.
#include "dialects/Transformer/Transformer.h"

#include "heddle/Problem.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {

/// The kinds of attributes and of dictionary values.
enum class Kind {
  I32,
  F32,
  Flag,
  Ids,
  Text,
  FilledText,
  Length,
  Count,
  Presence,
  Names,
  Labels,
  Problem,
  Dictionary,
  List
};

struct Field {
  StringLiteral name;
  Kind kind;
};

/// A dictionary with its name for messages and all its fields.
struct Layout {
  StringLiteral name;
  ArrayRef<Field> fields;
};

} // namespace

static constexpr Field programFields[] = {
    {"chat", Kind::Dictionary},       {"classification", Kind::Dictionary},
    {"generation", Kind::Dictionary}, {"languages", Kind::Dictionary},
    {"lower_case", Kind::Presence},   {"max_length", Kind::Length},
    {"model_type", Kind::Text},       {"phase", Kind::Text},
    {"precision", Kind::Dictionary},  {"sharing", Kind::Text},
    {"tokenizer", Kind::Names}};

static constexpr Field generationFields[] = {{"start", Kind::Ids},
                                             {"end", Kind::Ids},
                                             {"suppressed", Kind::Ids},
                                             {"rules", Kind::Text},
                                             {"pad", Kind::I32},
                                             {"forced_first", Kind::I32},
                                             {"forced_last", Kind::I32},
                                             {"max_length", Kind::I32},
                                             {"num_beams", Kind::I32},
                                             {"length_penalty", Kind::F32},
                                             {"early_stopping", Kind::Flag},
                                             {"no_repeat_ngram", Kind::I32},
                                             {"repetition_penalty", Kind::F32},
                                             {"min_length", Kind::I32},
                                             {"never_stop_early", Kind::Flag},
                                             {"sample", Kind::Flag},
                                             {"temperature", Kind::F32},
                                             {"top_k", Kind::I32},
                                             {"top_p", Kind::F32},
                                             {"min_p", Kind::F32},
                                             {"context_length", Kind::I32}};

static constexpr Field classificationFields[] = {{"labels", Kind::Labels},
                                                 {"problem", Kind::Problem}};

static constexpr Field languageFields[] = {
    {"names", Kind::Labels},       {"tokens", Kind::Ids},  {"ends_source", Kind::Flag},
    {"starts_target", Kind::Flag}, {"source", Kind::Text}, {"target", Kind::Text}};

static constexpr Field precisionFields[] = {{"name", Kind::Text}, {"kept", Kind::List}};

static constexpr Field keptFields[] = {{"layers", Kind::FilledText},
                                       {"precision", Kind::FilledText},
                                       {"tensors", Kind::Length},
                                       {"bytes", Kind::Count}};

static constexpr Field chatFields[] = {{"templates", Kind::List}, {"tokens", Kind::List}};

static constexpr Field namedTextFields[] = {{"name", Kind::FilledText}, {"text", Kind::Text}};

static constexpr Layout chatLayout = {"transformer.chat", chatFields};
static constexpr Layout namedTextLayout = {"text of transformer.chat", namedTextFields};
static constexpr Layout generationLayout = {"transformer.generation", generationFields};
static constexpr Layout classificationLayout = {"transformer.classification", classificationFields};
static constexpr Layout languageLayout = {"transformer.languages", languageFields};
static constexpr Layout precisionLayout = {"transformer.precision", precisionFields};
static constexpr Layout keptLayout = {"kept", keptFields};

/// Lists the problem types: "'one', 'two' or 'three'".
static std::string listOfProblems() {
  std::string list;
  for (size_t i = 0; i < std::size(heddle::problemTable); ++i) {
    const bool isLast = i + 1 == std::size(heddle::problemTable);
    list += i == 0 ? "'" : isLast ? " or '" : ", '";
    list += heddle::problemTable[i].name;
    list += "'";
  }
  return list;
}

/// Describes the expected value of a kind, for messages.
static std::string describe(Kind kind) {
  switch (kind) {
  case Kind::I32:
    return "an i32";
  case Kind::F32:
    return "an f32";
  case Kind::Flag:
    return "true or false";
  case Kind::Ids:
    return "an array<i32>";
  case Kind::Text:
    return "a string";
  case Kind::FilledText:
    return "a string that is not empty";
  case Kind::Length:
    return "an i64 of at least 1";
  case Kind::Count:
    return "an i64 of at least 0";
  case Kind::Presence:
    return "without a value";
  case Kind::Names:
    return "a list of file names";
  case Kind::Labels:
    return "a list of strings with at least one";
  case Kind::Problem:
    return listOfProblems();
  case Kind::Dictionary:
    return "a dictionary";
  case Kind::List:
    return "a list of dictionaries";
  }
  return "";
}

static bool isOfKind(Attribute value, Kind kind) {
  auto integer = dyn_cast<IntegerAttr>(value);
  auto real = dyn_cast<FloatAttr>(value);
  auto list = dyn_cast<ArrayAttr>(value);
  switch (kind) {
  case Kind::I32:
    return integer && integer.getType().isInteger(32);
  case Kind::F32:
    return real && real.getType().isF32();
  case Kind::Flag:
    return isa<BoolAttr>(value);
  case Kind::Ids:
    return isa<DenseI32ArrayAttr>(value);
  case Kind::Text:
    return isa<StringAttr>(value);
  case Kind::FilledText:
    return isa<StringAttr>(value) && !cast<StringAttr>(value).empty();
  case Kind::Length:
    return integer && integer.getType().isInteger(64) && integer.getInt() >= 1;
  case Kind::Count:
    return integer && integer.getType().isInteger(64) && integer.getInt() >= 0;
  case Kind::Presence:
    return isa<UnitAttr>(value);
  case Kind::Names:
    return list && !list.empty() && llvm::all_of(list, [](Attribute name) {
             auto text = dyn_cast<StringAttr>(name);
             return text && !text.empty();
           });
  case Kind::Labels:
    return list && !list.empty() && llvm::all_of(list, llvm::IsaPred<StringAttr>);
  case Kind::Problem: {
    auto text = dyn_cast<StringAttr>(value);
    return text && heddle::findProblem(&heddle::ProblemInfo::name, text.getValue());
  }
  case Kind::Dictionary:
    return isa<DictionaryAttr>(value);
  case Kind::List:
    return list && llvm::all_of(list, llvm::IsaPred<DictionaryAttr>);
  }
  return false;
}

/// Reports an unknown name. Suggests the most similar known name, or lists all known names.
static LogicalResult refuseName(InFlightDiagnostic error, StringRef prefix, StringRef name,
                                ArrayRef<Field> known) {
  const Field *nearest = nullptr;
  unsigned distance = std::max<unsigned>(2, name.size() / 3) + 1;
  for (const Field &field : known) {
    const unsigned other = name.edit_distance(field.name, true, distance);
    if (other < distance) {
      distance = other;
      nearest = &field;
    }
  }
  if (nearest) {
    return error << ", did you mean '" << prefix << nearest->name << "'?";
  }
  error << ", expected one of ";
  llvm::interleaveComma(known, error,
                        [&](const Field &field) { error << "'" << prefix << field.name << "'"; });
  return error;
}

/// Checks that all values are present with the right types, and no others: there are no hidden
/// defaults.
static LogicalResult verifyValues(Operation *op, const Layout &layout, DictionaryAttr values) {
  for (const Field &field : layout.fields) {
    const Attribute value = values.get(field.name);
    if (value && isOfKind(value, field.kind)) {
      continue;
    }
    InFlightDiagnostic error = op->emitOpError("expects '")
                               << layout.name << "' to have '" << field.name << "', "
                               << describe(field.kind) << ", got ";
    return value ? error << value : error << "none";
  }
  for (NamedAttribute value : values) {
    if (!llvm::any_of(layout.fields, [&](const Field &f) { return f.name == value.getName(); })) {
      return refuseName(op->emitOpError("has '")
                            << value.getName().getValue() << "' in '" << layout.name << "'",
                        "", value.getName(), layout.fields);
    }
  }
  return success();
}

static LogicalResult verifyPrecision(Operation *op, DictionaryAttr values) {
  if (failed(verifyValues(op, precisionLayout, values))) {
    return failure();
  }
  return success(llvm::all_of(values.getAs<ArrayAttr>("kept"), [&](Attribute kept) {
    return succeeded(verifyValues(op, keptLayout, cast<DictionaryAttr>(kept)));
  }));
}

static LogicalResult verifyChat(Operation *op, DictionaryAttr values) {
  if (failed(verifyValues(op, chatLayout, values))) {
    return failure();
  }
  for (StringRef list : {"templates", "tokens"}) {
    llvm::StringSet<> names;
    for (auto text : values.getAs<ArrayAttr>(list).getAsRange<DictionaryAttr>()) {
      if (failed(verifyValues(op, namedTextLayout, text))) {
        return failure();
      }
      const StringRef name = text.getAs<StringAttr>("name").getValue();
      if (!names.insert(name).second) {
        return op->emitOpError("has two '") << list << "' called '" << name << "'";
      }
    }
    if (list == "templates" && names.empty()) {
      return op->emitOpError("has 'transformer.chat' without templates");
    }
  }
  return success();
}

static LogicalResult verifyLanguages(Operation *op, DictionaryAttr values) {
  if (failed(verifyValues(op, languageLayout, values))) {
    return failure();
  }
  auto names = values.getAs<ArrayAttr>("names");
  const size_t tokens = values.getAs<DenseI32ArrayAttr>("tokens").size();
  if (names.size() != tokens) {
    return op->emitOpError("expects 'transformer.languages' to have a token for each name, got ")
           << names.size() << " names and " << tokens << " tokens";
  }
  StringRef before;
  for (auto name : names.getAsRange<StringAttr>()) {
    if (name.getValue() <= before) {
      return op->emitOpError("expects 'names' of 'transformer.languages' in ascending order, got ")
             << name << " after \"" << before << "\"";
    }
    before = name.getValue();
  }
  for (StringRef key : {"source", "target"}) {
    auto name = values.getAs<StringAttr>(key);
    if (!name.empty() && !llvm::is_contained(names, name)) {
      return op->emitOpError("expects '")
             << key << "' of 'transformer.languages' to be one of 'names' or empty, got " << name;
    }
  }
  return success();
}

LogicalResult TransformerDialect::verifyOperationAttribute(Operation *op,
                                                           NamedAttribute attribute) {
  const StringRef name = attribute.getName().getValue();
  const auto *field = llvm::find_if(programFields, [&](const Field &candidate) {
    return name == ("transformer." + candidate.name).str();
  });
  if (field == std::end(programFields)) {
    constexpr StringLiteral prefix = "transformer.";
    return refuseName(op->emitOpError("has '") << name << "'", prefix, name.substr(prefix.size()),
                      programFields);
  }
  if (!isa<ModuleOp>(op)) {
    return op->emitOpError("has '") << name << "', expected it on the program's module";
  }
  if (!isOfKind(attribute.getValue(), field->kind)) {
    return op->emitOpError("expects '")
           << name << "' to be " << describe(field->kind) << ", got " << attribute.getValue();
  }
  auto values = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (!values) {
    return success();
  }
  if (field->name == "chat") {
    return verifyChat(op, values);
  }
  if (field->name == "languages") {
    return verifyLanguages(op, values);
  }
  if (field->name == "precision") {
    return verifyPrecision(op, values);
  }
  return verifyValues(op, field->name == "classification" ? classificationLayout : generationLayout,
                      values);
}
