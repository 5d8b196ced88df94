// SPDX-License-Identifier: Apache-2.0
///
/// Converts between the quantised layouts of files and quantised types of the IR.
#include "frontend/Import/CodesOfFiles.h"

#include "dialects/Transformer/ElementTypes.h"

using namespace mlir;
using heddle::transformer::QuantizedType;

namespace heddle {

QuantizedType codesTypeOf(const Checkpoint &checkpoint, const StoredTensor &tensor,
                          MLIRContext *context) {
  if (!tensor.codes) {
    return {};
  }
  const CodeLayout &layout = tensor.codes->layout();
  const bool isFull = tensor.codes->hasLeastCode(tensor.firstRow, tensor.shape.front());
  checkpoint.releasePages(tensor.name);
  return QuantizedType::get(context, IntegerType::get(context, layout.bits), layout.group,
                            typeOf(layout.scales, context), layout.hasMinimums, isFull);
}

Result<CodeRows> readCodes(const Checkpoint &checkpoint, std::string_view name,
                           QuantizedType type) {
  CodeLayout layout;
  layout.bits = type.getCodes().getIntOrFloatBitWidth();
  layout.group = type.getGroup();
  layout.scales = elementTypeOf(type.getScales());
  layout.hasMinimums = type.getMinimums();
  return checkpoint.readCodes(name, layout, type.getFull());
}

} // namespace heddle
