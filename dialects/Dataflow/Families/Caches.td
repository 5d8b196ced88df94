// SPDX-License-Identifier: Apache-2.0
/// What caches and states take in, and what states give.
#ifndef HEDDLE_DATAFLOW_FAMILIES_CACHES
#define HEDDLE_DATAFLOW_FAMILIES_CACHES

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_AppendAttr : Dataflow_Family<"Append", "append"> {
  let summary = "inputs[1] [tokens, width] appended to the cache inputs[0], which is the result";
  let description = [{
    Every row goes to the place of its position in its sequence. The runtime made room for the rows
    before the run. They are those of tokens or of a space that derives from tokens, such as
    `blocks` and `grid`: then that is what positions of the cache are.
  }];
}

def Dataflow_AccumulateAttr : Dataflow_Family<"Accumulate", "accumulate"> {
  let summary = "inputs[1] [tokens, width] added to the state inputs[0], which is the result";
  let description = [{
    The rows of a sequence are added one after the other, in their order. What was in the state of a
    sequence whose first row has position 0 does not count: it is zero.
  }];
}

def Dataflow_KeepAttr : Dataflow_Family<"Keep", "keep"> {
  let summary = "the last of the rows inputs[1] [tokens, width] in the state inputs[0], the result";
  let description = [{
    The state has n rows of the width; that of position p goes to the place p modulo n.
  }];
}

def Dataflow_PrefixMeanAttr : Dataflow_Family<"PrefixMean", "prefix_mean"> {
  let summary = "means of the rows inputs[0] [tokens, width] of a sequence, up to and with each";
  let description = [{
    The state inputs[1] is the sum of the rows of earlier runs, and is read as accumulate reads it.
    The sum at each row is divided by the position of the row plus one.
  }];
}

def Dataflow_RunningMeanAttr : Dataflow_Family<"RunningMean", "running_mean"> {
  let summary = "prefix_mean and accumulate of the same rows inputs[0] and state inputs[1], in one pass";
  let description = [{
    Results: the means [tokens, width], bit by bit those of prefix_mean, then the state, as
    accumulate leaves it.
  }];
}

def Dataflow_LoadAttr : Dataflow_Family<"Load", "load"> {
  let summary = "the rows [sequences, width] that the state inputs[0] has";
  let description = [{
    A row for each sequence, or of `ranks`. What is in the state of a sequence whose first row has
    position 0 does not count, it is zero, unless another entry has `given` it. A state with keys has
    numbers [sequences, heads, longest] of the keys of each sequence.
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$given);
  let assemblyFormat = "(`<` `given` $given^ `>`)?";
}

def Dataflow_StoreAttr : Dataflow_Family<"Store", "store"> {
  let summary = "the rows inputs[1] [sequences, width] in the state inputs[0], the result";
  let description = [{
    Of rows in the order of time, `steps`, it is the last row of each sequence. A state with keys
    takes numbers [sequences, heads, longest].
  }];
}

#endif
