// SPDX-License-Identifier: Apache-2.0
// Attentions of bf16 for ptxas.test: the sizes that models have, and the features that need most
// registers.

!x32 = !dataflow.buffer<[tokens, 128], f32>
!x64 = !dataflow.buffer<[tokens, 256], f32>
!x128 = !dataflow.buffer<[tokens, 512], f32>
!keys64 = !dataflow.cache<[256], f32, keys>
!values64 = !dataflow.cache<[256], f32, rows>
!keys128 = !dataflow.cache<[512], f32, keys>
!values128 = !dataflow.cache<[512], f32, rows>
!bias = !dataflow.buffer<[4, 65], f32>

dataflow.kernel @size32 : (!x32, !x32, !x32) -> !x32
    computes #dataflow.attention<heads = 4, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64 : (!x64, !x64, !x64) -> !x64
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64_cached : (!x64, !keys64, !values64) -> !x64
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64_bias : (!x64, !x64, !x64, !bias) -> !x64
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>, biasDistance = 32> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128 : (!x128, !x128, !x128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_cached : (!x128, !keys128, !values128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_bias : (!x128, !x128, !x128, !bias) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>, biasDistance = 32> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}

