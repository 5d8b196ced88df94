// SPDX-License-Identifier: Apache-2.0
// Attentions of the sizes that models have, for assembled_kernels.py.

!x128 = !dataflow.buffer<[tokens, 128], f32>
!x256 = !dataflow.buffer<[tokens, 256], f32>
!x512 = !dataflow.buffer<[tokens, 512], f32>

dataflow.kernel @size32_f32 : (!x128, !x128, !x128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <causal>> {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size32_tf32x3 : (!x128, !x128, !x128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "tf32x3"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size32_tf32 : (!x128, !x128, !x128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "tf32"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size32_bf16 : (!x128, !x128, !x128) -> !x128
    computes #dataflow.attention<heads = 4, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64_f32 : (!x256, !x256, !x256) -> !x256
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>> {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64_tf32x3 : (!x256, !x256, !x256) -> !x256
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "tf32x3"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64_tf32 : (!x256, !x256, !x256) -> !x256
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "tf32"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size64_bf16 : (!x256, !x256, !x256) -> !x256
    computes #dataflow.attention<heads = 4, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_f32 : (!x512, !x512, !x512) -> !x512
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>> {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_tf32x3 : (!x512, !x512, !x512) -> !x512
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "tf32x3"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_tf32 : (!x512, !x512, !x512) -> !x512
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "tf32"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size128_bf16 : (!x512, !x512, !x512) -> !x512
    computes #dataflow.attention<heads = 4, keySize = 128, valueSize = 128, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
}
dataflow.kernel @size256_f32 : (!x256, !x256, !x256) -> !x256
    computes #dataflow.attention<heads = 1, keySize = 256, valueSize = 256, scale = 0.25 : f32, visibility = <causal>> {
^bb0(%score: f32):
  dataflow.yield %score
}

dataflow.graph @encode(%x128: !x128 {dataflow.name = "x128"}, %x256: !x256 {dataflow.name = "x256"}, %x512: !x512 {dataflow.name = "x512"}) -> (!x128 {dataflow.name = "size32_f32"}, !x128 {dataflow.name = "size32_tf32x3"}, !x128 {dataflow.name = "size32_tf32"}, !x128 {dataflow.name = "size32_bf16"}, !x256 {dataflow.name = "size64_f32"}, !x256 {dataflow.name = "size64_tf32x3"}, !x256 {dataflow.name = "size64_tf32"}, !x256 {dataflow.name = "size64_bf16"}, !x512 {dataflow.name = "size128_f32"}, !x512 {dataflow.name = "size128_tf32x3"}, !x512 {dataflow.name = "size128_tf32"}, !x512 {dataflow.name = "size128_bf16"}, !x256 {dataflow.name = "size256_f32"}) {
  %0 = dataflow.dispatch @size32_f32(%x128, %x128, %x128) : (!x128, !x128, !x128) -> !x128
  %1 = dataflow.dispatch @size32_tf32x3(%x128, %x128, %x128) : (!x128, !x128, !x128) -> !x128
  %2 = dataflow.dispatch @size32_tf32(%x128, %x128, %x128) : (!x128, !x128, !x128) -> !x128
  %3 = dataflow.dispatch @size32_bf16(%x128, %x128, %x128) : (!x128, !x128, !x128) -> !x128
  %4 = dataflow.dispatch @size64_f32(%x256, %x256, %x256) : (!x256, !x256, !x256) -> !x256
  %5 = dataflow.dispatch @size64_tf32x3(%x256, %x256, %x256) : (!x256, !x256, !x256) -> !x256
  %6 = dataflow.dispatch @size64_tf32(%x256, %x256, %x256) : (!x256, !x256, !x256) -> !x256
  %7 = dataflow.dispatch @size64_bf16(%x256, %x256, %x256) : (!x256, !x256, !x256) -> !x256
  %8 = dataflow.dispatch @size128_f32(%x512, %x512, %x512) : (!x512, !x512, !x512) -> !x512
  %9 = dataflow.dispatch @size128_tf32x3(%x512, %x512, %x512) : (!x512, !x512, !x512) -> !x512
  %10 = dataflow.dispatch @size128_tf32(%x512, %x512, %x512) : (!x512, !x512, !x512) -> !x512
  %11 = dataflow.dispatch @size128_bf16(%x512, %x512, %x512) : (!x512, !x512, !x512) -> !x512
  %12 = dataflow.dispatch @size256_f32(%x256, %x256, %x256) : (!x256, !x256, !x256) -> !x256
  dataflow.output %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 : !x128, !x128, !x128, !x128, !x256, !x256, !x256, !x256, !x512, !x512, !x512, !x512, !x256
}
