// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{'builtin.module' op has 'transformer.max_lenght', did you mean 'transformer.max_length'?}}
module attributes {transformer.max_lenght = 256 : i64} {
}

// -----

// expected-error@+1 {{'builtin.module' op has 'transformer.vocabulary', expected one of 'transformer.chat', 'transformer.classification', 'transformer.generation', 'transformer.languages', 'transformer.lower_case', 'transformer.max_length', 'transformer.model_type', 'transformer.phase', 'transformer.precision', 'transformer.sharing', 'transformer.tokenizer'}}
module attributes {transformer.vocabulary = 256 : i64} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.max_length' to be an i64 of at least 1, got 0 : i64}}
module attributes {transformer.max_length = 0 : i64} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.max_length' to be an i64 of at least 1, got 256 : i32}}
module attributes {transformer.max_length = 256 : i32} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.lower_case' to be without a value, got "yes"}}
module attributes {transformer.lower_case = "yes"} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.tokenizer' to be a list of file names, got "tokenizer.json"}}
module attributes {transformer.tokenizer = "tokenizer.json"} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.tokenizer' to be a list of file names, got [""]}}
module attributes {transformer.tokenizer = [""]} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.model_type' to be a string, got 1 : i32}}
module attributes {transformer.model_type = 1 : i32} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.phase' to be a string, got 1 : i32}}
module attributes {transformer.phase = 1 : i32} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.sharing' to be a string, got 1 : i32}}
module attributes {transformer.sharing = 1 : i32} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.precision' to be a dictionary, got "int8"}}
module attributes {transformer.precision = "int8"} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.precision' to have 'kept', a list of dictionaries, got [1 : i32]}}
module attributes {transformer.precision = {name = "int8", kept = [1 : i32]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op has 'nmae' in 'transformer.precision', did you mean 'name'?}}
module attributes {transformer.precision = {name = "int8", kept = [], nmae = "int8"}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'kept' to have 'tensors', an i64 of at least 1, got 0 : i64}}
module attributes {transformer.precision = {name = "int8", kept = [{layers = "a", precision = "f32", tensors = 0 : i64, bytes = 4 : i64}]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'kept' to have 'bytes', an i64 of at least 0, got -1 : i64}}
module attributes {transformer.precision = {name = "int8", kept = [{layers = "a", precision = "f32", tensors = 1 : i64, bytes = -1 : i64}]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'kept' to have 'layers', a string that is not empty, got ""}}
module attributes {transformer.precision = {name = "int8", kept = [{layers = "", precision = "f32", tensors = 1 : i64, bytes = 4 : i64}]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'kept' to have 'precision', a string that is not empty, got ""}}
module attributes {transformer.precision = {name = "int8", kept = [{layers = "a", precision = "", tensors = 1 : i64, bytes = 4 : i64}]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op has 'cached' in 'kept', expected one of 'layers', 'precision', 'tensors', 'bytes'}}
module attributes {transformer.precision = {name = "int8", kept = [{layers = "a", precision = "f32", tensors = 1 : i64, bytes = 4 : i64, cached = 1 : i64}]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.generation' to be a dictionary, got 1 : i32}}
module attributes {transformer.generation = 1 : i32} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.generation' to have 'start', an array<i32>, got none}}
module attributes {transformer.generation = {}} {
}

// -----

// expected-error@+1 {{'builtin.module' op has 'num_beam' in 'transformer.generation', did you mean 'num_beams'?}}
module attributes {transformer.generation = {
    start = array<i32: 1>, end = array<i32: 2>, suppressed = array<i32>, pad = 0 : i32,
    forced_first = -1 : i32, forced_last = -1 : i32, rules = "paper", max_length = 0 : i32,
    min_length = 0 : i32, num_beams = 1 : i32, length_penalty = 1.0 : f32,
    repetition_penalty = 1.0 : f32, early_stopping = false, never_stop_early = false,
    sample = false, temperature = 1.0 : f32, top_k = 0 : i32,
    top_p = 1.0 : f32, min_p = 0.0 : f32, no_repeat_ngram = 0 : i32, context_length = 0 : i32,
    num_beam = 4 : i32}} {
}

// -----

// expected-error@+1 {{'builtin.module' op has 'watermark' in 'transformer.generation', expected one of 'start', 'end', 'suppressed', 'rules', 'pad', 'forced_first', 'forced_last', 'max_length', 'num_beams', 'length_penalty', 'early_stopping', 'no_repeat_ngram', 'repetition_penalty', 'min_length', 'never_stop_early', 'sample', 'temperature', 'top_k', 'top_p', 'min_p', 'context_length'}}
module attributes {transformer.generation = {
    start = array<i32: 1>, end = array<i32: 2>, suppressed = array<i32>, pad = 0 : i32,
    forced_first = -1 : i32, forced_last = -1 : i32, rules = "paper", max_length = 0 : i32,
    min_length = 0 : i32, num_beams = 1 : i32, length_penalty = 1.0 : f32,
    repetition_penalty = 1.0 : f32, early_stopping = false, never_stop_early = false,
    sample = false, temperature = 1.0 : f32, top_k = 0 : i32,
    top_p = 1.0 : f32, min_p = 0.0 : f32, no_repeat_ngram = 0 : i32, context_length = 0 : i32,
    watermark = 1.0 : f32}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.classification' to have 'labels', a list of strings with at least one, got []}}
module attributes {transformer.classification = {labels = [], problem = "regression"}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.classification' to have 'problem', 'regression', 'single_label' or 'multi_label', got "ranking"}}
module attributes {transformer.classification = {labels = ["a"], problem = "ranking"}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.languages' to have 'ends_source', true or false, got none}}
module attributes {transformer.languages = {names = ["a"], tokens = array<i32: 1>}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.languages' to have a token for each name, got 1 names and 2 tokens}}
module attributes {transformer.languages = {names = ["a"], tokens = array<i32: 1, 2>, ends_source = true, starts_target = true, source = "a", target = ""}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'names' of 'transformer.languages' in ascending order, got "a" after "b"}}
module attributes {transformer.languages = {names = ["b", "a"], tokens = array<i32: 1, 2>, ends_source = true, starts_target = true, source = "a", target = ""}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'target' of 'transformer.languages' to be one of 'names' or empty, got "c"}}
module attributes {transformer.languages = {names = ["a", "b"], tokens = array<i32: 1, 2>, ends_source = true, starts_target = true, source = "a", target = "c"}} {
}

// -----

module {
  // expected-error@+1 {{'func.func' op has 'transformer.max_length', expected it on the program's module}}
  func.func private @entry() attributes {transformer.max_length = 256 : i64}
}

// -----

// expected-error@+1 {{'builtin.module' op has 'transformer.chat' without templates}}
module attributes {transformer.chat = {templates = [], tokens = []}} {
}

// -----

// expected-error@+1 {{'builtin.module' op has two 'templates' called 'a'}}
module attributes {transformer.chat = {templates = [{name = "a", text = ""}, {name = "a", text = ""}], tokens = []}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'transformer.chat' to have 'tokens', a list of dictionaries, got none}}
module attributes {transformer.chat = {templates = [{name = "a", text = ""}]}} {
}

// -----

// expected-error@+1 {{'builtin.module' op expects 'text of transformer.chat' to have 'name', a string that is not empty, got ""}}
module attributes {transformer.chat = {templates = [{name = "", text = ""}], tokens = []}} {
}

// -----

// expected-error@+1 {{'builtin.module' op has 'size' in 'text of transformer.chat'}}
module attributes {transformer.chat = {templates = [{name = "a", text = "", size = 1 : i32}], tokens = []}} {
}
