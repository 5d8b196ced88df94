// SPDX-License-Identifier: Apache-2.0
///
/// Chooses the codes of matrices by the rows that they are multiplied with, which `heddlec
/// --calibration` observes on texts. The moments of these rows are a parameter source of their own:
/// they are only available once the whole program is known, before the binary is written.
///
/// Before:
///   transformer.parameter @w.i4 : tensor<72x64x!transformer.quantized<i4, 32, bf16>> = convert(@w)
/// After:
///   transformer.parameter @w.moments : tensor<64x64xf32> from "moments of rows 0"
///   transformer.parameter @w.i4 : tensor<72x64x!transformer.quantized<i4, 32, bf16>>
///     = compensate(@w, @w.moments)
///
/// Matrices that are multiplied with the same rows share moments; a matrix that is multiplied with
/// several sets of rows has the sum of their moments.
///
/// Tested by tests/compiler/Dataflow/compensate-weights.mlir.
#include "compiler/Dataflow/ProductRows.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

using transformer::ExpressionKind;
using transformer::ParameterExpressionAttr;

#define GEN_PASS_DEF_COMPENSATEWEIGHTSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Adds moments to the parameters of a program.
class Compensation {
public:
  explicit Compensation(ModuleOp module)
      : module(module), symbols(module), products(findProducts(module)) {}

  /// Fails with the first reason if there is no matrix to compensate.
  LogicalResult run() {
    std::string declined;
    bool isAny = false;
    for (auto &[symbol, rows] : products.matrices) {
      auto parameter =
          symbols.lookup<transformer::ParameterOp>(cast<FlatSymbolRefAttr>(symbol).getAttr());
      ParameterExpressionAttr expression = parameter.getExpressionAttr();
      if (!rows.isMatrix ||
          !isa<transformer::QuantizedType>(parameter.getTensorType().getElementType())) {
        continue;
      }
      // Only codes made by a conversion can be chosen; others come from the file.
      const bool isMade = expression && expression.getKind() == ExpressionKind::Convert;
      const std::string reason = isMade ? rows.reason : "its codes are those of the file";
      if (!reason.empty()) {
        reportDeclined(parameter.getLoc(), passNames::compensateWeights,
                       isMade ? "rounded to the nearest: " + reason : reason);
        if (declined.empty()) {
          declined = placeName(parameter.getLoc()) + ": ";
          declined += reason;
        }
        continue;
      }
      FlatSymbolRefAttr operands[] = {expression.getOperands().front(),
                                      momentsOf(parameter, rows.sites)};
      parameter.setExpressionAttr(
          ParameterExpressionAttr::get(module.getContext(), ExpressionKind::Compensate, operands));
      isAny = true;
    }
    if (isAny) {
      return success();
    }
    return module.emitError("no matrix is multiplied with rows of texts in codes that can be "
                            "chosen by them: ")
           << (declined.empty() ? "no product reads a matrix in codes" : declined);
  }

private:
  /// Returns the moments of all rows that a matrix is multiplied with.
  FlatSymbolRefAttr momentsOf(transformer::ParameterOp matrix, ArrayRef<int64_t> sites) {
    SmallVector<FlatSymbolRefAttr> each;
    for (int64_t site : sites) {
      each.push_back(momentsOf(matrix, site));
    }
    if (each.size() == 1) {
      return each.front();
    }
    auto sum = ParameterExpressionAttr::get(module.getContext(), ExpressionKind::Sum, each);
    FlatSymbolRefAttr &known = sums[sum];
    if (!known) {
      const ProductRows &rows = products.rows[sites.front()];
      known = create(matrix, rows.groups * rows.k, rows.k, StringAttr(), sum);
    }
    return known;
  }

  FlatSymbolRefAttr momentsOf(transformer::ParameterOp matrix, int64_t site) {
    FlatSymbolRefAttr &known = moments[site];
    if (!known) {
      const ProductRows &rows = products.rows[site];
      known = create(matrix, rows.groups * rows.k, rows.k,
                     StringAttr::get(module.getContext(), momentsName(site)), {});
    }
    return known;
  }

  /// Inserts it before all parameters except other moments, so that every user follows.
  FlatSymbolRefAttr create(transformer::ParameterOp matrix, int64_t rows, int64_t columns,
                           StringAttr source, ParameterExpressionAttr expression) {
    OpBuilder builder(module.getContext());
    auto type = RankedTensorType::get({rows, columns}, builder.getF32Type());
    auto created = transformer::ParameterOp::create(
        builder, matrix.getLoc(),
        builder.getStringAttr(StringRef(matrix.getSymName()).rsplit('.').first + ".moments"),
        TypeAttr::get(type), source, expression);
    symbols.insert(created, last ? std::next(Block::iterator(last)) : module.getBody()->begin());
    last = created;
    return FlatSymbolRefAttr::get(created.getSymNameAttr());
  }

  ModuleOp module;
  SymbolTable symbols;
  ProgramProducts products;
  /// The moments created last.
  transformer::ParameterOp last;
  llvm::DenseMap<int64_t, FlatSymbolRefAttr> moments;
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> sums;
};

struct CompensateWeights : impl::CompensateWeightsPassBase<CompensateWeights> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(Compensation(getOperation()).run())) {
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace heddle
