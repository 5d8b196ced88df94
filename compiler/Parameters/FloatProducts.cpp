// SPDX-License-Identifier: Apache-2.0
///
/// The note is an attribute of the kernel, with names as in --precision.
#include "compiler/Parameters/FloatProducts.h"

using namespace mlir;

namespace heddle {

static constexpr llvm::StringLiteral kNote = "dataflow.float_products";
static constexpr FloatProducts kNoted[] = {FloatProducts::Tf32x3, FloatProducts::Tf32,
                                           FloatProducts::Bf16};

StringRef floatProductsName(FloatProducts products) {
  switch (products) {
  case FloatProducts::Exact:
    return "";
  case FloatProducts::Tf32x3:
    return "tf32x3";
  case FloatProducts::Tf32:
    return "tf32";
  case FloatProducts::Bf16:
    return "bf16";
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
  const FloatProducts products = floatProductsOf(kernel);
  if (products == FloatProducts::Exact) {
    return kernel.emitOpError("has '")
           << kNote << "' = " << note << ", expected \"tf32x3\", \"tf32\" or \"bf16\"";
  }
  auto attention = dyn_cast<dataflow::AttentionAttr>(kernel.getComputes());
  if (attention && attention.getArithmetic() == dataflow::Arithmetic::F32 &&
      !attention.getPairs()) {
    return success();
  }
  // Products that round factors to bf16 have weights stored in bf16, and a separate arithmetic.
  auto contract = dyn_cast<dataflow::ContractAttr>(kernel.getComputes());
  if (contract && products != FloatProducts::Bf16 &&
      contract.getArithmetic() == dataflow::Arithmetic::F32 &&
      kernel.getOperandBuffer(1).getElementType().isF32()) {
    return success();
  }
  return kernel.emitOpError("has '")
         << kNote << "' = " << note << " and computes " << kernel.getComputes()
         << ", expected an attention of f32 whose scores are products, or with tf32 a product of "
            "f32 with weights of f32";
}

} // namespace heddle
