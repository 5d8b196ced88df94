// RUN: heddle-opt %s | heddle-opt | FileCheck %s

// CHECK-LABEL: dataflow.graph @reshape(
dataflow.graph @reshape(%x: !dataflow.buffer<[tokens, 768], f32> {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 24, 32], f32> {dataflow.name = "y"}) {
  // CHECK: dataflow.reshape %{{.*}} : <[tokens, 768], f32> -> <[tokens, 24, 32], f32>
  %0 = dataflow.reshape %x : !dataflow.buffer<[tokens, 768], f32> -> !dataflow.buffer<[tokens, 24, 32], f32>
  %1 = dataflow.columns %x from 384 : !dataflow.buffer<[tokens, 768], f32> -> !dataflow.buffer<[tokens, 384] in 768, f32>
  // CHECK: dataflow.reshape %{{.*}} : <[tokens, 384] in 768, f32> -> <[tokens, 12, 32] in 768, f32>
  %2 = dataflow.reshape %1 : !dataflow.buffer<[tokens, 384] in 768, f32> -> !dataflow.buffer<[tokens, 12, 32] in 768, f32>
  dataflow.output %0 : !dataflow.buffer<[tokens, 24, 32], f32>
}
