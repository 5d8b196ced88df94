// SPDX-License-Identifier: Apache-2.0
/// Enumerations and attributes of the model level.
#ifndef HEDDLE_TRANSFORMER_ATTRS
#define HEDDLE_TRANSFORMER_ATTRS

include "dialects/Transformer/Dialect.td"

class Transformer_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::transformer";
  let genSpecializedAttr = 0;
}

def Transformer_Activation : Transformer_Enum<"Activation", "a scalar function of each element", [
  I32EnumAttrCase<"Gelu", 0, "gelu">,        // x Phi(x), by erf
  I32EnumAttrCase<"GeluNew", 1, "gelu_new">, // x Phi(x), by tanh
  I32EnumAttrCase<"Relu", 2, "relu">,
  I32EnumAttrCase<"Tanh", 3, "tanh">]>;
def Transformer_ActivationAttr : EnumAttr<Transformer_Dialect, Transformer_Activation, "activation">;

def Transformer_Pooling : Transformer_Enum<"Pooling", "how the rows of a sequence become one", [
  I32EnumAttrCase<"Mean", 0, "mean">,
  I32EnumAttrCase<"Cls", 1, "cls">, // the first row
  I32EnumAttrCase<"Max", 2, "max">]>;
def Transformer_PoolingAttr : EnumAttr<Transformer_Dialect, Transformer_Pooling, "pooling">;

def Transformer_Visibility : Transformer_Enum<"Visibility", "which keys of its sequence a query sees", [
  I32EnumAttrCase<"All", 0, "all">,
  I32EnumAttrCase<"Causal", 1, "causal">]>; // those not after it
def Transformer_VisibilityAttr : EnumAttr<Transformer_Dialect, Transformer_Visibility, "visibility"> {
  let assemblyFormat = "`<` $value `>`";
}

def Transformer_ExpressionKind : Transformer_Enum<"ExpressionKind", "how a parameter is derived", [
  I32EnumAttrCase<"Concat", 0, "concat">,       // of its operands along the first axis
  I32EnumAttrCase<"Reshape", 1, "reshape">,     // same elements, the type's shape
  I32EnumAttrCase<"Transpose", 2, "transpose">, // of the two axes of a matrix
  I32EnumAttrCase<"Pack", 3, "pack">,           // [n, k] to panels [ceil(n/48), k, 48], zero filled
  I32EnumAttrCase<"Zeros", 4, "zeros">]>;       // no operand

def Transformer_ParameterExpressionAttr : AttrDef<Transformer_Dialect, "ParameterExpression"> {
  let mnemonic = "expression";
  let summary = "weight algebra on parameters, evaluated tensor by tensor when the binary is written";
  let parameters = (ins EnumParameter<Transformer_ExpressionKind>:$kind,
                        OptionalArrayRefParameter<"::mlir::FlatSymbolRefAttr">:$operands);
  let assemblyFormat = "`<` $kind `` custom<ExpressionOperands>($operands) `>`";
}

#endif
