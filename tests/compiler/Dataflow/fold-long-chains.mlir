// SPDX-License-Identifier: Apache-2.0
// The epilogue of a kernel has an end: a chain of functions is several kernels.
// RUN: heddle-opt --split-input-file --convert-transformer-to-dataflow --dataflow-fold-epilogues --dataflow-merge-kernels %s | FileCheck %s
// RUN: heddle-opt --split-input-file --convert-transformer-to-dataflow --dataflow-fold-epilogues --remarks-filter=heddle %s 2>&1 | FileCheck %s --check-prefix=REPORT

// Eight functions are work of 128 operations, and each relu is one.
// CHECK-LABEL: dataflow.graph @functions
// CHECK-COUNT-2: dataflow.dispatch
// CHECK-NOT: dataflow.dispatch
func.func @functions(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %0 = transformer.activate tanh %x : tensor<?x8xf32>
  %1 = transformer.activate tanh %0 : tensor<?x8xf32>
  %2 = transformer.activate tanh %1 : tensor<?x8xf32>
  %3 = transformer.activate tanh %2 : tensor<?x8xf32>
  %4 = transformer.activate tanh %3 : tensor<?x8xf32>
  %5 = transformer.activate tanh %4 : tensor<?x8xf32>
  %6 = transformer.activate tanh %5 : tensor<?x8xf32>
  %7 = transformer.activate tanh %6 : tensor<?x8xf32>
  %8 = transformer.activate tanh %7 : tensor<?x8xf32> loc("ninth")
  return %8 : tensor<?x8xf32>
}

// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: the epilogue would have work of 144 operations, more than 128", where=ninth
