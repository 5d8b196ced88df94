// SPDX-License-Identifier: Apache-2.0
// A product that is wide enough for large launches to round their rows before, for assembled_kernels.py.

!x = !dataflow.buffer<[tokens, 768], f32>
!u = !dataflow.buffer<[3072, 768], bf16>
!b = !dataflow.buffer<[3072], f32>
!z = !dataflow.buffer<[tokens, 3072], f32>
dataflow.kernel @wide : (!x, !u, !b, !z) -> !z computes #dataflow.contract<n = 3072, k = 768, arithmetic = bf16> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

// The entry that a program must have.
dataflow.kernel @copy : (!z) -> !z computes #dataflow.rows<width = 3072> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @encode(%x: !z {dataflow.name = "x"}) -> (!z {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @copy(%x) : (!z) -> !z
  dataflow.output %0 : !z
}
