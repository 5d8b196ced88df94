// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s

!keys = !dataflow.cache<[512], f32, keys>
!values = !dataflow.cache<[512], f32, rows>
!rows = !dataflow.buffer<[tokens, 512], f32>
!scores = !dataflow.buffer<[tokens, 8, longest], f32>

// CHECK-LABEL: dataflow.kernel @append
// CHECK-SAME: (!dataflow.cache<[512], f32, keys>, !dataflow.buffer<[tokens, 512], f32>) -> !dataflow.cache<[512], f32, keys> computes #dataflow.append
dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @append_rows : (!values, !dataflow.buffer<[tokens, 512] in 1536, f32>) -> !values computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @attention
// CHECK-SAME: visibility = <causal>, biasDistance = 16>
dataflow.kernel @attention : (!rows, !keys, !values, !dataflow.buffer<[8, 33], f32>) -> !rows
    computes #dataflow.attention<heads = 8, keySize = 64, valueSize = 64, scale = 1.250000e-01 : f32, visibility = <causal>, biasDistance = 16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @weights
// CHECK-SAME: computes #dataflow.attention_weights<heads = 8, keySize = 64, scale = 1.250000e-01 : f32, visibility = <causal>, biasDistance = 16>
dataflow.kernel @weights : (!rows, !keys, !dataflow.buffer<[8, 33], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 8, keySize = 64, scale = 1.250000e-01 : f32, visibility = <causal>, biasDistance = 16> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @attend
// CHECK-SAME: (!dataflow.buffer<[tokens, 8, longest], f32>, !dataflow.cache<[512], f32, rows>) -> !dataflow.buffer<[tokens, 512], f32> computes #dataflow.attend<heads = 8, valueSize = 64, visibility = <causal>>
dataflow.kernel @attend : (!scores, !values) -> !rows computes #dataflow.attend<heads = 8, valueSize = 64, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @scores
dataflow.kernel @scores : (!dataflow.buffer<[tokens, 8, 64], f32>, !dataflow.cache<[8, 64], f32, keys>) -> !scores
    computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  %0 = arith.mulf %q, %k : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.kernel @softmax
// CHECK-SAME: nest<"thk->thk", softmax, hidden = 0xFF800000 : f32, keys_from>
dataflow.kernel @softmax : (!scores, !keys) -> !scores
    computes #dataflow.nest<"thk->thk", softmax, hidden = 0xFF800000 : f32, keys_from> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @bias
// CHECK-SAME: nest<"hr->thk", none, relative, keys_from>
dataflow.kernel @bias : (!dataflow.buffer<[8, 33], f32>, !keys) -> !scores
    computes #dataflow.nest<"hr->thk", none, relative, keys_from> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @own_bias
dataflow.kernel @own_bias : (!dataflow.buffer<[8, 33], f32>) -> !scores
    computes #dataflow.nest<"hr->thk", none, relative> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @embed
// CHECK-SAME: gather<width = 512, lookups = 2, positions = [0, 2], scales = array<f32: 22.6274166, 1.000000e+00>> norm <rms_norm, 9.99999997E-7 : f32>
dataflow.kernel @embed : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[100, 512], f32>, !dataflow.buffer<[tokens], i32>, !dataflow.buffer<[2, 512], f32>, !dataflow.buffer<[64, 512], f32>, !dataflow.buffer<[66, 512], f32>, !dataflow.buffer<[512], f32>) -> !rows
    computes #dataflow.gather<width = 512, lookups = 2, positions = [0, 2], scales = array<f32: 22.627417, 1.0>> norm #dataflow.norm<rms_norm, 1.0e-06 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.graph @decode
// CHECK-SAME: %arg1: !dataflow.cache<[512], f32, keys> {dataflow.name = "key"}
dataflow.graph @decode(%x: !rows {dataflow.name = "x"}, %k: !keys {dataflow.name = "key"}, %v: !values {dataflow.name = "value"}, %qkv: !dataflow.buffer<[tokens, 1536], f32> {dataflow.name = "qkv"}) -> (!rows {dataflow.name = "y"}, !keys {dataflow.name = "key"}, !values {dataflow.name = "value"}) {
  // CHECK: %[[K:.*]] = dataflow.dispatch @append(%arg1, %arg0) changes [0] : (!dataflow.cache<[512], f32, keys>, !dataflow.buffer<[tokens, 512], f32>) -> !dataflow.cache<[512], f32, keys>
  %k1 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  %value = dataflow.columns %qkv from 1024 : !dataflow.buffer<[tokens, 1536], f32> -> !dataflow.buffer<[tokens, 512] in 1536, f32>
  %v1 = dataflow.dispatch @append_rows(%v, %value) changes [0] : (!values, !dataflow.buffer<[tokens, 512] in 1536, f32>) -> !values
  %table = dataflow.parameter @table : !dataflow.buffer<[8, 33], f32>
  %bias = dataflow.dispatch @bias(%table, %k) : (!dataflow.buffer<[8, 33], f32>, !keys) -> !scores
  // CHECK: dataflow.reshape %[[K]] : !dataflow.cache<[512], f32, keys> -> !dataflow.cache<[8, 64], f32, keys>
  %heads = dataflow.reshape %k1 : !keys -> !dataflow.cache<[8, 64], f32, keys>
  %q = dataflow.reshape %x : !rows -> !dataflow.buffer<[tokens, 8, 64], f32>
  %s = dataflow.dispatch @scores(%q, %heads) : (!dataflow.buffer<[tokens, 8, 64], f32>, !dataflow.cache<[8, 64], f32, keys>) -> !scores
  %y = dataflow.dispatch @attention(%x, %k1, %v1, %table) : (!rows, !keys, !values, !dataflow.buffer<[8, 33], f32>) -> !rows
  // CHECK: %[[P:.*]] = dataflow.dispatch @weights(%arg0, %[[K]], %{{.*}})
  %p = dataflow.dispatch @weights(%x, %k1, %table) : (!rows, !keys, !dataflow.buffer<[8, 33], f32>) -> !scores
  // CHECK: dataflow.dispatch @attend(%[[P]], %{{.*}})
  %z = dataflow.dispatch @attend(%p, %v1) : (!scores, !values) -> !rows
  // CHECK: dataflow.output %{{.*}}, %[[K]], %{{.*}} : !dataflow.buffer<[tokens, 512], f32>, !dataflow.cache<[512], f32, keys>, !dataflow.cache<[512], f32, rows>
  dataflow.output %y, %k1, %v1 : !rows, !keys, !values
}
transformer.parameter @table : tensor<8x33xf32> from "table"
