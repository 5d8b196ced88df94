// SPDX-License-Identifier: Apache-2.0
/// Graphs, dispatches and kernels.
include "dialects/Dataflow/Families/Attention.td"
include "dialects/Dataflow/Families/Caches.td"
include "dialects/Dataflow/Families/Choices.td"
include "dialects/Dataflow/Families/Contract.td"
include "dialects/Dataflow/Families/Nest.td"
include "dialects/Dataflow/Families/Rows.td"
include "dialects/Dataflow/Families/Windows.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dataflow_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dataflow_Dialect, mnemonic, traits>;

def Dataflow_KernelOp : Dataflow_Op<"kernel", [Symbol, IsolatedFromAbove, NoTerminator]> {
  let summary = "what one kernel computes";
  let description = [{
    What `computes` gives at a row and column is mapped by the region: its first argument is that
    value, the others are the elements of the element-wise operands there (a buffer of rows, a vector
    [width] repeated for every row, one number for each row, or one number). Then `norm` is applied to the finished row.
    The family says which of its results that is. A result that is a cache or a state is an input
    that the kernel changes in place; the others are buffers of their own.
    A family that sums pairs has the maths of a pair in a second region, after `pairs`.
    Dispatch operands are, in order: the inputs of `computes`, the element-wise operands, the weight
    of a norm, the bias of a layer norm.

    Constraints:
    - C1: `computes` is a kernel family, an attribute with the interface `KernelFamily`.
    - C2: the operands are as many as `computes`, the region and the norm take, the results as many
      as `computes` gives. They are buffers, but for caches and states where the family takes them;
      what is changed in place has one type as an input and as a result.
    - C3: a region is one block of scalar maths on f32 and conditions that yields one value: its
      operations are element-wise ones of `arith` and `math`, and constants.
    - C4: element-wise operands are rows of the shape of the result that the region maps, vectors of
      its width, as many rows of
      one number, [rows, 1], or one number, [1].
    - C5: the inputs, the results and the operands of the norm have the shapes that `computes` names.
    - C6: a family without an epilogue has a region that yields its argument and no element-wise
      operands; one whose region maps scores gives it the score and, if there is a table of biases,
      perhaps the bias; only one that takes a norm has a norm, whose epsilon is finite and not
      negative.
    - C7: the name is not empty and has only letters, digits, '_', '.' and '-': it becomes a symbol
      of an object file.
    - C8: every buffer that is a result, or an input that the family wants dense, has no row stride.
    - C9: the numbers of the family are valid: sizes are positive, offsets of positions are not
      negative, scales are finite and as many as look-ups, a bias distance is 0 to 2^20.
    - C10: a cache has the layout and the width that the family names; keys and values of attention
      are both buffers or both caches.
    - C11: a state stands where the family takes one, and nowhere else.
    - C12: `hidden` is that of a causal attention or attention_weights.
    - C13: where rows are in the order of time, `steps` or `steps_reversed`, each row of the work
      reads that row of its inputs, a cache or, by `collect`, the one of the same position: the rows
      of a sequence do not lie side by side.
    - C14: a region after `pairs` is there exactly where the family sums pairs, and has two arguments:
      an element of a query and one of a key.
    - C15: an attention_weights that is `raw` hides no keys.
    - C16: only what sums pairs has locations; `locationHeads` and `locationTaps` have equal length, taps
      are odd, there are at most 64 heads and 2^20 numbers near a key, and filters only with them.

    ```mlir
    dataflow.kernel @contract_384x384 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
        computes #dataflow.contract<n = 384, k = 384> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias fastmath<contract> : f32
      dataflow.yield %0
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       Dataflow_AnyFamily:$computes, OptionalAttr<Dataflow_NormAttr>:$norm);
  let regions = (region SizedRegion<1>:$epilogue, AnyRegion:$pairs);
  let assemblyFormat = [{
    $sym_name `:` $function_type `computes` $computes (`norm` $norm^)? attr-dict-with-keyword
    custom<Regions>($epilogue, $pairs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::FunctionType getKernelType() { return getFunctionType(); }
    /// The first result that is a buffer, whose rows and columns are the work; null if there is none.
    BufferType getResultBuffer();
    /// The result that the region and the norm map; null if nothing may follow.
    BufferType getMappedBuffer();
    /// The inputs that are changed in place, in the order of the results that they are.
    ::llvm::SmallVector<int64_t> getChanges();
    /// The number of an operand in a call of the kernel: results come first, then what is only read.
    unsigned getCallOperand(unsigned operand);
    /// The space of what is computed: the rows of the first result that is a buffer or, without one,
    /// of the first input that has some.
    ::heddle::RowSpace getRows();
    /// Whether each row of the work reads that row of its operands alone, or what no row changes, so
    /// that some rows can be computed without the others.
    bool isRowByRow();
    BufferType getOperandBuffer(unsigned i) {
      return ::llvm::cast<BufferType>(getKernelType().getInput(i));
    }
    /// An operand that is a cache; null if it is none.
    CacheType getOperandCache(unsigned i) {
      return ::llvm::dyn_cast<CacheType>(getKernelType().getInput(i));
    }
    StateType getOperandState(unsigned i) {
      return ::llvm::cast<StateType>(getKernelType().getInput(i));
    }
    /// Inputs of what it computes; they come first.
    unsigned getNumInputs() { return getComputes().getNumInputs(); }
    /// Element-wise operands of the epilogue; they follow the inputs.
    unsigned getNumElementwise();
    /// The weight of a norm and the bias of a layer norm; they come last.
    unsigned getNumNormOperands();
    /// Whether the norm is applied when all columns of a row are done: by then several callers may
    /// have computed them.
    bool hasFinish();
    /// Whether the epilogue returns its first argument unchanged.
    bool hasTrivialEpilogue();
  }];
}

def Dataflow_YieldOp : Dataflow_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the value of an epilogue";
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict";
}

def Dataflow_GraphOp : Dataflow_Op<"graph", [FunctionOpInterface, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"OutputOp">]> {
  let summary = "an entry of a model: dispatches in order";
  let description = [{
    Arguments and results are buffers, caches or states and carry `dataflow.name`, their public name.
    An integer input has `dataflow.limit`, below which its ids must be, and may have
    `dataflow.optional`. A cache or state that is changed is also a result, of the same name. A result that shows the probabilities of an attention has
    `dataflow.observed`, which says what its keys are; nobody gets it unasked.

    Constraints:
    - C1: arguments and results are caches, states, or dense buffers whose first dimension counts
      the rows of a row space, such as tokens, but not of one in the order of time.
    - C2: the operands of `dataflow.output` have the result types.
    - C3: every argument and result has a `dataflow.name`; those of the arguments are distinct, and
      so are those of the results.
    - C4: every argument of integers has a `dataflow.limit`, an i64 of 1 to 2^31.
    - C5: names are valid UTF-8 without control characters.
    - C6: the body holds only `dataflow.parameter`, `columns`, `reshape`, `dispatch`, `loop` and
      `output`.
    - C7: `max_length`, the most rows of a sequence, is not negative; 0 stands for any.
    - C8: a result that is a cache or a state is what a dispatch left of the argument of the same
      name.
    - C9: a result with `dataflow.observed`, "encoder", "decoder" or "cross", is a buffer [tokens,
      heads, longest] of f32, and no other buffer follows it. One with "selection" is the last
      result, [tokens, width] of f32.
    - C10: the rows that dispatches append to caches are those of one row space: one list of
      positions is that of all.
    - C11: `max_rows` has limits of 1 to 2^31 - 1 rows, of spaces of images of any width.

    ```mlir
    dataflow.graph @embed(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "input_ids", dataflow.limit = 30522 : i64})
        -> (!dataflow.buffer<[tokens, 384], f32> {dataflow.name = "last_hidden_state"}) {
      %table = dataflow.parameter @word.weight : !dataflow.buffer<[30522, 384], f32>
      %x = dataflow.dispatch @embed_norm(%ids, %table) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30522, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
      dataflow.output %x : !dataflow.buffer<[tokens, 384], f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<Dataflow_SizeAttr>:$arena,
                       DefaultValuedAttr<I64Attr, "0">:$max_length,
                       OptionalAttr<Dataflow_RowLimitsAttr>:$max_rows);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Its dispatches in the order in which they first run, those of loops among them.
    ::llvm::SmallVector<DispatchOp> getDispatches();
    /// The space of the rows that they append to caches; nothing where none does.
    ::std::optional<::heddle::RowSpace> getAppendedRows();
  }];
}

def Dataflow_OutputOp : Dataflow_Op<"output", [Pure, ReturnLike, Terminator, HasParent<"GraphOp">]> {
  let summary = "the results of a graph";
  let arguments = (ins Variadic<Dataflow_Memory>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Dataflow_ParameterOp : Dataflow_Op<"parameter",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a parameter as a buffer";
  let description = [{
    The type is that of the parameter itself. With `as`, what is stored and read is another
    parameter: the same values, encoded as the kernels of a target read them. Targets that agree
    share one encoding; otherwise there is a list with one encoding for each target, in the order of
    the compilation's targets.

    Constraints:
    - C1: the symbol is a `transformer.parameter` of the same shape and element type.
    - C2: every encoding is `pack` of the parameter, and only dispatches read it.

    ```mlir
    %q = dataflow.parameter @query.weight as @query.packed48 : !dataflow.buffer<[384, 384], f32>
    %k = dataflow.parameter @key.weight as [@key.packed16, @key.packed48] : !dataflow.buffer<[384, 384], f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter,
                       OptionalAttr<ConfinedAttr<
                           TypedArrayAttrBase<FlatSymbolRefAttr, "an array of symbols">,
                           [ArrayMinCount<1>]>>:$encodings);
  let results = (outs Dataflow_BufferType:$result);
  let assemblyFormat = [{
    $parameter (`as` custom<Encodings>($encodings)^)? attr-dict `:` qualified(type($result))
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::FlatSymbolRefAttr":$parameter), [{
    build($_builder, $_state, type, parameter, ::mlir::ArrayAttr());
  }]>];
  let extraClassDeclaration = [{
    /// The parameter that is stored for the target of that number; the last one's for a number
    /// beyond the list.
    ::mlir::FlatSymbolRefAttr getStored(unsigned target);
    /// For how many targets there are encodings of their own; 1 if what is stored serves every one.
    unsigned getNumStored() { return getEncodings() ? getEncodings()->size() : 1; }
  }];
}

def Dataflow_ColumnsOp : Dataflow_Op<"columns", [Pure]> {
  let summary = "columns first .. first + width of a buffer of rows, in place";
  let description = [{
    Constraints:
    - C1: the columns lie within the source's width.
    - C2: the result has the source's rows, element type and row stride.

    ```mlir
    %k = dataflow.columns %qkv from 384 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 384] in 1152, f32>
    ```
  }];
  let arguments = (ins Dataflow_BufferType:$source, I64Attr:$first);
  let results = (outs Dataflow_BufferType:$result);
  let assemblyFormat = [{
    $source `from` $first attr-dict `:` qualified(type($source)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Dataflow_ReshapeOp : Dataflow_Op<"reshape", [Pure]> {
  let summary = "the same memory with each row's elements in another shape";
  let description = [{
    Heads split from or merged into rows, or into the positions of a cache; or parts of dense rows
    as their choices, and back.

    Constraints:
    - C1: the result has the source's first dimension, element type and row stride; or both are
      caches of one element type and layout. Of dense rows it may have the choices of the source's
      rows, or the rows whose choices the source's are.
    - C2: a row of the result has as many elements as a row of the source, all choices of one
      together: constant dimensions, and after them the most keys of a row, such as `longest`, if
      both have it.

    ```mlir
    %h = dataflow.reshape %q : !dataflow.buffer<[tokens, 384], f32> -> !dataflow.buffer<[tokens, 12, 32], f32>
    ```
  }];
  let arguments = (ins Dataflow_Memory:$source);
  let results = (outs Dataflow_Memory:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Dataflow_DispatchOp : Dataflow_Op<"dispatch",
    [ParentOneOf<["GraphOp", "LoopOp"]>, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one run of a kernel over all rows or, in a loop, over those of each step";
  let description = [{
    Its location is the checkpoint name of what it computes. `at` is where the memory plan put its
    results, with `none` for one that a graph outputs, which lies in the caller's buffer, and for a
    cache or state, which has memory of its own.

    `changes` numbers the operands that are changed in place. Each is also a result, the operand as
    the dispatch leaves it: the results that are caches or states, in order. A dispatch reads the
    memory of every operand that is a cache or a state and writes what it changes, and says so to
    every pass by its memory effects; one of buffers alone has none.

    Constraints:
    - C1: the kernel exists.
    - C2: operands and results have the types of the kernel, and it changes what the kernel changes.
    - C3: ids that a gather looks up are an argument of the graph whose `dataflow.limit` is at most
      the rows of the table.
    - C4: where a gather looks up positions, the graph's `max_length` is above 0 or, of rows of images
      of any width, their limit in `max_rows`, and the rows of a
      sequence of that length plus the offset are at most the rows of the table.
    - C5: what is changed is an argument of the graph, and nothing after the dispatch uses it as it
      was: its memory holds something else by then. Nests may run over the keys of a cache, which
      are as many.
    - C6: the caches that a kernel reads are all read as a dispatch left them, or none of them is
      changed in the graph: only then they have the same positions, and the rows of this run theirs.
    - C7: where keys after the row are hidden, by a causal attend, attention or attention_weights or
      by `hidden` of a nest, a cache that has the keys is appended to in the graph: only then the row
      is one of its positions.
    - C8: a state is read as it was before the run: a sequence that begins in this run has no sums
      yet, whatever a dispatch left there.
    - C9: `changes` numbers as many operands, each once, as there are results that are caches or
      states, and of their types.
    - C10: `at` has a place or `none` for each result, and none for caches and states.
    - C11: a parameter that is stored encoded is the matrix of a product, of as many groups as its
      encodings have.
    - C12: in a loop the kernel has the rows of the loop, and each row of its work reads that row of
      its inputs alone, or caches that nothing has changed.

    ```mlir
    %x = dataflow.dispatch @contract_384x384(%h, %w, %b) at <tokens = 1536> : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Dataflow_Memory>:$inputs,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$changes,
                       OptionalAttr<ArrayAttr>:$at);
  let results = (outs Variadic<Dataflow_Memory>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`changes` $changes^)? `` custom<Places>($at) attr-dict `:`
    functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operand that a result is; null for a buffer.
    ::mlir::OpOperand *getChanged(::mlir::OpResult result);
    /// Whether an operand is changed in place.
    bool changesOperand(unsigned operand) { return ::llvm::is_contained(getChanges(), operand); }
    /// What the kernel does with an operand; none if there is no such kernel or it is no input.
    ::std::optional<KernelInput> findInput(unsigned operand, ::mlir::SymbolTableCollection &symbols);
    /// The place of a result in the arena; null if it has none.
    SizeAttr getPlace(unsigned result);
  }];
}

def Dataflow_LoopOp : Dataflow_Op<"loop", [HasParent<"GraphOp">, RecursiveMemoryEffects,
    SingleBlock]> {
  let summary = "dispatches over the rows of one step after the other";
  let description = [{
    The rows are in the order of time, `steps` or `steps_reversed`: those of a step lie side by side
    and belong to the sequences that have so many rows, the longest first. The dispatches of the
    region run over the rows of the first step, then over those of the second, and so on, as often
    as the longest sequence has rows.

    Each argument of the region is a carried value: at the rows of a step what the first operands of
    `next` are at the rows of the step before, sequence by sequence. At the first step it is an
    operand of the loop, a row for each sequence in the order of a step, or zeros. As the sequences of a step are the first of those of the step before, that is the same memory a
    number of rows earlier: nothing is copied. The results of the loop are all rows of the operands
    of `next`.

    What stands before the loop is read as it is, row by row.

    Constraints:
    - C1: the results are dense rows [rows, width] of one space in the order of time, or numbers of
      the keys of such rows, [rows, heads, longest].
    - C2: the region has an argument for each carried value, at least one, of the types of the first
      results.
    - C3: the region holds only `columns`, `reshape`, `dispatch` and, at its end, `next`.
    - C4: the operands of `next` have the types of the results, and each is another result of a
      dispatch of the region.
    - C5: there are no operands, where rows alone are carried, or one for each carried value: dense
      rows [ranks, width] of its width, or numbers [ranks, heads, longest].
    - C6: a loop with `beside` follows another directly, and reads nothing that this one gives, nor
      what those give that this one runs beside. They may run at the same time.

    ```mlir
    %y = dataflow.loop() : () -> !dataflow.buffer<[steps, 20], f32> {
    ^bb0(%before: !dataflow.buffer<[steps, 20], f32>):
      %new = dataflow.dispatch @contract_20x20(%before, %w, %x) : (!dataflow.buffer<[steps, 20], f32>, !dataflow.buffer<[20, 20], f32>, !dataflow.buffer<[steps, 20], f32>) -> !dataflow.buffer<[steps, 20], f32>
      dataflow.next %new : !dataflow.buffer<[steps, 20], f32>
    }
    ```
  }];
  let arguments = (ins Variadic<Dataflow_BufferType>:$initial, UnitAttr:$beside);
  let results = (outs Variadic<Dataflow_BufferType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $initial `)` (`beside` $beside^)? attr-dict `:` functional-type($initial, $results)
    custom<Body>($body)
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The space of its rows.
    ::heddle::RowSpace getRows() {
      return *::llvm::cast<BufferType>(getResult(0).getType()).getRowSpace();
    }
    /// The loop right before this one that it runs beside; null if it runs after all before it.
    LoopOp getNeighbor() {
      return getBeside() ? ::llvm::dyn_cast_or_null<LoopOp>((*this)->getPrevNode()) : LoopOp();
    }
    /// The buffer in the region that a result is.
    ::mlir::Value getNext(::mlir::OpResult result) {
      return getBody().front().getTerminator()->getOperand(result.getResultNumber());
    }
    /// The buffer in the region whose rows an argument is, a step before.
    ::mlir::Value getNext(::mlir::BlockArgument argument) {
      return getBody().front().getTerminator()->getOperand(argument.getArgNumber());
    }
  }];
}

def Dataflow_NextOp : Dataflow_Op<"next", [Pure, Terminator, HasParent<"LoopOp">]> {
  let summary = "ends a step of a loop: the carried values, then what else the step gives";
  let arguments = (ins Variadic<Dataflow_BufferType>:$values);
  let assemblyFormat = "$values attr-dict `:` qualified(type($values))";
}
