// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-narrow-caches | FileCheck %s
// RUN: heddle-opt %s -transformer-narrow-caches=bits=8 | FileCheck %s --check-prefix=CODES

// Codes have a scale for each head that readers see, and one for a row where some see others. One
// number for each position stays as it is: it may count positions.

// CHECK-LABEL: func.func @split(
// CHECK-SAME: !transformer.cache<48, bf16> {transformer.name = "split.key"}
// CHECK-SAME: !transformer.cache<1> {transformer.name = "places"}
// CODES-LABEL: func.func @split(
// CODES-SAME: !transformer.cache<48, !transformer.quantized<i8, 12>> {transformer.name = "split.key"}
// CODES-SAME: !transformer.cache<48, !transformer.quantized<i8, row>> {transformer.name = "both.key"}
// CODES-SAME: !transformer.cache<1> {transformer.name = "places"}
func.func @split(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %a: !transformer.cache<48> {transformer.name = "split.key"}, %b: !transformer.cache<48> {transformer.name = "both.key"}, %c: !transformer.cache<1> {transformer.name = "places"}) -> (tensor<?x4x12xf32>, tensor<?x4x12xf32>, tensor<?x2x24xf32>, tensor<?x1xf32>) {
  %k = transformer.cached %a in(%memory) : !transformer.cache<48> -> tensor<?x48xf32>
  %kh = transformer.split_heads %k : tensor<?x48xf32> -> tensor<?x4x12xf32>
  %l = transformer.cached %b in(%memory) : !transformer.cache<48> -> tensor<?x48xf32>
  %lh = transformer.split_heads %l : tensor<?x48xf32> -> tensor<?x4x12xf32>
  %m = transformer.split_heads %l : tensor<?x48xf32> -> tensor<?x2x24xf32>
  %p = transformer.cached %c in(%memory) : !transformer.cache<1> -> tensor<?x1xf32>
  return %kh, %lh, %m, %p : tensor<?x4x12xf32>, tensor<?x4x12xf32>, tensor<?x2x24xf32>, tensor<?x1xf32>
}
