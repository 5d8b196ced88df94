// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3,x86-64-v4" | FileCheck %s
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v4" -dataflow-encode-weights="targets=x86-64-v3" | FileCheck %s
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=sparc" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not heddle-opt %s -dataflow-encode-weights 2>&1 | FileCheck %s --check-prefix=NONE

// What products read is stored in panels, once for each number of groups; everything else stays.

// UNKNOWN: unknown target "sparc", expected one of x86-64-v3, x86-64-v4
// NONE: no target, expected one of x86-64-v3, x86-64-v4

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 80], f32>
!w = !dataflow.buffer<[80, 40], f32>
!half = !dataflow.buffer<[tokens, 20], f32>

// CHECK: transformer.parameter @w : tensor<80x40xf32>
// CHECK-DAG: transformer.parameter @w.packed48 : tensor<2x40x48xf32> = pack(@w, 48)
// CHECK-DAG: transformer.parameter @w.packed48x2 : tensor<2x40x48xf32> = pack(@w, 48, 2)
// A quantised matrix: 40 steps of k have two groups of 32, each with 48 scales before its codes.
// CHECK-DAG: transformer.parameter @q.packed48 : tensor<2x2304xi8> = pack(@q, 48)
transformer.parameter @w : tensor<80x40xf32> from "w"
transformer.parameter @q : tensor<80x40x!transformer.quantized<i8, 32>> = convert(@w)

dataflow.kernel @contract : (!x, !w) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @groups : (!y, !w) -> !y computes #dataflow.contract<n = 40, k = 40, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @gather : (!dataflow.buffer<[tokens], i32>, !w) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.graph @both
// CHECK-DAG: %[[PACKED:.*]] = dataflow.parameter @w as @w.packed48 : !dataflow.buffer<[80, 40], f32>
// CHECK-DAG: %[[GROUPS:.*]] = dataflow.parameter @w as @w.packed48x2 : !dataflow.buffer<[80, 40], f32>
// CHECK-DAG: %[[TABLE:.*]] = dataflow.parameter @w : !dataflow.buffer<[80, 40], f32>
// CHECK: dataflow.dispatch @gather(%{{.*}}, %[[TABLE]])
// CHECK: dataflow.dispatch @contract(%{{.*}}, %[[PACKED]])
// CHECK: dataflow.dispatch @groups(%{{.*}}, %[[GROUPS]])
dataflow.graph @both(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "ids", dataflow.limit = 80 : i64}) -> (!y {dataflow.name = "y"}) {
  %w = dataflow.parameter @w : !w
  %x = dataflow.dispatch @gather(%ids, %w) : (!dataflow.buffer<[tokens], i32>, !w) -> !x
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !y
  %1 = dataflow.dispatch @groups(%0, %w) : (!y, !w) -> !y
  dataflow.output %1 : !y
}

// Where nothing else reads the matrix, only the encoding is left.
// CHECK-LABEL: dataflow.graph @one
// CHECK-NEXT: dataflow.parameter @w as @w.packed48 :
// CHECK-NEXT: dataflow.dispatch
dataflow.graph @one(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}) {
  %w = dataflow.parameter @w : !w
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !y
  dataflow.output %0 : !y
}

!q = !dataflow.buffer<[80, 40], !transformer.quantized<i8, 32>>
dataflow.kernel @quantized : (!x, !q) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK-LABEL: dataflow.graph @of_codes
// CHECK-NEXT: dataflow.parameter @q as @q.packed48 : !dataflow.buffer<[80, 40], !transformer.quantized<i8, 32>>
dataflow.graph @of_codes(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}) {
  %w = dataflow.parameter @q : !q
  %0 = dataflow.dispatch @quantized(%x, %w) : (!x, !q) -> !y
  dataflow.output %0 : !y
}
