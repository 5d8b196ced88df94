// SPDX-License-Identifier: Apache-2.0
/// Parameters: weights as symbols.
#ifndef HEDDLE_TRANSFORMER_PARAMETER_OPS
#define HEDDLE_TRANSFORMER_PARAMETER_OPS

include "dialects/Transformer/Attrs.td"
include "dialects/Transformer/Interfaces.td"
include "dialects/Transformer/Types.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Transformer_Op<string mnemonic, list<Trait> traits = []>
    : Op<Transformer_Dialect, mnemonic, traits>;

/// It changes its first operand in place, a cache or a state, and returns it.
def Transformer_ChangesKept : NativeOpTrait<"ChangesKept"> {
  let cppNamespace = "::heddle::transformer";
}

def Transformer_ParameterOp : Transformer_Op<"parameter",
    [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a weight: a symbol with a type, stored in a checkpoint or derived from others";
  let description = [{
    `from` names the tensor of the checkpoint; `=` gives an expression over other parameters. The
    values never enter the program. `content`, if given, identifies them: two parameters of the same
    shape have equal values exactly if they have the same content. Passes use it to compare
    parameters.

    Constraints:
    - C1: exactly one of a source and an expression is given.
    - C2: the type is a tensor of an element type of runtime/include/heddle/ElementTypes.def, of rank
      1 to 4, every dimension a positive constant, with at most 2^40 elements.
    - C3: the operands of the expression are parameters, as many as its kind takes.
    - C4: the type is the one that the expression has for its operands' types.
    - C5: the operands of the expression are declared before the parameter.
    - C6: the expression has as many numbers as its kind takes, each in range.
    - C7: `scale` has at least one factor; its constant, if any, is finite.
    - C8: elements are f32, except those from a checkpoint and those of `convert` and its operand,
      which are f32, f16 or bf16, and those of `pack` of a parameter of the same element type.
      `convert` may also make quantised elements without minimums, or numbers of any, as `compensate` always makes
      quantised ones without minimums of a parameter of those and moments of f32; `pack` makes i8 of quantised ones. A
      matrix from a checkpoint may have quantised elements, and `concat`, `rows` and `reshape` move rows of them.

    ```mlir
    transformer.parameter @query.weight : tensor<384x384xf32> from "layer.0.query.weight"
    transformer.parameter @both.weight : tensor<768x384xf32> = concat(@query.weight, @key.weight)
    transformer.parameter @positions : tensor<512x384xf32> = sinusoid_interleaved(0, 192)
    transformer.parameter @copy.weight : tensor<384x384xf32> from "layer.1.query.weight" {content = "query"}
    transformer.parameter @folded : tensor<384xf32> = scale(@query.bias, @kappa, 1.250000e-01)
    transformer.parameter @out.weight.f16 : tensor<384x384xf16> from "layer.0.out.weight"
    transformer.parameter @out.weight : tensor<384x384xf32> = convert(@out.weight.f16)
    transformer.parameter @out.i8 : tensor<384x384x!transformer.quantized<i8, 32>> = convert(@out.weight)
    transformer.parameter @out.moments : tensor<384x384xf32> from "moments of rows 0"
    transformer.parameter @out.i4 : tensor<384x384x!transformer.quantized<i4, 32, bf16>> = compensate(@out.weight, @out.moments)
    transformer.parameter @in.codes : tensor<8x64x!transformer.quantized<i4, 32, f16>> from "in.weight"
    transformer.parameter @in.weight : tensor<8x64xf32> = convert(@in.codes)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<Transformer_StoredTensor>:$type,
                       OptionalAttr<StrAttr>:$source,
                       OptionalAttr<Transformer_ParameterExpressionAttr>:$expression,
                       OptionalAttr<StrAttr>:$content);
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$sym_name, "::mlir::TypeAttr":$type,
                                 "::mlir::StringAttr":$source,
                                 "ParameterExpressionAttr":$expression), [{
    build($_builder, $_state, sym_name, type, source, expression, ::mlir::StringAttr());
  }]>];
  let assemblyFormat = [{
    $sym_name `:` $type (`from` $source^)? (`=` custom<Expression>($expression)^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return getType(); }
  }];
}

def Transformer_WeightOp : Transformer_Op<"weight",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter, for operations other than `linear` and `gather`";
  let description = [{
    Constraints:
    - C1: the symbol is a parameter of the result's type.

    ```mlir
    %w = transformer.weight @query.heads : tensor<12x32x384xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs Transformer_Tensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
}

#endif
