// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

!state = !transformer.state<2199023255552>
// expected-error@+1 {{expects a state of at most 2^40 elements, got more}}
func.func @wide(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !state {transformer.name = "s"}) {
  return
}

// -----

!state = !transformer.state<8>
func.func @pooled(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !state {transformer.name = "s"}) -> (!state {transformer.name = "s"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.accumulate' op accumulates rows of sequences, expected rows of tokens: states are sums over tokens}}
  %s1 = transformer.accumulate %s, %p in(%rows) : !state
  return %s1 : !state
}

// -----

!state = !transformer.state<8>
func.func @pooled_mean(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !state {transformer.name = "s"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.prefix_mean' op averages rows of sequences, expected rows of tokens: states are sums over tokens}}
  %y = transformer.prefix_mean %p, %s in(%rows) : !state
  return %y : tensor<?x8xf32>
}

// -----

!state = !transformer.state<8>
func.func @other_rows(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %s: !state {transformer.name = "s"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.prefix_mean' op names other segments for its rows, expected those of the entry's rows or what derives from them}}
  %y = transformer.prefix_mean %x, %s in(%m) : !state
  return %y : tensor<?x8xf32>
}

// -----

!state = !transformer.state<8>
func.func @other_name(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !state {transformer.name = "s"}) -> (!state {transformer.name = "t"}) {
  %s1 = transformer.accumulate %s, %x in(%rows) : !state
  // expected-error@+1 {{'func.return' op returns another state as result 0, expected the argument of its name, changed}}
  return %s1 : !state
}

// -----

!state = !transformer.state<16>
func.func @pooled_keep(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s: !state {transformer.name = "s"}) -> (!state {transformer.name = "s"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x8xf32>
  // expected-error@+1 {{'transformer.keep' op keeps rows of sequences, expected rows of tokens: the state has the last tokens}}
  %s1 = transformer.keep %s, %p in(%rows) : !state, tensor<?x8xf32>
  return %s1 : !state
}
