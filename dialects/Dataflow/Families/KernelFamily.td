// SPDX-License-Identifier: Apache-2.0
/// The contract of a kernel family: everything that the rest of the compiler asks about one.
#ifndef HEDDLE_DATAFLOW_KERNELFAMILY
#define HEDDLE_DATAFLOW_KERNELFAMILY

include "dialects/Dataflow/Dialect.td"
include "mlir/IR/Interfaces.td"

def Dataflow_KernelFamily : AttrInterface<"KernelFamily"> {
  let cppNamespace = "::heddle::dataflow";
  let description = [{
    A kernel family is an attribute that says what a kernel computes before its epilogue. The
    verifier, epilogue folding, merging, memory planning, costs, reports and the manifest ask this
    interface; none of them has a list of families. No method has a default: of a family that leaves an
    answer out, the linker names the missing method, and of a target without an emitter for it the
    missing `emit()`.

    `type` is the type of the kernel: its inputs, element-wise operands and operands of the norm.
  }];
  let methods = [
    InterfaceMethod<"The name of the family: \"contract\".",
      "::llvm::StringRef", "getFamilyName", (ins), [{ return ConcreteAttr::getMnemonic(); }]>,
    InterfaceMethod<"What messages call its result: \"a product\".",
      "::llvm::StringRef", "getNoun">,
    InterfaceMethod<"Its sizes and options as part of a kernel's name: \"384x1536\".",
      "::std::string", "getSizes", (ins "::mlir::FunctionType":$type)>,
    InterfaceMethod<"Checks the numbers of the attribute alone.",
      "::llvm::LogicalResult", "verifyNumbers",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<"How many inputs come before the element-wise operands.",
      "int64_t", "getNumInputs">,
    InterfaceMethod<"The inputs, in order: as many as getNumInputs() says. The types of caches and "
                    "the rows of the result are those of `type`.",
      "::llvm::SmallVector<::heddle::dataflow::KernelInput>", "getInputs", (ins "::mlir::FunctionType":$type)>,
    InterfaceMethod<"The results, in order: one or several. A buffer comes before what is changed.",
      "::llvm::SmallVector<::heddle::dataflow::KernelResult>", "getResults",
      (ins "::mlir::FunctionType":$type)>,
    InterfaceMethod<"Checks what the descriptions of inputs and results cannot say; they hold.",
      "::llvm::LogicalResult", "verifyOperands",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::FunctionType":$type)>,
    InterfaceMethod<"How the work is divided.",
      "::heddle::dataflow::Division", "getDivision", (ins "::mlir::FunctionType":$type)>,
    InterfaceMethod<"Floating-point operations of its products for a row of the work.",
      "::heddle::dataflow::Flops", "getFlops", (ins "::mlir::FunctionType":$type)>,
    InterfaceMethod<"What may follow what it computes.",
      "::heddle::dataflow::EpilogueSupport", "getEpilogueSupport">,
    InterfaceMethod<"Which result the region maps, element by element; none where nothing may follow.",
      "::std::optional<unsigned>", "getEpilogueResult">,
    InterfaceMethod<"Whether a row sees only some of the keys, by their positions: then caches of keys "
                    "must hold the row itself.",
      "bool", "hidesLaterKeys">,
    InterfaceMethod<"Its naive twin: element `column` of row `row` of a result, before the epilogue if "
                    "it is mapped, in double precision and the order of the formula; none where "
                    "nothing is written. Of a cache it is what token `row` leaves at its position, of a state "
                    "what sequence `row` leaves.",
      "::std::optional<double>", "evaluate",
      (ins "const ::heddle::dataflow::KernelRun &":$run, "unsigned":$result, "int64_t":$row,
           "int64_t":$column)>,
  ];
}

/// One kernel family.
class Dataflow_Family<string name, string attrMnemonic>
    : AttrDef<Dataflow_Dialect, name, [DeclareAttrInterfaceMethods<Dataflow_KernelFamily>]> {
  let mnemonic = attrMnemonic;
}

/// Any of them.
def Dataflow_AnyFamily : Attr<CPred<"::llvm::isa<::heddle::dataflow::KernelFamily>($_self)">,
                              "a kernel family, such as #dataflow.contract"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::heddle::dataflow::KernelFamily";
  let convertFromStorage = "::llvm::cast<::heddle::dataflow::KernelFamily>($_self)";
  let constBuilderCall = "$0";
}

#endif
