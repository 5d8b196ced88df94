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

def Dataflow_ContractChosenAttr : Dataflow_Family<"ContractChosen", "contract_chosen"> {
  let summary = "rows inputs[0] [rows, k] times the weights [n, k] that each has chosen, transposed";
  let description = [{
    Inputs: the rows; weights [groups * n, k]; for each row of the result the number of its group;
    and the rows of the result in the order of these numbers, as `order` gives them; with `biased`
    a vector [groups * n], the part of its group is added to a row. Column i of row c of the result is the
    product of the input with row g * n + i of the weights, g being the group of row c.

    Where the result has choices of the rows of the input, row c reads the row whose choice it is.
    Work is divided by places in the order, so that a call writes rows anywhere in the result. Of
    numbers and rows that are out of range the nearest are taken: they cannot be, but what lies in
    memory is not checked.
  }];
  let parameters = (ins "int64_t":$n, "int64_t":$k, "int64_t":$groups,
                        DefaultValuedParameter<"bool", "false">:$biased);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
