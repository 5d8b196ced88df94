// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-weights="precision= keep=key=f32" | FileCheck %s --check-prefix=WIDE
// RUN: heddle-opt %s -dataflow-narrow-weights="precision= keep=value=f32" | FileCheck %s --check-prefix=WIDE
// RUN: heddle-opt %s -dataflow-narrow-weights="precision= keep=key=int8" | FileCheck %s --check-prefix=CODES
// RUN: heddle-opt %s -dataflow-narrow-weights="precision= keep=value=int8" | FileCheck %s --check-prefix=CODES
// RUN: not heddle-opt %s -dataflow-narrow-weights="precision= keep=key=int4" 2>&1 | FileCheck %s --check-prefix=COARSE
// RUN: not heddle-opt %s -dataflow-narrow-weights="precision= keep=value=int4" 2>&1 | FileCheck %s --check-prefix=COARSE
// RUN: heddle-opt %s -dataflow-narrow-weights="precision= quantises-rows=true keep=key=int4" | FileCheck %s --check-prefix=SAME
// RUN: heddle-opt %s -dataflow-narrow-weights="precision= quantises-rows=true keep=value=int4" | FileCheck %s --check-prefix=SAME
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int4 keep=key=int4-g32" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=TIE
// RUN: heddle-opt %s -dataflow-narrow-weights="precision=int4 keep=value=int4-g32" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=TIE

// Codes of files are as fine as they are: four bits are fewer than eight or 32, whichever part of a
// joined matrix a pattern matches. Where both are the same, the pattern has kept it.

// WIDE: kept = [{bytes = 6144 : i64, layers = "{{key|value}}", precision = "f32", tensors = 1 : i64}], name = ""
// WIDE: dataflow.kernel @product : ({{.*}}, !dataflow.buffer<[24, 64], f32>)
// CODES: kept = [{bytes = 1632 : i64, layers = "{{key|value}}", precision = "int8", tensors = 1 : i64}], name = ""
// CODES: dataflow.kernel @product : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i8, row>>)
// COARSE: error: keep: "{{key|value}}=int4" keeps nothing: "joined" is stored as one matrix, and the precision of other parts of it is finer: that of its files
// SAME: layers = "{{key|value}}", precision = "int4", tensors = 1 : i64}], name = ""
// SAME: dataflow.kernel @product : ({{.*}}, !dataflow.buffer<[24, 64], !transformer.quantized<i4, 32, f16>>)
// TIE: what="stored as the file has it: i4, one scale and code of zero for every 32 of a row, kept by {{key|value}}=int4-g32", where=joined
// TIE: layers = "{{key|value}}", precision = "int4-g32", tensors = 1 : i64}], name = "int4"

!q4 = !transformer.quantized<i4, 32, f16>
!x = !dataflow.buffer<[tokens, 64], f32>
!y = !dataflow.buffer<[tokens, 24], f32>
!w = !dataflow.buffer<[24, 64], f32>

transformer.parameter @key.codes : tensor<12x64x!q4> from "key"
transformer.parameter @key : tensor<12x64xf32> = convert(@key.codes)
transformer.parameter @value.codes : tensor<12x64x!q4> from "value"
transformer.parameter @value : tensor<12x64xf32> = convert(@value.codes)
transformer.parameter @joined : tensor<24x64xf32> = concat(@key, @value) loc("joined")

dataflow.kernel @product : (!x, !w) -> !y computes #dataflow.contract<n = 24, k = 64> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!y {dataflow.name = "y"}) attributes {max_length = 16 : i64} {
  %w = dataflow.parameter @joined : !w
  %y = dataflow.dispatch @product(%x, %w) : (!x, !w) -> !y
  dataflow.output %y : !y
}
