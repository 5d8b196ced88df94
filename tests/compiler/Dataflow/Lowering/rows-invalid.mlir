// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

// Caches: those the entry appends to are read in the history of its rows, others in a memory.

!cache = !transformer.cache<8>
func.func @appended(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %c1 = transformer.append %c, %x in(%rows) : !cache
  // expected-error@+1 {{'transformer.cached' op reads a cache that the entry appends to in segments given to the entry, expected the history of the entry's rows}}
  %k = transformer.cached %c1 in(%m) : !cache -> tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @history(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %s = transformer.history %rows
  // expected-error@+1 {{'transformer.cached' op reads a cache that the entry does not append to in segments of the entry's rows, expected those of a memory}}
  %k = transformer.cached %c in(%s) : !cache -> tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @own_rows(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.cached' op reads a cache that the entry does not append to in segments of the entry's rows, expected those of a memory}}
  %k = transformer.cached %c in(%rows) : !cache -> tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @mixed(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}, %d: !cache {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %s = transformer.history %rows
  %c1 = transformer.append %c, %x in(%rows) : !cache
  %k = transformer.cached %c1 in(%s) : !cache -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op combines values of different keys}}
  %y = transformer.attention %x, %k, %v in(%rows, %s) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Rows are no positions of a memory.

!cache = !transformer.cache<8>
func.func @causal(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}, %d: !cache {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op is causal over a memory, expected keys of the entry's rows or of their history}}
  %y = transformer.attention %x, %k, %v in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<causal>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @causal_mask(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.mask' op is causal over a memory, expected keys of the entry's rows or of their history}}
  %0 = transformer.mask causal in(%rows, %m)
  return %x : tensor<?x8xf32>
}

// -----

// Rows and queries are those of the entry.

!cache = !transformer.cache<8>
func.func @append(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.append' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %c1 = transformer.append %c, %x in(%m) : !cache
  return %x : tensor<?x8xf32>
}

// -----

func.func @pool(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.pool' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %y = transformer.pool mean %x in(%m) : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @positions(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.positions' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %0 = transformer.positions %m
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @places : tensor<4x8xf32> from "places"
func.func @embed(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.embed' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %y = transformer.embed [@places] positions(%m) {position_offsets = array<i64: 0>} : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @history_of_memory(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.history' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %0 = transformer.history %m
  return %x : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @attention(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}, %d: !cache {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %y = transformer.attention %x, %k, %v in(%m, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @contract(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %0 = transformer.contract "thd,khd->thk" %q, %q in(%m, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  return %x : tensor<?x8xf32>
}

// -----

func.func @mask(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.mask' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %0 = transformer.mask all in(%m, %m)
  return %x : tensor<?x8xf32>
}

// -----

transformer.parameter @near : tensor<2x3xf32> from "near"
func.func @bias(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.relative_bias' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %y = transformer.relative_bias @near in(%m, %m) : tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}
