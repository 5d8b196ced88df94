// SPDX-License-Identifier: Apache-2.0
/// Matrix products with weights.
#ifndef HEDDLE_DATAFLOW_FAMILIES_CONTRACT
#define HEDDLE_DATAFLOW_FAMILIES_CONTRACT

include "dialects/Dataflow/Types.td"
include "dialects/Dataflow/Families/KernelFamily.td"

def Dataflow_ContractAttr : Dataflow_Family<"Contract", "contract"> {
  let summary = "inputs[0] [rows, k] times packed weights inputs[1] [panels, k, 48]: [rows, n]";
  let description = [{
    With `groups`, inputs[0] is [rows, groups * k] and the result [rows, groups * n]: columns g * n on
    of the result are the product of columns g * k on of the input with panels of their own,
    g * ceil(n / 48) on.
  }];
  let parameters = (ins "int64_t":$n, "int64_t":$k, DefaultValuedParameter<"int64_t", "1">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Panels of packed weights: of one group, and of all.
    int64_t getGroupPanels() const;
    int64_t getPanels() const { return getGroups() * getGroupPanels(); }
  }];
}

#endif
