// SPDX-License-Identifier: Apache-2.0
///
/// The note is an attribute of the kernel, in words of --precision.
#include "compiler/Parameters/FloatProducts.h"

using namespace mlir;

namespace heddle {

static constexpr llvm::StringLiteral kNote = "dataflow.float_products";
static constexpr FloatProducts kNoted[] = {FloatProducts::Tf32x3, FloatProducts::Tf32};

StringRef floatProductsName(FloatProducts products) {
  switch (products) {
  case FloatProducts::Exact:
    return "";
  case FloatProducts::Tf32x3:
    return "tf32x3";
  case FloatProducts::Tf32:
    return "tf32";
  }
  llvm_unreachable("every kind of products is handled");
}

void noteFloatProducts(dataflow::KernelOp kernel, FloatProducts products) {
  if (products == FloatProducts::Exact) {
    kernel->removeAttr(kNote);
  } else {
    kernel->setAttr(kNote, StringAttr::get(kernel.getContext(), floatProductsName(products)));
  }
}

FloatProducts floatProductsOf(dataflow::KernelOp kernel) {
  auto note = kernel->getAttrOfType<StringAttr>(kNote);
  for (FloatProducts products : kNoted) {
    if (note && note.getValue() == floatProductsName(products)) {
      return products;
    }
  }
  return FloatProducts::Exact;
}

LogicalResult checkFloatProducts(dataflow::KernelOp kernel) {
  Attribute note = kernel->getAttr(kNote);
  if (!note) {
    return success();
  }
  if (floatProductsOf(kernel) == FloatProducts::Exact) {
    return kernel.emitOpError("has '")
           << kNote << "' = " << note << ", expected \"tf32x3\" or \"tf32\"";
  }
  auto contract = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (contract && contract.getArithmetic() == dataflow::Arithmetic::F32 &&
      contract.getGroups() == 1 && kernel.getOperandBuffer(1).getElementType().isF32()) {
    return success();
  }
  return kernel.emitOpError("has '")
         << kNote << "' and computes " << kernel.getComputes()
         << ", expected a product of f32 with weights of f32, in one group";
}

} // namespace heddle
