// SPDX-License-Identifier: Apache-2.0
///
/// One value of the dictionary after the other: no default is hidden here.
#include "compiler/Link/GenerationTable.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

namespace {
/// Reads values by name; the dialect has verified that they are there, of their types.
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
  return generation.Finish();
}

} // namespace heddle
