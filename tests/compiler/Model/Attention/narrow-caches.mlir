// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-narrow-caches | FileCheck %s
// RUN: heddle-opt %s -transformer-narrow-caches -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels | FileCheck %s --check-prefix=DATAFLOW
// RUN: heddle-opt %s -transformer-narrow-caches=bits=8 | FileCheck %s --check-prefix=CODES
// RUN: heddle-opt %s -transformer-narrow-caches=bits=8 -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels | FileCheck %s --check-prefix=CODED
// RUN: not heddle-opt %s -transformer-narrow-caches=bits=12 2>&1 | FileCheck %s --check-prefix=BITS

// Caches of all entries are kept in bf16, in arguments, results and operations; rows stay f32, and
// so do states, and caches of one number for each position. Codes have a scale for each head that
// readers see, and one for a row where none has heads, or some see others.

// BITS: error: expects caches with elements of 16 or 8 bits, got 12

// CHECK-LABEL: func.func @encode(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<?x512xf32>
// CHECK-SAME: %[[MK:[a-z0-9]*]]: !transformer.cache<512, bf16> {transformer.name = "cross.key"}
// CHECK-SAME: -> (tensor<?x512xf32> {transformer.name = "encoder"}, !transformer.cache<512, bf16> {transformer.name = "cross.key"})
func.func @encode(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %mk: !transformer.cache<512> {transformer.name = "cross.key"}) -> (tensor<?x512xf32> {transformer.name = "encoder"}, !transformer.cache<512> {transformer.name = "cross.key"}) {
  // CHECK: transformer.append %[[MK]], %[[X]] in(%{{.*}}) : !transformer.cache<512, bf16>
  %mk1 = transformer.append %mk, %x in(%rows) : !transformer.cache<512>
  return %x, %mk1 : tensor<?x512xf32>, !transformer.cache<512>
}

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: !transformer.cache<512, bf16> {transformer.name = "self.value"}
// CHECK-SAME: !transformer.state<512> {transformer.name = "sum"}
func.func @decode(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %sk: !transformer.cache<512> {transformer.name = "self.key"}, %sv: !transformer.cache<512> {transformer.name = "self.value"}, %mk: !transformer.cache<512> {transformer.name = "cross.key"}, %s: !transformer.state<512> {transformer.name = "sum"}) -> (tensor<?x512xf32> {transformer.name = "y"}, !transformer.cache<512> {transformer.name = "self.key"}, !transformer.cache<512> {transformer.name = "self.value"}, !transformer.state<512> {transformer.name = "sum"}) {
  %sk1 = transformer.append %sk, %x in(%rows) : !transformer.cache<512>
  %sv1 = transformer.append %sv, %x in(%rows) : !transformer.cache<512>
  %s1 = transformer.accumulate %s, %x in(%rows) : !transformer.state<512>
  %seen = transformer.history %rows
  // CHECK: transformer.cached %{{.*}} : !transformer.cache<512, bf16> -> tensor<?x512xf32>
  %k = transformer.cached %sk1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  %v = transformer.cached %sv1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  %a = transformer.attention %x, %k, %v in(%rows, %seen) {heads = 8 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32> -> tensor<?x512xf32>
  return %a, %sk1, %sv1, %s1 : tensor<?x512xf32>, !transformer.cache<512>, !transformer.cache<512>, !transformer.state<512>
}

// What a kernel appends to and reads is part of its name.
// DATAFLOW-LABEL: dataflow.graph @decode(
// DATAFLOW-SAME: !dataflow.cache<[512], bf16, keys> {dataflow.name = "self.key"}, !dataflow.cache<[512], bf16, rows> {dataflow.name = "self.value"}
// DATAFLOW: dataflow.dispatch @append_512_keys_bf16(
// DATAFLOW: dataflow.dispatch @append_512_rows_bf16(
// DATAFLOW: dataflow.dispatch @attention_8x64_causal_cached_bf16(

// CODES-LABEL: func.func @encode(
// CODES-SAME: !transformer.cache<512, !transformer.quantized<i8, row>> {transformer.name = "cross.key"}
// CODES-LABEL: func.func @decode(
// CODES-SAME: !transformer.cache<512, !transformer.quantized<i8, 64>> {transformer.name = "self.key"}
// CODES-SAME: !transformer.cache<512, !transformer.quantized<i8, 64>> {transformer.name = "self.value"}
// CODES-SAME: !transformer.state<512> {transformer.name = "sum"}

// CODED-LABEL: dataflow.graph @decode(
// CODED: dataflow.dispatch @append_512_keys_i8(
// CODED: dataflow.dispatch @attention_8x64_causal_cached_i8(
