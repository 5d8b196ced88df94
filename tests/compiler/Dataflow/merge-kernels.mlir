// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-merge-kernels | FileCheck %s
// RUN: heddle-opt %s -dataflow-merge-kernels -dataflow-merge-kernels | FileCheck %s

// Equal kernels become one; names say what is computed, and a number tells kernels of one name apart.

!x = !dataflow.buffer<[tokens, 48], f32>
!s = !dataflow.buffer<[tokens, 3, longest], f32>
!v = !dataflow.buffer<[48], f32>

// A symbol of another kind keeps its name.
transformer.parameter @rows_48_tanh : tensor<48xf32> from "vector"

dataflow.kernel @a : (!x, !x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @b : (!x, !x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%p: f32, %q: f32):
  %0 = arith.addf %p, %q fastmath<contract> : f32
  dataflow.yield %0
}
// The same words, other flags: another kernel.
dataflow.kernel @c : (!x, !x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%p: f32, %q: f32):
  %0 = arith.addf %p, %q : f32
  dataflow.yield %0
}
// A vector for every row is a bias, which names leave out.
dataflow.kernel @d : (!x, !v) -> !x computes #dataflow.rows<width = 48> {
^bb0(%p: f32, %q: f32):
  %0 = arith.addf %p, %q fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @e : (!x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%x: f32):
  %0 = math.tanh %x : f32
  dataflow.yield %0
}
dataflow.kernel @f : (!x) -> !x computes #dataflow.rows<width = 48> norm #dataflow.norm<normalize, 9.99999996E-13 : f32> {
^bb0(%x: f32):
  %factor = arith.constant 5.0e-01 : f32
  %zero = arith.constant 0.0 : f32
  %0 = arith.mulf %x, %factor : f32
  %1 = arith.maximumf %0, %zero : f32
  dataflow.yield %1
}
dataflow.kernel @g : (!x, !x, !x) -> !x computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 2.500000e-01 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @h : (!s) -> !s computes #dataflow.nest<"thk->thk", none, hidden = 0xFF800000 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @i : (!s, !dataflow.buffer<[tokens, longest], f32>) -> !s computes #dataflow.nest<"thk,tk->thk", none> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y : f32
  dataflow.yield %0
}
dataflow.kernel @j : () -> !dataflow.buffer<[tokens, longest], f32> computes #dataflow.nest<"->tk", none> {
  %0 = arith.constant 0.0 : f32
  dataflow.yield %0
}
dataflow.kernel @k : (!s) -> !s computes #dataflow.nest<"thk->thk", softmax> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @l : (!x) -> !dataflow.buffer<[sequences, 48], f32> computes #dataflow.pool<max, width = 48> {
^bb0(%x: f32):
  dataflow.yield %x
}
// Attention whose values have a size of their own.
dataflow.kernel @m : (!x, !x, !dataflow.buffer<[tokens, 24], f32>) -> !dataflow.buffer<[tokens, 24], f32> computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 8, scale = 2.500000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

dataflow.graph @run(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %v = dataflow.parameter @rows_48_tanh : !v
  %0 = dataflow.dispatch @a(%x, %x) : (!x, !x) -> !x
  %1 = dataflow.dispatch @b(%0, %x) : (!x, !x) -> !x
  %2 = dataflow.dispatch @c(%1, %x) : (!x, !x) -> !x
  %3 = dataflow.dispatch @d(%2, %v) : (!x, !v) -> !x
  %4 = dataflow.dispatch @e(%3) : (!x) -> !x
  %5 = dataflow.dispatch @f(%4) : (!x) -> !x
  %6 = dataflow.dispatch @g(%5, %5, %5) : (!x, !x, !x) -> !x
  dataflow.output %6 : !x
}

// CHECK: transformer.parameter @rows_48_tanh
// CHECK: dataflow.kernel @rows_48_add :
// CHECK: dataflow.kernel @rows_48_add_2 :
// CHECK: dataflow.kernel @rows_48 :
// CHECK: dataflow.kernel @rows_48_tanh_2 :
// CHECK: dataflow.kernel @rows_48_scale_relu_normalize :
// CHECK: dataflow.kernel @attention_3x16_causal :
// CHECK: dataflow.kernel @nest_thk_causal :
// CHECK: dataflow.kernel @nest_thk_tk_add :
// CHECK: dataflow.kernel @nest_tk :
// CHECK: dataflow.kernel @nest_thk_softmax :
// CHECK: dataflow.kernel @pool_max_48 :
// CHECK: dataflow.kernel @attention_3x16x8 :
// CHECK-LABEL: dataflow.graph @run(
// CHECK: dataflow.dispatch @rows_48_add(
// CHECK: dataflow.dispatch @rows_48_add(
// CHECK: dataflow.dispatch @rows_48_add_2(
// CHECK: dataflow.dispatch @rows_48(
// CHECK: dataflow.dispatch @rows_48_tanh_2(
// CHECK: dataflow.dispatch @rows_48_scale_relu_normalize(
// CHECK: dataflow.dispatch @attention_3x16_causal(
