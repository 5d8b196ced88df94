// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!tokens = !dataflow.buffer<[tokens, 20], f32>
!steps = !dataflow.buffer<[steps, 20], f32>
!back = !dataflow.buffer<[steps_reversed, 20], f32>
!ranks = !dataflow.buffer<[ranks, 20], f32>
!last = !dataflow.buffer<[sequences, 20], f32>
!w = !dataflow.buffer<[20, 20], f32>

transformer.parameter @w : tensor<20x20xf32> from "w"

dataflow.kernel @collect_20 : (!tokens) -> !steps computes #dataflow.collect<[20]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @collect_last : (!steps) -> !last computes #dataflow.collect<[20]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @collect_ranks : (!last) -> !ranks computes #dataflow.collect<[20]> {
^bb0(%x: f32):
  dataflow.yield %x
}
// CHECK: dataflow.kernel @collect_both : (!dataflow.buffer<[steps, 20], f32>, !dataflow.buffer<[steps_reversed, 20], f32>) -> !dataflow.buffer<[tokens, 40], f32> computes #dataflow.collect<[20, 20]>
dataflow.kernel @collect_both : (!steps, !back) -> !dataflow.buffer<[tokens, 40], f32> computes #dataflow.collect<[20, 20]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @contract_20x20 : (!steps, !w, !steps) -> !steps computes #dataflow.contract<n = 20, k = 20> {
^bb0(%sum: f32, %x: f32):
  %0 = arith.addf %sum, %x fastmath<contract> : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.graph @encode
dataflow.graph @encode(%tokens: !tokens {dataflow.name = "x"}) -> (!last {dataflow.name = "last"}) {
  %w = dataflow.parameter @w : !dataflow.buffer<[20, 20], f32>
  %x = dataflow.dispatch @collect_20(%tokens) : (!tokens) -> !steps
  // CHECK: %[[Y:.*]] = dataflow.loop() : () -> !dataflow.buffer<[steps, 20], f32> {
  // CHECK-NEXT: ^bb0(%[[BEFORE:.*]]: !dataflow.buffer<[steps, 20], f32>):
  // CHECK-NEXT: %[[NEW:.*]] = dataflow.dispatch @contract_20x20(%[[BEFORE]], %{{.*}}, %{{.*}})
  // CHECK-NEXT: dataflow.next %[[NEW]] : !dataflow.buffer<[steps, 20], f32>
  %y = dataflow.loop() : () -> !dataflow.buffer<[steps, 20], f32> {
  ^bb0(%before: !dataflow.buffer<[steps, 20], f32>):
    %new = dataflow.dispatch @contract_20x20(%before, %w, %x) : (!dataflow.buffer<[steps, 20], f32>, !dataflow.buffer<[20, 20], f32>, !dataflow.buffer<[steps, 20], f32>) -> !dataflow.buffer<[steps, 20], f32>
    dataflow.next %new : !dataflow.buffer<[steps, 20], f32>
  }
  // CHECK: dataflow.loop() beside : () -> !dataflow.buffer<[steps, 20], f32> {
  %same = dataflow.loop() beside : () -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @contract_20x20(%before, %w, %x) : (!steps, !w, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %last = dataflow.dispatch @collect_last(%y) : (!steps) -> !last
  %begin = dataflow.dispatch @collect_ranks(%last) : (!last) -> !ranks
  // CHECK: dataflow.loop(%{{.*}}) : (!dataflow.buffer<[ranks, 20], f32>) -> !dataflow.buffer<[steps, 20], f32> {
  %z = dataflow.loop(%begin) : (!ranks) -> !steps {
  ^bb0(%before: !steps):
    %new = dataflow.dispatch @contract_20x20(%before, %w, %y) : (!steps, !w, !steps) -> !steps
    dataflow.next %new : !steps
  }
  %end = dataflow.dispatch @collect_last(%z) : (!steps) -> !last
  dataflow.output %end : !last
}
