// SPDX-License-Identifier: Apache-2.0
// Products of integers of models' sizes, for assembled_kernels.py: rows with one scale, groups, and 4 bits; two steps of k that do
// not fill a group.

!bias = !dataflow.buffer<[384], f32>
!y = !dataflow.buffer<[tokens, 384], f32>

dataflow.kernel @int8 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], !transformer.quantized<i8, row>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 384, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int8_long : (!dataflow.buffer<[tokens, 1536], f32>, !dataflow.buffer<[384, 1536], !transformer.quantized<i8, row>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 1536, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int8_odd : (!dataflow.buffer<[tokens, 333], f32>, !dataflow.buffer<[384, 333], !transformer.quantized<i8, row>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 333, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int8_g64 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], !transformer.quantized<i8, 64>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 384, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int8_g128 : (!dataflow.buffer<[tokens, 1536], f32>, !dataflow.buffer<[384, 1536], !transformer.quantized<i8, 128>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 1536, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int8_g128_odd : (!dataflow.buffer<[tokens, 333], f32>, !dataflow.buffer<[384, 333], !transformer.quantized<i8, 128>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 333, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int4 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], !transformer.quantized<i4, 32, bf16>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 384, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int4_long : (!dataflow.buffer<[tokens, 4096], f32>, !dataflow.buffer<[384, 4096], !transformer.quantized<i4, 32, bf16>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 4096, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int4_odd : (!dataflow.buffer<[tokens, 333], f32>, !dataflow.buffer<[384, 333], !transformer.quantized<i4, 32, bf16>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 333, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int4_g64 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], !transformer.quantized<i4, 64, bf16>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 384, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int4_g128 : (!dataflow.buffer<[tokens, 4096], f32>, !dataflow.buffer<[384, 4096], !transformer.quantized<i4, 128, bf16>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 4096, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

dataflow.kernel @int4_row : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], !transformer.quantized<i4, row, bf16>>, !bias, !y) -> !y
    computes #dataflow.contract<n = 384, k = 384, arithmetic = integers> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

// The entry that a program must have.
dataflow.kernel @copy : (!y) -> !y computes #dataflow.rows<width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @encode(%x: !y {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @copy(%x) : (!y) -> !y
  dataflow.output %0 : !y
}
