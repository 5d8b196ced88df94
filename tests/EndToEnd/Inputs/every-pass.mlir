// SPDX-License-Identifier: Apache-2.0
// A program in which every pass finds something to do, and every pass that may decline declines.
transformer.parameter @word : tensor<32x24xf32> from "word"
transformer.parameter @tied : tensor<32x24xf32> from "word"
transformer.parameter @segment : tensor<2x24xf32> from "segment"
transformer.parameter @square : tensor<24x24xf32> from "square"
transformer.parameter @query : tensor<24x24xf32> from "query"
transformer.parameter @key : tensor<24x24xf32> from "key"
transformer.parameter @value : tensor<24x24xf32> from "value"
transformer.parameter @other : tensor<24x24xf32> from "other"
transformer.parameter @key.copy : tensor<24x24xf32> from "key.copy"
transformer.parameter @value.copy : tensor<24x24xf32> from "value.copy"
transformer.parameter @heads : tensor<3x8x8xf32> from "heads"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"
transformer.parameter @window : tensor<24x72xf32> from "window"
transformer.parameter @unused : tensor<24xf32> from "unused"

func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"},
    %types: tensor<?xi32> {transformer.name = "token_type_ids"}, %rows: !transformer.segments)
    -> (tensor<?x24xf32> {transformer.name = "last_hidden_state"}) {
  // Look-ups that are one, and some that are not.
  %words = transformer.gather @word[%ids] : tensor<?x24xf32>
  %segments = transformer.gather @segment[%types] : tensor<?x24xf32>
  %sum = transformer.add %words, %segments : tensor<?x24xf32>, tensor<?x24xf32>
  %x = transformer.layer_norm %sum, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  %others = transformer.gather @tied[%types] : tensor<?x24xf32>
  %changed = transformer.activate relu %others : tensor<?x24xf32>
  %fourth = transformer.gather @segment[%ids] : tensor<?x24xf32>
  %more = transformer.add %changed, %fourth : tensor<?x24xf32>, tensor<?x24xf32>
  // Attention.
  %q = transformer.linear %x, @query : tensor<?x24xf32> -> tensor<?x24xf32>
  %k = transformer.linear %x, @key : tensor<?x24xf32> -> tensor<?x24xf32>
  %v = transformer.linear %x, @value : tensor<?x24xf32> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  // Another attention to its keys and values, under other names, with queries of its own.
  %q3 = transformer.linear %x, @other : tensor<?x24xf32> -> tensor<?x24xf32>
  %k3 = transformer.linear %x, @key.copy : tensor<?x24xf32> -> tensor<?x24xf32>
  %v3 = transformer.linear %x, @value.copy : tensor<?x24xf32> -> tensor<?x24xf32>
  %qh3 = transformer.split_heads %q3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh3 = transformer.split_heads %k3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh3 = transformer.split_heads %v3 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s3 = transformer.contract "thd,khd->thk" %qh3, %kh3 in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p3 = transformer.softmax %s3 in(%rows) : tensor<?x3x?xf32>
  %c3 = transformer.contract "thk,khd->thd" %p3, %vh3 in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m3 = transformer.merge_heads %c3 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  // What looks like attention and is not.
  %xh = transformer.split_heads %x : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s2 = transformer.contract "thd,khd->thk" %xh, %xh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %s4 = transformer.contract "thd,khd->thk" %qh, %xh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %a2 = transformer.multiply %s2, %s4 : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %p2 = transformer.softmax %a2 in(%rows) : tensor<?x3x?xf32>
  %c2 = transformer.contract "thk,khd->thd" %p2, %xh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  // Two equal operations. A contraction that is a linear map, and one with a map for each head.
  %weight = transformer.weight @square : tensor<24x24xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %once = transformer.activate relu %m : tensor<?x24xf32>
  %twice = transformer.activate relu %m : tensor<?x24xf32>
  %both = transformer.add %once, %twice : tensor<?x24xf32>, tensor<?x24xf32>
  %l = transformer.contract "tm,nm->tn" %both, %weight : tensor<?x24xf32>, tensor<24x24xf32> -> tensor<?x24xf32>
  %maps = transformer.weight @heads : tensor<3x8x8xf32>
  %h = transformer.contract "thd,hde->the" %c2, %maps : tensor<?x3x8xf32>, tensor<3x8x8xf32> -> tensor<?x3x8xf32>
  %h2 = transformer.merge_heads %h : tensor<?x3x8xf32> -> tensor<?x24xf32>
  // Maps of the same rows that cannot be one.
  %l1 = transformer.linear %l, @square : tensor<?x24xf32> -> tensor<?x24xf32>
  %l2 = transformer.linear %l, @query : tensor<?x24xf32> -> tensor<?x24xf32>
  %r1 = transformer.activate relu %l1 : tensor<?x24xf32>
  %r2 = transformer.activate relu %l2 : tensor<?x24xf32>
  %y1 = transformer.add %r1, %r2 : tensor<?x24xf32>, tensor<?x24xf32>
  %y2 = transformer.add %y1, %h2 : tensor<?x24xf32>, tensor<?x24xf32>
  %y4 = transformer.add %y2, %m3 : tensor<?x24xf32>, tensor<?x24xf32>
  %y3 = transformer.add %y4, %more : tensor<?x24xf32>, tensor<?x24xf32>
  // Two dispatches of one kernel; two maps with nothing between them.
  %l0 = transformer.linear %y3, @query : tensor<?x24xf32> -> tensor<?x24xf32>
  %l3 = transformer.linear %l0, @key : tensor<?x24xf32> -> tensor<?x24xf32>
  %r3 = transformer.activate relu %l3 : tensor<?x24xf32>
  %l4 = transformer.linear %r3, @value : tensor<?x24xf32> -> tensor<?x24xf32>
  %r4 = transformer.activate relu %l4 : tensor<?x24xf32>
  return %r4 : tensor<?x24xf32>
}

// A mean of the rows so far, and the sum that it leaves, of the same rows.
func.func @average(%x: tensor<?x24xf32> {transformer.name = "rows"}, %rows: !transformer.segments, %s0: !transformer.state<24> {transformer.name = "sum"}) -> (tensor<?x24xf32> {transformer.name = "mean"}, !transformer.state<24> {transformer.name = "sum"}) {
  %g = transformer.prefix_mean %x, %s0 in(%rows) : !transformer.state<24>
  %s1 = transformer.accumulate %s0, %x in(%rows) : !transformer.state<24>
  return %g, %s1 : tensor<?x24xf32>, !transformer.state<24>
}

// What windows see, multiplied at once; and what is wanted itself.
func.func @windows(%x: tensor<?x24xf32> {transformer.name = "rows"}, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "y"}, tensor<?x72xf32> {transformer.name = "seen"}, tensor<?x24xf32> {transformer.name = "z"}) {
  %p = transformer.slide patches %x in(%rows) window<height = 3> : tensor<?x24xf32> -> tensor<?x72xf32>
  %y = transformer.linear %p, @window : tensor<?x72xf32> -> tensor<?x24xf32>
  %q = transformer.slide patches %x in(%rows) window<height = 3, causal = true> : tensor<?x24xf32> -> tensor<?x72xf32>
  %z = transformer.linear %q, @window : tensor<?x72xf32> -> tensor<?x24xf32>
  return %y, %q, %z : tensor<?x24xf32>, tensor<?x72xf32>, tensor<?x24xf32>
}

// A table that is looked up and multiplied with.
func.func @decode(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments) -> (tensor<?x32xf32> {transformer.name = "logits"}) {
  %x = transformer.gather @word[%ids] : tensor<?x24xf32>
  %y = transformer.linear %x, @word : tensor<?x24xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// A recurrence: a map of rows that no step changes, and one of what is carried. Another from the end
// reads nothing of it, a third does.
func.func @recur(%x: tensor<?x24xf32> {transformer.name = "rows"}, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "steps"}, tensor<?x24xf32> {transformer.name = "back"}, tensor<?x24xf32> {transformer.name = "again"}) {
  %last, %h = transformer.recurrence(%x : tensor<?x24xf32>) in(%rows) -> tensor<?x24xf32>, tensor<?x24xf32> {
  ^bb0(%now: tensor<?x24xf32>, %before: tensor<?x24xf32>):
    %a = transformer.linear %now, @square : tensor<?x24xf32> -> tensor<?x24xf32>
    %u = transformer.linear %before, @other : tensor<?x24xf32> -> tensor<?x24xf32>
    %sum = transformer.add %a, %u : tensor<?x24xf32>, tensor<?x24xf32>
    %new = transformer.activate tanh %sum : tensor<?x24xf32>
    transformer.next %new, %new : tensor<?x24xf32>, tensor<?x24xf32>
  }
  %first, %back = transformer.recurrence(%x : tensor<?x24xf32>) in(%rows) reversed -> tensor<?x24xf32>, tensor<?x24xf32> {
  ^bb0(%now: tensor<?x24xf32>, %before: tensor<?x24xf32>):
    %u = transformer.linear %before, @other : tensor<?x24xf32> -> tensor<?x24xf32>
    %sum = transformer.add %now, %u : tensor<?x24xf32>, tensor<?x24xf32>
    transformer.next %sum, %sum : tensor<?x24xf32>, tensor<?x24xf32>
  }
  %end, %again = transformer.recurrence(%h : tensor<?x24xf32>) in(%rows) -> tensor<?x24xf32>, tensor<?x24xf32> {
  ^bb0(%now: tensor<?x24xf32>, %before: tensor<?x24xf32>):
    %sum = transformer.add %now, %before : tensor<?x24xf32>, tensor<?x24xf32>
    transformer.next %sum, %sum : tensor<?x24xf32>, tensor<?x24xf32>
  }
  return %h, %back, %again : tensor<?x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>
}

// A memory of blocks, from which others may read.
func.func @remember(%x: tensor<?x24xf32> {transformer.name = "rows"}, %rows: !transformer.segments, %c: !transformer.cache<24> {transformer.name = "remembered"}) -> (!transformer.cache<24> {transformer.name = "remembered"}) {
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool max %x in(%rows) to(%pairs) : tensor<?x24xf32>
  %s = transformer.activate rsqrt %k : tensor<?x24xf32>
  %c1 = transformer.append %c, %s in(%pairs) : !transformer.cache<24>
  return %c1 : !transformer.cache<24>
}

// Heads that are turned, and heads that are mirrored.
func.func @turn(%x: tensor<?x24xf32> {transformer.name = "rows"}, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "turned"}, tensor<?x24xf32> {transformer.name = "mirrored"}) {
  %heads = transformer.choices %rows, 3
  %h = transformer.split_rows %x to(%heads) : tensor<?x24xf32> -> tensor<?x8xf32>
  %angles = transformer.angles %rows {frequencies = array<f32: 1.0, 0.3, 0.1, 0.03>} : tensor<?x4xf32>
  %cosine = transformer.activate cos %angles : tensor<?x4xf32>
  %sine = transformer.activate sin %angles : tensor<?x4xf32>
  %c = transformer.repeat %cosine to(%heads) : tensor<?x4xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x4xf32>
  %near = transformer.columns %h from 0 : tensor<?x8xf32> -> tensor<?x4xf32>
  %far = transformer.columns %h from 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  %nc = transformer.multiply %near, %c : tensor<?x4xf32>
  %fs = transformer.multiply %far, %s : tensor<?x4xf32>
  %minus = transformer.scale %fs, -1.0 : tensor<?x4xf32>
  %a = transformer.add %nc, %minus : tensor<?x4xf32>, tensor<?x4xf32>
  %fc = transformer.multiply %far, %c : tensor<?x4xf32>
  %ns = transformer.multiply %near, %s : tensor<?x4xf32>
  %b = transformer.add %fc, %ns : tensor<?x4xf32>, tensor<?x4xf32>
  %both = transformer.concat %a, %b : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  %turned = transformer.join_rows %both in(%heads) : tensor<?x8xf32> -> tensor<?x24xf32>
  %d = transformer.add %nc, %fs : tensor<?x4xf32>, tensor<?x4xf32>
  %other = transformer.concat %d, %b : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  %mirrored = transformer.join_rows %other in(%heads) : tensor<?x8xf32> -> tensor<?x24xf32>
  return %turned, %mirrored : tensor<?x24xf32>, tensor<?x24xf32>
}

// A norm and an activation as their formulas, and what looks like these.
func.func @spell(%x: tensor<?x24xf32> {transformer.name = "rows"}, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "spelt"}, tensor<?x24xf32> {transformer.name = "others"}) {
  %square = transformer.multiply %x, %x : tensor<?x24xf32>
  %mean = transformer.reduce mean %square : tensor<?x24xf32> -> tensor<?x1xf32>
  %shifted = transformer.shift %mean, 1.0e-5 : tensor<?x1xf32>
  %root = transformer.activate rsqrt %shifted : tensor<?x1xf32>
  %unit = transformer.multiply %x, %root : tensor<?x24xf32>, tensor<?x1xf32>
  %gate = transformer.activate sigmoid %unit : tensor<?x24xf32>
  %spelt = transformer.multiply %unit, %gate : tensor<?x24xf32>
  %sum = transformer.reduce sum %square : tensor<?x24xf32> -> tensor<?x1xf32>
  %length = transformer.activate rsqrt %sum : tensor<?x1xf32>
  %short = transformer.multiply %x, %length : tensor<?x24xf32>, tensor<?x1xf32>
  %others = transformer.activate erf %short : tensor<?x24xf32>
  return %spelt, %others : tensor<?x24xf32>, tensor<?x24xf32>
}
