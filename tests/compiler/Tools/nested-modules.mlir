// SPDX-License-Identifier: Apache-2.0
// RUN: not heddle-opt %s -transformer-fuse-branches 2>&1 | FileCheck %s
// Passes look parameters up in the module of the program.

module {
  // CHECK: error: 'transformer.parameter' op is inside a module of the program, expected only code of kernels there
  // Otherwise fuse-branches would look for @w beside the inner module.
  module {
    transformer.parameter @w : tensor<4x4xf32> from "w"
    func.func @inner(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
      %1 = transformer.add %0, %x : tensor<?x4xf32>, tensor<?x4xf32>
      return %1 : tensor<?x4xf32>
    }
  }
  func.func @outer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    return %x : tensor<?x4xf32>
  }
}
