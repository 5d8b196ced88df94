// SPDX-License-Identifier: Apache-2.0
///
/// Stores the matrices of products and the tables of look-ups in fewer bits: --precision
/// bf16-weights, int8-weights and all others but f32. Kernels widen what they read and compute in
/// f32, so that results are those of f32 arithmetic on the rounded weights, bit for bit. Biases,
/// norms, tables of distances and sinusoids stay as they are.
///
/// In 8 bits every 64 elements of a row of a matrix share a scale: MiniLM's embeddings lose 0.0005
/// of their cosine and not 0.0008 as with one scale for a row, for a sixteenth more bytes
/// (docs/precision.md). Tables have one for each row, and so has a matrix that is looked up as
/// well: it is stored once. Rows by position are in every text, and few: they are bf16, and tables
/// of fewer than 16 rows stay as they are. In 4 bits only matrices are stored, tables and what is
/// looked up as well have 8; scales are bf16, which has the range of f32, and are rounded up, so
/// that codes reach from the least to the largest element.
///
/// What the model's files have as codes already stays what it is where the precision asks for
/// nothing else, or for codes of as many bits in the same groups: nothing is rounded a second time.
///
/// Before:
///   dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], f32>) -> !y ...
///   %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
/// After:
///   transformer.parameter @w.bf16 : tensor<72x40xbf16> = convert(@w)
///   dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], bf16>) -> !y ...
///   %w = dataflow.parameter @w.bf16 : !dataflow.buffer<[72, 40], bf16>
///
/// Pinned by tests/compiler/Dataflow/narrow-weights*.mlir and keep-layers.mlir.
#include "compiler/Dataflow/KeptWeights.h"
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Parameters/KeptCodes.h"
#include "compiler/Parameters/LayerPrecisions.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_NARROWWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// The dispatches that run one kernel.
using Runs = llvm::MapVector<KernelOp, SmallVector<DispatchOp>>;

/// How a parameter is stored.
struct Form {
  /// Null: as it is.
  Type element = {};
  /// The parameter that has the codes of the file; null: they are made.
  FlatSymbolRefAttr codes = {};
};

/// The parameters of a module on their way to fewer bits.
class Narrowing {
public:
  Narrowing(ModuleOp module, DerivedParameters &parameters, const LayerPrecisions &precisions,
            KeptWeights &kept)
      : parameters(parameters), codes(parameters), precisions(precisions), kept(kept),
        context(module.getContext()) {
    for (auto graph : module.getOps<GraphOp>()) {
      for (auto dispatch : graph.getDispatches()) {
        runs[parameters.symbolTable().lookup<KernelOp>(dispatch.getKernel())].push_back(dispatch);
      }
    }
  }

  void run() {
    // What is looked up decides about what else the same kernels read.
    size_t before = 0;
    do {
      before = byRow.size() + byPosition.size();
      for (auto &[kernel, dispatches] : runs) {
        noteTables(kernel, dispatches);
      }
    } while (byRow.size() + byPosition.size() != before);
    for (auto &[kernel, dispatches] : runs) {
      narrowInputs(kernel, dispatches);
    }
  }

private:
  void noteTables(KernelOp kernel, ArrayRef<DispatchOp> dispatches) {
    SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
    for (auto [index, input] : llvm::enumerate(inputs)) {
      if (!input.isStored()) {
        continue;
      }
      SmallVector<Attribute> read;
      for (DispatchOp dispatch : dispatches) {
        if (auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>()) {
          read.push_back(parameter.getParameterAttr());
        }
      }
      auto areIn = [&](const llvm::DenseSet<Attribute> &set) {
        return llvm::any_of(read, [&](Attribute each) { return set.contains(each); });
      };
      if (input.role != KernelInput::Role::Matrix || areIn(byRow)) {
        byRow.insert_range(read);
      }
      if (input.role == KernelInput::Role::Positions || areIn(byPosition)) {
        byPosition.insert_range(read);
      }
    }
  }

  /// Makes a kernel, and all of its runs, read narrow types where every run can. Runs that read
  /// other types than the first get a kernel of their own.
  void narrowInputs(KernelOp kernel, ArrayRef<DispatchOp> dispatches) {
    SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(kernel.getKernelType());
    llvm::MapVector<Type, SmallVector<DispatchOp>> byType;
    for (DispatchOp dispatch : dispatches) {
      SmallVector<Type> types(kernel.getKernelType().getInputs());
      for (auto [index, input] : llvm::enumerate(inputs)) {
        if (input.isStored() && canBeNarrow(cast<BufferType>(types[index]), index, dispatches)) {
          types[index] = narrowInput(cast<BufferType>(types[index]), index, input, dispatch);
        }
      }
      byType[FunctionType::get(context, types, kernel.getKernelType().getResults())].push_back(
          dispatch);
    }
    for (auto &[type, runsOfType] : byType) {
      KernelOp own = type == byType.front().first
                         ? kernel
                         : copyKernel(parameters.symbolTable(), kernel, runsOfType);
      own.setFunctionType(cast<FunctionType>(type));
    }
  }

  /// Whether what a kernel reads as an input may be stored in fewer bits: a parameter in every run.
  bool canBeNarrow(BufferType wide, unsigned index, ArrayRef<DispatchOp> dispatches) const {
    return llvm::all_of(dispatches, [&](DispatchOp dispatch) {
      auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
      return parameter && !parameter.getEncodings() && wide.getElementType().isF32() &&
             isLearned(parameters.lookUp(parameter.getParameterAttr()));
    });
  }

  /// The type that a run reads as an input from now on.
  BufferType narrowInput(BufferType wide, unsigned index, const KernelInput &input,
                         DispatchOp dispatch) {
    auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
    FlatSymbolRefAttr symbol = parameter.getParameterAttr();
    const LayerPrecisions::Choice choice = precisions.of(symbol);
    const Form form = formOf(symbol, wide, input, choice.precision);
    if (!form.element && isShortTable(symbol, wide, choice.precision)) {
      return wide;
    }
    FlatSymbolRefAttr stored = storedAs(symbol, form, choice);
    if (!form.element) {
      return wide;
    }
    auto narrow = BufferType::get(context, wide.getShape(), form.element, wide.getRowStride());
    dispatch.getInputsMutable()[index].set(read.replace(parameter, narrow, stored));
    return narrow;
  }

  /// How a parameter is read where a kernel reads `wide`: as codes of the file, if they are what
  /// the precision makes of them anyway or if it makes none.
  Form formOf(FlatSymbolRefAttr symbol, BufferType wide, const KernelInput &input,
              const Precision &precision) {
    const bool isShort = isShortTable(symbol, wide, precision);
    const Type wanted = isShort ? Type() : elementOf(symbol, precision);
    const KeptCodes &known = codes.of(symbol);
    std::string reason = known.reason;
    if (known.symbol) {
      auto type = cast<transformer::QuantizedType>(
          parameters.lookUp(known.symbol).getTensorType().getElementType());
      const bool suits =
          wanted ? fits(type, wanted, wide.getWidth()) : precision.keepsCodes || isShort;
      if (input.role != KernelInput::Role::Matrix && !type.isForLookUps(wide.getWidth())) {
        reason = "rows with more than one scale are looked up";
      } else if (suits) {
        return {type, known.symbol};
      } else if (wanted) {
        reason = "the file has " + type.describe();
      }
    }
    if (!reason.empty() && reported.insert(symbol).second) {
      reportDeclined(parameters.lookUp(symbol).getLoc(), passNames::narrowWeights,
                     (wanted ? "codes of the file are not kept: " : "stored in f32: ") + reason);
    }
    return {wanted};
  }

  /// Whether codes of a file are such as a precision would make: of as many bits, in the same
  /// groups, without minimums. Where scales have more bits than it would give them, they are the
  /// better ones.
  static bool fits(transformer::QuantizedType type, Type wanted, int64_t columns) {
    auto made = dyn_cast<transformer::QuantizedType>(wanted);
    return made && made.getCodes() == type.getCodes() && !type.getMinimums() &&
           made.getGroupOf(columns) == type.getGroupOf(columns);
  }

  /// Whether it is looked up and has few rows. Codes of them would save nothing, and their error
  /// would be in every text: the types of segments cost MiniLM's embeddings 0.0002 of their cosine,
  /// ten times as much as all of its words.
  bool isShortTable(FlatSymbolRefAttr symbol, BufferType table, const Precision &precision) const {
    constexpr int64_t fewestRows = 16;
    return precision.bits <= 8 && byRow.contains(symbol) && table.getShape().front() < fewestRows;
  }

  /// What a precision makes of the elements of a parameter; null: nothing.
  Type elementOf(FlatSymbolRefAttr symbol, const Precision &precision) const {
    const unsigned bits = precision.bits;
    if (bits == 32) {
      return {};
    }
    if (bits == 16 || byPosition.contains(symbol)) {
      return BFloat16Type::get(context);
    }
    Type f32 = Float32Type::get(context);
    if (byRow.contains(symbol)) {
      return transformer::QuantizedType::get(context, IntegerType::get(context, 8), /*group=*/0,
                                             f32);
    }
    Type scales = bits == 4 ? Type(BFloat16Type::get(context)) : f32;
    return transformer::QuantizedType::get(context, IntegerType::get(context, bits),
                                           precision.group, scales);
  }

  /// Whether it is made of tensors of the checkpoint, and not of numbers alone as sinusoids are.
  static bool isLearned(transformer::ParameterOp parameter) {
    auto expression = parameter.getExpressionAttr();
    return !expression || !expression.getOperands().empty();
  }

  FlatSymbolRefAttr storedAs(FlatSymbolRefAttr symbol, Form form,
                             const LayerPrecisions::Choice &choice) {
    FlatSymbolRefAttr &stored = narrowed[{symbol, form.element}];
    if (stored) {
      return stored;
    }
    transformer::ParameterOp parameter = parameters.lookUp(symbol);
    Type element = form.element ? form.element : Type(Float32Type::get(context));
    const int64_t bytes = heddle::storedAs(element, parameter.getTensorType().getShape()).bytes();
    kept.note(parameter, choice, bytes);
    if (form.element) {
      stored = form.codes ? form.codes : narrow(parameter, form.element);
      reportTaken(parameter.getLoc(), passNames::narrowWeights,
                  (form.codes ? "stored as the file has it: " : "stored in ") +
                      describe(form.element) + KeptWeights::reason(choice),
                  {.weightBytes = byteSize(parameter) - bytes});
      return stored;
    }
    if (choice.kept || choice.isMixed) {
      reportDeclined(parameter.getLoc(), passNames::narrowWeights,
                     "stored in f32" + KeptWeights::reason(choice));
    }
    return stored = symbol;
  }

  static std::string describe(Type element) {
    auto quantized = dyn_cast<transformer::QuantizedType>(element);
    return quantized ? quantized.describe() : "bf16";
  }

  /// The parameter with the values of `parameter` in fewer bits.
  FlatSymbolRefAttr narrow(transformer::ParameterOp parameter, Type element) {
    // What the checkpoint has in bf16 is there, and what it has in another type is converted from
    // there. Codes become others by way of the numbers that they stand for.
    auto origin = FlatSymbolRefAttr::get(parameter);
    auto expression = parameter.getExpressionAttr();
    if (expression && expression.getKind() == transformer::ExpressionKind::Convert) {
      const FlatSymbolRefAttr source = expression.getOperands().front();
      Type its = parameters.lookUp(source).getTensorType().getElementType();
      if (its == element) {
        return source;
      }
      origin = isa<transformer::QuantizedType>(its) ? origin : source;
    }
    auto quantized = dyn_cast<transformer::QuantizedType>(element);
    const StringRef suffix = !quantized ? ".bf16" : quantized.hasZeros() ? ".i4" : ".i8";
    return parameters.derive(parameter.getLoc(), (parameter.getSymName() + suffix).str(),
                             transformer::ParameterExpressionAttr::get(
                                 context, transformer::ExpressionKind::Convert, {origin}, {}),
                             parameter.getTensorType().clone(element));
  }

  DerivedParameters &parameters;
  CodesOfParameters codes;
  GraphParameters read;
  const LayerPrecisions &precisions;
  KeptWeights &kept;
  MLIRContext *context;
  Runs runs;
  /// What look-ups read, and what runs of the same kernels do: quantised, they have one scale for
  /// each row.
  llvm::DenseSet<Attribute> byRow;
  /// And those by position.
  llvm::DenseSet<Attribute> byPosition;
  llvm::DenseMap<std::pair<Attribute, Type>, FlatSymbolRefAttr> narrowed;
  /// Those whose codes are not kept.
  llvm::DenseSet<Attribute> reported;
};

struct NarrowWeights : impl::NarrowWeightsPassBase<NarrowWeights> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto rules = readPrecisions(precision, keep);
    if (!rules.ok()) {
      module.emitError(std::string(rules.status().message()));
      return signalPassFailure();
    }
    DerivedParameters parameters(module);
    const LayerPrecisions precisions(parameters.symbolTable(),
                                     *findPrecision(precision, quantisesRows), *rules);
    KeptWeights kept(parameters.symbolTable(), precisions);
    Narrowing(module, parameters, precisions, kept).run();
    const Status status = kept.check();
    if (!status.ok()) {
      module.emitError(std::string(keepErrorPrefix) + std::string(status.message()));
      return signalPassFailure();
    }
    module->setAttr("transformer.precision", kept.describe(&getContext(), precision));
    eraseUnreadParameters(module);
  }
};

} // namespace
} // namespace heddle
