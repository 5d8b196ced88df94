// SPDX-License-Identifier: Apache-2.0
// Rows of floats: beside ids, that nobody gives, and alone.
// sequence: 3 1 2 0 4 |  |
// sequence: 2 |  |
// sequence: 4 4 1 0 2 3 1 1 0 3 2 4 4 1 2 0 3 1 0 |  |

transformer.parameter @table : tensor<5x12xf32> from "table"
transformer.parameter @map : tensor<12x7xf32> from "map"
transformer.parameter @bias : tensor<12xf32> from "bias"
transformer.parameter @query : tensor<12x12xf32> from "query"
transformer.parameter @norm : tensor<12xf32> from "norm"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %features: tensor<?x7xf32> {transformer.name = "features"}, %spare: tensor<?x12xf32> {transformer.name = "spare", transformer.optional}, %rows: !transformer.segments) -> (tensor<?x12xf32> {transformer.name = "out0"}, tensor<?x7xf32> {transformer.name = "out1"}, tensor<?x12xf32> {transformer.name = "out2"}) {
  %0 = transformer.gather @table[%ids] : tensor<?x12xf32>
  %1 = transformer.linear %features, @map, @bias : tensor<?x7xf32> -> tensor<?x12xf32>
  %2 = transformer.add %0, %1 : tensor<?x12xf32>, tensor<?x12xf32>
  %3 = transformer.add %2, %spare : tensor<?x12xf32>, tensor<?x12xf32>
  %4 = transformer.rms_norm %3, @norm {epsilon = 1.0e-06 : f32} : tensor<?x12xf32>
  %5 = transformer.linear %4, @query : tensor<?x12xf32> -> tensor<?x12xf32>
  %6 = transformer.split_heads %5 : tensor<?x12xf32> -> tensor<?x2x6xf32>
  %7 = transformer.split_heads %4 : tensor<?x12xf32> -> tensor<?x2x6xf32>
  %8 = transformer.contract "thd,khd->thk" %6, %7 in(%rows, %rows) : tensor<?x2x6xf32>, tensor<?x2x6xf32> -> tensor<?x2x?xf32>
  %9 = transformer.softmax %8 in(%rows) : tensor<?x2x?xf32>
  %10 = transformer.contract "thk,khd->thd" %9, %7 in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x6xf32> -> tensor<?x2x6xf32>
  %11 = transformer.merge_heads %10 : tensor<?x2x6xf32> -> tensor<?x12xf32>
  return %11, %features, %spare : tensor<?x12xf32>, tensor<?x7xf32>, tensor<?x12xf32>
}
func.func @embed(%features: tensor<?x40xf32> {transformer.name = "features"}, %rows: !transformer.segments) -> (tensor<?x40xf32> {transformer.name = "out0"}) {
  %0 = transformer.activate gelu %features : tensor<?x40xf32>
  %1 = transformer.pool max %0 in(%rows) : tensor<?x40xf32>
  return %1 : tensor<?x40xf32>
}
