// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK-LABEL: dataflow.kernel @contract_384x384 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
// CHECK-SAME: computes #dataflow.contract<n = 384, k = 384> {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[SUM]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT: dataflow.yield %[[X]]
dataflow.kernel @contract_384x384 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.contract<n = 384, k = 384> {
^bb0(%sum: f32, %bias: f32):
  %0 = arith.addf %sum, %bias fastmath<contract> : f32
  dataflow.yield %0
}

// A residual of a wider buffer's columns, and a layer norm.
// CHECK-LABEL: dataflow.kernel @contract_norm
// CHECK-SAME: computes #dataflow.contract<n = 400, k = 384> norm <layer_norm, 9.99999996E-13 : f32> {
dataflow.kernel @contract_norm : (!dataflow.buffer<[tokens, 384] in 1152, f32>, !dataflow.buffer<[400, 384], f32>, !dataflow.buffer<[tokens, 400] in 800, f32>, !dataflow.buffer<[400], f32>, !dataflow.buffer<[400], f32>) -> !dataflow.buffer<[tokens, 400], f32>
    computes #dataflow.contract<n = 400, k = 384> norm <layer_norm, 9.99999996E-13 : f32> {
^bb0(%sum: f32, %residual: f32):
  %0 = arith.addf %sum, %residual : f32
  dataflow.yield %0
}

// One number a row, a column of wider rows, and one number for all of them.
// CHECK-LABEL: dataflow.kernel @factors
dataflow.kernel @factors : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 1] in 8, f32>, !dataflow.buffer<[1], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.rows<width = 384> {
^bb0(%x: f32, %gate: f32, %kappa: f32):
  %0 = arith.mulf %x, %gate : f32
  %1 = arith.mulf %0, %kappa : f32
  dataflow.yield %1
}

// Eight groups, each from 64 columns to 100, which are three panels.
// CHECK-LABEL: dataflow.kernel @contract_groups
// CHECK-SAME: computes #dataflow.contract<n = 100, k = 64, groups = 8> {
dataflow.kernel @contract_groups : (!dataflow.buffer<[tokens, 512] in 1152, f32>, !dataflow.buffer<[800, 64], f32>) -> !dataflow.buffer<[tokens, 800], f32>
    computes #dataflow.contract<n = 100, k = 64, groups = 8> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.kernel @attention
// CHECK-SAME: computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 16, scale = 1.250000e-01 : f32, visibility = <all>> {
dataflow.kernel @attention : (!dataflow.buffer<[tokens, 384] in 1152, f32>, !dataflow.buffer<[tokens, 384] in 1152, f32>, !dataflow.buffer<[tokens, 192], f32>) -> !dataflow.buffer<[tokens, 192], f32>
    computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 16, scale = 1.250000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// Conditions are scalars too.
// CHECK-LABEL: dataflow.kernel @rows
// CHECK-SAME: computes #dataflow.rows<width = 384> norm <normalize, 9.9999999999999998E-13 : f64> attributes {note = "kept"} {
dataflow.kernel @rows : (!dataflow.buffer<[sequences, 384], f32>) -> !dataflow.buffer<[sequences, 384], f32>
    computes #dataflow.rows<width = 384> norm <normalize, 9.9999999999999998E-13 : f64> attributes {note = "kept"} {
^bb0(%x: f32):
  %zero = arith.constant 0.0 : f32
  %above = arith.cmpf ogt, %x, %zero : f32
  %exp = math.exp %x : f32
  %0 = arith.select %above, %exp, %zero : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.kernel @gather
// CHECK-SAME: computes #dataflow.gather<width = 384, lookups = 2, positions = [0]> {
dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30522, 384], f32>, !dataflow.buffer<[tokens], i32>, !dataflow.buffer<[2, 384], f32>, !dataflow.buffer<[512, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 2, positions = [0]> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.kernel @positions
// CHECK-SAME: computes #dataflow.gather<width = 384, lookups = 0, positions = [2, 5]> {
dataflow.kernel @positions : (!dataflow.buffer<[512, 384], f32>, !dataflow.buffer<[512, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 0, positions = [2, 5]> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.kernel @pool
// CHECK-SAME: computes #dataflow.pool<mean, width = 384> {
dataflow.kernel @pool : (!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[sequences, 384], f32>
    computes #dataflow.pool<mean, width = 384> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @scores
// CHECK-SAME: computes #dataflow.nest<"thd,khd->thk", sum> {
dataflow.kernel @scores : (!dataflow.buffer<[tokens, 12, 32], f32>, !dataflow.buffer<[tokens, 12, 32], f32>) -> !dataflow.buffer<[tokens, 12, longest], f32>
    computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  %0 = arith.mulf %q, %k : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.kernel @probabilities
// CHECK-SAME: computes #dataflow.nest<"thk->thk", softmax, hidden = -1.000000e+09 : f32> {
dataflow.kernel @probabilities : (!dataflow.buffer<[tokens, 12, longest], f32>) -> !dataflow.buffer<[tokens, 12, longest], f32>
    computes #dataflow.nest<"thk->thk", softmax, hidden = -1.000000e+09 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @bias
// CHECK-SAME: computes #dataflow.nest<"->tk", none> {
dataflow.kernel @bias : () -> !dataflow.buffer<[tokens, longest], f32>
    computes #dataflow.nest<"->tk", none> {
  %zero = arith.constant 0.0 : f32
  dataflow.yield %zero
}

// CHECK-LABEL: dataflow.kernel @attention_of_shared_heads
// CHECK-SAME: computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 16, scale = 1.250000e-01 : f32, visibility = <all>, keyShare = 4, valueShare = 3> {
dataflow.kernel @attention_of_shared_heads : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 96], f32>, !dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 192], f32>
    computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 16, scale = 1.250000e-01 : f32, visibility = <all>, keyShare = 4, valueShare = 3> {
^bb0(%x: f32):
  dataflow.yield %x
}
