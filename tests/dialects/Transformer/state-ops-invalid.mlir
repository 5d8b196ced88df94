// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a state of positive width, got 0}}
func.func private @state_c1(!transformer.state<0>)

// -----

func.func @prefix_mean_c1(%s: !transformer.state<512>, %y: tensor<?x384xf32>, %rows: !transformer.segments)
    -> tensor<?x512xf32> {
  // expected-error@+1 {{'transformer.prefix_mean' op failed to verify that the rows are as wide as the state}}
  %0 = "transformer.prefix_mean"(%y, %s, %rows) : (tensor<?x384xf32>, !transformer.state<512>, !transformer.segments) -> tensor<?x512xf32>
  return %0 : tensor<?x512xf32>
}

// -----

func.func @prefix_mean_other_result(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.prefix_mean' op failed to verify that the result is as wide as the state}}
  %0 = "transformer.prefix_mean"(%y, %s, %rows) : (tensor<?x512xf32>, !transformer.state<512>, !transformer.segments) -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @prefix_mean_c2(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> (tensor<?x512xf32>, !transformer.state<512>) {
  // expected-note@+1 {{this has changed it}}
  %0 = transformer.accumulate %s, %y in(%rows) : !transformer.state<512>
  // expected-error@+1 {{'transformer.prefix_mean' op expects a state that nothing has changed}}
  %1 = transformer.prefix_mean %y, %0 in(%rows) : !transformer.state<512>
  return %1, %0 : tensor<?x512xf32>, !transformer.state<512>
}

// -----

func.func @accumulate_c1(%s: !transformer.state<512>, %y: tensor<?x384xf32>, %rows: !transformer.segments)
    -> !transformer.state<512> {
  // expected-error@+1 {{'transformer.accumulate' op failed to verify that the rows are as wide as the state}}
  %0 = "transformer.accumulate"(%s, %y, %rows) : (!transformer.state<512>, tensor<?x384xf32>, !transformer.segments) -> !transformer.state<512>
  return %0 : !transformer.state<512>
}

// -----

func.func @accumulate_other_result(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> !transformer.state<384> {
  // expected-error@+1 {{'transformer.accumulate' op failed to verify that the result has the type of the state}}
  %0 = "transformer.accumulate"(%s, %y, %rows) : (!transformer.state<512>, tensor<?x512xf32>, !transformer.segments) -> !transformer.state<384>
  return %0 : !transformer.state<384>
}

// -----

func.func @accumulate_c2(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> (!transformer.state<512>, !transformer.state<512>) {
  // expected-note@+1 {{this changes it}}
  %0 = transformer.accumulate %s, %y in(%rows) : !transformer.state<512>
  // expected-error@+1 {{'transformer.accumulate' op expects a state that nothing else changes}}
  %1 = transformer.accumulate %s, %y in(%rows) : !transformer.state<512>
  return %0, %1 : !transformer.state<512>, !transformer.state<512>
}

// -----

func.func @accumulate_c3(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> !transformer.state<512> {
  // expected-note@+1 {{this has changed it}}
  %0 = transformer.accumulate %s, %y in(%rows) : !transformer.state<512>
  // expected-error@+1 {{'transformer.accumulate' op expects a state that nothing has changed}}
  %1 = transformer.accumulate %0, %y in(%rows) : !transformer.state<512>
  return %1 : !transformer.state<512>
}

// -----

func.func @keep_c1(%s: !transformer.state<512>, %y: tensor<?x384xf32>, %rows: !transformer.segments)
    -> !transformer.state<512> {
  // expected-error@+1 {{'transformer.keep' op expects a state of whole rows of 384 elements, got 512 elements}}
  %0 = transformer.keep %s, %y in(%rows) : !transformer.state<512>, tensor<?x384xf32>
  return %0 : !transformer.state<512>
}

// -----

func.func @keep_other_result(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> !transformer.state<384> {
  // expected-error@+1 {{'transformer.keep' op failed to verify that the result has the type of the state}}
  %0 = "transformer.keep"(%s, %y, %rows) : (!transformer.state<512>, tensor<?x512xf32>, !transformer.segments) -> !transformer.state<384>
  return %0 : !transformer.state<384>
}

// -----

func.func @keep_c2(%s: !transformer.state<512>, %y: tensor<?x512xf32>, %rows: !transformer.segments)
    -> (!transformer.state<512>, !transformer.state<512>) {
  // expected-note@+1 {{this changes it}}
  %0 = transformer.accumulate %s, %y in(%rows) : !transformer.state<512>
  // expected-error@+1 {{'transformer.keep' op expects a state that nothing else changes}}
  %1 = transformer.keep %s, %y in(%rows) : !transformer.state<512>, tensor<?x512xf32>
  return %0, %1 : !transformer.state<512>, !transformer.state<512>
}

// -----

func.func @keep_c3(%s: !transformer.state<512>, %y: tensor<?x256xf32>, %rows: !transformer.segments)
    -> !transformer.state<512> {
  // expected-note@+1 {{this has changed it}}
  %0 = transformer.keep %s, %y in(%rows) : !transformer.state<512>, tensor<?x256xf32>
  // expected-error@+1 {{'transformer.keep' op expects a state that nothing has changed}}
  %1 = transformer.keep %0, %y in(%rows) : !transformer.state<512>, tensor<?x256xf32>
  return %1 : !transformer.state<512>
}

// -----

func.func @load_c1(%s: !transformer.state<512>) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.load' op failed to verify that the result is as wide as the state}}
  %0 = "transformer.load"(%s) : (!transformer.state<512>) -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @load_c2(%s: !transformer.state<512>, %h: tensor<?x512xf32>) -> (tensor<?x512xf32>, !transformer.state<512>) {
  // expected-note@+1 {{this has changed it}}
  %0 = transformer.store %s, %h : !transformer.state<512>
  // expected-error@+1 {{'transformer.load' op expects a state that nothing has changed}}
  %1 = transformer.load %0 : !transformer.state<512>
  return %1, %0 : tensor<?x512xf32>, !transformer.state<512>
}

// -----

func.func @store_c1(%s: !transformer.state<512>, %h: tensor<?x384xf32>) -> !transformer.state<512> {
  // expected-error@+1 {{'transformer.store' op failed to verify that the rows are as wide as the state}}
  %0 = "transformer.store"(%s, %h) : (!transformer.state<512>, tensor<?x384xf32>) -> !transformer.state<512>
  return %0 : !transformer.state<512>
}

// -----

func.func @store_c2(%s: !transformer.state<512>, %h: tensor<?x512xf32>, %rows: !transformer.segments)
    -> (!transformer.state<512>, !transformer.state<512>) {
  // expected-note@+1 {{this changes it}}
  %0 = transformer.accumulate %s, %h in(%rows) : !transformer.state<512>
  // expected-error@+1 {{'transformer.store' op expects a state that nothing else changes}}
  %1 = transformer.store %s, %h : !transformer.state<512>
  return %0, %1 : !transformer.state<512>, !transformer.state<512>
}

// -----

func.func @store_c3(%s: !transformer.state<512>, %h: tensor<?x512xf32>) -> !transformer.state<512> {
  // expected-note@+1 {{this has changed it}}
  %0 = transformer.store %s, %h : !transformer.state<512>
  // expected-error@+1 {{'transformer.store' op expects a state that nothing has changed}}
  %1 = transformer.store %0, %h : !transformer.state<512>
  return %1 : !transformer.state<512>
}
