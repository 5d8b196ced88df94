// SPDX-License-Identifier: Apache-2.0
// A norm of rows that are almost too large to square: with the table of positions added in the same
// kernel they may be, and nothing is promised.
// sequence: 0 | |
module {
  transformer.parameter @w0 : tensor<1x1xf32> from "w0"
  transformer.parameter @w1 : tensor<4x1xf32> from "w1"
  transformer.parameter @w2 : tensor<1xf32> from "w2"
  transformer.parameter @w3 : tensor<1xf32> from "w2"
  func.func @encode(%arg0: tensor<?xi32> {transformer.name = "input_ids"}, %arg1: !transformer.segments) -> (tensor<?x1xf32> {transformer.name = "out0"}) {
    %0 = transformer.gather @w0[%arg0] : tensor<?x1xf32>
    %1 = transformer.positions %arg1 {offset = 3 : i64}
    %2 = transformer.gather @w1[%1] : tensor<?x1xf32>
    %3 = transformer.add %2, %0 : tensor<?x1xf32>, tensor<?x1xf32>
    %4 = transformer.layer_norm %3, @w2, @w3 {epsilon = 9.99999996E-13 : f32} : tensor<?x1xf32>
    %5 = transformer.split_heads %4 : tensor<?x1xf32> -> tensor<?x1x1xf32>
    %6 = transformer.activate softplus %5 : tensor<?x1x1xf32>
    %7 = transformer.merge_heads %6 : tensor<?x1x1xf32> -> tensor<?x1xf32>
    return %7 : tensor<?x1xf32>
  }
}
