// SPDX-License-Identifier: Apache-2.0
// Location-sensitive attention at both levels: numbers of keys that a recurrence carries and a state
// keeps, a convolution over them, and weights that are divided by their sum.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics | FileCheck %s
// RUN: not heddle-opt %s -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OP

transformer.parameter @filters : tensor<20x1x3xf32> from "filters"
transformer.parameter @v : tensor<1x20xf32> from "v"

// What a step has looked at is the operand of the next one, a step earlier; at the first step it is
// what the state has. It is stored from the rows of the last steps and brought back for who asks.
// OP-LABEL: func.func @decode
// OP: transformer.load %{{.*}} over(%{{.*}}) : !transformer.state<1, keys>
// OP: transformer.convolve_keys %{{.*}}, @filters in(%{{.*}}, %{{.*}}) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
// OP: transformer.divide_by_sum %{{.*}} in(%{{.*}}) : tensor<?x1x?xf32>
// OP: transformer.store %{{.*}}, %{{.*}} : !transformer.state<1, keys>
// CHECK: dataflow.kernel @[[LOAD:.*]] : (!dataflow.state<[1], f32, keys>) -> !dataflow.buffer<[ranks, 1, longest], f32> computes #dataflow.load
// CHECK: dataflow.kernel @[[CONVOLVE:.*]] : (!dataflow.buffer<[steps, 1, longest], f32>, !dataflow.buffer<[20, 1, 3], f32>, !dataflow.cache<[20], f32, rows>) -> !dataflow.buffer<[steps, longest, 20], f32> computes #dataflow.nest<"thk,whj->tkw", sum, keys_from, slides>
// CHECK: dataflow.kernel @[[DIVIDE:.*]] : (!dataflow.buffer<[steps, 1, longest], f32>, !dataflow.cache<[20], f32, rows>) -> !dataflow.buffer<[steps, 1, longest], f32> computes #dataflow.nest<"thk->thk", divide_by_sum, keys_from>
// CHECK: dataflow.kernel @[[STORE:.*]] : (!dataflow.state<[1], f32, keys>, !dataflow.buffer<[steps, 1, longest], f32>) -> !dataflow.state<[1], f32, keys> computes #dataflow.store
// CHECK: dataflow.graph @decode
// CHECK: %[[BEGIN:.*]] = dataflow.dispatch @[[LOAD]](%[[S:.*]]) :
// CHECK: %[[LOOKED:.*]]:2 = dataflow.loop(%{{.*}}, %[[BEGIN]])
// CHECK: ^bb0(%{{.*}}, %[[BEFORE:[a-z0-9]*]]: !dataflow.buffer<[steps, 1, longest], f32>):
// CHECK: dataflow.dispatch @[[CONVOLVE]](%[[BEFORE]], %{{.*}}, %{{.*}})
// CHECK: %[[P:.*]] = dataflow.dispatch @[[DIVIDE]]
// CHECK: dataflow.next %{{.*}}, %[[P]]
// CHECK: dataflow.dispatch @[[STORE]](%[[S]], %[[LOOKED]]#1) changes [0]
func.func @decode(%x: tensor<?x20xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %c: !transformer.cache<20> {transformer.name = "keys"}, %h0: !transformer.state<20> {transformer.name = "h"}, %s0: !transformer.state<1, keys> {transformer.name = "looked"}) -> (tensor<?x20xf32> {transformer.name = "y"}, tensor<?x1x?xf32> {transformer.name = "attention"}, !transformer.state<20> {transformer.name = "h"}, !transformer.state<1, keys> {transformer.name = "looked"}) {
  %keys = transformer.cached %c in(%memory) : !transformer.cache<20> -> tensor<?x20xf32>
  %v = transformer.weight @v : tensor<1x20xf32>
  %h = transformer.load %h0 : !transformer.state<20>
  %looked = transformer.load %s0 over(%memory) : !transformer.state<1, keys>
  %h1, %last, %y, %all = transformer.recurrence(%x : tensor<?x20xf32>) from(%h, %looked : tensor<?x20xf32>, tensor<?x1x?xf32>) in(%rows) -> tensor<?x20xf32>, tensor<?x1x?xf32>, tensor<?x20xf32>, tensor<?x1x?xf32> {
  ^bb0(%now: tensor<?x20xf32>, %state: tensor<?x20xf32>, %before: tensor<?x1x?xf32>):
    %q = transformer.add %now, %state : tensor<?x20xf32>, tensor<?x20xf32>
    %pairs = transformer.pair_sum %q, %keys in(%rows, %memory) : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x?x20xf32>
    %f = transformer.convolve_keys %before, @filters in(%rows, %memory) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
    %sum = transformer.add %pairs, %f : tensor<?x?x20xf32>, tensor<?x?x20xf32>
    %t = transformer.activate tanh %sum : tensor<?x?x20xf32>
    %e = transformer.contract "tkw,hw->thk" %t, %v in(%rows, %memory) : tensor<?x?x20xf32>, tensor<1x20xf32> -> tensor<?x1x?xf32>
    %gates = transformer.activate sigmoid %e : tensor<?x1x?xf32>
    %p = transformer.divide_by_sum %gates in(%memory) : tensor<?x1x?xf32>
    %new = transformer.contract "thk,kd->td" %p, %keys in(%rows, %memory) : tensor<?x1x?xf32>, tensor<?x20xf32> -> tensor<?x20xf32>
    transformer.next %new, %p, %new, %p : tensor<?x20xf32>, tensor<?x1x?xf32>, tensor<?x20xf32>, tensor<?x1x?xf32>
  }
  %h2 = transformer.store %h0, %h1 : !transformer.state<20>
  %s1 = transformer.store %s0, %last : !transformer.state<1, keys>
  return %y, %all, %h2, %s1 : tensor<?x20xf32>, tensor<?x1x?xf32>, !transformer.state<20>, !transformer.state<1, keys>
}

// -----

func.func @divide_by_sum_c1(%s: tensor<?x12x32xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.divide_by_sum' op expects scores tensor<?xHx?xf32>, got 'tensor<?x12x32xf32>'}}
  %p = transformer.divide_by_sum %s in(%rows) : tensor<?x12x32xf32>
  return
}

// -----

transformer.parameter @filters : tensor<20x1x3xf32> from "filters"
func.func @convolve_keys_c1(%s: tensor<?x32xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.convolve_keys' op expects scores tensor<?xHx?xf32>, got 'tensor<?x32xf32>'}}
  %p = transformer.convolve_keys %s, @filters in(%rows, %rows) : tensor<?x32xf32> -> tensor<?x?x20xf32>
  return
}

// -----

transformer.parameter @filters : tensor<20x1x3xf32> from "filters"
func.func @convolve_keys_c1_result(%s: tensor<?x1x?xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.convolve_keys' op expects a result tensor<?x?xWxf32>, got 'tensor<?x20x?xf32>'}}
  %p = transformer.convolve_keys %s, @filters in(%rows, %rows) : tensor<?x1x?xf32> -> tensor<?x20x?xf32>
  return
}

// -----

transformer.parameter @filters : tensor<20x1x4xf32> from "filters" // expected-note {{the parameter is defined here}}
func.func @convolve_keys_c2(%s: tensor<?x1x?xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.convolve_keys' op expects weight '@filters' of shape 20x1xN with N odd, got 20x1x4}}
  %p = transformer.convolve_keys %s, @filters in(%rows, %rows) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
  return
}

// -----

func.func @convolve_keys_c2_missing(%s: tensor<?x1x?xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.convolve_keys' op expects weight '@filters' to be a parameter, got no such symbol}}
  %p = transformer.convolve_keys %s, @filters in(%rows, %rows) : tensor<?x1x?xf32> -> tensor<?x?x20xf32>
  return
}

// -----

func.func @load_c3(%s: !transformer.state<1, keys>) {
  // expected-error@+1 {{'transformer.load' op expects 'over' exactly where a state has keys, got none for '!transformer.state<1, keys>'}}
  %0 = transformer.load %s : !transformer.state<1, keys>
  return
}

// -----

func.func @load_c3_rows(%s: !transformer.state<8>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.load' op expects 'over' exactly where a state has keys, got it for '!transformer.state<8>'}}
  %0 = transformer.load %s over(%rows) : !transformer.state<8>
  return
}

// -----

func.func @load_c3_given(%s: !transformer.state<1, keys>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.load' op expects a state without keys to be given by another entry, got '!transformer.state<1, keys>'}}
  %0 = transformer.load %s over(%rows) {given} : !transformer.state<1, keys>
  return
}

// -----

// A state with keys has no rows to add to.
func.func @accumulate_keys(%s: !transformer.state<1, keys>, %x: tensor<?x1xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.accumulate' op operand #0 must be a state without keys, but got '!transformer.state<1, keys>'}}
  %0 = "transformer.accumulate"(%s, %x, %rows) : (!transformer.state<1, keys>, tensor<?x1xf32>, !transformer.segments) -> !transformer.state<1, keys>
  return
}

// -----

!x = tensor<?x4xf32>
!s = tensor<?x1x?xf32>
func.func @recurrence_c3_keys(%x: !x, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.recurrence' op expects values in 'from' where numbers of keys are carried, got none}}
  %0 = transformer.recurrence(%x : !x) in(%rows) -> !s {
  ^bb0(%now: !x, %before: !s):
    transformer.next %before : !s
  }
  return
}

// -----

!s = !transformer.state<1, keys>
func.func @load_of_rows(%x: tensor<?x4xf32> {transformer.name = "x"}, %rows: !transformer.segments, %s0: !s {transformer.name = "s"}) -> (!s {transformer.name = "s"}) {
  // expected-error@+1 {{'transformer.load' op has numbers of keys that are rows of the entry, expected those of a memory}}
  %0 = transformer.load %s0 over(%rows) : !s
  %1 = transformer.store %s0, %0 : !s
  return %1 : !s
}
