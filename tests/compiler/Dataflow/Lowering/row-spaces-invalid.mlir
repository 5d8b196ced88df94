// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @causal(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op is causal over keys of 'blocks(tokens, 2)' for rows of 'tokens', expected one row space: only there a key is before a row or after it}}
  %y = transformer.attention %x, %k, %k in(%rows, %pairs) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @keys(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op attends to rows of tokens, expected rows of blocks(tokens, 2)}}
  %y = transformer.attention %x, %x, %x in(%rows, %pairs) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @queries(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op attends to rows of blocks(tokens, 2), expected rows of tokens}}
  %y = transformer.attention %k, %k, %k in(%rows, %pairs) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @bias(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op has a bias by distance from rows of 'tokens' to keys of 'blocks(tokens, 2)', expected one row space}}
  %y = transformer.attention %x, %k, %k in(%rows, %pairs) {bias = @table, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @sum(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.add' op combines a buffer '!dataflow.buffer<[blocks(tokens, 2), 8], f32>' with rows of '!dataflow.buffer<[tokens, 8], f32>'}}
  %y = transformer.add %x, %k : tensor<?x8xf32>, tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @pool(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.pool' op pools rows of tokens, expected rows of blocks(tokens, 2)}}
  %y = transformer.pool mean %x in(%pairs) : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @contract(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %xh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op has an axis 'k' over rows of tokens, expected rows of blocks(tokens, 2)}}
  %s = transformer.contract "thd,khd->thk" %xh, %xh in(%rows, %pairs) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @contract_rows(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %xh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op has an axis 't' over rows of blocks(tokens, 2), expected rows of tokens}}
  %s = transformer.contract "thd,thd->th" %xh, %kh : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2xf32>
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @keys_of_others(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %xh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %s = transformer.contract "thd,khd->thk" %xh, %kh in(%rows, %pairs) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.softmax' op combines values of different keys}}
  %p = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @distance(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.relative_bias' op has a bias by distance from rows of 'tokens' to keys of 'blocks(tokens, 2)', expected one row space}}
  %b = transformer.relative_bias @table in(%rows, %pairs) : tensor<?x2x?xf32>
  %s = transformer.softmax %b in(%pairs) : tensor<?x2x?xf32>
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @hides(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %s = transformer.contract "thd,khd->thk" %kh, %kh in(%pairs, %pairs) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %m = transformer.mask all in(%rows, %pairs)
  // expected-error@+1 {{'transformer.select' op hides keys from rows of blocks(tokens, 2), expected rows of tokens}}
  %h = transformer.select %m, %s {hidden = -1.0e9 : f32} : tensor<?x2x?xf32>
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @table : tensor<2x7xf32> from "table"
func.func @history(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.history' op names other segments for its rows, expected those of the entry's rows}}
  %h = transformer.history %pairs
  return %x : tensor<?x8xf32>
}

// -----

func.func @memory(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}) {
  // expected-error@+1 {{'transformer.blocks' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %0 = transformer.blocks %memory, 2
  return
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
func.func @appended(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments, %c: !transformer.cache<8> {transformer.name = "c"})
    -> (!transformer.cache<8> {transformer.name = "c"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.append' op appends rows of blocks(tokens, 2), expected rows of tokens}}
  %0 = transformer.append %c, %k in(%rows) : !transformer.cache<8>
  return %0 : !transformer.cache<8>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
func.func @two_spaces(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments, %c: !transformer.cache<8> {transformer.name = "c"}, %d: !transformer.cache<8> {transformer.name = "d"})
    -> (!transformer.cache<8> {transformer.name = "c"}, !transformer.cache<8> {transformer.name = "d"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %0 = transformer.append %c, %k in(%pairs) : !transformer.cache<8>
  // expected-error@+1 {{'transformer.append' op appends rows of tokens, and rows of blocks(tokens, 2) are appended to another cache, expected one row space for all caches of an entry}}
  %1 = transformer.append %d, %x in(%rows) : !transformer.cache<8>
  return %0, %1 : !transformer.cache<8>, !transformer.cache<8>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
func.func @chosen(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments, %c: !transformer.cache<8> {transformer.name = "c"})
    -> (!transformer.cache<8> {transformer.name = "c"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %choices = transformer.choices %rows, 2
  %k = transformer.repeat %x to(%choices) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.append' op appends rows of choices(tokens, 2), expected rows of tokens, or what blocks and strides make of them}}
  %0 = transformer.append %c, %k in(%choices) : !transformer.cache<8>
  return %0 : !transformer.cache<8>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
func.func @steps(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments, %c: !transformer.cache<8> {transformer.name = "c"}, %d: !transformer.cache<8> {transformer.name = "d"})
    -> (tensor<?x8xf32> {transformer.name = "y"}, !transformer.cache<8> {transformer.name = "c"}, !transformer.cache<8> {transformer.name = "d"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.blocks' op derives rows in an entry that reads a cache or a state, whose runs may begin in the middle of a sequence; expected an entry that reads none}}
  %pairs = transformer.blocks %rows, 2
  %seen = transformer.history %rows
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<8>
  %d1 = transformer.append %d, %x in(%rows) : !transformer.cache<8>
  %k = transformer.cached %c1 in(%seen) : !transformer.cache<8> -> tensor<?x8xf32>
  %v = transformer.cached %d1 in(%seen) : !transformer.cache<8> -> tensor<?x8xf32>
  %y = transformer.attention %x, %k, %v in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y, %c1, %d1 : tensor<?x8xf32>, !transformer.cache<8>, !transformer.cache<8>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @places : tensor<16x8xf32> from "places"
func.func @embed(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %pairs = transformer.blocks %rows, 2
  // expected-error@+1 {{'transformer.embed' op looks up rows of tokens, expected rows of blocks(tokens, 2)}}
  %y = transformer.embed [@words, @places] ids(%ids) positions(%pairs) {position_offsets = array<i64: 0>} : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @around : tensor<8x3xf32> from "around"
func.func @convolved(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  // expected-error@+1 {{'transformer.convolve' op convolves rows of tokens, expected rows of blocks(tokens, 2)}}
  %y = transformer.convolve %x, @around in(%pairs) : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @filters : tensor<20x1x3xf32> from "filters"
func.func @locations(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %pairs = transformer.blocks %rows, 2
  %blocks = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %q = transformer.split_heads %blocks : tensor<?x8xf32> -> tensor<?x1x8xf32>
  %k = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x1x8xf32>
  %s = transformer.contract "thd,khd->thk" %q, %k in(%pairs, %rows) : tensor<?x1x8xf32>, tensor<?x1x8xf32> -> tensor<?x1x?xf32>
  // expected-error@+1 {{'transformer.convolve_keys' op convolves keys of rows of blocks(tokens, 2), expected rows of tokens}}
  %f = transformer.convolve_keys %s, @filters in(%rows, %rows) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @words : tensor<30x8xf32> from "words"
// expected-error@+1 {{input "ids" has the limit 0 : i32, expected 1 or more in i32}}
func.func @limited(%ids: tensor<?xi32> {transformer.name = "ids", transformer.limit = 0 : i32}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}
