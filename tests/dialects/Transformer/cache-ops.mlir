// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK-LABEL: func.func @decode
// CHECK-SAME: %[[C:[a-z0-9]+]]: !transformer.cache<512>
func.func @decode(%k: tensor<?x512xf32>, %rows: !transformer.segments,
                  %memory: !transformer.segments {transformer.name = "memory"},
                  %c0: !transformer.cache<512> {transformer.name = "self.key"},
                  %m0: !transformer.cache<64, bf16> {transformer.name = "cross.key"})
    -> (tensor<?x512xf32>, tensor<?x64xf32>,
        !transformer.cache<512> {transformer.name = "self.key"}) {
  // CHECK: transformer.append %[[C]], %{{.*}} in(%{{.*}}) : !transformer.cache<512>
  %c1 = transformer.append %c0, %k in(%rows) : !transformer.cache<512>
  // CHECK: transformer.history %{{[a-z0-9]+$}}
  %seen = transformer.history %rows
  // CHECK: transformer.cached %{{.*}} in(%{{.*}}) : !transformer.cache<512> -> tensor<?x512xf32>
  %keys = transformer.cached %c1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  // CHECK: transformer.cached %{{.*}} in(%{{.*}}) : !transformer.cache<64, bf16> -> tensor<?x64xf32>
  %source = transformer.cached %m0 in(%memory) : !transformer.cache<64, bf16> -> tensor<?x64xf32>
  return %keys, %source, %c1 : tensor<?x512xf32>, tensor<?x64xf32>, !transformer.cache<512>
}

// f32 need not be said.
// CHECK-LABEL: func.func private @wide(!transformer.cache<512>)
func.func private @wide(!transformer.cache<512, f32>)

// CHECK-LABEL: func.func private @codes(!transformer.cache<512, !transformer.quantized<i8, 64>>, !transformer.cache<48, !transformer.quantized<i8, row>>)
func.func private @codes(!transformer.cache<512, !transformer.quantized<i8, 64>>, !transformer.cache<48, !transformer.quantized<i8, row>>)
