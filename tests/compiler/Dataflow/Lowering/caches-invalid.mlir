// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

!cache = !transformer.cache<8>
func.func @layouts(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op reads cache "c" as rows, but another attention as keys}}
  %y = transformer.attention %x, %k, %k in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
// expected-error@+1 {{argument 2 of entry 'unnamed' has no transformer.name}}
func.func @unnamed(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !cache) {
  return
}

// -----

!cache = !transformer.cache<2199023255552>
// expected-error@+1 {{expects a position of at most 2^40 elements, got more}}
func.func @wide(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !cache {transformer.name = "c"}) {
  return
}

// -----

!cache = !transformer.cache<8>
func.func @pooled(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !cache {transformer.name = "c"}) -> (!cache {transformer.name = "c"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.append' op appends rows of sequences, expected rows of tokens}}
  %c1 = transformer.append %c, %p in(%rows) : !cache
  return %c1 : !cache
}

// -----

!cache = !transformer.cache<8>
func.func @rows(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.add' op reads a cache as rows, expected only attention and its mathematics to read one}}
  %y = transformer.add %x, %k : tensor<?x8xf32>, tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @keys(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %s = transformer.contract "thd,khd->thk" %q, %kh in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %own = transformer.contract "thd,khd->thk" %q, %q in(%rows, %rows) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-error@+1 {{'transformer.add' op combines values of different keys}}
  %y = transformer.add %s, %own : tensor<?x2x?xf32>, tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

func.func @no_cache(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op has keys of segments that no cache gives}}
  %y = transformer.contract "thd,khd->thk" %q, %q in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @mixed(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  // expected-error@+1 {{'transformer.attention' op has keys or values that are rows, expected those of a cache}}
  %y = transformer.attention %x, %k, %x in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @key_rows(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x2x?xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op has keys that are rows, expected those of a cache}}
  %y = transformer.contract "thd,khd->thk" %q, %q in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @rows_of_a_cache(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x2x4xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op reads a cache by 'thd,thd->thd', expected its rows to be keys 'k' of rows 't'}}
  %s = transformer.contract "thd,thd->thd" %kh, %kh : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %s : tensor<?x2x4xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @keys_of_no_row(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<2x4xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-error@+1 {{'transformer.contract' op reads a cache by 'khd,khd->hd', expected its rows to be keys 'k' of rows 't'}}
  %s = transformer.contract "khd,khd->hd" %kh, %kh in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<2x4xf32>
  return %s : tensor<2x4xf32>
}

// -----

!cache = !transformer.cache<8>
func.func @not_appended(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !cache {transformer.name = "c"}) -> (!cache {transformer.name = "c"}) {
  // expected-error@+1 {{'func.return' op returns another cache as result 0, expected the argument of its name, appended to}}
  return %c : !cache
}

// -----

!cache = !transformer.cache<8>
func.func @other_name(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !cache {transformer.name = "c"}) -> (!cache {transformer.name = "other"}) {
  %c1 = transformer.append %c, %x in(%rows) : !cache
  // expected-error@+1 {{'func.return' op returns another cache as result 0, expected the argument of its name, appended to}}
  return %c1 : !cache
}
