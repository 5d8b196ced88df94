// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-hoist-from-loops --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// What reads no carried value is computed for the rows of all steps before the loop; views that it
// reads go with it.

!x = !dataflow.buffer<[tokens, 8], f32>
!steps = !dataflow.buffer<[steps, 8], f32>
!left = !dataflow.buffer<[steps, 4] in 8, f32>
!half = !dataflow.buffer<[steps, 4], f32>

dataflow.kernel @collect : (!x) -> !steps computes #dataflow.collect<[8]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @left : (!left) -> !half computes #dataflow.rows<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @sum : (!half, !half) -> !half computes #dataflow.rows<width = 4> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @back : (!half) -> !dataflow.buffer<[tokens, 4], f32> computes #dataflow.collect<[4]> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.graph @encode(
dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 4], f32> {dataflow.name = "y"}) {
  %rows = dataflow.dispatch @collect(%x) : (!x) -> !steps loc("rows")
  // CHECK: %[[ROWS:.*]] = dataflow.dispatch @collect
  // CHECK-NEXT: %[[LEFT:.*]] = dataflow.columns %[[ROWS]] from 0
  // CHECK-NEXT: %[[A:.*]] = dataflow.dispatch @left(%[[LEFT]])
  // CHECK-NEXT: %[[B:.*]] = dataflow.dispatch @sum(%[[A]], %[[A]])
  // CHECK-NEXT: %{{.*}}:2 = dataflow.loop()
  // CHECK-NEXT: ^bb0(%[[BEFORE:.*]]: !dataflow.buffer<[steps, 4], f32>):
  // CHECK-NEXT: %[[NEW:.*]] = dataflow.dispatch @sum(%[[B]], %[[BEFORE]])
  // CHECK-NEXT: %[[GIVEN:.*]] = dataflow.dispatch @sum(%[[B]], %[[B]])
  // CHECK-NEXT: dataflow.next %[[NEW]], %[[GIVEN]]
  %y:2 = dataflow.loop() : () -> (!half, !half) {
  ^bb0(%before: !half):
    %left = dataflow.columns %rows from 0 : !steps -> !left
    %a = dataflow.dispatch @left(%left) : (!left) -> !half loc("a")
    %b = dataflow.dispatch @sum(%a, %a) : (!half, !half) -> !half loc("b")
    %new = dataflow.dispatch @sum(%b, %before) : (!half, !half) -> !half loc("new")
    %given = dataflow.dispatch @sum(%b, %b) : (!half, !half) -> !half loc("given")
    dataflow.next %new, %given : !half, !half
  }
  %z = dataflow.dispatch @back(%y#1) : (!half) -> !dataflow.buffer<[tokens, 4], f32>
  dataflow.output %z : !dataflow.buffer<[tokens, 4], f32>
}

// Out of a loop beside another it goes before both.
// CHECK-LABEL: dataflow.graph @beside(
dataflow.graph @beside(%x: !x {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 4], f32> {dataflow.name = "y"}) {
  // CHECK: dataflow.columns
  // CHECK-NEXT: dataflow.dispatch @left(
  // CHECK-NEXT: dataflow.loop() :
  // CHECK: dataflow.loop() beside :
  %rows = dataflow.dispatch @collect(%x) : (!x) -> !steps
  %first = dataflow.loop() : () -> !half {
  ^bb0(%before: !half):
    %new = dataflow.dispatch @sum(%before, %before) : (!half, !half) -> !half
    dataflow.next %new : !half
  }
  %y = dataflow.loop() beside : () -> !half {
  ^bb0(%before: !half):
    %left = dataflow.columns %rows from 0 : !steps -> !left
    %a = dataflow.dispatch @left(%left) : (!left) -> !half
    %new = dataflow.dispatch @sum(%a, %before) : (!half, !half) -> !half
    dataflow.next %new : !half
  }
  %z = dataflow.dispatch @back(%y) : (!half) -> !dataflow.buffer<[tokens, 4], f32>
  dataflow.output %z : !dataflow.buffer<[tokens, 4], f32>
}

// REPORT-DAG: hoist-from-loops{{.*}}left runs once over the rows of all steps
// REPORT-DAG: hoist-from-loops{{.*}}sum runs once over the rows of all steps
// REPORT-DAG: hoist-from-loops{{.*}}not moved: it reads what a step gives
// REPORT-DAG: hoist-from-loops{{.*}}not moved: it is what the loop itself gives
