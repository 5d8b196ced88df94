// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s

// CHECK: module attributes {transformer.chat = {templates = [{name = "default", text = "{{.*}} bos_token {{.*}}\0A"}], tokens = [{name = "bos_token", text = "<s>"}]}
// CHECK-SAME: transformer.classification = {labels = ["no", ""], problem = "multi_label"}
// CHECK-SAME: transformer.generation = {context_length = 4096 : i32, early_stopping = false
// CHECK-SAME: transformer.languages = {ends_source = true, names = ["de_DE", "en_XX"], source = "en_XX", starts_target = false, target = "", tokens = array<i32: 7, 9>}
// CHECK-SAME: transformer.lower_case
// CHECK-SAME: transformer.max_length = 256 : i64
// CHECK-SAME: transformer.model_type = "bert"
// CHECK-SAME: transformer.phase = "fused"
// CHECK-SAME: transformer.precision = {kept = [{bytes = 5184 : i64, layers = "layer.1", precision = "int8", tensors = 1 : i64}], name = "int4"}
// CHECK-SAME: transformer.sharing = "encoder:1,2"
// CHECK-SAME: transformer.tokenizer = ["source.spm", "vocab.json"]
module attributes {
  transformer.model_type = "bert", transformer.max_length = 256 : i64, transformer.lower_case,
  transformer.tokenizer = ["source.spm", "vocab.json"], transformer.sharing = "encoder:1,2",
  transformer.phase = "fused",
  transformer.chat = {templates = [{name = "default", text = "{{ bos_token }}\n"}],
                      tokens = [{name = "bos_token", text = "<s>"}]},
  transformer.classification = {labels = ["no", ""], problem = "multi_label"},
  transformer.languages = {names = ["de_DE", "en_XX"], tokens = array<i32: 7, 9>, ends_source = true,
                           starts_target = false, source = "en_XX", target = ""},
  transformer.precision = {name = "int4", kept = [
    {layers = "layer.1", precision = "int8", tensors = 1 : i64, bytes = 5184 : i64}]},
  transformer.generation = {
    start = array<i32: 1>, end = array<i32: 2>, suppressed = array<i32>, pad = 0 : i32,
    forced_first = -1 : i32, forced_last = -1 : i32, rules = "paper", max_length = 0 : i32,
    min_length = 0 : i32, num_beams = 1 : i32, length_penalty = 1.0 : f32,
    repetition_penalty = 1.0 : f32, early_stopping = false, never_stop_early = false,
    sample = false, temperature = 1.0 : f32, top_k = 0 : i32,
    top_p = 1.0 : f32, min_p = 0.0 : f32, no_repeat_ngram = 0 : i32,
    context_length = 4096 : i32}} {
}
