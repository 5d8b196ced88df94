// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a cache of positive width, got 0}}
func.func private @cache_c1(!transformer.cache<0>)

// -----

// expected-error@+1 {{expects a cache that keeps f32, bf16 or codes of i8 with scales in f32, got 'f16'}}
func.func private @cache_c2(!transformer.cache<512, f16>)

// -----

// expected-error@+1 {{expects a cache that keeps f32, bf16 or codes of i8 with scales in f32, got '!transformer.quantized<i8, 64, bf16>'}}
func.func private @cache_c2_scales(!transformer.cache<512, !transformer.quantized<i8, 64, bf16>>)

// -----

// expected-error@+1 {{expects a cache that keeps f32, bf16 or codes of i8 with scales in f32, got '!transformer.quantized<i4, 64>'}}
func.func private @cache_c2_zeros(!transformer.cache<512, !transformer.quantized<i4, 64>>)

// -----

// expected-error@+1 {{expects a cache that keeps f32, bf16 or codes of i8 with scales in f32, got '!transformer.quantized<i8, 64, minimums>'}}
func.func private @cache_c2_minimums(!transformer.cache<512, !transformer.quantized<i8, 64, minimums>>)

// -----

// expected-error@+1 {{expects a scale for as many elements as divide the width 512, got 48}}
func.func private @cache_c3(!transformer.cache<512, !transformer.quantized<i8, 48>>)

// -----

func.func @append_c1(%c: !transformer.cache<512>, %k: tensor<?x384xf32>, %rows: !transformer.segments)
    -> !transformer.cache<512> {
  // expected-error@+1 {{'transformer.append' op failed to verify that the rows are as wide as the cache}}
  %0 = "transformer.append"(%c, %k, %rows) : (!transformer.cache<512>, tensor<?x384xf32>, !transformer.segments) -> !transformer.cache<512>
  return %0 : !transformer.cache<512>
}

// -----

func.func @append_other_result(%c: !transformer.cache<512>, %k: tensor<?x512xf32>, %rows: !transformer.segments)
    -> !transformer.cache<384> {
  // expected-error@+1 {{'transformer.append' op failed to verify that the result has the type of the cache}}
  %0 = "transformer.append"(%c, %k, %rows) : (!transformer.cache<512>, tensor<?x512xf32>, !transformer.segments) -> !transformer.cache<384>
  return %0 : !transformer.cache<384>
}

// -----

func.func @append_c2(%c: !transformer.cache<512>, %k: tensor<?x512xf32>, %rows: !transformer.segments)
    -> (!transformer.cache<512>, !transformer.cache<512>) {
  // expected-note@+1 {{this appends to it}}
  %0 = transformer.append %c, %k in(%rows) : !transformer.cache<512>
  // expected-error@+1 {{'transformer.append' op expects a cache that nothing else appends to}}
  %1 = transformer.append %c, %k in(%rows) : !transformer.cache<512>
  return %0, %1 : !transformer.cache<512>, !transformer.cache<512>
}

// -----

func.func @cached_c1(%c: !transformer.cache<512>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // expected-error@+1 {{'transformer.cached' op expects a result of width 512, that of the cache, got 384}}
  %0 = transformer.cached %c in(%rows) : !transformer.cache<512> -> tensor<?x384xf32>
  return %0 : tensor<?x384xf32>
}

// -----

func.func @append_c3(%c: !transformer.cache<512>, %k: tensor<?x512xf32>, %rows: !transformer.segments) -> !transformer.cache<512> {
  // expected-note@+1 {{this has appended to it}}
  %0 = transformer.append %c, %k in(%rows) : !transformer.cache<512>
  // expected-error@+1 {{'transformer.append' op expects a cache that nothing was appended to}}
  %1 = transformer.append %0, %k in(%rows) : !transformer.cache<512>
  return %1 : !transformer.cache<512>
}

// -----

func.func @cached_c2(%c: !transformer.cache<512>, %k: tensor<?x512xf32>, %rows: !transformer.segments) -> (tensor<?x512xf32>, !transformer.cache<512>) {
  %seen = transformer.history %rows
  // expected-error@+1 {{'transformer.cached' op expects a cache that nothing appends to}}
  %0 = transformer.cached %c in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  // expected-note@+1 {{this appends to it: its result can be read}}
  %1 = transformer.append %c, %k in(%rows) : !transformer.cache<512>
  return %0, %1 : tensor<?x512xf32>, !transformer.cache<512>
}
