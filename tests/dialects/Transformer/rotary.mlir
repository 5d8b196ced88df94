// SPDX-License-Identifier: Apache-2.0
// Angles of positions, heads as rows of their own, and their rotation: what they look like, what they
// become, and what is wrong with them.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics | FileCheck %s
// RUN: not heddle-opt %s -split-input-file 2>/dev/null | FileCheck %s --check-prefix=OP

// OP-LABEL: func.func @encode
// OP: %[[A:.*]] = transformer.angles %{{.*}} {frequencies = array<f32: 1.000000e+00, 1.000000e-01>} : tensor<?x2xf32>
// OP: transformer.rotate %{{.*}}, %{{.*}}, %[[A]] {heads = 3 : i64} : tensor<?x15xf32>, tensor<?x2xf32>
// OP: transformer.join_rows %{{.*}} in(%{{.*}}) : tensor<?x5xf32> -> tensor<?x15xf32>

// CHECK-DAG: dataflow.kernel @[[ANGLES:angles[0-9_]*]] : () -> !dataflow.buffer<[tokens, 2], f32> computes #dataflow.angles<[1.000000e+00, 1.000000e-01]>
// CHECK-DAG: dataflow.kernel @[[ROTATE:rotate[0-9_]*]] : (!dataflow.buffer<[tokens, 15], f32>, !dataflow.buffer<[tokens, 2], f32>, !dataflow.buffer<[tokens, 2], f32>) -> !dataflow.buffer<[tokens, 15], f32> computes #dataflow.rotate<heads = 3, size = 5, pairs = 2>
// CHECK: dataflow.graph @encode(%[[X:[a-z0-9]*]]:
// CHECK-SAME: max_length = 64
// CHECK: %[[S:.*]] = dataflow.dispatch @[[ANGLES]]()
// CHECK: %[[R:.*]] = dataflow.dispatch @[[ROTATE]](%[[X]], %{{.*}}, %[[S]])
// CHECK: %[[H:.*]] = dataflow.reshape %[[R]] : !dataflow.buffer<[tokens, 15], f32> -> !dataflow.buffer<[choices(tokens, 3), 5], f32>
// CHECK: dataflow.reshape %[[H]] : !dataflow.buffer<[choices(tokens, 3), 5], f32> -> !dataflow.buffer<[tokens, 15], f32>
func.func @encode(%x: tensor<?x15xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x15xf32> {transformer.name = "y"}) {
  %heads = transformer.choices %rows, 3
  %a = transformer.angles %rows {frequencies = array<f32: 1.0, 0.1>} : tensor<?x2xf32>
  %m = transformer.angles %rows {frequencies = array<f32: 1.0>, most = 64 : i64} : tensor<?x1xf32>
  %n = transformer.concat %m, %m : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %r = transformer.rotate %x, %n, %a {heads = 3 : i64} : tensor<?x15xf32>, tensor<?x2xf32>
  %h = transformer.split_rows %r to(%heads) : tensor<?x15xf32> -> tensor<?x5xf32>
  %y = transformer.join_rows %h in(%heads) : tensor<?x5xf32> -> tensor<?x15xf32>
  return %y : tensor<?x15xf32>
}

// -----

// Parts of wider rows are joined from a copy.
// CHECK: dataflow.graph @encode
// CHECK: %[[C:.*]] = dataflow.columns %{{.*}} from 1
// CHECK: %[[D:.*]] = dataflow.dispatch @{{.*}}(%[[C]]) : (!dataflow.buffer<[choices(tokens, 2), 3] in 5, f32>) -> !dataflow.buffer<[choices(tokens, 2), 3], f32>
// CHECK: dataflow.reshape %[[D]] : !dataflow.buffer<[choices(tokens, 2), 3], f32> -> !dataflow.buffer<[tokens, 6], f32>
func.func @encode(%x: tensor<?x10xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x6xf32> {transformer.name = "y"}) {
  %heads = transformer.choices %rows, 2
  %h = transformer.split_rows %x to(%heads) : tensor<?x10xf32> -> tensor<?x5xf32>
  %c = transformer.columns %h from 1 : tensor<?x5xf32> -> tensor<?x3xf32>
  %y = transformer.join_rows %c in(%heads) : tensor<?x3xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// -----

func.func @join_rows_of_others(%x: tensor<?x5xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x10xf32> {transformer.name = "y"}) {
  %heads = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.join_rows' op joins rows of tokens, expected rows of choices(tokens, 2)}}
  %y = transformer.join_rows %x in(%heads) : tensor<?x5xf32> -> tensor<?x10xf32>
  return %y : tensor<?x10xf32>
}

// -----

func.func @angles_c1(%rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.angles' op expects a finite frequency for each of 2 columns, at most 1024, got array<f32: 1.000000e+00>}}
  %a = transformer.angles %rows {frequencies = array<f32: 1.0>} : tensor<?x2xf32>
  return
}

// -----

func.func @angles_c1_infinite(%rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.angles' op expects a finite frequency for each of 1 columns, at most 1024, got array<f32: 0x7F800000>}}
  %a = transformer.angles %rows {frequencies = array<f32: 0x7F800000>} : tensor<?x1xf32>
  return
}

// -----

func.func @angles_c2(%rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.angles' op expects at most 0 rows, for any, or more, got -1}}
  %a = transformer.angles %rows {frequencies = array<f32: 1.0>, most = -1 : i64} : tensor<?x1xf32>
  return
}

// -----

func.func @join_rows_c1(%x: tensor<?x5xf32>, %rows: !transformer.segments) {
  // expected-error@+1 {{'transformer.join_rows' op expects choices in 'in', got tokens}}
  %y = transformer.join_rows %x in(%rows) : tensor<?x5xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @join_rows_c1_columns(%x: tensor<?x5xf32>, %rows: !transformer.segments) {
  %heads = transformer.choices %rows, 2
  // expected-error@+1 {{'transformer.join_rows' op expects a result of 2 times the input's 5 columns, got 11}}
  %y = transformer.join_rows %x in(%heads) : tensor<?x5xf32> -> tensor<?x11xf32>
  return
}

// -----

func.func @rotate_c1(%x: tensor<?x15xf32>, %c: tensor<?x2xf32>) {
  // expected-error@+1 {{'transformer.rotate' op expects heads to divide the widths, got 2 and 15}}
  %y = transformer.rotate %x, %c, %c {heads = 2 : i64} : tensor<?x15xf32>, tensor<?x2xf32>
  return
}

// -----

func.func @rotate_c2(%x: tensor<?x15xf32>, %c: tensor<?x3xf32>) {
  // expected-error@+1 {{'transformer.rotate' op expects cosines of at most half the 5 columns of a head, got 3}}
  %y = transformer.rotate %x, %c, %c {heads = 3 : i64} : tensor<?x15xf32>, tensor<?x3xf32>
  return
}
