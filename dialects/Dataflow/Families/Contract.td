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

    With `arithmetic = integers`, the weights are quantised, and so is every row of the input: of the
    elements that are multiplied with weights of one scale (of every group of columns for itself), with
    lo and hi the least and the largest of them and 0, s = hi / 255 - lo / 255 and
    z = round(-lo * (1 / s)), each becomes min(max(round(x * (1 / s)) + z, 0), 255), in f32, ties to
    even. Codes less z are multiplied with the weights' codes and added up as integers, without loss,
    and the sum is multiplied with s times the weights' scale. Where s is below the least normal number
    all elements count as zero; where an element is infinite or no number, the result is NaN.

    Of weights of 4 bits, which have no sign, codes of rows have one: s is the largest magnitude over 127, an element x
    has the code round(x / s) from -127 to 127, and from the sum of the products with the weights' codes their code of zero times the sum of
    the row's codes is taken.

    With `arithmetic = bf16`, the weights are bf16, and every element of the input is rounded to bf16,
    ties to even. Their products are added up in f32, in an order that follows from the kernel and the
    target alone: a row has the same bits whatever other rows, how many of them, and which columns are
    computed with it. Steps of k that one instruction takes are added from the first to the last; how
    an instruction adds and rounds what it takes is the target's. Processors take pairs of k, of each
    pair the second product first, and round each addition once, with an instruction for it or without.
    With AMX they take 32 of k: the products of even steps are added up, those of odd steps, then both
    sums, and that to the sum so far. Tensor cores take 16 of k, in an order that nobody documents.
    Infinities and NaN stay what they are. What is below the least normal number of f32, an element, a
    product or a sum, may count as zero: targets of processors without AMX give the same bits where
    there is none of it.
  }];
  let parameters = (ins "int64_t":$n, "int64_t":$k, DefaultValuedParameter<"int64_t", "1">:$groups,
                        DefaultValuedParameter<"Arithmetic", "Arithmetic::F32">:$arithmetic);
  let extraClassDeclaration = [{
    double multiplyIntegers(const KernelRun &run, int64_t row, int64_t column) const;
    double multiplyBf16(const KernelRun &run, int64_t row, int64_t column) const;
  }];
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
