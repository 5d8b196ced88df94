// SPDX-License-Identifier: Apache-2.0
// A translation model whose decoder layers stand side by side: "first", "second" and "third" attend to
// the same rows, each with weights of its own name. What of them is equal, their checkpoint decides.
module attributes {transformer.generation = {context_length = 0 : i32, early_stopping = false, end = array<i32: 2>, forced_first = -1 : i32, forced_last = -1 : i32, length_penalty = 1.0 : f32, max_length = 0 : i32, min_length = 0 : i32, min_p = 0.0 : f32, never_stop_early = false, no_repeat_ngram = 0 : i32, num_beams = 1 : i32, pad = 0 : i32, repetition_penalty = 1.0 : f32, rules = "paper", sample = false, start = array<i32: 1>, suppressed = array<i32>, temperature = 1.0 : f32, top_k = 0 : i32, top_p = 1.0 : f32}} {
transformer.parameter @word : tensor<61x24xf32> from "word"
transformer.parameter @places : tensor<64x24xf32> = sinusoid_interleaved(0, 12)
transformer.parameter @first.self.query : tensor<24x24xf32> from "first.self.query"
transformer.parameter @first.self.key : tensor<24x24xf32> from "first.self.key"
transformer.parameter @first.self.value : tensor<24x24xf32> from "first.self.value"
transformer.parameter @first.cross.query : tensor<24x24xf32> from "first.cross.query"
transformer.parameter @first.cross.key : tensor<24x24xf32> from "first.cross.key"
transformer.parameter @first.cross.value : tensor<24x24xf32> from "first.cross.value"
transformer.parameter @second.self.query : tensor<24x24xf32> from "second.self.query"
transformer.parameter @second.self.key : tensor<24x24xf32> from "second.self.key"
transformer.parameter @second.self.value : tensor<24x24xf32> from "second.self.value"
transformer.parameter @second.cross.query : tensor<24x24xf32> from "second.cross.query"
transformer.parameter @second.cross.key : tensor<24x24xf32> from "second.cross.key"
transformer.parameter @second.cross.value : tensor<24x24xf32> from "second.cross.value"
transformer.parameter @third.self.query : tensor<24x24xf32> from "third.self.query"
transformer.parameter @third.self.key : tensor<24x24xf32> from "third.self.key"
transformer.parameter @third.self.value : tensor<24x24xf32> from "third.self.value"
transformer.parameter @third.cross.query : tensor<24x24xf32> from "third.cross.query"
transformer.parameter @third.cross.key : tensor<24x24xf32> from "third.cross.key"
transformer.parameter @third.cross.value : tensor<24x24xf32> from "third.cross.value"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "source"}, %rows: !transformer.segments, %fck: !transformer.cache<24> {transformer.name = "first.cross.key"}, %fcv: !transformer.cache<24> {transformer.name = "first.cross.value"}, %sck: !transformer.cache<24> {transformer.name = "second.cross.key"}, %scv: !transformer.cache<24> {transformer.name = "second.cross.value"}, %tck: !transformer.cache<24> {transformer.name = "third.cross.key"}, %tcv: !transformer.cache<24> {transformer.name = "third.cross.value"})
    -> (tensor<?x24xf32> {transformer.name = "encoder"}, !transformer.cache<24> {transformer.name = "first.cross.key"}, !transformer.cache<24> {transformer.name = "first.cross.value"}, !transformer.cache<24> {transformer.name = "second.cross.key"}, !transformer.cache<24> {transformer.name = "second.cross.value"}, !transformer.cache<24> {transformer.name = "third.cross.key"}, !transformer.cache<24> {transformer.name = "third.cross.value"}) {
  %e = transformer.gather @word[%ids] : tensor<?x24xf32>
  %n = transformer.positions %rows
  %p = transformer.gather @places[%n] : tensor<?x24xf32>
  %x = transformer.add %e, %p : tensor<?x24xf32>, tensor<?x24xf32>
  %fck0 = transformer.linear %x, @first.cross.key : tensor<?x24xf32> -> tensor<?x24xf32>
  %fck1 = transformer.append %fck, %fck0 in(%rows) : !transformer.cache<24>
  %fcv0 = transformer.linear %x, @first.cross.value : tensor<?x24xf32> -> tensor<?x24xf32>
  %fcv1 = transformer.append %fcv, %fcv0 in(%rows) : !transformer.cache<24>
  %sck0 = transformer.linear %x, @second.cross.key : tensor<?x24xf32> -> tensor<?x24xf32>
  %sck1 = transformer.append %sck, %sck0 in(%rows) : !transformer.cache<24>
  %scv0 = transformer.linear %x, @second.cross.value : tensor<?x24xf32> -> tensor<?x24xf32>
  %scv1 = transformer.append %scv, %scv0 in(%rows) : !transformer.cache<24>
  %tck0 = transformer.linear %x, @third.cross.key : tensor<?x24xf32> -> tensor<?x24xf32>
  %tck1 = transformer.append %tck, %tck0 in(%rows) : !transformer.cache<24>
  %tcv0 = transformer.linear %x, @third.cross.value : tensor<?x24xf32> -> tensor<?x24xf32>
  %tcv1 = transformer.append %tcv, %tcv0 in(%rows) : !transformer.cache<24>
  return %x, %fck1, %fcv1, %sck1, %scv1, %tck1, %tcv1 : tensor<?x24xf32>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>
}
func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %fsk: !transformer.cache<24> {transformer.name = "first.self.key"}, %fsv: !transformer.cache<24> {transformer.name = "first.self.value"}, %fck: !transformer.cache<24> {transformer.name = "first.cross.key"}, %fcv: !transformer.cache<24> {transformer.name = "first.cross.value"}, %ssk: !transformer.cache<24> {transformer.name = "second.self.key"}, %ssv: !transformer.cache<24> {transformer.name = "second.self.value"}, %sck: !transformer.cache<24> {transformer.name = "second.cross.key"}, %scv: !transformer.cache<24> {transformer.name = "second.cross.value"}, %tsk: !transformer.cache<24> {transformer.name = "third.self.key"}, %tsv: !transformer.cache<24> {transformer.name = "third.self.value"}, %tck: !transformer.cache<24> {transformer.name = "third.cross.key"}, %tcv: !transformer.cache<24> {transformer.name = "third.cross.value"})
    -> (tensor<?x61xf32> {transformer.name = "logits"}, !transformer.cache<24> {transformer.name = "first.self.key"}, !transformer.cache<24> {transformer.name = "first.self.value"}, !transformer.cache<24> {transformer.name = "second.self.key"}, !transformer.cache<24> {transformer.name = "second.self.value"}, !transformer.cache<24> {transformer.name = "third.self.key"}, !transformer.cache<24> {transformer.name = "third.self.value"}) {
  %e = transformer.gather @word[%ids] : tensor<?x24xf32>
  %n = transformer.positions %rows
  %p = transformer.gather @places[%n] : tensor<?x24xf32>
  %x = transformer.add %e, %p : tensor<?x24xf32>, tensor<?x24xf32>
  %seen = transformer.history %rows
  %fsq = transformer.linear %x, @first.self.query : tensor<?x24xf32> -> tensor<?x24xf32>
  %fsk0 = transformer.linear %x, @first.self.key : tensor<?x24xf32> -> tensor<?x24xf32>
  %fsk1 = transformer.append %fsk, %fsk0 in(%rows) : !transformer.cache<24>
  %fsk2 = transformer.cached %fsk1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %fskh = transformer.split_heads %fsk2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %fsv0 = transformer.linear %x, @first.self.value : tensor<?x24xf32> -> tensor<?x24xf32>
  %fsv1 = transformer.append %fsv, %fsv0 in(%rows) : !transformer.cache<24>
  %fsv2 = transformer.cached %fsv1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %fsvh = transformer.split_heads %fsv2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %fsqh = transformer.split_heads %fsq : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %fss = transformer.contract "thd,khd->thk" %fsqh, %fskh in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %fsz = transformer.scale %fss, 0.353553391 : tensor<?x3x?xf32>
  %fsm = transformer.mask causal in(%rows, %seen)
  %fsc = transformer.select %fsm, %fsz {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %fsp = transformer.softmax %fsc in(%seen) : tensor<?x3x?xf32>
  %fsa = transformer.contract "thk,khd->thd" %fsp, %fsvh in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %fso = transformer.merge_heads %fsa : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %ssq = transformer.linear %x, @second.self.query : tensor<?x24xf32> -> tensor<?x24xf32>
  %ssk0 = transformer.linear %x, @second.self.key : tensor<?x24xf32> -> tensor<?x24xf32>
  %ssk1 = transformer.append %ssk, %ssk0 in(%rows) : !transformer.cache<24>
  %ssk2 = transformer.cached %ssk1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %sskh = transformer.split_heads %ssk2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ssv0 = transformer.linear %x, @second.self.value : tensor<?x24xf32> -> tensor<?x24xf32>
  %ssv1 = transformer.append %ssv, %ssv0 in(%rows) : !transformer.cache<24>
  %ssv2 = transformer.cached %ssv1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %ssvh = transformer.split_heads %ssv2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ssqh = transformer.split_heads %ssq : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %sss = transformer.contract "thd,khd->thk" %ssqh, %sskh in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %ssz = transformer.scale %sss, 0.353553391 : tensor<?x3x?xf32>
  %ssm = transformer.mask causal in(%rows, %seen)
  %ssc = transformer.select %ssm, %ssz {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %ssp = transformer.softmax %ssc in(%seen) : tensor<?x3x?xf32>
  %ssa = transformer.contract "thk,khd->thd" %ssp, %ssvh in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %sso = transformer.merge_heads %ssa : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %tsq = transformer.linear %x, @third.self.query : tensor<?x24xf32> -> tensor<?x24xf32>
  %tsk0 = transformer.linear %x, @third.self.key : tensor<?x24xf32> -> tensor<?x24xf32>
  %tsk1 = transformer.append %tsk, %tsk0 in(%rows) : !transformer.cache<24>
  %tsk2 = transformer.cached %tsk1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %tskh = transformer.split_heads %tsk2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %tsv0 = transformer.linear %x, @third.self.value : tensor<?x24xf32> -> tensor<?x24xf32>
  %tsv1 = transformer.append %tsv, %tsv0 in(%rows) : !transformer.cache<24>
  %tsv2 = transformer.cached %tsv1 in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %tsvh = transformer.split_heads %tsv2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %tsqh = transformer.split_heads %tsq : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %tss = transformer.contract "thd,khd->thk" %tsqh, %tskh in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %tsz = transformer.scale %tss, 0.353553391 : tensor<?x3x?xf32>
  %tsm = transformer.mask causal in(%rows, %seen)
  %tsc = transformer.select %tsm, %tsz {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %tsp = transformer.softmax %tsc in(%seen) : tensor<?x3x?xf32>
  %tsa = transformer.contract "thk,khd->thd" %tsp, %tsvh in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %tso = transformer.merge_heads %tsa : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %fcq = transformer.linear %x, @first.cross.query : tensor<?x24xf32> -> tensor<?x24xf32>
  %fck2 = transformer.cached %fck in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %fckh = transformer.split_heads %fck2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %fcv2 = transformer.cached %fcv in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %fcvh = transformer.split_heads %fcv2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %fcqh = transformer.split_heads %fcq : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %fcs = transformer.contract "thd,khd->thk" %fcqh, %fckh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %fcz = transformer.scale %fcs, 0.353553391 : tensor<?x3x?xf32>
  %fcp = transformer.softmax %fcz in(%memory) : tensor<?x3x?xf32>
  %fca = transformer.contract "thk,khd->thd" %fcp, %fcvh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %fco = transformer.merge_heads %fca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %scq = transformer.linear %x, @second.cross.query : tensor<?x24xf32> -> tensor<?x24xf32>
  %sck2 = transformer.cached %sck in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %sckh = transformer.split_heads %sck2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %scv2 = transformer.cached %scv in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %scvh = transformer.split_heads %scv2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %scqh = transformer.split_heads %scq : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %scs = transformer.contract "thd,khd->thk" %scqh, %sckh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %scz = transformer.scale %scs, 0.353553391 : tensor<?x3x?xf32>
  %scp = transformer.softmax %scz in(%memory) : tensor<?x3x?xf32>
  %sca = transformer.contract "thk,khd->thd" %scp, %scvh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %sco = transformer.merge_heads %sca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %tcq = transformer.linear %x, @third.cross.query : tensor<?x24xf32> -> tensor<?x24xf32>
  %tck2 = transformer.cached %tck in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %tckh = transformer.split_heads %tck2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %tcv2 = transformer.cached %tcv in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %tcvh = transformer.split_heads %tcv2 : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %tcqh = transformer.split_heads %tcq : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %tcs = transformer.contract "thd,khd->thk" %tcqh, %tckh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %tcz = transformer.scale %tcs, 0.353553391 : tensor<?x3x?xf32>
  %tcp = transformer.softmax %tcz in(%memory) : tensor<?x3x?xf32>
  %tca = transformer.contract "thk,khd->thd" %tcp, %tcvh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %tco = transformer.merge_heads %tca : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %r0 = transformer.scale %fso, 0.5 : tensor<?x24xf32>
  %y0 = transformer.add %x, %r0 : tensor<?x24xf32>, tensor<?x24xf32>
  %r1 = transformer.scale %fco, 0.75 : tensor<?x24xf32>
  %y1 = transformer.add %y0, %r1 : tensor<?x24xf32>, tensor<?x24xf32>
  %r2 = transformer.scale %sso, 1.125 : tensor<?x24xf32>
  %y2 = transformer.add %y1, %r2 : tensor<?x24xf32>, tensor<?x24xf32>
  %r3 = transformer.scale %sco, 1.25 : tensor<?x24xf32>
  %y3 = transformer.add %y2, %r3 : tensor<?x24xf32>, tensor<?x24xf32>
  %r4 = transformer.scale %tso, 1.5 : tensor<?x24xf32>
  %y4 = transformer.add %y3, %r4 : tensor<?x24xf32>, tensor<?x24xf32>
  %r5 = transformer.scale %tco, 1.75 : tensor<?x24xf32>
  %y5 = transformer.add %y4, %r5 : tensor<?x24xf32>, tensor<?x24xf32>
  %h = transformer.layer_norm %y5, @norm.weight, @norm.bias {epsilon = 1.0e-6 : f32} : tensor<?x24xf32>
  %logits = transformer.linear %h, @word : tensor<?x24xf32> -> tensor<?x61xf32>
  return %logits, %fsk1, %fsv1, %ssk1, %ssv1, %tsk1, %tsv1 : tensor<?x61xf32>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>, !transformer.cache<24>
}
}
