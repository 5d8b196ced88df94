// SPDX-License-Identifier: Apache-2.0
/// Plain loop nests: any mathematics, one element at a time.
#ifndef HEDDLE_DATAFLOW_FAMILIES_NEST
#define HEDDLE_DATAFLOW_FAMILIES_NEST

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_ReductionKind : Dataflow_Enum<"ReductionKind", "how a nest combines its inner axes", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"Softmax", 2, "softmax">,
  I32EnumAttrCase<"DivideBySum", 3, "divide_by_sum">]>;

def Dataflow_NestAttr : Dataflow_Family<"Nest", "nest"> {
  let summary = "a plain loop nest over named axes: any mathematics, one element at a time";
  let description = [{
    `axes` names the axes of every input and of the result, as in `transformer.contract`:
    "thd,khd->thk". The axes the result lacks are reduced by `reduction`, in order. The region maps
    the inputs' elements to the term, one argument for each input; it has no element-wise operands.
    `softmax` is over the last axis of the result, and `divide_by_sum` divides the terms by their sum
    over it.
    `t` is the row whose result is computed, `k` a row of the same sequence. Where such an axis meets
    a dimension of rows, such as `tokens`, it counts rows of the batch, where it meets `longest` it
    counts from the first row of the sequence. Rows and keys may be of two row spaces where nothing
    compares their positions. Entries beyond the row's own sequence are not written.
    With `hidden`, the term is that number wherever row t does not see row k: where k comes after t,
    a causal mask, unless `visibility` says otherwise.
    With `relative`, the axis `r` of an input, of size 2 D + 1, is no loop: it is the distance
    min(max(position(k) - position(t), -D), D) + D.
    With `slides`, the first input is read at key k + j - (n - 1) / 2 instead of k, where the axis `j`
    of another input has the odd size n, and is zero where the row has no such key.

    An input may be a cache: its axes are `k`, then those of a position, and k runs over the
    positions that row t sees in it. Where it has a divisor of an axis's size, neighbours share an
    element of it. With `keys_from`, the last input is a cache that no axes name: k runs over it.

    Axes t and k are run-time sizes, each of one row space; others have one constant size in buffers.
    The result has axis t if any operand has it, and else axis k, as rows. Where they are sequences,
    that is the only run-time size. The last axis of a softmax, or of a
    division by the sum, is another than that.

    The unfused twin of every fast kernel: slow, and obviously right.
  }];
  let parameters = (ins "::mlir::StringAttr":$axes, EnumParameter<Dataflow_ReductionKind>:$reduction,
                        OptionalParameter<"::mlir::FloatAttr">:$hidden,
                        OptionalParameter<"::heddle::transformer::VisibilityAttr">:$visibility,
                        DefaultValuedParameter<"bool", "false">:$relative,
                        DefaultValuedParameter<"bool", "false">:$keysFrom,
                        DefaultValuedParameter<"bool", "false">:$slides);
  let assemblyFormat = "`<` $axes `,` $reduction `` custom<NestOptions>($hidden, "
                       "$visibility, $relative, $keysFrom, $slides) `>`";
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$axes, "ReductionKind":$reduction,
                                   "::mlir::FloatAttr":$hidden), [{
    return $_get($_ctxt, axes, reduction, hidden, ::heddle::transformer::VisibilityAttr(), false,
                 false, false);
  }]>];
  let extraClassDeclaration = [{
    /// The keys that are not hidden.
    ::heddle::transformer::Visibility getSeen() const;
    /// Whether terms are combined with all others along the last axis of the result.
    bool isOverLastAxis() const {
      return getReduction() == ReductionKind::Softmax ||
             getReduction() == ReductionKind::DivideBySum;
    }
    /// The letters of input `i`, and of the result.
    ::llvm::StringRef getInputAxes(unsigned i) const;
    ::llvm::StringRef getResultAxes() const { return getAxes().getValue().split("->").second; }
    /// How many inputs the specification names: none before an arrow at its beginning. They are
    /// the arguments of the region; a cache of `keys_from` is one more input of the kernel.
    unsigned getNumNamed() const;
  }];
}

#endif
