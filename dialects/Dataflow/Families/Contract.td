// SPDX-License-Identifier: Apache-2.0
/// Matrix products with weights.
#ifndef HEDDLE_DATAFLOW_FAMILIES_CONTRACT
#define HEDDLE_DATAFLOW_FAMILIES_CONTRACT

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_ContractAttr : Dataflow_Family<"Contract", "contract"> {
  let summary = "inputs[0] [rows, k] times weights inputs[1] [n, k], transposed: [rows, n]";
  let description = [{
    With `groups`, inputs[0] is [rows, groups * k], the weights [groups * n, k] and the result
    [rows, groups * n]: columns g * n on of the result are the product of columns g * k on of the
    input with rows g * n on of the weights. How weights lie in memory is for a target to choose.
  }];
  let parameters = (ins "int64_t":$n, "int64_t":$k, DefaultValuedParameter<"int64_t", "1">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
