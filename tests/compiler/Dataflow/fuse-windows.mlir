// SPDX-License-Identifier: Apache-2.0
// A window and the product of what it sees in one kernel, with the rectifier before it.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -dataflow-fuse-windows -dataflow-fold-epilogues | FileCheck %s
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -dataflow-fuse-windows -remarks-filter=heddle -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS

transformer.parameter @depthwise : tensor<32x3xf32> from "depthwise"
transformer.parameter @pointwise : tensor<16x32xf32> from "pointwise"
transformer.parameter @scale : tensor<16xf32> from "scale"
transformer.parameter @shift : tensor<16xf32> from "shift"

// LN(W depthwise(ReLU(x))) is one kernel.
// REMARKS: a rectifier, a depthwise convolution and a product in one pass
// CHECK-LABEL: transformer.parameter @depthwise :
// CHECK: dataflow.kernel @[[STEP:.*]] : (!dataflow.buffer<[tokens, 32], f32>, !dataflow.buffer<[16, 32], f32>, !dataflow.buffer<[3, 32], f32>, !dataflow.buffer<[16], f32>, !dataflow.buffer<[16], f32>) -> !dataflow.buffer<[tokens, 16], f32> computes #dataflow.contract_slide<n = 16, slide = <depthwise, width = 32, window = <height = 3, dilationDown = 2>, rectifies = true>>
// CHECK: norm
// CHECK: dataflow.graph @step(%[[X:[a-z0-9]*]]
// CHECK-NOT: dispatch
// CHECK: dataflow.dispatch @[[STEP]](%[[X]],
// CHECK-NOT: dispatch
// CHECK: dataflow.output
func.func @step(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x16xf32> {transformer.name = "y"}) {
  %r = transformer.activate relu %x : tensor<?x32xf32>
  %d = transformer.convolve %r, @depthwise in(%rows) {dilation = 2 : i64} : tensor<?x32xf32>
  %p = transformer.linear %d, @pointwise : tensor<?x32xf32> -> tensor<?x16xf32>
  %n = transformer.layer_norm %p, @scale, @shift {epsilon = 9.99999997E-7 : f32} : tensor<?x16xf32>
  return %n : tensor<?x16xf32>
}

// -----

transformer.parameter @full : tensor<16x48xf32> from "full"

// REMARKS: patches and a product in one pass
// Patches of groups; a state is read before it is changed.
// CHECK: computes #dataflow.contract_slide<n = 8, slide = <patches, width = 32, window = <height = 3, causal = true>, groups = 2, resumes = true>, groups = 2>
// CHECK: dataflow.graph @grouped
// CHECK: dataflow.dispatch @contract_slide
// CHECK: dataflow.dispatch @keep
func.func @grouped(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !transformer.state<64> {transformer.name = "s"}) -> (tensor<?x16xf32> {transformer.name = "y"}, !transformer.state<64> {transformer.name = "s"}) {
  %s1 = transformer.keep %s, %x in(%rows) : !transformer.state<64>, tensor<?x32xf32>
  %p = transformer.slide patches %x in(%rows) after(%s : !transformer.state<64>) window<height = 3, causal = true> {groups = 2 : i64} : tensor<?x32xf32> -> tensor<?x96xf32>
  %y = transformer.grouped_linear %p, @full {groups = 2 : i64} : tensor<?x96xf32> -> tensor<?x16xf32>
  return %y, %s1 : tensor<?x16xf32>, !transformer.state<64>
}

// -----

transformer.parameter @full : tensor<16x96xf32> from "full"
transformer.parameter @depthwise : tensor<32x3xf32> from "depthwise"
transformer.parameter @bias : tensor<32xf32> from "bias"
transformer.parameter @pointwise : tensor<16x32xf32> from "pointwise"

// Not fused: patches that are a result, that a product of other groups reads, a sum with a bias, a
// maximum.
// REMARKS: not fused: what the window sees has several users
// REMARKS: not fused: what the window sees has maths of its own
// REMARKS: not fused: a maximum is not computed in front of a product
// REMARKS: not fused: the product has other groups than the patches
// CHECK-NOT: contract_slide
func.func @declined(%x: tensor<?x32xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x96xf32> {transformer.name = "p"}, tensor<?x16xf32> {transformer.name = "y"}, tensor<?x16xf32> {transformer.name = "z"}, tensor<?x16xf32> {transformer.name = "m"}, tensor<?x16xf32> {transformer.name = "g"}) {
  %p = transformer.slide patches %x in(%rows) window<height = 3> : tensor<?x32xf32> -> tensor<?x96xf32>
  %y = transformer.linear %p, @full : tensor<?x96xf32> -> tensor<?x16xf32>
  %d = transformer.convolve %x, @depthwise, @bias in(%rows) : tensor<?x32xf32>
  %z = transformer.linear %d, @pointwise : tensor<?x32xf32> -> tensor<?x16xf32>
  %l = transformer.slide max %x in(%rows) window<height = 3> : tensor<?x32xf32> -> tensor<?x32xf32>
  %m = transformer.linear %l, @pointwise : tensor<?x32xf32> -> tensor<?x16xf32>
  %q = transformer.slide patches %x in(%rows) window<height = 3> {groups = 2 : i64} : tensor<?x32xf32> -> tensor<?x96xf32>
  %g = transformer.linear %q, @full : tensor<?x96xf32> -> tensor<?x16xf32>
  return %p, %y, %z, %m, %g : tensor<?x96xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>
}
