// SPDX-License-Identifier: Apache-2.0
///
/// Keys are stored element by element, rows position by position. Scales precede their codes: in
/// keys all scales of the block, in rows those of each position.
#include "compiler/Target/Emitters/CacheBlock.h"

#include "heddle/Abi.h"

using namespace mlir;

namespace heddle {

CacheBlock::CacheBlock(dataflow::CacheType type) : element(type.getElementType()) {
  const int64_t width = type.getWidth();
  const bool areKeys = type.getLayout() == dataflow::CacheLayout::Keys;
  elementStride = areKeys ? HEDDLE_BLOCK : 1;
  positionStride = areKeys ? 1 : width;
  auto codes = dyn_cast<transformer::QuantizedType>(element);
  if (!codes) {
    return;
  }
  element = codes.getCodes();
  group = codes.getGroupOf(width);
  const int64_t rowBytes = codes.getRowBytes(width), scaleBytes = codes.getCodesOffset(width);
  firstElement = areKeys ? scaleBytes * HEDDLE_BLOCK : scaleBytes;
  scaleStride = areKeys ? HEDDLE_BLOCK : 1;
  positionStride = areKeys ? 1 : rowBytes;
  positionScales = areKeys ? 1 : rowBytes / kScaleBytes;
}

Value CacheBlock::elementAt(VectorCode &code, Value block, Value position, Value number) const {
  Value first = firstElement == 0 ? block : code.bytesAt(block, code.integer(firstElement));
  Value place =
      code.add(code.multiply(number, elementStride), code.multiply(position, positionStride));
  return code.storedAt(first, place, element);
}

Value CacheBlock::scaleAt(VectorCode &code, Value block, Value position, Value number) const {
  Value scale = code.multiply(code.divide(number, group), scaleStride);
  return code.at(block, code.add(scale, code.multiply(position, positionScales)));
}

} // namespace heddle
