// SPDX-License-Identifier: Apache-2.0
// Functions of scores between the product and the softmax. As whole programs: EndToEnd/spellings.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.softmax

!rows = tensor<?x24xf32>
!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>

transformer.parameter @near : tensor<3x9xf32> from "near"
transformer.parameter @one : tensor<3x1xf32> from "one"
transformer.parameter @number : tensor<1xf32> from "number"

// 4 tanh(s / 8): the factor before is the scale.
// CHECK-LABEL: func.func @soft_cap(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.250000e-01 : f32, score = #transformer.score<tanh(s0), multiply(s1, 4.000000e+00)>, visibility = #transformer.visibility<all>} : 
func.func @soft_cap(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 0.125, all, score tanh(s0), multiply(s1, 4)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %z = transformer.scale %s, 5.0e-01 : !scores
  %a = transformer.scale %z, 2.5e-01 : !scores
  %t = transformer.activate tanh %a : !scores
  %y = transformer.scale %t, 4.0 : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// What follows is the last step, wherever the mask is.
// CHECK-LABEL: func.func @masked(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<tanh(s0), multiply(s1, 3.000000e+00)>, visibility = #transformer.visibility<causal>} : 
func.func @masked(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, causal, score tanh(s0), multiply(s1, 3)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %t = transformer.activate tanh %s : !scores
  %mask = transformer.mask causal in(%rows, %rows)
  %h = transformer.select %mask, %t {hidden = 0xFF800000 : f32} : !scores
  %y = transformer.scale %h, 3.0 : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// A mask of all keys hides none, wherever it is.
// CHECK-LABEL: func.func @all_keys_before(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<gelu(s0)>, visibility = #transformer.visibility<all>} : 
func.func @all_keys_before(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, score gelu(s0)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %mask = transformer.mask all in(%rows, %rows)
  %h = transformer.select %mask, %s {hidden = 0xFF800000 : f32} : !scores
  %y = transformer.activate gelu %h : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// The table is added within the function: its factor is the table's.
// CHECK-LABEL: func.func @bias_within(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {bias = @near.scaled, heads = 3 : i64, scale = 5.000000e-01 : f32, score = #transformer.score<add(s0, bias), tanh(s1), multiply(s2, 2.000000e+00)>, visibility = #transformer.visibility<all>} : 
func.func @bias_within(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 0.5, all, bias @near.scaled, score add(s0, bias), tanh(s1), multiply(s2, 2)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %w = transformer.add %b, %s : !scores, !scores
  %a = transformer.scale %w, 5.0e-01 : !scores
  %t = transformer.activate tanh %a : !scores
  %y = transformer.scale %t, 2.0 : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// And after it, where the score does not take it.
// CHECK-LABEL: func.func @bias_after(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {bias = @near, heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<relu(s0)>, visibility = #transformer.visibility<all>} : 
func.func @bias_after(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, bias @near, score relu(s0)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %t = transformer.activate relu %s : !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %y = transformer.add %t, %b : !scores, !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// Between two functions.
// CHECK-LABEL: func.func @bias_between(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {bias = @near, heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<relu(s0), add(s1, bias), silu(s2)>, visibility = #transformer.visibility<all>} : 
func.func @bias_between(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, bias @near, score relu(s0), add(s1, bias), silu(s2)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %t = transformer.activate relu %s : !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %w = transformer.add %t, %b : !scores, !scores
  %y = transformer.activate silu %w : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// s sigmoid(s / 2) + s: a graph. The factor is not the scale: s itself is used too.
// CHECK-LABEL: func.func @graph(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<multiply(s0, 5.000000e-01), sigmoid(s1), multiply(s2, s0), add(s3, s0)>, visibility = #transformer.visibility<all>} : 
func.func @graph(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, score multiply(s0, 0.5), sigmoid(s1), multiply(s2, s0), add(s3, s0)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %a = transformer.scale %s, 5.0e-01 : !scores
  %t = transformer.activate sigmoid %a : !scores
  %g = transformer.multiply %t, %s : !scores
  %y = transformer.add %g, %s : !scores, !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// A function of a sum of products.
// CHECK-LABEL: func.func @sum_of_products(
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<tanh(s0)>, visibility = #transformer.visibility<all>} : 
func.func @sum_of_products(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, 2 products by the sum of their queries, scale 1, all, score tanh(s0)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %vh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %w = transformer.add %s, %s2 : !scores, !scores
  %y = transformer.activate tanh %w : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// A learned number before the function goes onto the queries.
// CHECK-LABEL: func.func @learned_number_before(
// CHECK: transformer.multiply %{{.*}} : tensor<?x24xf32>, tensor<1xf32>
// CHECK: transformer.attention %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<tanh(s0)>, visibility = #transformer.visibility<all>} : 
func.func @learned_number_before(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, score tanh(s0)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %n = transformer.weight @number : tensor<1xf32>
  %w = transformer.multiply %s, %n : !scores, tensor<1xf32>
  %y = transformer.activate tanh %w : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// The weights by themselves have the function too.
// CHECK-LABEL: func.func @weights_alone(
// CHECK: transformer.attention_weights %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 3 : i64, scale = 1.000000e+00 : f32, score = #transformer.score<tanh(s0)>, visibility = #transformer.visibility<all>} :
func.func @weights_alone(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all, score tanh(s0), weights alone}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %y = transformer.activate tanh %s : !scores
  %p = transformer.softmax %y in(%rows) : !scores
  return %p : !scores
}

// Numbers of rows go onto the queries; behind the transpose these are of the keys.
// CHECK-LABEL: func.func @numbers_of_keys(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[G:[a-z0-9]+]]: tensor<?x1xf32>,
// CHECK: %[[N:.*]] = transformer.multiply %[[K]], %[[G]] : tensor<?x24xf32>, tensor<?x1xf32>
// CHECK: transformer.attention %[[Q]], %[[N]], %[[V]] in
func.func @numbers_of_keys(%q: !rows, %k: !rows, %v: !rows, %g: tensor<?x1xf32>, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{3 heads of 8, scale 1, all}}
  %s = transformer.contract "thd,khd->kht" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %z = transformer.multiply %s, %g : !scores, tensor<?x1xf32>
  %t = transformer.transpose %z [2, 1, 0] : !scores -> !scores
  %p = transformer.softmax %t in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}
