// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-compensate-weights --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// Matrices that the same rows are multiplied with share moments, one that several are multiplied
// with has their sum, groups of rows have moments of their own. What is looked up as well, or read
// by an entry that takes no texts, is rounded to the nearest, and so is what has no codes.

// REPORT-DAG: reason="rounded to the nearest: it is looked up", where=table
// REPORT-DAG: reason="rounded to the nearest: entry 'images' reads it, which is not run on texts", where=other

!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 20], f32>
!ids = !dataflow.buffer<[tokens], i32>
!qm = !transformer.quantized<i4, 8, bf16>
!w = !dataflow.buffer<[40, 40], !qm>
!g = !dataflow.buffer<[20, 20], !qm>
!t = !dataflow.buffer<[40, 40], !transformer.quantized<i8, row>>
!p = !dataflow.buffer<[40, 40], f32>

// CHECK: transformer.parameter @a.moments : tensor<40x40xf32> from "moments of rows 0"
// CHECK: transformer.parameter @c.moments : tensor<40x40xf32> from "moments of rows 1"
// CHECK: transformer.parameter @c.moments_0 : tensor<40x40xf32> = {{ *}}sum(@a.moments, @c.moments)
// CHECK: transformer.parameter @g.moments : tensor<40x20xf32> from "moments of rows 2"
// CHECK: @a.i4 : {{.*}} = {{ *}}compensate(@a, @a.moments)
// CHECK: @b.i4 : {{.*}} = {{ *}}compensate(@b, @a.moments)
// CHECK: @c.i4 : {{.*}} = {{ *}}compensate(@c, @c.moments_0)
// CHECK: @g.i4 : {{.*}} = {{ *}}compensate(@g, @g.moments)
// CHECK: @table.i8 : {{.*}} = {{ *}}convert(@table)
// CHECK: @other.i4 : {{.*}} = {{ *}}convert(@other)
transformer.parameter @a : tensor<40x40xf32> from "a"
transformer.parameter @a.i4 : tensor<40x40x!qm> = convert(@a) loc("a")
transformer.parameter @b : tensor<40x40xf32> from "b"
transformer.parameter @b.i4 : tensor<40x40x!qm> = convert(@b) loc("b")
transformer.parameter @c : tensor<40x40xf32> from "c"
transformer.parameter @c.i4 : tensor<40x40x!qm> = convert(@c) loc("c")
transformer.parameter @g : tensor<20x20xf32> from "g"
transformer.parameter @g.i4 : tensor<20x20x!qm> = convert(@g) loc("g")
transformer.parameter @table : tensor<40x40xf32> from "t"
transformer.parameter @table.i8 : tensor<40x40x!transformer.quantized<i8, row>> = convert(@table) loc("table")
transformer.parameter @other : tensor<40x40xf32> from "o"
transformer.parameter @other.i4 : tensor<40x40x!qm> = convert(@other) loc("other")
transformer.parameter @plain : tensor<40x40xf32> from "p"

dataflow.kernel @gather : (!ids, !t) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @contract : (!x, !w) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @grouped : (!x, !g) -> !y computes #dataflow.contract<n = 10, k = 20, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @words : (!x, !t) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @exact : (!x, !p) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// What takes rows of floats does not run on texts, although it comes first.
dataflow.graph @images(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}, !x {dataflow.name = "z"}) {
  %a = dataflow.parameter @a.i4 : !w
  %o = dataflow.parameter @other.i4 : !w
  %y = dataflow.dispatch @contract(%x, %a) : (!x, !w) -> !x
  %z = dataflow.dispatch @contract(%x, %o) : (!x, !w) -> !x
  dataflow.output %y, %z : !x, !x
}

// Another entry of the same matrices, with fewer of them: it is not run either.
dataflow.graph @short(%ids: !ids {dataflow.name = "ids", dataflow.limit = 40 : i64}) -> (!x {dataflow.name = "y"}) {
  %t = dataflow.parameter @table.i8 : !t
  %a = dataflow.parameter @a.i4 : !w
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %y = dataflow.dispatch @contract(%x, %a) : (!x, !w) -> !x
  dataflow.output %y : !x
}

dataflow.graph @embed(%ids: !ids {dataflow.name = "ids", dataflow.limit = 40 : i64}) -> (!x {dataflow.name = "u"}, !x {dataflow.name = "v"}, !x {dataflow.name = "w"}, !y {dataflow.name = "g"}, !x {dataflow.name = "p"}) {
  %t = dataflow.parameter @table.i8 : !t
  %a = dataflow.parameter @a.i4 : !w
  %b = dataflow.parameter @b.i4 : !w
  %c = dataflow.parameter @c.i4 : !w
  %g = dataflow.parameter @g.i4 : !g
  %p = dataflow.parameter @plain : !p
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %u = dataflow.dispatch @contract(%x, %a) : (!x, !w) -> !x
  %v = dataflow.dispatch @contract(%x, %b) : (!x, !w) -> !x
  %cx = dataflow.dispatch @contract(%x, %c) : (!x, !w) -> !x
  %cu = dataflow.dispatch @contract(%u, %c) : (!x, !w) -> !x
  %gx = dataflow.dispatch @grouped(%cx, %g) : (!x, !g) -> !y
  %words = dataflow.dispatch @words(%cu, %t) : (!x, !t) -> !x
  %e = dataflow.dispatch @exact(%words, %p) : (!x, !p) -> !x
  dataflow.output %v, %words, %cu, %gx, %e : !x, !x, !x, !y, !x
}
