// SPDX-License-Identifier: Apache-2.0
///
/// Every value of the dictionary is there, of its type: no default is hidden here.
#include "compiler/Link/GenerationTable.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

static constexpr llvm::StringLiteral generationName = "transformer.generation";

namespace {
/// Reads values by name and type, and remembers the first that is not there.
class GenerationReader {
public:
  GenerationReader(ModuleOp module, DictionaryAttr values) : module(module), values(values) {}

  int32_t integer(StringRef name) {
    auto attribute = get<IntegerAttr>(name, "an i32");
    if (attribute && !attribute.getType().isInteger(32)) {
      fail(name, "an i32");
      return 0;
    }
    return attribute ? static_cast<int32_t>(attribute.getInt()) : 0;
  }
  float real(StringRef name) {
    auto attribute = get<FloatAttr>(name, "an f32");
    if (attribute && !attribute.getType().isF32()) {
      fail(name, "an f32");
      return 0;
    }
    return attribute ? attribute.getValue().convertToFloat() : 0;
  }
  bool boolean(StringRef name) {
    auto attribute = get<BoolAttr>(name, "true or false");
    return attribute && attribute.getValue();
  }
  ArrayRef<int32_t> integers(StringRef name) {
    auto attribute = get<DenseI32ArrayAttr>(name, "an array<i32>");
    return attribute ? attribute.asArrayRef() : ArrayRef<int32_t>();
  }
  StringRef text(StringRef name) {
    auto attribute = get<StringAttr>(name, "a string");
    return attribute ? attribute.getValue() : StringRef();
  }
  bool failed() const { return hasFailed; }

private:
  template <typename T> T get(StringRef name, StringRef type) {
    auto attribute = values.getAs<T>(name);
    if (!attribute) {
      fail(name, type);
    }
    return attribute;
  }
  void fail(StringRef name, StringRef type) {
    if (hasFailed) {
      return;
    }
    hasFailed = true;
    Attribute got = values.get(name);
    InFlightDiagnostic error = module.emitError("expects '") << generationName << "' to have '"
                                                             << name << "', " << type << ", got ";
    got ? error << got : error << "none";
  }

  ModuleOp module;
  DictionaryAttr values;
  bool hasFailed = false;
};
} // namespace

static Offset<flatbuffers::Vector<int32_t>> write(FlatBufferBuilder &builder,
                                                  ArrayRef<int32_t> values) {
  return builder.CreateVector(values.data(), values.size());
}

FailureOr<Offset<manifest::Generation>> writeGeneration(ModuleOp module,
                                                        FlatBufferBuilder &builder) {
  Attribute attribute = module->getAttr(generationName);
  if (!attribute) {
    return Offset<manifest::Generation>();
  }
  auto values = dyn_cast<DictionaryAttr>(attribute);
  if (!values) {
    return module.emitError("expects '")
           << generationName << "' to be a dictionary, got " << attribute;
  }
  GenerationReader reader(module, values);
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
  Offset<manifest::Generation> written = generation.Finish();
  if (reader.failed()) {
    return failure();
  }
  return written;
}

} // namespace heddle
