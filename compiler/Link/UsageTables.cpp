// SPDX-License-Identifier: Apache-2.0
///
/// The verifier has checked the dictionaries. Every value is written explicitly, without defaults.
#include "compiler/Link/UsageTables.h"

#include "compiler/Link/ManifestTables.h"
#include "heddle/Problem.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

namespace {
/// Reads values by name; the dialect's verifier has checked names and types.
class GenerationReader {
public:
  explicit GenerationReader(DictionaryAttr values) : values(values) {}

  int32_t integer(StringRef name) const {
    return static_cast<int32_t>(values.getAs<IntegerAttr>(name).getInt());
  }
  float real(StringRef name) const {
    return values.getAs<FloatAttr>(name).getValue().convertToFloat();
  }
  bool boolean(StringRef name) const { return values.getAs<BoolAttr>(name).getValue(); }
  ArrayRef<int32_t> integers(StringRef name) const {
    return values.getAs<DenseI32ArrayAttr>(name).asArrayRef();
  }
  StringRef text(StringRef name) const { return values.getAs<StringAttr>(name).getValue(); }

private:
  DictionaryAttr values;
};
} // namespace

static Offset<flatbuffers::Vector<int32_t>> write(FlatBufferBuilder &builder,
                                                  ArrayRef<int32_t> values) {
  return builder.CreateVector(values.data(), values.size());
}

Offset<manifest::Generation> writeGeneration(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.generation");
  if (!values) {
    return {};
  }
  const GenerationReader reader(values);
  auto start = write(builder, reader.integers("start"));
  auto end = write(builder, reader.integers("end"));
  auto suppressed = write(builder, reader.integers("suppressed"));
  auto rules = builder.CreateString(reader.text("rules").str());
  manifest::GenerationBuilder generation(builder);
  generation.add_start(start);
  generation.add_end(end);
  generation.add_pad(reader.integer("pad"));
  generation.add_forced_first(reader.integer("forced_first"));
  generation.add_forced_last(reader.integer("forced_last"));
  generation.add_suppressed(suppressed);
  generation.add_rules(rules);
  generation.add_max_length(reader.integer("max_length"));
  generation.add_beams(reader.integer("num_beams"));
  generation.add_length_penalty(reader.real("length_penalty"));
  generation.add_early_stopping(reader.boolean("early_stopping"));
  generation.add_no_repeat_ngram(reader.integer("no_repeat_ngram"));
  generation.add_repetition_penalty(reader.real("repetition_penalty"));
  generation.add_min_length(reader.integer("min_length"));
  generation.add_never_stop_early(reader.boolean("never_stop_early"));
  generation.add_sample(reader.boolean("sample"));
  generation.add_temperature(reader.real("temperature"));
  generation.add_top_k(reader.integer("top_k"));
  generation.add_top_p(reader.real("top_p"));
  generation.add_min_p(reader.real("min_p"));
  generation.add_context_length(reader.integer("context_length"));
  return generation.Finish();
}

Offset<manifest::Languages> writeLanguages(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.languages");
  if (!values) {
    return {};
  }
  auto names = values.getAs<ArrayAttr>("names");
  std::vector<Offset<flatbuffers::String>> written;
  for (auto name : names.getAsRange<StringAttr>()) {
    written.push_back(text(builder, name.getValue()));
  }
  // -1 for the empty name, which no language has.
  const auto numberOf = [&](StringRef key) {
    const auto *const found = llvm::find(names, values.get(key));
    return found == names.end() ? -1 : static_cast<int32_t>(found - names.begin());
  };
  const ArrayRef<int32_t> tokens = values.getAs<DenseI32ArrayAttr>("tokens").asArrayRef();
  return manifest::CreateLanguages(
      builder, builder.CreateVector(written), builder.CreateVector(tokens.data(), tokens.size()),
      values.getAs<BoolAttr>("ends_source").getValue(),
      values.getAs<BoolAttr>("starts_target").getValue(), numberOf("source"), numberOf("target"));
}

static std::vector<Offset<manifest::NamedText>> writeTexts(ArrayAttr texts,
                                                           FlatBufferBuilder &builder) {
  std::vector<Offset<manifest::NamedText>> written;
  for (auto each : texts.getAsRange<DictionaryAttr>()) {
    const std::string name = each.getAs<StringAttr>("name").str();
    const std::string text = each.getAs<StringAttr>("text").str();
    written.push_back(
        manifest::CreateNamedText(builder, builder.CreateString(name), builder.CreateString(text)));
  }
  return written;
}

Offset<manifest::Chat> writeChat(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.chat");
  if (!values) {
    return {};
  }
  const auto templates =
      builder.CreateVector(writeTexts(values.getAs<ArrayAttr>("templates"), builder));
  const auto tokens = builder.CreateVector(writeTexts(values.getAs<ArrayAttr>("tokens"), builder));
  return manifest::CreateChat(builder, templates, tokens);
}

Offset<manifest::Classification> writeClassification(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.classification");
  if (!values) {
    return {};
  }
  std::vector<Offset<flatbuffers::String>> labels;
  for (auto label : values.getAs<ArrayAttr>("labels").getAsRange<StringAttr>()) {
    labels.push_back(text(builder, label.getValue()));
  }
  const std::optional<Problem> problem =
      findProblem(&ProblemInfo::name, values.getAs<StringAttr>("problem").getValue());
  assert(problem && "the verifier knows the same names");
  return manifest::CreateClassification(builder, builder.CreateVector(labels),
                                        static_cast<manifest::Problem>(*problem));
}

} // namespace heddle
