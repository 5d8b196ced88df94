// SPDX-License-Identifier: Apache-2.0
// Every thread of an entry calls its kernel for pieces of the work; what kernels share has no entry,
// and processors have none at all.
// RUN: heddle-opt %s -kernels-add-entries | FileCheck %s
// RUN: heddle-opt %s -kernels-add-entries -convert-kernels-to-llvm | FileCheck %s --check-prefix=LLVM

// CHECK-LABEL: module @sm_80
module @sm_80 {
  func.func private @tile(%a: !llvm.ptr) {
    return
  }
  func.func @norm_384.sm_80(%context: !llvm.ptr, %rowBegin: i64, %rowEnd: i64, %columnBegin: i64,
                            %columnEnd: i64) {
    return
  }
  func.func @"norm 384.finish.sm_80"(%context: !llvm.ptr, %rowBegin: i64, %rowEnd: i64,
                                     %columnBegin: i64, %columnEnd: i64) {
    func.call @tile(%context) : (!llvm.ptr) -> ()
    return
  }
}
// CHECK-NOT: llvm.func {{.*}}tile
// CHECK: llvm.func @norm_384(%[[LAUNCH:.*]]: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>}
// The number of the caller, and how many there are.
// CHECK: nvvm.read.ptx.sreg.ntid.x
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// Its context, whose scratch is its own.
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK-COUNT-3: llvm.store volatile
// CHECK: scf.while
// CHECK: func.call @norm_384.sm_80(%[[CONTEXT]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: llvm.return
// A blank is no letter of PTX, nor is a point.
// CHECK: llvm.func @norm$20384$$finish(%{{.*}}: !llvm.ptr) attributes {nvvm.kernel
// After them come the kernels that measure the GPU. Without a selection, there are no others.
// CHECK-NOT: logits$
// CHECK-NOT: hypotheses$
// CHECK: func.func private @roof$multiply_f32$body(%{{.*}}: !llvm.ptr) {
// CHECK: llvm.func @roof$multiply_f32(%{{.*}}: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>}
// CHECK: llvm.func @roof$multiply_bf16(%{{.*}}: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, passthrough = ["heddle-together"]}
// CHECK: llvm.func @roof$multiply_tf32(
// CHECK: llvm.func @roof$multiply_integers(
// CHECK: llvm.func @roof$read(

// Kernels stay functions, since entries write what they take for constant; tiles do not.
// LLVM-LABEL: module @sm_80
// LLVM: llvm.func internal @tile({{.*}}"alwaysinline"{{.*}}target_cpu = "sm_80"
// LLVM: llvm.func @norm_384.sm_80({{.*}}"noinline"{{.*}}target_cpu = "sm_80"
// LLVM: llvm.func @norm_384(
// LLVM-SAME: nvvm.kernel, nvvm.reqntid
// LLVM-NOT: heddle-together
// LLVM-NOT: scf.
// LLVM: llvm.call @norm_384.sm_80

// CHECK-LABEL: module @"x86-64-v3"
module @"x86-64-v3" {
  // CHECK-NEXT: func.func
  func.func @"norm_384.x86-64-v3"(%context: !llvm.ptr, %rowBegin: i64, %rowEnd: i64,
                                %columnBegin: i64, %columnEnd: i64) {
    return
  }
  // CHECK-NOT: llvm.func
}

// The mark of a selection becomes the kernels before and after it.
// CHECK-LABEL: module @sm_90a
// CHECK-NOT: dataflow.selects_tokens
module @sm_90a attributes {dataflow.selects_tokens} {
  // CHECK: llvm.func @logits$exclude(%{{.*}}: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>}
  // CHECK: func.func private @hypotheses$order$body(
  // CHECK-COUNT-5: nvvm.barrier
  // CHECK-NOT: nvvm.barrier
  // CHECK: llvm.func @hypotheses$order(%{{.*}}: !llvm.ptr) attributes {nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128>, passthrough = ["heddle-together"]}
  // CHECK: llvm.func @hypotheses$copy_blocks(%{{.*}}: !llvm.ptr) attributes {nvvm.kernel, nvvm.minctasm = 4 : i32, nvvm.reqntid = array<i32: 128>, passthrough = ["heddle-together"]}
  // CHECK: llvm.func @roof$
}
