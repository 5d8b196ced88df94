// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-fold-epilogues --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// A dispatch that reads a state as it was stays before the one that changes it.

!x = !dataflow.buffer<[tokens, 12], f32>
!w = !dataflow.buffer<[3, 12], f32>
!s = !dataflow.state<[24], f32>
!v = !dataflow.buffer<[12], f32>

transformer.parameter @w : tensor<3x12xf32> from "w"
transformer.parameter @v : tensor<12xf32> from "v"

dataflow.kernel @convolve : (!x, !w, !s) -> !x computes #dataflow.convolve<width = 12, kernel = 3, dilation = 1, causal = true, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @keep : (!s, !x) -> !s computes #dataflow.keep {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @shift : (!x, !v) -> !x computes #dataflow.rows<width = 12> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @add : (!x, !x) -> !x computes #dataflow.rows<width = 12> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.graph @folded(
// CHECK: %[[V:.*]] = dataflow.parameter @v
// CHECK: dataflow.dispatch @convolve_{{.*}}(%{{.*}}, %{{.*}}, %[[S:.*]], %[[V]])
// CHECK-NEXT: dataflow.dispatch @keep(%[[S]], %{{.*}}) changes [0]
// REPORT: element-wise maths folded into convolve
dataflow.graph @folded(%x: !x {dataflow.name = "x"}, %s: !s {dataflow.name = "s"}) -> (!x {dataflow.name = "y"}, !s {dataflow.name = "s"}) {
  %w = dataflow.parameter @w : !w
  %c = dataflow.dispatch @convolve(%x, %w, %s) : (!x, !w, !s) -> !x
  %s1 = dataflow.dispatch @keep(%s, %x) changes [0] : (!s, !x) -> !s
  %v = dataflow.parameter @v : !v
  %y = dataflow.dispatch @shift(%c, %v) : (!x, !v) -> !x
  dataflow.output %y, %s1 : !x, !s
}

// CHECK-LABEL: dataflow.graph @declined(
// CHECK: dataflow.dispatch @convolve(
// CHECK: dataflow.dispatch @keep(
// REPORT: not folded: what its input reads is changed before
dataflow.graph @declined(%x: !x {dataflow.name = "x"}, %p: !x {dataflow.name = "p"}, %s: !s {dataflow.name = "s"}) -> (!x {dataflow.name = "y"}, !x {dataflow.name = "q"}, !s {dataflow.name = "s"}) {
  %w = dataflow.parameter @w : !w
  %v = dataflow.parameter @v : !v
  %c = dataflow.dispatch @convolve(%x, %w, %s) : (!x, !w, !s) -> !x
  %s1 = dataflow.dispatch @keep(%s, %x) changes [0] : (!s, !x) -> !s
  %q = dataflow.dispatch @shift(%p, %v) : (!x, !v) -> !x
  %y = dataflow.dispatch @add(%c, %q) : (!x, !x) -> !x
  dataflow.output %y, %q, %s1 : !x, !x, !s
}
