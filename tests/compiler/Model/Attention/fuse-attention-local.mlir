// SPDX-License-Identifier: Apache-2.0
// Masks by the positions of queries and keys: whatever they are written as, what all of them leave is
// an interval of keys, which the fused operation says.
// RUN: heddle-opt %s -transformer-fuse-attention | FileCheck %s

// A window, by one mask.
// CHECK-LABEL: func.func @window(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i - 2 to i + 3>}
func.func @window(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i - 2 to i + 3 in(%rows, %rows)
  %y = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The same by two, of which one is added and the other selected.
// CHECK-LABEL: func.func @window_by_two_masks(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i - 2 to i + 3>}
func.func @window_by_two_masks(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask to i + 3 in(%rows, %rows)
  %m0b = transformer.mask_bias %m0 {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %z = transformer.add %s, %m0b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %m1 = transformer.mask from i - 2 in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// A window of rows that see none after them.
// CHECK-LABEL: func.func @causal_window(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i - 3 to i + 1>}
func.func @causal_window(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i - 3 to i + 3 in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The same the other way round.
// CHECK-LABEL: func.func @window_causal(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i - 3 to i + 1>}
func.func @window_causal(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask from i - 3 to i + 3 in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Blocks, and one key on either side.
// CHECK-LABEL: func.func @blocks(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i / 4 * 4 - 1 to i / 4 * 4 + 5>}
func.func @blocks(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i / 4 * 4 - 1 to i / 4 * 4 + 5 in(%rows, %rows)
  %y = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Blocks of rows that see none after them: no row of a block ends before itself.
// CHECK-LABEL: func.func @causal_blocks(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i / 4 * 4 to i + 1>}
func.func @causal_blocks(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i / 4 * 4 to i / 4 * 4 + 4 in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Shifts by whole blocks are offsets; a bound of any other form keeps its numbers.
// CHECK-LABEL: func.func @shifted(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from (i + 1) / 4 * 4 - 4 to i * 2 + 3>}
func.func @shifted(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from (i + 9) / 4 * 4 - 12 to (i - 1) * 2 + 5 in(%rows, %rows)
  %y = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The smaller of two windows.
// CHECK-LABEL: func.func @two_windows(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i - 2 to i + 8>}
func.func @two_windows(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i - 7 to i + 8 in(%rows, %rows)
  %z = transformer.select %m0, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %m1 = transformer.mask from i - 2 in(%rows, %rows)
  %y = transformer.select %m1, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// A number so low that no weight is left.
// CHECK-LABEL: func.func @lowest(
// CHECK: transformer.attention {{.*}} visibility = #transformer.visibility<from i - 2 to i + 3>}
func.func @lowest(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m0 = transformer.mask from i - 2 to i + 3 in(%rows, %rows)
  %y = transformer.select %m0, %s {hidden = -3.40282347e+38 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}
