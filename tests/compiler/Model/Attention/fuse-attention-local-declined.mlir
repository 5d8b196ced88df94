// SPDX-License-Identifier: Apache-2.0
// Masks by positions that leave no interval which the kernel knows.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.attention

// CHECK: module

// In some rows the block begins later than the window, in others the window.
func.func @neither_later(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i / 4 * 4 to i + 9 in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask from i - 2 in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: a row sees the keys of two masks, 'from i - 2' and 'from i / 4 * 4 to i + 9', of which neither ends where the other does in all rows}}
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Keys outside of the window have weights, if all scores inside are lower still.
func.func @finite(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i - 2 to i + 3 in(%rows, %rows)
  %y = transformer.select %m0, %s {hidden = -1.0e+09 : f32} : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the mask 'from i - 2 to i + 3' hides keys by -1e+09, which the kernel knows of a causal mask alone}}
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

func.func @finite_beside_window(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i - 2 in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask causal in(%rows, %rows)
  %m1b = transformer.mask_bias %m1 {hidden = -1.0e+09 : f32} : tensor<?x?xf32>
  %y = transformer.add %z, %m1b : tensor<?x3x?xf32>, tensor<?x?xf32>
  // expected-remark @below {{not fused: the mask 'causal' hides keys by -1e+09, which the kernel knows of a causal mask alone}}
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Both hide keys by a finite number, and the kernel has one.
func.func @two_finite(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = -1.0e+04 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask from i - 2 in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = -1.0e+04 : f32} : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: two masks, 'from i - 2' and 'causal', hide keys by finite numbers, of which the kernel has one}}
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}
