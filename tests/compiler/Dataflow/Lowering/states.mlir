// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels -dataflow-plan-memory | FileCheck %s --check-prefix=PLANNED

// A state is changed in place: whoever reads it is dispatched before, wherever the program has it.
func.func @late(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<512> {transformer.name = "sum"}) -> (tensor<?x512xf32> {transformer.name = "y"}, tensor<?x512xf32> {transformer.name = "z"}, !transformer.state<512> {transformer.name = "sum"}) {
  %y = transformer.prefix_mean %x, %s in(%rows) : !transformer.state<512>
  %s1 = transformer.accumulate %s, %x in(%rows) : !transformer.state<512>
  %a = transformer.scale %x, 2.0 : tensor<?x512xf32>
  %z = transformer.prefix_mean %a, %s in(%rows) : !transformer.state<512>
  return %y, %z, %s1 : tensor<?x512xf32>, tensor<?x512xf32>, !transformer.state<512>
}

// CHECK: dataflow.kernel @prefix_mean : (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>) -> !dataflow.buffer<[tokens, 512], f32> computes #dataflow.prefix_mean
// CHECK: dataflow.kernel @accumulate : (!dataflow.state<[512], f32>, !dataflow.buffer<[tokens, 512], f32>) -> !dataflow.state<[512], f32> computes #dataflow.accumulate
// CHECK-LABEL: dataflow.graph @late(
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{.*}} {dataflow.name = "x"}, %[[S:[a-z0-9]*]]: !dataflow.state<[512], f32> {dataflow.name = "sum"})
// CHECK: %[[Y:.*]] = dataflow.dispatch @prefix_mean(%[[X]], %[[S]])
// CHECK: %[[A:.*]] = dataflow.dispatch @scale
// CHECK: %[[Z:.*]] = dataflow.dispatch @prefix_mean_{{.*}}(%[[A]], %[[S]])
// CHECK: %[[S1:.*]] = dataflow.dispatch @accumulate(%[[S]], %[[X]]) changes [0] :
// CHECK: dataflow.output %[[Y]], %[[Z]], %[[S1]]

// What computes nothing but sums has no epilogue, and a state no place in the arena.
// PLANNED-LABEL: dataflow.graph @late(
// PLANNED-SAME: arena = #dataflow.size<tokens = 2048>
// PLANNED: dataflow.dispatch @prefix_mean_512(
// PLANNED: dataflow.dispatch @prefix_mean_512(
// PLANNED: dataflow.dispatch @accumulate_512(%{{.*}}, %{{.*}}) changes [0] :

// Read, and left as it was.
func.func @read(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<512> {transformer.name = "sum"}) -> (tensor<?x512xf32> {transformer.name = "y"}) {
  %y = transformer.prefix_mean %x, %s in(%rows) : !transformer.state<512>
  return %y : tensor<?x512xf32>
}
// CHECK-LABEL: dataflow.graph @read(
// CHECK-NOT: @accumulate
// CHECK: dataflow.output %{{[a-z0-9]+}} :

// PLANNED-LABEL: dataflow.graph @read(
// PLANNED: dataflow.dispatch @prefix_mean_512(
