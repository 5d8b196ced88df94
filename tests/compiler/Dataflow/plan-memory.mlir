// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-plan-memory --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-plan-memory=reuse=false | FileCheck %s --check-prefix=APART
// RUN: heddle-opt %s -dataflow-plan-memory | heddle-opt -dataflow-plan-memory | FileCheck %s

// Places of results: disjoint as long as they live, in stretches for each run-time size.

!x = !dataflow.buffer<[tokens, 20], f32>
!heads = !dataflow.buffer<[tokens, 4, 5], f32>
!left = !dataflow.buffer<[tokens, 10] in 20, f32>
!half = !dataflow.buffer<[tokens, 10], f32>
!scores = !dataflow.buffer<[tokens, 4, longest], f32>
!pooled = !dataflow.buffer<[sequences, 20], f32>

dataflow.kernel @rows : (!x) -> !x computes #dataflow.rows<width = 20> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @left : (!left) -> !half computes #dataflow.rows<width = 10> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @scores : (!heads, !heads) -> !scores computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%x: f32, %y: f32):
  %0 = arith.mulf %x, %y : f32
  dataflow.yield %0
}
dataflow.kernel @context : (!scores, !heads) -> !heads computes #dataflow.nest<"thk,khd->thd", sum> {
^bb0(%x: f32, %y: f32):
  %0 = arith.mulf %x, %y : f32
  dataflow.yield %0
}
dataflow.kernel @pool : (!x) -> !pooled computes #dataflow.pool<mean, width = 20> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @pooled : (!pooled) -> !pooled computes #dataflow.rows<width = 20> {
^bb0(%x: f32):
  dataflow.yield %x
}

// A row of 20 floats takes 128 bytes. A result never lies where its own dispatch reads; the third may
// lie where the first was.
dataflow.graph @chain(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @rows(%0) : (!x) -> !x
  %2 = dataflow.dispatch @rows(%1) : (!x) -> !x
  %3 = dataflow.dispatch @rows(%2) : (!x) -> !x
  dataflow.output %3 : !x
}

// CHECK-LABEL: dataflow.graph @chain(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 256>}
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<> :
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 128> :
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<> :
// CHECK:      dataflow.dispatch @rows(%{{.*}}) :
// REPORT: [Passed] plan-memory {{.*}} activation_bytes_per_token=128, {{.*}} what="arena of 256 bytes per token, 384 without reuse", where=chain
// APART-LABEL: dataflow.graph @chain(
// APART-SAME: attributes {arena = #dataflow.size<tokens = 384>}
// APART:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<> :
// APART:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 128> :
// APART:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 256> :
// APART:      dataflow.dispatch @rows(%{{.*}}) :

// A view keeps what it shows alive: the result between may not lie there.
dataflow.graph @views(%x: !x {dataflow.name = "x"}) -> (!half {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.columns %0 from 10 : !x -> !left
  %2 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %3 = dataflow.dispatch @rows(%2) : (!x) -> !x
  %4 = dataflow.dispatch @left(%1) : (!left) -> !half
  dataflow.output %4 : !half
}

// CHECK-LABEL: dataflow.graph @views(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 384>}
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<> :
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 128> :
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 256> :
// CHECK:      dataflow.dispatch @left(%{{.*}}) :

// Sequences come after tokens, scores after sequences.
dataflow.graph @stretches(%x: !x {dataflow.name = "x"}) -> (!pooled {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.reshape %0 : !x -> !heads
  %2 = dataflow.dispatch @scores(%1, %1) : (!heads, !heads) -> !scores
  %3 = dataflow.dispatch @context(%2, %1) : (!scores, !heads) -> !heads
  %4 = dataflow.reshape %3 : !heads -> !x
  %5 = dataflow.dispatch @pool(%4) : (!x) -> !pooled
  %6 = dataflow.dispatch @pooled(%5) : (!pooled) -> !pooled
  dataflow.output %6 : !pooled
}

// CHECK-LABEL: dataflow.graph @stretches(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 256, sequences = 128, tokens * longest = 64>}
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<> :
// CHECK:      dataflow.dispatch @scores(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 256, sequences = 128> :
// CHECK:      dataflow.dispatch @context(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 128> :
// CHECK:      dataflow.dispatch @pool(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 256> :
// CHECK:      dataflow.dispatch @pooled(%{{.*}}) :

// A result that is an output and is read as well lies in the caller's buffer; the second output of one
// value, an input and a view are copied.
dataflow.graph @outputs(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "a"}, !x {dataflow.name = "b"}, !x {dataflow.name = "c"}, !heads {dataflow.name = "d"}, !x {dataflow.name = "e"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @rows(%0) : (!x) -> !x
  %2 = dataflow.reshape %0 : !x -> !heads
  dataflow.output %0, %0, %x, %2, %1 : !x, !x, !x, !heads, !x
}

// CHECK: dataflow.kernel @copy{{.*}} : (!dataflow.buffer<[tokens, 20], f32>) -> !dataflow.buffer<[tokens, 20], f32> computes #dataflow.rows<width = 20>
// CHECK: dataflow.kernel @copy{{.*}} : (!dataflow.buffer<[tokens, 4, 5], f32>) -> !dataflow.buffer<[tokens, 4, 5], f32> computes #dataflow.nest<"thd->thd", none>
// CHECK-LABEL: dataflow.graph @outputs(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !dataflow.buffer<[tokens, 20], f32>
// CHECK-SAME: attributes {arena = #dataflow.size<>}
// CHECK-NOT:  {{ at }}
// CHECK:      %[[A:.*]] = dataflow.dispatch @rows(%[[X]])
// CHECK:      %[[E:.*]] = dataflow.dispatch @rows(%[[A]])
// CHECK:      %[[V:.*]] = dataflow.reshape %[[A]]
// CHECK:      %[[B:.*]] = dataflow.dispatch @copy{{.*}}(%[[A]])
// CHECK:      %[[C:.*]] = dataflow.dispatch @copy{{.*}}(%[[X]])
// CHECK:      %[[D:.*]] = dataflow.dispatch @copy{{.*}}(%[[V]])
// CHECK:      dataflow.output %[[A]], %[[B]], %[[C]], %[[D]], %[[E]]

// Blocks have a stretch of their own, and so have scores of keys that are blocks.
!blocks = !dataflow.buffer<[blocks(tokens, 2), 20], f32>
!narrow = !dataflow.buffer<[tokens, longest(blocks(tokens, 2))], f32>
dataflow.kernel @to_blocks : (!x) -> !blocks computes #dataflow.pool<mean, width = 20> {
^bb0(%v: f32):
  dataflow.yield %v
}
dataflow.kernel @narrow : (!x, !blocks) -> !narrow computes #dataflow.nest<"td,kd->tk", sum> {
^bb0(%a: f32, %b: f32):
  dataflow.yield %a
}
dataflow.kernel @mixed : (!narrow, !blocks) -> !x computes #dataflow.nest<"tk,kd->td", sum> {
^bb0(%a: f32, %b: f32):
  dataflow.yield %a
}
dataflow.graph @blocks(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @to_blocks(%0) : (!x) -> !blocks
  %2 = dataflow.dispatch @narrow(%0, %1) : (!x, !blocks) -> !narrow
  %3 = dataflow.dispatch @mixed(%2, %1) : (!narrow, !blocks) -> !x
  dataflow.output %3 : !x
}

// CHECK-LABEL: dataflow.graph @blocks(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 128, blocks(tokens, 2) = 128, tokens * longest(blocks(tokens, 2)) = 64>}
// CHECK:      dataflow.dispatch @rows(%{{.*}}) at {{(#dataflow.size)?}}<> :
// CHECK:      dataflow.dispatch @to_blocks(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 128> :
// CHECK:      dataflow.dispatch @narrow(%{{.*}}) at {{(#dataflow.size)?}}<tokens = 128, blocks(tokens, 2) = 128> :
// CHECK:      dataflow.dispatch @mixed(%{{.*}}) :

// What a loop has lives as long as all loops that run side by side with it; after loops that do not,
// its memory is free.
!steps = !dataflow.buffer<[steps, 16], f32>
!wide = !dataflow.buffer<[tokens, 16], f32>
dataflow.kernel @order : (!wide) -> !steps computes #dataflow.collect<[16]> {
^bb0(%v: f32):
  dataflow.yield %v
}
dataflow.kernel @last : (!steps) -> !wide computes #dataflow.collect<[16]> {
^bb0(%v: f32):
  dataflow.yield %v
}
dataflow.kernel @step : (!steps, !steps) -> !steps computes #dataflow.rows<width = 16> {
^bb0(%a: f32, %b: f32):
  %0 = arith.addf %a, %b : f32
  dataflow.yield %0
}
dataflow.graph @beside(%x: !wide {dataflow.name = "x"}) -> (!wide {dataflow.name = "y"}, !wide {dataflow.name = "z"}) {
  %rows = dataflow.dispatch @order(%x) : (!wide) -> !steps
  %more = dataflow.dispatch @order(%x) : (!wide) -> !steps
  %y = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %gate = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    %new = dataflow.dispatch @step(%gate, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %z = dataflow.loop() beside : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%more, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %a = dataflow.dispatch @last(%y) : (!steps) -> !wide
  %b = dataflow.dispatch @last(%z) : (!steps) -> !wide
  dataflow.output %a, %b : !wide, !wide
}

// CHECK-LABEL: dataflow.graph @beside(
// CHECK-SAME: attributes {arena = #dataflow.size<steps = 320>}
// CHECK:      dataflow.dispatch @order(%{{.*}}) at <> :
// CHECK:      dataflow.dispatch @order(%{{.*}}) at <steps = 64> :
// CHECK:      dataflow.dispatch @step(%{{.*}}) at <steps = 128> :
// CHECK:      dataflow.dispatch @step(%{{.*}}) at <steps = 192> :
// CHECK:      dataflow.dispatch @step(%{{.*}}) at <steps = 256> :

// The same one after the other: the second loop has the memory of the first one's gates.
dataflow.graph @inTurn(%x: !wide {dataflow.name = "x"}) -> (!wide {dataflow.name = "y"}, !wide {dataflow.name = "z"}) {
  %rows = dataflow.dispatch @order(%x) : (!wide) -> !steps
  %more = dataflow.dispatch @order(%x) : (!wide) -> !steps
  %y = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %gate = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    %new = dataflow.dispatch @step(%gate, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %z = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%more, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %a = dataflow.dispatch @last(%y) : (!steps) -> !wide
  %b = dataflow.dispatch @last(%z) : (!steps) -> !wide
  dataflow.output %a, %b : !wide, !wide
}

// CHECK-LABEL: dataflow.graph @inTurn(
// CHECK-SAME: attributes {arena = #dataflow.size<steps = 256>}
// CHECK:      dataflow.dispatch @order(%{{.*}}) at <> :
// CHECK:      dataflow.dispatch @order(%{{.*}}) at <steps = 64> :
// CHECK:      dataflow.dispatch @step(%{{.*}}) at <steps = 128> :
// CHECK:      dataflow.dispatch @step(%{{.*}}) at <steps = 192> :
// CHECK:      dataflow.dispatch @step(%{{.*}}) at <> :

// A result takes the place of an element-wise operand that nothing else reads, and so does the next.
!sum = !dataflow.buffer<[tokens, 20], f32>
dataflow.kernel @add : (!x, !x) -> !sum computes #dataflow.rows<width = 20> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y : f32
  dataflow.yield %0
}
dataflow.kernel @sum_of_three : (!x, !x, !x) -> !sum computes #dataflow.rows<width = 20> {
^bb0(%x: f32, %y: f32, %z: f32):
  %0 = arith.addf %x, %y : f32
  %1 = arith.addf %0, %z : f32
  dataflow.yield %1
}
dataflow.graph @in_place(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @add(%x, %0) : (!x, !x) -> !x
  %2 = dataflow.dispatch @add(%x, %1) : (!x, !x) -> !x
  %3 = dataflow.dispatch @rows(%2) : (!x) -> !x
  dataflow.output %3 : !x
}

// CHECK-LABEL: dataflow.graph @in_place(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 128>}
// CHECK-COUNT-3: dataflow.dispatch @{{(rows|add)}}({{.*}}) at {{(#dataflow.size)?}}<> :
// REPORT: what="arena of 128 bytes per token, 384 without reuse", where=in_place
// APART-LABEL: dataflow.graph @in_place(
// APART-SAME: attributes {arena = #dataflow.size<tokens = 384>}

// An argument that nothing else reads is not in the arena; the operand after it is.
dataflow.graph @beside_an_argument(%x: !x {dataflow.name = "x"}, %z: !x {dataflow.name = "z"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @sum_of_three(%x, %z, %0) : (!x, !x, !x) -> !x
  %2 = dataflow.dispatch @rows(%1) : (!x) -> !x
  dataflow.output %2 : !x
}
// CHECK-LABEL: dataflow.graph @beside_an_argument(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 128>}

// Not that of an operand that is read twice, even by the dispatch itself, or later, or through a view.
dataflow.graph @read_twice(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @add(%0, %0) : (!x, !x) -> !x
  %2 = dataflow.dispatch @rows(%1) : (!x) -> !x
  dataflow.output %2 : !x
}
dataflow.graph @read_later(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.dispatch @add(%x, %0) : (!x, !x) -> !x
  %2 = dataflow.dispatch @add(%0, %1) : (!x, !x) -> !x
  dataflow.output %2 : !x
}
dataflow.graph @read_as_view(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}, !half {dataflow.name = "z"}) {
  %0 = dataflow.dispatch @rows(%x) : (!x) -> !x
  %1 = dataflow.columns %0 from 10 : !x -> !left
  %2 = dataflow.dispatch @add(%x, %0) : (!x, !x) -> !x
  %3 = dataflow.dispatch @rows(%2) : (!x) -> !x
  %4 = dataflow.dispatch @left(%1) : (!left) -> !half
  dataflow.output %3, %4 : !x, !half
}

// CHECK-LABEL: dataflow.graph @read_twice(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 256>}
// CHECK-LABEL: dataflow.graph @read_later(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 256>}
// CHECK-LABEL: dataflow.graph @read_as_view(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 256>}

// In a loop, what was computed for its rows before; not what the loop carries, of which the next step
// reads this one's rows.
dataflow.graph @in_place_of_steps(%x: !wide {dataflow.name = "x"}) -> (!wide {dataflow.name = "y"}) {
  %rows = dataflow.dispatch @order(%x) : (!wide) -> !steps
  %y = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %gate = dataflow.dispatch @step(%before, %rows) : (!steps, !steps) -> !steps
    %new = dataflow.dispatch @step(%before, %gate) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %a = dataflow.dispatch @last(%y) : (!steps) -> !wide
  dataflow.output %a : !wide
}
dataflow.graph @carried(%x: !wide {dataflow.name = "x"}) -> (!wide {dataflow.name = "y"}) {
  %y:2 = dataflow.loop() : () -> (!steps, !steps) {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%before, %before) : (!steps, !steps) -> !steps
    %more = dataflow.dispatch @step(%before, %new) : (!steps, !steps) -> !steps
    dataflow.next %new, %more : !steps, !steps
  }
  %a = dataflow.dispatch @last(%y#1) : (!steps) -> !wide
  dataflow.output %a : !wide
}

// CHECK-LABEL: dataflow.graph @in_place_of_steps(
// CHECK-SAME: attributes {arena = #dataflow.size<steps = 64>}
// CHECK-LABEL: dataflow.graph @carried(
// CHECK-SAME: attributes {arena = #dataflow.size<steps = 128>}
