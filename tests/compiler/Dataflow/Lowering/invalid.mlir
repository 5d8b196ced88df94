// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -split-input-file -verify-diagnostics

// expected-error@+1 {{entry 'declared' has no body of one block}}
func.func private @declared(tensor<?x4xf32>)

// -----

// expected-error@+1 {{entry 'segments' has several segments without a transformer.name, expected one}}
func.func @segments(%a: !transformer.segments, %b: !transformer.segments) {
  return
}

// -----

// expected-error@+1 {{argument 0 of entry 'scores' is 'tensor<?x12x?xf32>', expected rows of tokens}}
func.func @scores(%s: tensor<?x12x?xf32> {transformer.name = "s"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 of entry 'nameless' has no transformer.name}}
func.func @nameless(%x: tensor<?x4xf32>) {
  return
}

// -----

// expected-error@+1 {{result 0 of entry 'nameless' has no transformer.name}}
func.func @nameless(%x: tensor<?x4xf32> {transformer.name = "x"}) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

// expected-error@+1 {{result 0 of entry 'ids' is 'tensor<?xi32>', expected f32 rows, such as tokens}}
func.func @ids(%x: tensor<?xi32> {transformer.name = "x"}) -> (tensor<?xi32> {transformer.name = "y"}) {
  return %x : tensor<?xi32>
}

// -----

func.func @unknown(%x: tensor<?x4xf32> {transformer.name = "x"}) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'arith.addf' op has no kernel at the dataflow level}}
  %0 = arith.addf %x, %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @rows(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x4xf32>
  // expected-error@+1 {{'transformer.add' op combines a buffer '!dataflow.buffer<[sequences, 4], f32>' with rows of '!dataflow.buffer<[tokens, 4], f32>'}}
  %0 = transformer.add %x, %p : tensor<?x4xf32>, tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @twice(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x4xf32>
  // expected-error@+1 {{'transformer.pool' op pools rows of sequences, expected rows of tokens}}
  %0 = transformer.pool mean %p in(%rows) : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @attention(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %p = transformer.pool mean %x in(%rows) : tensor<?x4xf32>
  // expected-error@+1 {{'transformer.attention' op attends to rows of sequences, expected rows of tokens}}
  %0 = transformer.attention %p, %x, %x in(%rows, %rows) {heads = 2 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

transformer.parameter @w : tensor<4xf32> from "w"
func.func @weights() {
  %w = transformer.weight @w : tensor<4xf32>
  // expected-error@+1 {{'transformer.scale' op has no rows: mathematics of weights alone has no kernel}}
  %0 = transformer.scale %w, 2.000000e+00 : tensor<4xf32>
  return
}

// -----

func.func @sum_over_rows(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.contract' op has a result without rows: no kernel sums over the rows of a batch}}
  %0 = transformer.contract "ta,tb->ab" %x, %x : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<4x4xf32>
  return
}

// -----

transformer.parameter @position : tensor<2x4xf32> from "position"
func.func @positions(%rows: !transformer.segments) -> (tensor<?x4xf32> {transformer.name = "y"}) {
  %p = transformer.positions %rows {offset = 2 : i64}
  // expected-error@+1 {{'transformer.gather' op looks up positions from 2 in 'position', which has 2 rows}}
  %0 = transformer.gather @position[%p] : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @mask(%x: tensor<?x4x2xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x4x2xf32> {transformer.name = "y"}) {
  %s = transformer.contract "khd,thd->kht" %x, %x in(%rows, %rows) : tensor<?x4x2xf32>, tensor<?x4x2xf32> -> tensor<?x4x?xf32>
  // expected-error@+1 {{'transformer.softmax' op has scores '!dataflow.buffer<[longest, 4, tokens], f32>', expected [rows, heads, longest]}}
  %p = transformer.softmax %s in(%rows) : tensor<?x4x?xf32>
  return %x : tensor<?x4x2xf32>
}

// -----

func.func @rank(%x: tensor<?x4x2xf32> {transformer.name = "x"}) -> (tensor<?x4x2xf32> {transformer.name = "y"}) {
  // expected-error@+1 {{'transformer.contract' op expects a buffer of rank 1 to 4, got 5}}
  %0 = transformer.contract "thd,tef->thdef" %x, %x : tensor<?x4x2xf32>, tensor<?x4x2xf32> -> tensor<?x4x2x4x2xf32>
  return %x : tensor<?x4x2xf32>
}
