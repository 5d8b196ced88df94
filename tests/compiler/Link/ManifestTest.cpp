// SPDX-License-Identifier: Apache-2.0
///
/// The FlatBuffer of a planned graph, as the runtime reads it, field by field.
#include "compiler/Cost/KernelCost.h"
#include "tests/compiler/Link/PlannedProgram.h"

using namespace mlir;

namespace heddle {
namespace {

TEST_F(ManifestTest, SaysWhatIsGiven) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  EXPECT_EQ(written->abi(), uint32_t{HEDDLE_ABI});
  EXPECT_EQ(written->producer()->str(), "heddle 0.1.0");
  EXPECT_EQ(written->model_type()->str(), "bert");
  EXPECT_EQ(written->source_hash()->str(), "00ff");
  EXPECT_EQ(written->precision()->str(), "f32");
  ASSERT_EQ(written->targets()->size(), 2u);
  EXPECT_EQ(written->targets()->Get(1)->str(), "x86-64-v4");
  EXPECT_EQ(written->weights_size(), 39616u);
  EXPECT_EQ(written->report_summary()->Get(0)->str(), "fold-epilogues: 1 of 1 taken");
  EXPECT_EQ(written->tokenizer(), nullptr);
  EXPECT_EQ(written->sharing(), nullptr);
  EXPECT_EQ(written->calibration(), nullptr);
}

TEST_F(ManifestTest, SaysWhatWeightsWereCalibratedBy) {
  ManifestInputs inputs = someInputs();
  inputs.calibration = {"00aa", 250, 24};
  const manifest::Manifest *written = build(program, inputs);
  ASSERT_NE(written, nullptr) << error;
  EXPECT_EQ(written->calibration()->hash()->str(), "00aa");
  EXPECT_EQ(written->calibration()->texts(), 250U);
  EXPECT_EQ(written->calibration()->matrices(), 24U);
}

TEST_F(ManifestTest, SaysWhatSharingWasAskedFor) {
  std::string shared = program.str();
  const std::string type = "transformer.model_type = \"bert\"";
  shared.replace(shared.find(type), type.size(), type + ", transformer.sharing = \"encoder:1,2\"");
  const manifest::Manifest *written = build(shared, someInputs());
  ASSERT_NE(written, nullptr) << error;
  EXPECT_EQ(written->sharing()->str(), "encoder:1,2");
}

TEST_F(ManifestTest, SaysWhatWasKept) {
  const manifest::Manifest *usual = build(program, someInputs());
  ASSERT_NE(usual, nullptr) << error;
  EXPECT_EQ(usual->kept(), nullptr);
  builder.Clear();
  std::string kept = program.str();
  const std::string type = "transformer.model_type = \"bert\"";
  kept.replace(kept.find(type), type.size(),
               type + ", transformer.precision = {name = \"f32\", kept = [{layers = \"layer.1\", "
                      "precision = \"int8\", tensors = 6 : i64, bytes = 5184 : i64}]}");
  const manifest::Manifest *written = build(kept, someInputs());
  ASSERT_NE(written, nullptr) << error;
  ASSERT_EQ(written->kept()->size(), 1u);
  const manifest::KeptLayers &layers = *written->kept()->Get(0);
  EXPECT_EQ(layers.layers()->str(), "layer.1");
  EXPECT_EQ(layers.precision()->str(), "int8");
  EXPECT_EQ(layers.tensors(), 6u);
  EXPECT_EQ(layers.bytes(), 5184u);
}

TEST_F(ManifestTest, SaysWhatF32ProductsAreComputedAs) {
  const std::pair<std::string, manifest::FloatProducts> notes[] = {
      {"", manifest::FloatProducts::Exact},
      {" attributes {dataflow.float_products = \"tf32\"}", manifest::FloatProducts::Tf32},
      {" attributes {dataflow.float_products = \"tf32x3\"}", manifest::FloatProducts::Tf32x3}};
  for (const auto &[note, products] : notes) {
    builder.Clear();
    std::string noted = program.str();
    const size_t computes = noted.find("computes #dataflow.contract");
    ASSERT_NE(computes, std::string::npos);
    noted.insert(noted.find(" {\n", computes), note);
    const manifest::Manifest *written = build(noted, someInputs());
    ASSERT_NE(written, nullptr) << error;
    const auto *dispatches = written->entries()->Get(0)->dispatches();
    for (const manifest::Dispatch *const dispatch : *dispatches) {
      const bool isProduct = dispatch->name()->str() == "layer.0.output";
      EXPECT_EQ(dispatch->float_products(), isProduct ? products : manifest::FloatProducts::Exact)
          << note;
      EXPECT_EQ(dispatch->arithmetic(), manifest::Arithmetic::F32);
    }
  }
}

TEST_F(ManifestTest, LeavesRoomForTheChecksumOfTheCode) {
  ASSERT_NE(build(program, someInputs()), nullptr) << error;
  auto *table = flatbuffers::GetMutableRoot<flatbuffers::Table>(builder.GetBufferPointer());
  EXPECT_TRUE(table->CheckField(manifest::Manifest::VT_CODE_CHECKSUM));
}

TEST_F(ManifestTest, StoresTheParametersThatAreRead) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  ASSERT_EQ(written->parameters()->size(), 3u);
  EXPECT_EQ(written->parameters()->Get(0)->name()->str(), "table");
  const manifest::Parameter *packed = written->parameters()->Get(1);
  EXPECT_EQ(packed->name()->str(), "w.packed");
  EXPECT_EQ(packed->shape()->size(), 3u);
  EXPECT_EQ(packed->offset(), 11520u);
  EXPECT_EQ(packed->size(), 27648u);
  EXPECT_EQ(packed->checksum(), 2u);
}

TEST_F(ManifestTest, NamesKernelsAndTheirFinishes) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  ASSERT_EQ(written->kernels()->size(), 5u);
  EXPECT_EQ(written->kernels()->Get(1)->scratch(), 128u);
  EXPECT_EQ(written->kernels()->Get(1)->scratch_per_longest(), 64u);
  EXPECT_EQ(written->kernels()->Get(2)->symbols()->Get(1)->str(),
            "contract_100x48_layer_norm.x86-64-v4");
  EXPECT_EQ(written->kernels()->Get(3)->name()->str(), "contract_100x48_layer_norm.finish");
  EXPECT_EQ(written->kernels()->Get(3)->symbols()->Get(0)->str(),
            "contract_100x48_layer_norm.finish.x86-64-v3");
  EXPECT_EQ(written->kernels()->Get(4)->name()->str(), "pool_mean_100");
}

TEST_F(ManifestTest, DescribesPorts) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Entry *entry = written->entries()->Get(0);
  EXPECT_EQ(entry->name()->str(), "encode");
  EXPECT_EQ(entry->max_length(), 512u);
  ASSERT_EQ(entry->arena()->size(), 1u);
  EXPECT_EQ(entry->arena()->Get(0)->bytes(), 576u);
  EXPECT_EQ(entry->arena()->Get(0)->rows(), tokensSpace);
  EXPECT_EQ(entry->arena()->Get(0)->keys(), 0);
  const manifest::Port *ids = entry->inputs()->Get(0);
  EXPECT_EQ(ids->name()->str(), "input_ids");
  EXPECT_EQ(ids->element(), uint8_t(ElementType::I32));
  EXPECT_EQ(ids->limit(), 30u);
  EXPECT_TRUE(ids->optional());
  const manifest::Port *pooled = entry->outputs()->Get(0);
  EXPECT_EQ(pooled->shape()->Get(0)->space(), sequencesSpace);
  EXPECT_EQ(pooled->shape()->Get(1)->constant(), 100u);
  const manifest::Buffer *buffer = entry->buffers()->Get(pooled->buffer());
  EXPECT_EQ(buffer->location(), manifest::Location::Output);
  EXPECT_EQ(buffer->index(), 0u);
  EXPECT_EQ(entry->buffers()->Get(entry->outputs()->Get(1)->buffer())->index(), 1u);
}

TEST_F(ManifestTest, ReadsViewsInPlace) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Entry *entry = written->entries()->Get(0);
  const manifest::Dispatch *attention = entry->dispatches()->Get(1);
  ASSERT_EQ(attention->operands()->size(), 4u);
  const manifest::Operand *query = attention->operands()->Get(1);
  EXPECT_EQ(entry->buffers()->Get(query->buffer())->offset()->Get(0)->bytes(), 192u);
  EXPECT_EQ(query->byte_offset(), 0u);
  EXPECT_EQ(attention->operands()->Get(2)->buffer(), query->buffer());
  EXPECT_EQ(attention->operands()->Get(2)->byte_offset(), 192u);
  EXPECT_EQ(attention->operands()->Get(3)->byte_offset(), 192u);
}

TEST_F(ManifestTest, DividesTheWork) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const auto *dispatches = written->entries()->Get(0)->dispatches();
  ASSERT_EQ(dispatches->size(), 4u);
  EXPECT_EQ(dispatches->Get(0)->grid()->columns()->Get(0)->count(), 1u);
  EXPECT_EQ(dispatches->Get(0)->grid()->columns()->Get(0)->elements(), 0u);
  EXPECT_EQ(dispatches->Get(1)->grid()->columns()->Get(0)->count(), 3u);
  EXPECT_EQ(dispatches->Get(1)->grid()->columns()->Get(0)->elements(), 16u);
  EXPECT_EQ(dispatches->Get(1)->grid()->columns()->Get(0)->row_tile(), 6u);
  const manifest::Dispatch *contract = dispatches->Get(2);
  EXPECT_EQ(contract->grid()->rows(), tokensSpace);
  EXPECT_EQ(contract->grid()->columns()->Get(0)->row_tile(), 6u);
  EXPECT_EQ(contract->grid()->columns()->Get(1)->row_tile(), 8u);
  EXPECT_EQ(contract->grid()->columns()->Get(0)->count(), 3u);
  EXPECT_EQ(contract->grid()->columns()->Get(0)->elements(), 48u);
  EXPECT_EQ(contract->grid()->group_elements(), 100u);
  EXPECT_EQ(contract->finish_kernel(), int32_t(contract->kernel()) + 1);
  EXPECT_EQ(contract->name()->str(), "layer.0.output");
  EXPECT_EQ(dispatches->Get(3)->grid()->rows(), sequencesSpace);
  EXPECT_EQ(dispatches->Get(3)->finish_kernel(), -1);
}

TEST_F(ManifestTest, SaysWhichRowsNeedOthers) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const auto *dispatches = written->entries()->Get(0)->dispatches();
  // Attention over the rows of a sequence, a product, and a mean over the rows.
  EXPECT_FALSE(dispatches->Get(1)->row_by_row());
  EXPECT_TRUE(dispatches->Get(2)->row_by_row());
  EXPECT_FALSE(dispatches->Get(3)->row_by_row());
}

TEST_F(ManifestTest, NamesADispatchWithoutCheckpointAfterItsKernel) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const auto *dispatches = written->entries()->Get(0)->dispatches();
  EXPECT_EQ(dispatches->Get(0)->name()->str(), "embeddings");
  EXPECT_EQ(dispatches->Get(3)->name()->str(), "pool_mean_100");
}

TEST_F(ManifestTest, CountsProducts) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const auto *dispatches = written->entries()->Get(0)->dispatches();
  EXPECT_EQ(dispatches->Get(0)->flops_per_row(), 0u);
  EXPECT_EQ(dispatches->Get(1)->flops_per_row(), 0u);
  // Three heads with 16 multiply-adds each for scores and for values.
  EXPECT_EQ(dispatches->Get(1)->flops_per_row_key(), 192u);
  EXPECT_EQ(dispatches->Get(2)->flops_per_row(), 9600u);
}

// Targets that pack a matrix differently have their own parameter and work columns.
TEST_F(ManifestTest, NamesWhatEachTargetReads) {
  std::string text = program.str();
  const std::string packed = "transformer.parameter @w.packed : tensor<3x48x48xf32> = pack(@w, 48)";
  const size_t at = text.find(packed);
  ASSERT_NE(at, std::string::npos);
  text.insert(at, "transformer.parameter @w.narrow : tensor<7x48x16xf32> = pack(@w, 16)\n");
  const std::string read = "@w as @w.packed";
  text.replace(text.find(read), read.size(), "@w as [@w.narrow, @w.packed]");
  ManifestInputs inputs = someInputs();
  inputs.targets = {{"x86-64-v3", 16, 6}, {"x86-64-v4", 48, 8}};
  inputs.parameters["w.narrow"] = {39616, 21504, 4};
  inputs.weightsSize = 61120;
  const manifest::Manifest *written = build(text, inputs);
  ASSERT_NE(written, nullptr) << error;
  // The parameters of the first target come first, then those that the other one reads instead.
  std::vector<std::string> names;
  for (const manifest::Parameter *parameter : *written->parameters()) {
    names.push_back(parameter->name()->str());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"table", "w.narrow", "norm", "w.packed"}));
  const manifest::Entry *entry = written->entries()->Get(0);
  const manifest::Dispatch *contract = entry->dispatches()->Get(2);
  const manifest::Buffer *weights = entry->buffers()->Get(contract->operands()->Get(2)->buffer());
  ASSERT_EQ(weights->parameters()->size(), 2u);
  EXPECT_EQ(weights->parameters()->Get(0), 1u);
  EXPECT_EQ(weights->parameters()->Get(1), 3u);
  const auto *columns = contract->grid()->columns();
  EXPECT_EQ(columns->Get(0)->count(), 7u);
  EXPECT_EQ(columns->Get(0)->elements(), 16u);
  EXPECT_EQ(columns->Get(1)->count(), 3u);
  EXPECT_EQ(columns->Get(1)->elements(), 48u);
  EXPECT_EQ(columns->Get(1)->weight_bytes() - columns->Get(0)->weight_bytes(), 27648u - 21504u);
  EXPECT_EQ(contract->grid()->group_elements(), 100u);
}

/// The second target is a device and has one image.
static ManifestInputs inputsWithImage() {
  ManifestInputs inputs = someInputs();
  inputs.targets = {{"x86-64-v3", 48, 6},
                    {"sm_80", 48, 1, {manifest::LaunchUnit::Caller, 64, 16, 0, 0, 0, 0, 0, 0}}};
  inputs.functionName = [](llvm::StringRef kernel, llvm::StringRef) {
    return kernel.split('.').first.str();
  };
  inputs.launchShape = [](dataflow::KernelOp kernel, const ManifestTarget &target) {
    const bool isTogether = target.name == "sm_80" && kernel.getSymName().starts_with("contract");
    return isTogether
               ? manifest::LaunchShape(manifest::LaunchUnit::Caller, 128, 4096, 0, 0, 0, 0, 0, 0)
               : target.launch;
  };
  inputs.imageSection = std::string("// ptx") + '\0';
  inputs.images = {{1, manifest::ImageKind::Ptx, 0, 7, 5, "LLVM"}};
  return inputs;
}

TEST_F(ManifestTest, DescribesImages) {
  const manifest::Manifest *written = build(program, inputsWithImage());
  ASSERT_NE(written, nullptr) << error;
  ASSERT_EQ(written->images()->size(), 1u);
  const manifest::Image &image = *written->images()->Get(0);
  EXPECT_EQ(image.target(), 1u);
  EXPECT_EQ(image.kind(), manifest::ImageKind::Ptx);
  EXPECT_EQ(image.size(), 7u);
  EXPECT_EQ(image.checksum(), 5u);
  EXPECT_EQ(image.compiler()->str(), "LLVM");
  for (const manifest::Kernel *kernel : *written->kernels()) {
    ASSERT_EQ(kernel->launches()->size(), 2u);
    EXPECT_EQ(kernel->launches()->Get(0)->unit(), manifest::LaunchUnit::None);
    EXPECT_EQ(kernel->launches()->Get(0)->threads(), 0u);
    EXPECT_EQ(kernel->launches()->Get(1)->unit(), manifest::LaunchUnit::Caller);
    // Norms that are separate kernels are launched like all others.
    const std::string name = kernel->name()->str();
    const bool isTogether = name.starts_with("contract") && !name.ends_with(".finish");
    EXPECT_EQ(kernel->launches()->Get(1)->threads(), isTogether ? 128u : 64u) << name;
    EXPECT_EQ(kernel->launches()->Get(1)->shared(), isTogether ? 4096u : 16u) << name;
  }
}

TEST_F(ManifestTest, HasNoImagesOfProcessors) {
  const manifest::Manifest *written = build(program, someInputs());
  ASSERT_NE(written, nullptr) << error;
  EXPECT_EQ(written->images(), nullptr);
}

TEST_F(ManifestTest, RefusesADeviceWithoutImage) {
  ManifestInputs inputs = inputsWithImage();
  inputs.images.clear();
  inputs.imageSection.clear();
  EXPECT_EQ(build(program, inputs), nullptr);
  EXPECT_NE(error.find("kernel \"gather_96\": target 1: launch unit 1 for a target without images"),
            std::string::npos)
      << error;
}

TEST_F(ManifestTest, RefusesEncodingsOfOtherTargets) {
  EXPECT_EQ(errorOf("@w as @w.packed", "@w as [@w.packed, @w.packed, @w.packed]"),
            "'dataflow.parameter' op has 3 encodings, expected one for each of 2 targets");
}

// The contraction above with two groups: 50 columns each, which take two panels.
TEST_F(ManifestTest, CountsPanelsAndProductsOfGroups) {
  std::string text = program.str();
  const std::pair<llvm::StringRef, llvm::StringRef> changes[] = {
      {"tensor<100x48xf32>", "tensor<100x24xf32>"},
      {"tensor<3x48x48xf32> = pack(@w, 48)", "tensor<4x24x48xf32> = pack(@w, 48, 2)"},
      {"<n = 100, k = 48>", "<n = 50, k = 24, groups = 2>"},
      {"buffer<[100, 48], f32>", "buffer<[100, 24], f32>"}};
  for (auto [from, to] : changes) {
    for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;) {
      text.replace(at, from.size(), to.str());
    }
  }
  ManifestInputs inputs = someInputs();
  inputs.parameters["w.packed"].size = 18432;
  const manifest::Manifest *written = build(text, inputs);
  ASSERT_NE(written, nullptr) << error;
  const manifest::Dispatch *contract = written->entries()->Get(0)->dispatches()->Get(2);
  EXPECT_EQ(contract->grid()->columns()->Get(0)->count(), 4u);
  EXPECT_EQ(contract->grid()->columns()->Get(0)->elements(), 48u);
  EXPECT_EQ(contract->grid()->group_elements(), 50u);
  EXPECT_EQ(contract->flops_per_row(), 4800u);
}

TEST_F(ManifestTest, CountsTheProductsOfNests) {
  module = parseSourceString<ModuleOp>(R"mlir(
    dataflow.kernel @scores : (!dataflow.buffer<[tokens, 12, 32], f32>, !dataflow.buffer<[12, 32, tokens], f32>) -> !dataflow.buffer<[tokens, 12, longest], f32> computes #dataflow.nest<"thd,hdk->thk", sum> {
    ^bb0(%x: f32, %y: f32):
      %0 = arith.mulf %x, %y : f32
      dataflow.yield %0
    }
    dataflow.kernel @heads : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[12, 32, 384], f32>) -> !dataflow.buffer<[tokens, 12, 32], f32> computes #dataflow.nest<"te,hde->thd", sum> {
    ^bb0(%x: f32, %y: f32):
      %0 = arith.mulf %x, %y : f32
      dataflow.yield %0
    }
  )mlir",
                                       ParserConfig(&context));
  ASSERT_TRUE(module);
  dataflow::Flops scores = flopsOf("scores");
  EXPECT_EQ(scores.perRow, 0u);
  EXPECT_EQ(scores.perRowAndKey, 2u * 12 * 32);
  dataflow::Flops heads = flopsOf("heads");
  EXPECT_EQ(heads.perRow, 2u * 384 * 384);
  EXPECT_EQ(heads.perRowAndKey, 0u);
}

TEST_F(ManifestTest, CountsTheHalvesOfAttention) {
  module = parseSourceString<ModuleOp>(R"mlir(
    !rows = !dataflow.buffer<[tokens, 384], f32>
    !scores = !dataflow.buffer<[tokens, 12, longest], f32>
    dataflow.kernel @weights : (!rows, !rows) -> !scores computes #dataflow.attention_weights<heads = 12, keySize = 32, scale = 1.0 : f32, visibility = <all>> {
    ^bb0(%x: f32):
      dataflow.yield %x
    }
    dataflow.kernel @attend : (!scores, !dataflow.cache<[192], f32, rows>) -> !dataflow.buffer<[tokens, 192], f32> computes #dataflow.attend<heads = 12, valueSize = 16, visibility = <all>> {
    ^bb0(%x: f32):
      dataflow.yield %x
    }
  )mlir",
                                       ParserConfig(&context));
  ASSERT_TRUE(module);
  dataflow::Flops weights = flopsOf("weights");
  EXPECT_EQ(weights.perRow, 0u);
  EXPECT_EQ(weights.perRowAndKey, 2u * 384);
  dataflow::Flops attend = flopsOf("attend");
  EXPECT_EQ(attend.perRow, 0u);
  EXPECT_EQ(attend.perRowAndKey, 2u * 192);
}

TEST_F(ManifestTest, SpreadsOperationsOfOtherRowsOverTokens) {
  module = parseSourceString<ModuleOp>(R"mlir(
    !blocks = !dataflow.buffer<[blocks(tokens, 3), 20], f32>
    !sentences = !dataflow.buffer<[sequences, 20], f32>
    dataflow.kernel @of_blocks : (!blocks, !dataflow.buffer<[20, 20], f32>) -> !blocks computes #dataflow.contract<n = 20, k = 20> {
    ^bb0(%x: f32):
      dataflow.yield %x
    }
    dataflow.kernel @of_sentences : (!sentences, !dataflow.buffer<[20, 20], f32>) -> !sentences computes #dataflow.contract<n = 20, k = 20> {
    ^bb0(%x: f32):
      dataflow.yield %x
    }
    dataflow.kernel @compressed : (!dataflow.buffer<[tokens, 20], f32>, !blocks, !blocks) -> !dataflow.buffer<[tokens, 20], f32> computes #dataflow.attention<heads = 2, keySize = 10, valueSize = 10, scale = 1.0 : f32, visibility = <all>> {
    ^bb0(%x: f32):
      dataflow.yield %x
    }
  )mlir",
                                       ParserConfig(&context));
  ASSERT_TRUE(module);
  SymbolTable symbols(*module);
  auto perToken = [&](llvm::StringRef kernel) {
    return kernelFlops(symbols.lookup<dataflow::KernelOp>(kernel)).perToken();
  };
  EXPECT_EQ(flopsOf("of_blocks").perRow, 800u);
  EXPECT_EQ(perToken("of_blocks").perRow, 267u);
  EXPECT_EQ(flopsOf("of_sentences").perRow, 800u);
  EXPECT_EQ(perToken("of_sentences").perRow, 0u);
  EXPECT_EQ(flopsOf("compressed").perRowAndKey, 80u);
  EXPECT_EQ(perToken("compressed").perRowAndKey, 27u);
}

TEST_F(ManifestTest, IsTheSameForTheSameProgram) {
  ASSERT_NE(build(program, someInputs()), nullptr) << error;
  std::string first(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  builder.Clear();
  ASSERT_NE(build(program, someInputs()), nullptr) << error;
  std::string second(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  EXPECT_EQ(first, second);
}

constexpr llvm::StringLiteral stateProgram = R"mlir(
module {
  dataflow.kernel @prefix_mean_100 : (!dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.prefix_mean {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.kernel @accumulate_100 : (!dataflow.state<[100], f32>, !dataflow.buffer<[tokens, 100], f32>) -> !dataflow.state<[100], f32> computes #dataflow.accumulate {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.graph @decode(%s: !dataflow.state<[100], f32> {dataflow.name = "sum"}) -> (!dataflow.buffer<[tokens, 100], f32> {dataflow.name = "y"}, !dataflow.state<[100], f32> {dataflow.name = "sum"}) attributes {arena = #dataflow.size<tokens = 448>} {
    %x = dataflow.dispatch @zero() at <> : () -> !dataflow.buffer<[tokens, 100], f32>
    %y = dataflow.dispatch @prefix_mean_100(%x, %s) : (!dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>) -> !dataflow.buffer<[tokens, 100], f32>
    %s1 = dataflow.dispatch @accumulate_100(%s, %x) changes [0] : (!dataflow.state<[100], f32>, !dataflow.buffer<[tokens, 100], f32>) -> !dataflow.state<[100], f32>
    dataflow.output %y, %s1 : !dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>
  }
  dataflow.kernel @zero : () -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.nest<"->tc", none> {
    %zero = arith.constant 0.0 : f32
    dataflow.yield %zero
  }
}
)mlir";

TEST_F(ManifestTest, WorkAlongSequencesIsNotDividedWithinThem) {
  const manifest::Manifest *written = build(stateProgram, someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Entry *entry = written->entries()->Get(0);
  EXPECT_EQ(entry->caches()->size(), 0u);
  ASSERT_EQ(entry->states()->size(), 1u);
  const manifest::StatePort *state = entry->states()->Get(0);
  EXPECT_EQ(state->name()->str(), "sum");
  EXPECT_EQ(entry->buffers()->Get(state->buffer())->location(), manifest::Location::State);
  EXPECT_EQ(state->width(), 100u);
  EXPECT_EQ(state->element(), uint8_t(ElementType::F32));
  EXPECT_EQ(entry->buffers()->Get(state->buffer())->element(), uint8_t(ElementType::F32));
  EXPECT_TRUE(state->written());
  ASSERT_EQ(entry->dispatches()->size(), 3u);
  for (uint32_t i = 1; i < 3; ++i) {
    const manifest::Grid *grid = entry->dispatches()->Get(i)->grid();
    EXPECT_EQ(grid->rows(), sequencesSpace);
    EXPECT_EQ(grid->columns()->Get(0)->row_tile(), 1u);
    // Two panels of 48 columns, and one of 4.
    EXPECT_EQ(grid->columns()->Get(0)->count(), 3u);
  }
  // The state occurs once, as a result.
  const auto *operands = entry->dispatches()->Get(2)->operands();
  ASSERT_EQ(operands->size(), 2u);
  EXPECT_EQ(operands->Get(0)->buffer(), state->buffer());
  EXPECT_EQ(entry->dispatches()->Get(2)->written(), 1u);
}

TEST_F(ManifestTest, ResultsComeBeforeWhatIsRead) {
  const manifest::Manifest *written = build(R"mlir(
module {
  dataflow.kernel @running_mean_100 : (!dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>) -> (!dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>) computes #dataflow.running_mean {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
  dataflow.graph @decode(%s: !dataflow.state<[100], f32> {dataflow.name = "sum"}) -> (!dataflow.buffer<[tokens, 100], f32> {dataflow.name = "z"}) attributes {arena = #dataflow.size<tokens = 896>} {
    %x = dataflow.dispatch @zero() at <> : () -> !dataflow.buffer<[tokens, 100], f32>
    %y, %s1 = dataflow.dispatch @running_mean_100(%x, %s) changes [1] at [<tokens = 448>, none] : (!dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>) -> (!dataflow.buffer<[tokens, 100], f32>, !dataflow.state<[100], f32>)
    %z = dataflow.dispatch @copy(%y) : (!dataflow.buffer<[tokens, 100], f32>) -> !dataflow.buffer<[tokens, 100], f32>
    dataflow.output %z : !dataflow.buffer<[tokens, 100], f32>
  }
  dataflow.kernel @zero : () -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.nest<"->tc", none> {
    %zero = arith.constant 0.0 : f32
    dataflow.yield %zero
  }
  dataflow.kernel @copy : (!dataflow.buffer<[tokens, 100], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.rows<width = 100> {
  ^bb0(%x: f32):
    dataflow.yield %x
  }
}
)mlir",
                                            someInputs());
  ASSERT_NE(written, nullptr) << error;
  const manifest::Entry *entry = written->entries()->Get(0);
  const manifest::Dispatch *both = entry->dispatches()->Get(1);
  EXPECT_EQ(both->written(), 2u);
  ASSERT_EQ(both->operands()->size(), 3u);
  const auto bufferOf = [&](uint32_t operand) {
    return entry->buffers()->Get(both->operands()->Get(operand)->buffer());
  };
  EXPECT_EQ(bufferOf(0)->location(), manifest::Location::Arena);
  EXPECT_EQ(bufferOf(0)->offset()->Get(0)->bytes(), 448u);
  EXPECT_EQ(both->operands()->Get(1)->buffer(), entry->states()->Get(0)->buffer());
  EXPECT_TRUE(entry->states()->Get(0)->written());
  EXPECT_EQ(bufferOf(2)->offset()->size(), 0u);
  // Each panel of 48 columns of the means and of the state is one column of work.
  EXPECT_EQ(both->grid()->columns()->Get(0)->count(), 3u);
  EXPECT_EQ(both->grid()->columns()->Get(0)->elements(), 48u);
}

} // namespace
} // namespace heddle
