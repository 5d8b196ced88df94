// SPDX-License-Identifier: Apache-2.0
// Attentions of bf16 for assembled_kernels.py: the sizes that models have, and the features that need most
// registers.

!x32 = !dataflow.buffer<[tokens, 128], f32>
!x64 = !dataflow.buffer<[tokens, 256], f32>
!x128 = !dataflow.buffer<[tokens, 512], f32>
!keys64 = !dataflow.cache<[256], f32, keys>
!values64 = !dataflow.cache<[256], f32, rows>
!keys128 = !dataflow.cache<[512], f32, keys>
!values128 = !dataflow.cache<[512], f32, rows>
!halves64 = !dataflow.cache<[256], bf16, keys>
!valueHalves64 = !dataflow.cache<[256], bf16, rows>
!codes128 = !dataflow.cache<[512], !transformer.quantized<i8, 128>, keys>
!valueCodes128 = !dataflow.cache<[512], !transformer.quantized<i8, 128>, rows>
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
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "bf16"} {
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
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_bias : (!x128, !x128, !x128, !bias) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>, biasDistance = 32> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}

dataflow.kernel @size64_halves : (!x64, !halves64, !valueHalves64) -> !x64
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_codes : (!x128, !codes128, !valueCodes128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}

transformer.parameter @biases : tensor<4x65xf32> = zeros()

dataflow.graph @encode(%x32: !x32 {dataflow.name = "x32"}, %x64: !x64 {dataflow.name = "x64"}, %x128: !x128 {dataflow.name = "x128"}, %k64: !keys64 {dataflow.name = "k64"}, %v64: !values64 {dataflow.name = "v64"}, %k128: !keys128 {dataflow.name = "k128"}, %v128: !values128 {dataflow.name = "v128"}, %h64: !halves64 {dataflow.name = "h64"}, %w64: !valueHalves64 {dataflow.name = "w64"}, %c128: !codes128 {dataflow.name = "c128"}, %d128: !valueCodes128 {dataflow.name = "d128"})
    -> (!x32 {dataflow.name = "size32"}, !x64 {dataflow.name = "size64"}, !x64 {dataflow.name = "size64_cached"}, !x64 {dataflow.name = "size64_bias"}, !x128 {dataflow.name = "size128"}, !x128 {dataflow.name = "size128_cached"}, !x128 {dataflow.name = "size128_bias"}, !x64 {dataflow.name = "size64_halves"}, !x128 {dataflow.name = "size128_codes"}) {
  %bias = dataflow.parameter @biases : !bias
  %0 = dataflow.dispatch @size32(%x32, %x32, %x32) : (!x32, !x32, !x32) -> !x32
  %1 = dataflow.dispatch @size64(%x64, %x64, %x64) : (!x64, !x64, !x64) -> !x64
  %2 = dataflow.dispatch @size64_cached(%x64, %k64, %v64) : (!x64, !keys64, !values64) -> !x64
  %3 = dataflow.dispatch @size64_bias(%x64, %x64, %x64, %bias) : (!x64, !x64, !x64, !bias) -> !x64
  %4 = dataflow.dispatch @size128(%x128, %x128, %x128) : (!x128, !x128, !x128) -> !x128
  %5 = dataflow.dispatch @size128_cached(%x128, %k128, %v128) : (!x128, !keys128, !values128) -> !x128
  %6 = dataflow.dispatch @size128_bias(%x128, %x128, %x128, %bias) : (!x128, !x128, !x128, !bias) -> !x128
  %7 = dataflow.dispatch @size64_halves(%x64, %h64, %w64) : (!x64, !halves64, !valueHalves64) -> !x64
  %8 = dataflow.dispatch @size128_codes(%x128, %c128, %d128) : (!x128, !codes128, !valueCodes128) -> !x128
  dataflow.output %0, %1, %2, %3, %4, %5, %6, %7, %8 : !x32, !x64, !x64, !x64, !x128, !x128, !x128, !x64, !x128
}
