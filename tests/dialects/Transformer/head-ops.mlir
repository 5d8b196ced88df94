// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

transformer.parameter @distances : tensor<12x257xf32> from "distances"

// CHECK-LABEL: func.func @heads
func.func @heads(%q: tensor<?x384xf32>)
    -> (tensor<?x384xf32>, tensor<12x32x?xf32>) {
  // CHECK: transformer.split_heads %{{.*}} : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %qh = transformer.split_heads %q : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %kh = transformer.split_heads %q : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %ch = transformer.split_heads %q : tensor<?x384xf32> -> tensor<?x12x32xf32>
  // CHECK: transformer.merge_heads %{{.*}} : tensor<?x12x32xf32> -> tensor<?x384xf32>
  %c = transformer.merge_heads %ch : tensor<?x12x32xf32> -> tensor<?x384xf32>
  // CHECK: transformer.transpose %{{.*}} [1, 2, 0] : tensor<?x12x32xf32> -> tensor<12x32x?xf32>
  %kt = transformer.transpose %kh [1, 2, 0] : tensor<?x12x32xf32> -> tensor<12x32x?xf32>
  return %c, %kt : tensor<?x384xf32>, tensor<12x32x?xf32>
}

// CHECK-LABEL: func.func @repeated
func.func @repeated(%kh: tensor<?x2x64xf32>) -> tensor<?x8x64xf32> {
  // CHECK: transformer.repeat_heads %{{.*}} : tensor<?x2x64xf32> -> tensor<?x8x64xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x64xf32> -> tensor<?x8x64xf32>
  return %kr : tensor<?x8x64xf32>
}

// CHECK-LABEL: func.func @contract
func.func @contract(%qh: tensor<?x12x32xf32>, %kh: tensor<?x12x32xf32>, %w: tensor<384x12x32xf32>,
                    %rows: !transformer.segments)
    -> (tensor<?x12x?xf32>, tensor<?x384xf32>) {
  // CHECK: transformer.contract "thd,khd->thk" %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) : tensor<?x12x32xf32>, tensor<?x12x32xf32> -> tensor<?x12x?xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x12x32xf32>, tensor<?x12x32xf32> -> tensor<?x12x?xf32>
  // CHECK: transformer.contract "thd,nhd->tn" %{{.*}}, %{{[a-z0-9]+}} : tensor<?x12x32xf32>, tensor<384x12x32xf32> -> tensor<?x384xf32>
  %o = transformer.contract "thd,nhd->tn" %qh, %w : tensor<?x12x32xf32>, tensor<384x12x32xf32> -> tensor<?x384xf32>
  return %s, %o : tensor<?x12x?xf32>, tensor<?x384xf32>
}

// CHECK-LABEL: func.func @masks
func.func @masks(%s: tensor<?x12x?xf32>, %rows: !transformer.segments)
    -> (tensor<?x12x?xf32>, tensor<?x?xf32>) {
  // CHECK: transformer.mask causal in(%{{.*}}, %{{.*}})
  %m = transformer.mask causal in(%rows, %rows)
  // CHECK: transformer.mask all in(%{{.*}}, %{{.*}})
  %all = transformer.mask all in(%rows, %rows)
  // CHECK: transformer.mask from i - 2 to i + 3 in
  %w = transformer.mask from i - 2 to i + 3 in(%rows, %rows)
  // CHECK: transformer.mask from (i + 1) / 4 * 3 - 1 in
  %f = transformer.mask from (i + 1) / 4 * 3 - 1 in(%rows, %rows)
  // CHECK: transformer.mask to i / 4 * 4 + 5 in
  %t = transformer.mask to i / 4 * 4 + 5 in(%rows, %rows)
  // CHECK: transformer.mask causal in
  %c = transformer.mask to i + 1 in(%rows, %rows)
  // CHECK: transformer.mask_bias %{{.*}} {hidden = -1.000000e+09 : f32} : tensor<?x?xf32>
  %b = transformer.mask_bias %m {hidden = -1.000000e+09 : f32} : tensor<?x?xf32>
  // CHECK: transformer.select %{{.*}}, %{{.*}} {hidden = 0xFF800000 : f32} : tensor<?x12x?xf32>
  %z = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x12x?xf32>
  // CHECK: transformer.softmax %{{.*}} in(%{{.*}}) : tensor<?x12x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x12x?xf32>
  return %p, %b : tensor<?x12x?xf32>, tensor<?x?xf32>
}

// CHECK-LABEL: func.func @distances_of
func.func @distances_of(%rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // CHECK: transformer.relative_bias @distances in(%{{.*}}, %{{.*}}) : tensor<?x12x?xf32>
  %r = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x12x?xf32>
  return %r : tensor<?x12x?xf32>
}

// CHECK-LABEL: func.func @pairs_of
func.func @pairs_of(%q: tensor<?x20xf32>, %u: tensor<?x20xf32>, %rows: !transformer.segments, %source: !transformer.segments) -> tensor<?x?x20xf32> {
  // CHECK: transformer.pair_sum %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x?x20xf32>
  %p = transformer.pair_sum %q, %u in(%rows, %source) : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x?x20xf32>
  return %p : tensor<?x?x20xf32>
}

// CHECK-LABEL: func.func @smooth
func.func @smooth(%z: tensor<?x12x?xf32>, %rows: !transformer.segments) -> tensor<?x12x?xf32> {
  // CHECK: transformer.divide_by_sum %{{.*}} in(%{{.*}}) : tensor<?x12x?xf32>
  %p = transformer.divide_by_sum %z in(%rows) : tensor<?x12x?xf32>
  return %p : tensor<?x12x?xf32>
}

transformer.parameter @location.weight : tensor<20x1x3xf32> from "location.weight"

// CHECK-LABEL: func.func @location
func.func @location(%p: tensor<?x1x?xf32>, %rows: !transformer.segments, %source: !transformer.segments) -> tensor<?x?x20xf32> {
  // CHECK: transformer.convolve_keys %{{.*}}, @location.weight in(%{{.*}}, %{{.*}}) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
  %f = transformer.convolve_keys %p, @location.weight in(%rows, %source) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
  return %f : tensor<?x?x20xf32>
}
