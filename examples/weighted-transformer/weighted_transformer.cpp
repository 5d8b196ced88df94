// SPDX-License-Identifier: Apache-2.0
///
/// Encoder layers of the Weighted Transformer (Ahmed, Keskar and Socher, arXiv 1711.02132), written
/// from the paper's formulas and nothing else: what is cheap to compute is the compiler's to find.
/// Writes into the folder it is given layers.mlir, layers.safetensors with random weights, and
/// sentences.safetensors to run them on.
#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Safetensors.h"
#include "frontend/Builder/ModelBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace heddle;
using transformer::Activation;

namespace {

// Section 4.1, the small model; two layers of six are enough to look at.
constexpr int64_t layers = 2;
constexpr int64_t width = 512;
constexpr int64_t innerWidth = 2048;
constexpr int64_t branches = 8;
constexpr int64_t headSize = width / branches;
constexpr int64_t vocabulary = 1000;

/// Equation 1: softmax(Q K^T / sqrt(d_k)) V for every head; head i is columns i * d_k on.
Tensor attention(const Scope &scope, const Tensor &x, const Segments &rows) {
  const Tensor query = scope.linear("query", x, width).splitHeads(branches);
  const Tensor key = scope.linear("key", x, width).splitHeads(branches);
  const Tensor value = scope.linear("value", x, width).splitHeads(branches);
  const double scale = 1 / std::sqrt(static_cast<double>(headSize));
  const Tensor scores = scope.contract("thd,khd->thk", query, key, rows) * scale;
  const Tensor heads = scope.contract("thk,khd->thd", scores.softmax(rows), value, rows);
  return heads.mergeHeads();
}

/// Section 3: FFN_i(x) = max(0, x W_i,1 + b_i,1) W_i,2 + b_i,2, with an M-th of the inner width.
Tensor feedForward(const Scope &branch, const Tensor &x) {
  const Tensor inner = branch.linear("inner", x, innerWidth / branches);
  return branch.linear("outer", inner.activate(Activation::Relu), width);
}

/// Equations 3 and 4: hbar_i = kappa_i head_i W_i^O, and the sum of alpha_i FFN_i(hbar_i).
Tensor branched(const Scope &scope, Entry entry, const Tensor &x, const Segments &rows) {
  const Tensor heads = attention(scope, x, rows);
  Tensor sum;
  for (int64_t i = 0; i < branches; ++i) {
    const Scope branch = scope.scope("branches", i);
    const Tensor kappa = entry.weight(branch.parameter("kappa", {1}));
    const Tensor alpha = entry.weight(branch.parameter("alpha", {1}));
    const Tensor head = heads.columns(i * headSize, headSize);
    const Tensor hbar = branch.linear("output", head, width) * kappa;
    const Tensor term = feedForward(branch, hbar) * alpha;
    sum = sum.valid() ? sum + term : term;
  }
  return sum;
}

void writeModel(ModelBuilder &model) {
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const Segments rows = entry.segments();
  Tensor x = model.scope().gather("words", ids, vocabulary, width);
  for (int64_t i = 0; i < layers; ++i) {
    const Scope layer = model.scope().scope("layers", i);
    x = layer.layerNorm("norm", branched(layer, entry, x, rows) + x, 1e-6);
  }
  entry.output("states", x);
}

/// Values for a parameter: rows of about 1 stay so, kappa and alpha of all branches add up to 1.
std::vector<float> randomValues(transformer::ParameterOp parameter, std::mt19937 &random) {
  const auto type = parameter.getTensorType();
  const llvm::StringRef name = parameter.getSymName();
  std::vector<float> values(static_cast<size_t>(type.getNumElements()));
  const bool isShare = name.ends_with("kappa") || name.ends_with("alpha");
  const bool isGain = name.ends_with("norm.weight");
  const double spread = type.getRank() == 2 ? 1 / std::sqrt(double(type.getDimSize(1))) : 0.1;
  std::normal_distribution<float> normal(isGain ? 1.0f : 0.0f, static_cast<float>(spread));
  for (float &value : values) {
    value = isShare ? 1.0f / branches : normal(random);
  }
  return values;
}

Status writeWeights(mlir::ModuleOp module, const std::string &path) {
  std::mt19937 random(1);
  std::vector<std::vector<float>> values;
  std::vector<SafetensorsTensor> tensors;
  for (auto parameter : module.getOps<transformer::ParameterOp>()) {
    values.push_back(randomValues(parameter, random));
    tensors.push_back({parameter.getSource()->str(), ElementType::F32,
                       parameter.getTensorType().getShape().vec(),
                       std::as_bytes(std::span(values.back()))});
  }
  return writeSafetensors(path, tensors);
}

/// Sentences of random ids, end to end.
Status writeSentences(const std::string &path) {
  std::mt19937 random(2);
  const std::vector<int32_t> lengths = {31, 7, 128, 1, 64};
  std::vector<int32_t> ids(231);
  for (int32_t &id : ids) {
    id = static_cast<int32_t>(random() % vocabulary);
  }
  const std::vector<SafetensorsTensor> tensors = {
      {"input_ids", ElementType::I32, {231}, std::as_bytes(std::span(ids))},
      {"lengths", ElementType::I32, {5}, std::as_bytes(std::span(lengths))}};
  return writeSafetensors(path, tensors);
}

Status run(const std::string &folder) {
  mlir::MLIRContext context;
  ModelBuilder model(context, "weighted-transformer");
  writeModel(model);
  HEDDLE_ASSIGN(auto owner, model.build());
  mlir::ModuleOp module = *owner;
  std::error_code error;
  llvm::raw_fd_ostream stream(folder + "/layers.mlir", error);
  if (error) {
    return HEDDLE_ERROR(InputOutput, folder + ": " + error.message());
  }
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  HEDDLE_TRY(writeSentences(folder + "/sentences.safetensors"));
  return writeWeights(module, folder + "/layers.safetensors");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: weighted_transformer FOLDER\n";
    return 2;
  }
  const Status status = run(argv[1]);
  if (!status.ok()) {
    llvm::errs() << "weighted_transformer: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
