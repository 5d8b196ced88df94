// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels -dataflow-plan-memory | FileCheck %s --check-prefix=PLANNED

// A cache is keys in every entry if an attention of any of them reads it as keys; what is read from
// one stays the cache itself.

transformer.parameter @near : tensor<8x33xf32> from "near"

func.func @encode(%x: tensor<?x1024xf32> {transformer.name = "x"}, %rows: !transformer.segments, %ck: !transformer.cache<512> {transformer.name = "cross.key"}, %cv: !transformer.cache<512> {transformer.name = "cross.value"}) -> (tensor<?x1024xf32> {transformer.name = "encoder"}, !transformer.cache<512> {transformer.name = "cross.key"}, !transformer.cache<512> {transformer.name = "cross.value"}) {
  %k = transformer.columns %x from 0 : tensor<?x1024xf32> -> tensor<?x512xf32>
  %v = transformer.columns %x from 512 : tensor<?x1024xf32> -> tensor<?x512xf32>
  %ck1 = transformer.append %ck, %k in(%rows) : !transformer.cache<512>
  %cv1 = transformer.append %cv, %v in(%rows) : !transformer.cache<512>
  return %x, %ck1, %cv1 : tensor<?x1024xf32>, !transformer.cache<512>, !transformer.cache<512>
}

// CHECK: dataflow.kernel @append : (!dataflow.cache<[512], f32, keys>, !dataflow.buffer<[tokens, 512] in 1024, f32>) -> !dataflow.cache<[512], f32, keys> computes #dataflow.append
// CHECK: dataflow.kernel @append_0 : (!dataflow.cache<[512], f32, rows>, {{.*}} computes #dataflow.append
// CHECK-LABEL: dataflow.graph @encode(
// CHECK-SAME: {dataflow.name = "x"}, %[[CK:[a-z0-9]*]]: !dataflow.cache<[512], f32, keys> {dataflow.name = "cross.key"}, %[[CV:[a-z0-9]*]]: !dataflow.cache<[512], f32, rows> {dataflow.name = "cross.value"})
// CHECK-SAME: !dataflow.cache<[512], f32, keys> {dataflow.name = "cross.key"}, !dataflow.cache<[512], f32, rows> {dataflow.name = "cross.value"})
// CHECK: %[[K:.*]] = dataflow.columns
// CHECK: %[[CK1:.*]] = dataflow.dispatch @append(%[[CK]], %[[K]])
// CHECK: dataflow.output %{{.*}}, %[[CK1]], %{{.*}} :

// The memory plan gives caches no place in the arena.
// PLANNED-LABEL: dataflow.graph @encode(
// PLANNED-SAME: arena = #dataflow.size<>
// PLANNED: dataflow.dispatch @append_512_keys(%{{.*}}, %{{.*}}) changes [0] :
// PLANNED: dataflow.dispatch @append_512_rows(%{{.*}}, %{{.*}}) changes [0] :
// PLANNED: dataflow.dispatch @copy(
// PLANNED-NEXT: dataflow.output

func.func @decode(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %sk: !transformer.cache<512> {transformer.name = "self.key"}, %sv: !transformer.cache<512> {transformer.name = "self.value"}, %ck: !transformer.cache<512> {transformer.name = "cross.key"}, %cv: !transformer.cache<512> {transformer.name = "cross.value"}) -> (tensor<?x512xf32> {transformer.name = "y"}, !transformer.cache<512> {transformer.name = "self.key"}, !transformer.cache<512> {transformer.name = "self.value"}) {
  %sk1 = transformer.append %sk, %x in(%rows) : !transformer.cache<512>
  %sv1 = transformer.append %sv, %x in(%rows) : !transformer.cache<512>
  %seen = transformer.history %rows
  %k = transformer.cached %sk1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  %v = transformer.cached %sv1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  %a = transformer.attention %x, %k, %v in(%rows, %seen) {bias = @near, heads = 8 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32> -> tensor<?x512xf32>
  %mk = transformer.cached %ck in(%memory) : !transformer.cache<512> -> tensor<?x512xf32>
  %mv = transformer.cached %cv in(%memory) : !transformer.cache<512> -> tensor<?x512xf32>
  %b = transformer.attention %a, %mk, %mv in(%rows, %memory) {heads = 8 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32> -> tensor<?x512xf32>
  return %b, %sk1, %sv1 : tensor<?x512xf32>, !transformer.cache<512>, !transformer.cache<512>
}

// CHECK: dataflow.kernel @attention : (!dataflow.buffer<[tokens, 512], f32>, !dataflow.cache<[512], f32, keys>, !dataflow.cache<[512], f32, rows>, !dataflow.buffer<[8, 33], f32>) -> {{.*}} computes #dataflow.attention<heads = 8, keySize = 64, valueSize = 64, scale = 1.250000e-01 : f32, visibility = <causal>, biasDistance = 16>
// CHECK-LABEL: dataflow.graph @decode(
// CHECK: %[[SK1:.*]] = dataflow.dispatch @append_1(
// CHECK: %[[SV1:.*]] = dataflow.dispatch @append_2(
// CHECK: %[[NEAR:.*]] = dataflow.parameter @near
// CHECK: dataflow.dispatch @attention(%{{.*}}, %[[SK1]], %[[SV1]], %[[NEAR]])
// CHECK: dataflow.dispatch @attention_3(

// PLANNED-LABEL: dataflow.graph @decode(
// PLANNED: dataflow.dispatch @attention_8x64_bias_causal_cached(
// PLANNED: dataflow.dispatch @attention_8x64_cached(

// The same without fused attention: loop nests over the positions of a cache, whose scores are as
// long as what each row sees.
func.func @unfused(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %sk: !transformer.cache<512> {transformer.name = "unfused.key"}, %sv: !transformer.cache<512> {transformer.name = "unfused.value"}) -> (tensor<?x512xf32> {transformer.name = "y"}, tensor<?x8x?xf32> {transformer.name = "attention"}, !transformer.cache<512> {transformer.name = "unfused.key"}, !transformer.cache<512> {transformer.name = "unfused.value"}) {
  %seen = transformer.history %rows
  %near = transformer.relative_bias @near in(%rows, %seen) : tensor<?x8x?xf32>
  %sk1 = transformer.append %sk, %x in(%rows) : !transformer.cache<512>
  %sv1 = transformer.append %sv, %x in(%rows) : !transformer.cache<512>
  %k = transformer.cached %sk1 in(%seen) : !transformer.cache<512> -> tensor<?x512xf32>
  %again = transformer.history %rows
  %v = transformer.cached %sv1 in(%again) : !transformer.cache<512> -> tensor<?x512xf32>
  %qh = transformer.split_heads %x : tensor<?x512xf32> -> tensor<?x8x64xf32>
  %kh = transformer.split_heads %k : tensor<?x512xf32> -> tensor<?x8x64xf32>
  %vh = transformer.split_heads %v : tensor<?x512xf32> -> tensor<?x8x64xf32>
  %kt = transformer.transpose %kh [1, 2, 0] : tensor<?x8x64xf32> -> tensor<8x64x?xf32>
  %s = transformer.contract "thd,hdk->thk" %qh, %kt in(%rows, %seen) : tensor<?x8x64xf32>, tensor<8x64x?xf32> -> tensor<?x8x?xf32>
  %z = transformer.scale %s, 1.250000e-01 : tensor<?x8x?xf32>
  %n = transformer.add %z, %near : tensor<?x8x?xf32>, tensor<?x8x?xf32>
  %m = transformer.mask causal in(%rows, %seen)
  %h = transformer.select %m, %n {hidden = 0xFF800000 : f32} : tensor<?x8x?xf32>
  %p = transformer.softmax %h in(%seen) : tensor<?x8x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %again) : tensor<?x8x?xf32>, tensor<?x8x64xf32> -> tensor<?x8x64xf32>
  %y = transformer.merge_heads %c : tensor<?x8x64xf32> -> tensor<?x512xf32>
  return %y, %p, %sk1, %sv1 : tensor<?x512xf32>, tensor<?x8x?xf32>, !transformer.cache<512>, !transformer.cache<512>
}

// CHECK: dataflow.kernel @contract_heads : (!dataflow.buffer<[tokens, 8, 64], f32>, !dataflow.cache<[8, 64], f32, rows>) -> !dataflow.buffer<[tokens, 8, longest], f32> computes #dataflow.nest<"thd,khd->thk", sum>
// CHECK: dataflow.kernel @scale : (!dataflow.buffer<[tokens, 8, longest], f32>, !dataflow.cache<[512], f32, rows>) -> {{.*}} computes #dataflow.nest<"thk->thk", none, keys_from>
// CHECK: dataflow.kernel @relative_bias : (!dataflow.buffer<[8, 33], f32>, !dataflow.cache<[512], f32, rows>) -> {{.*}} computes #dataflow.nest<"hr->thk", none, relative, keys_from>
// CHECK: dataflow.kernel @add : {{.*}} computes #dataflow.nest<"thk,thk->thk", none, keys_from>
// CHECK: dataflow.kernel @select : {{.*}} computes #dataflow.nest<"thk->thk", none, hidden = 0xFF800000 : f32, keys_from>
// CHECK: dataflow.kernel @softmax : {{.*}} computes #dataflow.nest<"thk->thk", softmax, keys_from>
// CHECK: dataflow.kernel @contract_heads_{{[0-9]+}} : (!dataflow.buffer<[tokens, 8, longest], f32>, !dataflow.cache<[8, 64], f32, rows>) -> !dataflow.buffer<[tokens, 8, 64], f32> computes #dataflow.nest<"thk,khd->thd", sum>
// CHECK-LABEL: dataflow.graph @unfused(
// CHECK-SAME: {dataflow.name = "x"}, %[[SK:[a-z0-9]*]]: !dataflow.cache<[512], f32, rows> {dataflow.name = "unfused.key"}, {{.*}}) -> ({{.*}}, !dataflow.buffer<[tokens, 8, longest], f32> {dataflow.name = "attention"}
// CHECK: %[[SK1:.*]] = dataflow.dispatch @append
// CHECK: %[[KH:.*]] = dataflow.reshape %[[SK1]] : !dataflow.cache<[512], f32, rows> -> !dataflow.cache<[8, 64], f32, rows>
// CHECK: %[[S:.*]] = dataflow.dispatch @contract_heads(%{{.*}}, %[[KH]])
// CHECK: dataflow.dispatch @scale(%[[S]], %[[SK]])
// The bias is lowered where it is added, after the append.
// CHECK: dataflow.dispatch @relative_bias(
// CHECK-NEXT: dataflow.dispatch @add(

// A cache is keys also where the attention reads it through views.
func.func @viewed(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %k: !transformer.cache<512> {transformer.name = "viewed.key"}, %v: !transformer.cache<512> {transformer.name = "viewed.value"}) -> (tensor<?x512xf32> {transformer.name = "y"}) {
  %mk = transformer.cached %k in(%memory) : !transformer.cache<512> -> tensor<?x512xf32>
  %mv = transformer.cached %v in(%memory) : !transformer.cache<512> -> tensor<?x512xf32>
  %heads = transformer.split_heads %mk : tensor<?x512xf32> -> tensor<?x8x64xf32>
  %keys = transformer.merge_heads %heads : tensor<?x8x64xf32> -> tensor<?x512xf32>
  %y = transformer.attention %x, %keys, %mv in(%rows, %memory) {heads = 8 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32> -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// CHECK-LABEL: dataflow.graph @viewed(
// CHECK-SAME: !dataflow.cache<[512], f32, keys> {dataflow.name = "viewed.key"}
