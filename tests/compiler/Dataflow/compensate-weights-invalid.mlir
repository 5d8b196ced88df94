// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics -dataflow-compensate-weights

// Where nothing can be chosen by texts, the first reason is said.

// expected-error@+1 {{no matrix is multiplied with rows of texts in codes that can be chosen by them: no product reads a matrix in codes}}
module {
}

// -----

!x = !dataflow.buffer<[tokens, 40], f32>
!w = !dataflow.buffer<[40, 40], !transformer.quantized<i8, 8>>
// expected-error@+1 {{no matrix is multiplied with rows of texts in codes that can be chosen by them: w: entry 'images' reads it, which is not run on texts}}
module {
  transformer.parameter @w : tensor<40x40xf32> from "w"
  transformer.parameter @w.i8 : tensor<40x40x!transformer.quantized<i8, 8>> = convert(@w) loc("w")
  dataflow.kernel @contract : (!x, !w) -> !x computes #dataflow.contract<n = 40, k = 40> {
  ^bb0(%sum: f32):
    dataflow.yield %sum
  }
  dataflow.graph @images(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
    %w = dataflow.parameter @w.i8 : !w
    %y = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !x
    dataflow.output %y : !x
  }
}

// -----

!x = !dataflow.buffer<[tokens, 40], f32>
!w = !dataflow.buffer<[40, 40], !transformer.quantized<i8, 8>>
// expected-error@+1 {{no matrix is multiplied with rows of texts in codes that can be chosen by them: w: its codes are those of the file}}
module {
  transformer.parameter @w : tensor<40x40x!transformer.quantized<i8, 8>> from "w" loc("w")
  dataflow.kernel @contract : (!x, !w) -> !x computes #dataflow.contract<n = 40, k = 40> {
  ^bb0(%sum: f32):
    dataflow.yield %sum
  }
  dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
    %w = dataflow.parameter @w : !w
    %y = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !x
    dataflow.output %y : !x
  }
}
