// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-group-loops --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -dataflow-group-loops | heddle-opt -dataflow-group-loops | FileCheck %s

// Loops that read nothing of each other follow one another, the later ones as `beside`: what is
// between them goes before them, or after them where it reads what one of them gives.

!x = !dataflow.buffer<[tokens, 4], f32>
!steps = !dataflow.buffer<[steps, 4], f32>
!back = !dataflow.buffer<[steps_reversed, 4], f32>
!cache = !dataflow.cache<[4], f32, rows>

dataflow.kernel @order : (!x) -> !steps computes #dataflow.collect<[4]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @order_back : (!x) -> !back computes #dataflow.collect<[4]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @given : (!steps) -> !x computes #dataflow.collect<[4]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @given_back : (!back) -> !x computes #dataflow.collect<[4]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @step : (!steps, !steps) -> !steps computes #dataflow.rows<width = 4> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @step_back : (!back, !back) -> !back computes #dataflow.rows<width = 4> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @append : (!cache, !x) -> !cache computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.graph @directions(
dataflow.graph @directions(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "a"}, !x {dataflow.name = "b"}, !x {dataflow.name = "c"}) {
  // CHECK: %[[ROWS:.*]] = dataflow.dispatch @order(
  // CHECK-NEXT: %[[BACK:.*]] = dataflow.dispatch @order_back(
  // CHECK-NEXT: %[[Y:.*]] = dataflow.loop() :
  // CHECK: %[[Z:.*]] = dataflow.loop() beside :
  // CHECK: %[[W:.*]] = dataflow.loop() beside :
  // CHECK: %[[A:.*]] = dataflow.dispatch @given(%[[Y]])
  // CHECK-NEXT: %[[B:.*]] = dataflow.dispatch @given_back(%[[Z]])
  // CHECK-NEXT: %[[C:.*]] = dataflow.dispatch @given(%[[W]])
  // CHECK-NEXT: dataflow.output %[[A]], %[[B]], %[[C]]
  %rows = dataflow.dispatch @order(%x) : (!x) -> !steps
  %y = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("forwards")
  %a = dataflow.dispatch @given(%y) : (!steps) -> !x
  %back = dataflow.dispatch @order_back(%x) : (!x) -> !back
  %z = dataflow.loop() : () -> !back {
  ^bb0(%before: !back):
    %new = dataflow.dispatch @step_back(%back, %before) : (!back, !back) -> !back
    dataflow.next %new : !back
  } loc("backwards")
  %b = dataflow.dispatch @given_back(%z) : (!back) -> !x
  %w = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%before, %rows) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("third")
  %c = dataflow.dispatch @given(%w) : (!steps) -> !x
  dataflow.output %a, %b, %c : !x, !x, !x
}

// A loop that reads another's rows, here through a change of order, runs after it; the one after
// that reads the second alone, and runs after that.
// CHECK-LABEL: dataflow.graph @layers(
dataflow.graph @layers(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "a"}, !x {dataflow.name = "b"}) {
  // CHECK: dataflow.loop() :
  // CHECK: dataflow.dispatch @given(
  // CHECK-NEXT: dataflow.dispatch @order_back(
  // CHECK-NEXT: dataflow.loop() :
  // CHECK: dataflow.dispatch @given_back(
  // CHECK-NEXT: dataflow.dispatch @order(
  // CHECK-NEXT: dataflow.loop() :
  %rows = dataflow.dispatch @order(%x) : (!x) -> !steps
  %y = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("layer.0")
  %a = dataflow.dispatch @given(%y) : (!steps) -> !x
  %back = dataflow.dispatch @order_back(%a) : (!x) -> !back
  %z = dataflow.loop() : () -> !back {
  ^bb0(%before: !back):
    %new = dataflow.dispatch @step_back(%back, %before) : (!back, !back) -> !back
    dataflow.next %new : !back
  } loc("layer.1")
  %b = dataflow.dispatch @given_back(%z) : (!back) -> !x
  %again = dataflow.dispatch @order(%b) : (!x) -> !steps
  %w = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%again, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("layer.2")
  %c = dataflow.dispatch @given(%w) : (!steps) -> !x
  dataflow.output %a, %c : !x, !x
}

// What has a cache stays where it is.
// CHECK-LABEL: dataflow.graph @caches(
dataflow.graph @caches(%x: !x {dataflow.name = "x"}, %cache: !cache {dataflow.name = "c"}) -> (!x {dataflow.name = "a"}, !x {dataflow.name = "b"}, !cache {dataflow.name = "c"}) {
  // CHECK: dataflow.loop() :
  // CHECK: dataflow.dispatch @append(
  // CHECK: dataflow.loop() :
  %rows = dataflow.dispatch @order(%x) : (!x) -> !steps
  %y = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("memory")
  %a = dataflow.dispatch @given(%y) : (!steps) -> !x
  %d = dataflow.dispatch @append(%cache, %a) changes [0] : (!cache, !x) -> !cache
  %back = dataflow.dispatch @order_back(%x) : (!x) -> !back
  %z = dataflow.loop() : () -> !back {
  ^bb0(%before: !back):
    %new = dataflow.dispatch @step_back(%back, %before) : (!back, !back) -> !back
    dataflow.next %new : !back
  } loc("other")
  %b = dataflow.dispatch @given_back(%z) : (!back) -> !x
  dataflow.output %a, %b, %d : !x, !x, !cache
}

// REPORT-DAG: [Passed] group-loops{{.*}}what="runs beside forwards"{{.*}}where=backwards
// REPORT-DAG: [Passed] group-loops{{.*}}what="runs beside backwards"{{.*}}where=third
// REPORT-DAG: group-loops{{.*}}not side by side: it reads what layer.0 gives{{.*}}
// REPORT-DAG: group-loops{{.*}}not side by side: it reads what layer.1 gives{{.*}}
// REPORT-DAG: group-loops{{.*}}not side by side: {{.*}} is between it and memory, and has a cache or a state

// Not more than 16 of them: what they have lives at the same time.
// CHECK-LABEL: dataflow.graph @many(
dataflow.graph @many(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "a"}) {
  // CHECK: dataflow.loop() :
  // CHECK-COUNT-15: dataflow.loop() beside :
  // CHECK: dataflow.loop() :
  // CHECK-NOT: beside
  %rows = dataflow.dispatch @order(%x) : (!x) -> !steps
  %l0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.0")
  %l1 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.1")
  %l2 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.2")
  %l3 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.3")
  %l4 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.4")
  %l5 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.5")
  %l6 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.6")
  %l7 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.7")
  %l8 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.8")
  %l9 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.9")
  %l10 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.10")
  %l11 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.11")
  %l12 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.12")
  %l13 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.13")
  %l14 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.14")
  %l15 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.15")
  %l16 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @step(%rows, %before) : (!steps, !steps) -> !steps
    dataflow.next %new : !steps
  } loc("loop.16")
  %a = dataflow.dispatch @given(%l16) : (!steps) -> !x
  dataflow.output %a : !x
}
