// SPDX-License-Identifier: Apache-2.0
// A product of rows that are not aligned to 16 bytes, for assembled_kernels.py.

!x = !dataflow.buffer<[tokens, 71], f32>
!u = !dataflow.buffer<[56, 71], bf16>
!b = !dataflow.buffer<[56], f32>
!z = !dataflow.buffer<[tokens, 56], f32>
dataflow.kernel @unaligned : (!x, !u, !b, !z) -> !z computes #dataflow.contract<n = 56, k = 71, arithmetic = bf16> {
^bb0(%sum: f32, %bias: f32, %residual: f32):
  %0 = arith.addf %sum, %bias : f32
  %1 = arith.addf %0, %residual : f32
  dataflow.yield %1
}

// The entry that a program must have.
dataflow.kernel @copy : (!z) -> !z computes #dataflow.rows<width = 56> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @encode(%x: !z {dataflow.name = "x"}) -> (!z {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @copy(%x) : (!z) -> !z
  dataflow.output %0 : !z
}
