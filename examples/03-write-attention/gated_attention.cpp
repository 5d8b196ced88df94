// SPDX-License-Identifier: Apache-2.0
///
/// A variant of attention from its formulas to numbers, in one program: an encoder whose heads
/// share one key and one value (Shazeer, arXiv 1911.02150) and whose output is gated by the input
/// (Qiu et al., arXiv 2505.06708). It is written with ModelBuilder, compiled with random weights,
/// run, and compared with the same program compiled without optimising passes.
///
///   gated_attention [FOLDER]      where the binaries are written, by default here
#include <heddle/Compile.h>
#include <heddle/ModelBuilder.h>
#include <heddle/Session.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

using namespace heddle;

constexpr int64_t width = 256, heads = 8, headSize = width / heads, layers = 2, vocabulary = 500;

/// softmax(q k^T / sqrt(d)) v with one k and one v for all heads, times sigmoid(x W_g).
static Tensor gatedAttention(const Scope &scope, const Tensor &x, const Segments &rows) {
  const Tensor query = scope.linear("query", x, width).splitHeads(heads);
  const Tensor key = scope.linear("key", x, headSize);
  const Tensor value = scope.linear("value", x, headSize);
  const double scale = 1 / std::sqrt(double(headSize));
  const Tensor scores = scope.contract("thd,kd->thk", query, key, rows) * scale;
  const Tensor mixed = scope.contract("thk,kd->thd", scores.softmax(rows), value, rows);
  const Tensor gate = scope.linear("gate", x, width).activate(transformer::Activation::Sigmoid);
  return scope.linear("output", mixed.mergeHeads() * gate, width);
}

static void writeModel(ModelBuilder &model) {
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const Segments rows = entry.segments();
  Tensor x = model.scope().gather("words", ids, vocabulary, width);
  for (int64_t i = 0; i < layers; ++i) {
    const Scope layer = model.scope().scope("layers", i);
    x = layer.layerNorm("norm", x + gatedAttention(layer.scope("attention"), x, rows), 1e-6);
  }
  entry.output("states", x);
}

/// Random values for a parameter; sums of products stay of about the size of their terms.
static std::vector<float> randomValues(const Parameter &parameter, std::mt19937 &random) {
  size_t count = 1;
  for (const int64_t size : parameter.shape()) {
    count *= size_t(size);
  }
  const double inputs = parameter.shape().size() == 2 ? double(parameter.shape()[1]) : 1;
  std::normal_distribution<float> normal(0, float(1 / std::sqrt(inputs)));
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

/// The states of two sentences.
static Result<std::vector<float>> run(const std::string &path) {
  HEDDLE_ASSIGN(const Model model, Model::load(path));
  HEDDLE_ASSIGN(Session session, Session::create(model));
  const std::vector<int32_t> lengths = {3, 5};
  const std::vector<int32_t> ids = {17, 4, 230, 9, 9, 81, 499, 0};
  std::vector<float> states(ids.size() * size_t(width));
  const Input input{"input_ids", ids};
  const Output output{"states", states};
  HEDDLE_TRY(session.run("encode", lengths, {&input, 1}, {&output, 1}));
  return states;
}

/// What the report says: how often a pass acted, what that saved, and what it did first.
static void print(const std::vector<Decision> &decisions) {
  for (size_t i = 0; i < decisions.size();) {
    const Decision &first = decisions[i];
    int64_t taken = 0, flops = 0;
    for (; i < decisions.size() && decisions[i].pass == first.pass; ++i) {
      taken += decisions[i].taken ? 1 : 0;
      flops += decisions[i].flopsPerToken;
    }
    std::printf("%s: %lld times, saves %lld flops per token\n  %s: %s\n", first.pass.c_str(),
                static_cast<long long>(taken), static_cast<long long>(flops), first.where.c_str(),
                first.text.c_str());
  }
}

static Status compare(const std::string &folder) {
  ModelBuilder model("gated-attention");
  writeModel(model);
  CompileRequest request;
  request.name = "gated attention";
  std::mt19937 random(1);
  std::vector<std::vector<float>> weights;
  for (const Parameter &parameter : model.parameters()) {
    weights.push_back(randomValues(parameter, random));
    request.tensors.push_back({parameter.symbol(), parameter.shape(), weights.back()});
  }
  HEDDLE_ASSIGN(request.program, model.text());

  request.output = folder + "/gated-attention.so";
  request.report = ReportForm::Json;
  const CompileResult compiled = compile(request);
  HEDDLE_TRY(compiled.status);
  print(compiled.decisions);
  HEDDLE_ASSIGN(const std::vector<float> states, run(request.output));

  request.output = folder + "/as-written.so";
  request.report = ReportForm::None;
  request.disabledPasses = optionalPasses();
  HEDDLE_TRY(compile(request).status);
  HEDDLE_ASSIGN(const std::vector<float> expected, run(request.output));

  float largest = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    largest = std::max(largest, std::abs(states[i] - expected[i]));
  }
  std::printf("largest difference from the program as written: %.1e\n", double(largest));
  return largest < 1e-4F ? Status() : HEDDLE_ERROR(Internal, "the results differ");
}

int main(int argc, char **argv) {
  const Status status = compare(argc > 1 ? argv[1] : ".");
  if (!status.ok()) {
    std::fprintf(stderr, "gated_attention: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
