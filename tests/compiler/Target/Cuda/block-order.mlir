// SPDX-License-Identifier: Apache-2.0
// One block sorts rows by group: it counts, adds up the counts, and writes. A caller on a processor
// does the same alone.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s --check-prefix=CPU

// CPU-NOT: block_work
// CPU-NOT: nvvm.

!numbers = !dataflow.buffer<[tokens], i32>
dataflow.kernel @sort : (!numbers) -> !numbers computes #dataflow.order<groups = 8> {
^bb0(%e: f32):
  dataflow.yield %e
}
// Every place is in the only piece of work. A thread has one of 8 groups in one of 64 segments.
// CHECK: func.func @sort.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 512, 2048, 1099511627776, 1, 1099511627776, 1, 0, 0, 0>}
// CHECK-NOT: nvvm.barrier0
// CHECK: scf.for
// CHECK: llvm.store {{.*}} vector<1xi32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<1xi32>
// CHECK: scf.for
// CHECK: llvm.store {{.*}} : i32, !llvm.ptr
// CHECK-NOT: nvvm.barrier0

// More groups than a block has threads.
// REPORT-NOT: where=
// REPORT: reason="sm_80: each thread counts all rows: there are 513 groups, expected at most 512"{{.*}}where=many
// REPORT-NOT: where=
dataflow.kernel @many : (!numbers) -> !numbers computes #dataflow.order<groups = 513> {
^bb0(%e: f32):
  dataflow.yield %e
} loc("many")
// CHECK: func.func @many.sm_80
// CHECK-NOT: block_work
// CHECK-NOT: nvvm.
