// SPDX-License-Identifier: Apache-2.0
///
/// Converts element types. Integers are built from their kind and width; floating-point types are
/// listed.
#include "dialects/Transformer/ElementTypes.h"

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {

static Type floatTypeOf(ElementType element, MLIRContext *context) {
  switch (element) {
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(context);
  default:
    return Float32Type::get(context);
  }
}

Type typeOf(ElementType element, MLIRContext *context) {
  const ElementTypeInfo &info = infoOf(element);
  switch (info.kind) {
  case ElementKind::Float:
    return floatTypeOf(element, context);
  case ElementKind::Signed:
    return IntegerType::get(context, info.bits);
  case ElementKind::Unsigned:
    return IntegerType::get(context, info.bits, IntegerType::Unsigned);
  case ElementKind::Boolean:
    return IntegerType::get(context, 1);
  }
  llvm_unreachable("every kind is handled");
}

std::optional<ElementType> findElementType(Type type) {
  // Codes and scales are stored as bytes.
  if (isa<transformer::QuantizedType>(type)) {
    return ElementType::I8;
  }
  const auto *found = llvm::find_if(allElementTypes, [&](ElementType element) {
    return typeOf(element, type.getContext()) == type;
  });
  return found == std::end(allElementTypes) ? std::nullopt : std::optional(*found);
}

ElementType elementTypeOf(Type type) {
  const std::optional<ElementType> found = findElementType(type);
  assert(found && "verified types are in the table");
  return *found;
}

StoredLayout storedAs(Type element, ArrayRef<int64_t> shape) {
  StoredLayout stored{elementTypeOf(element), SmallVector<int64_t, 4>(shape)};
  if (auto quantized = dyn_cast<transformer::QuantizedType>(element)) {
    stored.shape.back() = quantized.getRowBytes(stored.shape.back());
  }
  return stored;
}

int64_t StoredLayout::bytes() const {
  std::optional<uint64_t> size = byteSize(element, shape);
  assert(size && "verified types have at most 2^40 elements");
  return static_cast<int64_t>(*size);
}

std::string elementTypeChoices(MLIRContext *context) {
  std::string choices;
  llvm::raw_string_ostream stream(choices);
  llvm::interleaveComma(allElementTypes, stream,
                        [&](ElementType element) { stream << typeOf(element, context); });
  return choices;
}

} // namespace heddle
