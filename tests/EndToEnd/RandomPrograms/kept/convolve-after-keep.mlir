// SPDX-License-Identifier: Apache-2.0
// The state of a convolution is changed before the maths that follow the convolution.
// sequence: 0 | | 0
module {
  transformer.parameter @w0 : tensor<1x12xf32> from "w0"
  transformer.parameter @w9 : tensor<1x12xf32> = sinusoid_interleaved(1, 6)
  transformer.parameter @w12 : tensor<12x7xf32> from "w12"
  transformer.parameter @w13 : tensor<12xf32> from "w10"
  transformer.parameter @w15 : tensor<1x12xf32> from "w15"
  transformer.parameter @w16 : tensor<1xf32> from "w16"
  func.func @encode(%arg0: tensor<?xi32> {transformer.name = "source"}, %arg1: !transformer.segments) -> (tensor<?x12xf32> {transformer.name = "encoder"}) {
    %0 = transformer.gather @w0[%arg0] : tensor<?x12xf32>
    return %0 : tensor<?x12xf32>
  }
  func.func @decode(%arg0: tensor<?xi32> {transformer.name = "target"}, %arg1: !transformer.segments, %arg2: !transformer.segments {transformer.name = "memory"}, %arg3: !transformer.state<216> {transformer.name = "kept0"}) -> (tensor<?x1xf32> {transformer.name = "logits"}, !transformer.state<216> {transformer.name = "kept0"}) {
    %0 = transformer.positions %arg1
    %1 = transformer.gather @w9[%0] : tensor<?x12xf32>
    %2 = transformer.keep %arg3, %1 in(%arg1) : !transformer.state<216>, tensor<?x12xf32>
    %3 = transformer.convolve %1, @w12, @w13 in(%arg1) after(%arg3 : !transformer.state<216>) {causal, dilation = 3 : i64} : tensor<?x12xf32>
    %4 = transformer.scale %3, 2.000000e+00 : tensor<?x12xf32>
    %5 = transformer.linear %4, @w15, @w16 : tensor<?x12xf32> -> tensor<?x1xf32>
    return %5, %2 : tensor<?x1xf32>, !transformer.state<216>
  }
}

