// SPDX-License-Identifier: Apache-2.0
// A factor that folds into a weight of which nothing is left: 18 products lose where one did.
// sequence: 0 | |
module {
  transformer.parameter @rows34 : tensor<1x18xf32> from "rows34"
  transformer.parameter @w13 : tensor<1x18xf32> from "w13"
  transformer.parameter @w14 : tensor<1xf32> from "w14"
  func.func @encode(%arg0: tensor<?xi32> {transformer.name = "input_ids"}, %arg1: !transformer.segments) -> (tensor<?x1xf32> {transformer.name = "out0"}) {
    %0 = transformer.gather @rows34[%arg0] : tensor<?x18xf32>
    %1 = transformer.linear %0, @w13 : tensor<?x18xf32> -> tensor<?x1xf32>
    %2 = transformer.weight @w14 : tensor<1xf32>
    %3 = transformer.multiply %1, %2 : tensor<?x1xf32>, tensor<1xf32>
    return %3 : tensor<?x1xf32>
  }
}

