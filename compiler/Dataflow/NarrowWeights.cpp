// SPDX-License-Identifier: Apache-2.0
///
/// Stores the matrices of products and the tables of look-ups in fewer bits, for every --precision
/// except f32. Kernels widen weights as they read them and compute in f32, so that results are
/// bitwise those of f32 arithmetic on the rounded weights. Biases, norms, tables of distances and
/// sinusoids are unchanged.
///
/// In 8 bits, 64 elements of a row of a matrix share a scale: MiniLM's embeddings then lose 0.0005
/// of their cosine instead of 0.0008 with one scale per row, for a sixteenth more bytes
/// (docs/precision.md). Tables have one scale per row, and so has a matrix that is also looked up,
/// because it is stored once. Position tables are bf16: every text reads them, and they are small.
/// Tables of fewer than 16 rows are unchanged. In 4 bits only matrices are stored; tables and
/// matrices that are also looked up have 8. Scales are bf16, which has the range of f32, and are
/// rounded up, so that codes cover the range from the least to the largest element.
///
/// Weights that are quantised in the model's files keep their codes if the precision requests
/// nothing else, or codes of as many bits in the same groups: nothing is rounded twice.
///
/// Before:
///   dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], f32>) -> !y ...
///   %w = dataflow.parameter @w : !dataflow.buffer<[72, 40], f32>
/// After:
///   transformer.parameter @w.bf16 : tensor<72x40xbf16> = convert(@w)
///   dataflow.kernel @contract : (!x, !dataflow.buffer<[72, 40], bf16>) -> !y ...
///   %w = dataflow.parameter @w.bf16 : !dataflow.buffer<[72, 40], bf16>
///
/// Tested by tests/compiler/Dataflow/narrow-weights*.mlir and keep-layers.mlir.
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

/// The dispatches of one kernel.
using Runs = llvm::MapVector<KernelOp, SmallVector<DispatchOp>>;

/// How a parameter is stored.
struct Form {
  /// Null: unchanged.
  Type element = {};
  /// The parameter with the codes of the file; null: codes are computed.
  FlatSymbolRefAttr codes = {};
};

/// Narrows the parameters of a module.
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
    // Iterates, because parameters that are looked up constrain all parameters of the same kernels.
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

  /// Makes a kernel and its dispatches read narrow types, for inputs that all of them can.
  /// Dispatches with other types than the first get a copy of the kernel.
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

  /// Returns whether an input of a kernel may be stored in fewer bits: it is a parameter in every
  /// dispatch.
  bool canBeNarrow(BufferType wide, unsigned index, ArrayRef<DispatchOp> dispatches) const {
    return llvm::all_of(dispatches, [&](DispatchOp dispatch) {
      auto parameter = dispatch.getInputs()[index].getDefiningOp<ParameterOp>();
      return parameter && !parameter.getEncodings() && wide.getElementType().isF32() &&
             isLearned(parameters.lookUp(parameter.getParameterAttr()));
    });
  }

  /// Returns the new type of an input of a dispatch.
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

  /// Returns how to read a parameter that a kernel reads as `wide`: as codes of the file, if the
  /// precision would make the same codes or makes none.
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

  /// Returns whether codes of a file match those of a precision: as many bits, the same groups, no
  /// minimums. Scales with more bits than the precision's are accepted, because they are more
  /// exact.
  static bool fits(transformer::QuantizedType type, Type wanted, int64_t columns) {
    auto made = dyn_cast<transformer::QuantizedType>(wanted);
    return made && made.getCodes() == type.getCodes() && !type.getMinimums() &&
           made.getGroupOf(columns) == type.getGroupOf(columns);
  }

  /// Returns whether it is a look-up table with few rows. Quantising them would save nothing but
  /// affect every text: the segment table costs MiniLM's embeddings 0.0002 of their cosine, ten
  /// times as much as all words.
  bool isShortTable(FlatSymbolRefAttr symbol, BufferType table, const Precision &precision) const {
    constexpr int64_t fewestRows = 16;
    return precision.bits <= 8 && byRow.contains(symbol) && table.getShape().front() < fewestRows;
  }

  /// Returns the element type that a precision gives a parameter; null: unchanged.
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

  /// Returns whether it is made of tensors of the checkpoint, not of constants only, as sinusoids
  /// are.
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

  /// Derives the parameter with the values of `parameter` in fewer bits.
  FlatSymbolRefAttr narrow(transformer::ParameterOp parameter, Type element) {
    // Converts directly from the checkpoint's type, without f32 between. Codes are converted to
    // other codes through the numbers that they stand for.
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
  /// Parameters read by look-ups, or by kernels that share dispatches with these: quantised with
  /// one scale per row.
  llvm::DenseSet<Attribute> byRow;
  /// Those read by position.
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
