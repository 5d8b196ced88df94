// SPDX-License-Identifier: Apache-2.0
// Columns of the second head: they begin beyond a row of the memory in which the heads are rows.
// sequence: 0 2 1 | |
// sequence: 2 | |
module {
  transformer.parameter @table : tensor<3x8xf32> from "table"
  func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments) -> (tensor<?x2xf32> {transformer.name = "out0"}) {
    %x = transformer.gather @table[%ids] : tensor<?x8xf32>
    %heads = transformer.choices %rows, 2
    %split = transformer.split_rows %x to(%heads) : tensor<?x8xf32> -> tensor<?x4xf32>
    %y = transformer.activate tanh %split : tensor<?x4xf32>
    %joined = transformer.join_rows %y in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
    %some = transformer.columns %joined from 4 : tensor<?x8xf32> -> tensor<?x2xf32>
    %z = transformer.activate abs %some : tensor<?x2xf32>
    return %z : tensor<?x2xf32>
  }
}
