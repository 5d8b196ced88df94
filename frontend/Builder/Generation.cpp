// SPDX-License-Identifier: Apache-2.0
///
/// The settings of generation as an attribute of the module.
#include "formats/Config/Generation.h"

#include "frontend/Builder/ModelState.h"

using namespace mlir;

namespace heddle {

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
  };
  (*state->module)->setAttr("transformer.generation", builder.getDictionaryAttr(values));
}

} // namespace heddle
