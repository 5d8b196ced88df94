// SPDX-License-Identifier: Apache-2.0
/// Windows that slide over the rows of sequences.
#ifndef HEDDLE_DATAFLOW_FAMILIES_WINDOWS
#define HEDDLE_DATAFLOW_FAMILIES_WINDOWS

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_SlideKind : Dataflow_Enum<"SlideKind", "what a row becomes of the rows in its window", [
  I32EnumAttrCase<"Patches", 0, "patches">,
  I32EnumAttrCase<"Depthwise", 1, "depthwise">,
  I32EnumAttrCase<"Max", 2, "max">]>;

def Dataflow_SlideAttr : Dataflow_Family<"Slide", "slide"> {
  let summary = "what a window sees of the rows inputs[0]: side by side, their weighted sum, the largest";
  let description = [{
    The result has the rows that the window's strides leave of the input's, and the columns of
    `transformer.slide`. `width` is that of the input. A depthwise sum has the weights inputs[1]
    [elements, width].

    With `rectifies`, negative numbers of the input count as zero.

    With `resumes`, rows are tokens, and the state that is the last input has the rows before the run
    that a causal window sees, as `keep` leaves them.
  }];
  let parameters = (ins EnumParameter<Dataflow_SlideKind>:$kind, "int64_t":$width,
                        "::heddle::transformer::WindowAttr":$window,
                        DefaultValuedParameter<"int64_t", "1">:$groups,
                        DefaultValuedParameter<"bool", "false">:$rectifies,
                        DefaultValuedParameter<"bool", "false">:$resumes);
  let assemblyFormat =
      "`<` $kind `,` struct($width, $window, $groups, $rectifies, $resumes) `>`";
  let extraClassDeclaration = [{
    /// The columns of a row of the result.
    int64_t getResultWidth() const {
      return getKind() == SlideKind::Patches ? getWidth() * getWindow().getElements() : getWidth();
    }
  }];
}

def Dataflow_ContractSlideAttr : Dataflow_Family<"ContractSlide", "contract_slide"> {
  let summary = "the product of what a window sees and weights inputs[1] [groups * n, k], transposed";
  let description = [{
    The rows that a `slide` gives of inputs[0], multiplied with weights as in a `contract` of as many
    groups as the slide has, or of `groups` where it makes no patches: what the window sees is only ever
    in a cache. The weights of a depthwise sum and the state come after those of the product.
  }];
  let parameters = (ins "int64_t":$n, "::heddle::dataflow::SlideAttr":$slide,
                        DefaultValuedParameter<"int64_t", "1">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The columns of a row of what the window sees, and of those that a group is multiplied with.
    int64_t getInner() const { return getSlide().getResultWidth(); }
    int64_t getK() const { return getInner() / getGroups(); }
  }];
}

#endif
