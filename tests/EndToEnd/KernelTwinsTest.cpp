// SPDX-License-Identifier: Apache-2.0
///
/// Every kernel of compiled programs against the naive twin of its family: those of all tiny models
/// and of random programs, with passes and without, on every target of the machine. Families are
/// accessed through their interface: a new one needs no line here, but must occur in a random
/// program.
#include "compiler/Compile.h"
#include "compiler/Link/ParameterValues.h"
#include "compiler/Passes.h"
#include "formats/Binary/Manifest_generated.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelTrial.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"
#include "tests/base/TemporaryFolder.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

using namespace mlir;

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";
/// The number of random programs that are tried, and the number that must cover every family.
constexpr uint64_t leastPrograms = 6;
constexpr uint64_t mostPrograms = 1000;

/// Returns other values of a matrix in the layout that the targets require, which is the same here:
/// its expression, applied to these values.
Result<StoredValues> encode(ModuleOp program, dataflow::ParameterOp matrix,
                            const std::vector<float> &values) {
  SymbolTable symbols(program);
  auto stored = symbols.lookup<transformer::ParameterOp>(matrix.getStored(0).getAttr());
  OwningOpRef<ModuleOp> module = ModuleOp::create(program.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto create = [&](llvm::StringRef name, RankedTensorType type, StringAttr source,
                    transformer::ParameterExpressionAttr expression) {
    return transformer::ParameterOp::create(builder, program.getLoc(), builder.getStringAttr(name),
                                            TypeAttr::get(type), source, expression);
  };
  auto of = [&](transformer::ExpressionKind kind, llvm::StringRef operand,
                ArrayRef<int64_t> numbers) {
    return transformer::ParameterExpressionAttr::get(
        program.getContext(), kind, {FlatSymbolRefAttr::get(program.getContext(), operand)},
        numbers);
  };
  dataflow::BufferType type = matrix.getType();
  create("matrix", RankedTensorType::get(type.getShape(), builder.getF32Type()),
         builder.getStringAttr("matrix"), {});
  create("narrow", RankedTensorType::get(type.getShape(), type.getElementType()), {},
         of(transformer::ExpressionKind::Convert, "matrix", {}));
  auto encoded = create(
      "encoded", stored.getTensorType(), {},
      of(stored.getExpressionAttr().getKind(), "narrow", stored.getExpressionAttr().getNumbers()));
  const ParameterSource source = [&](llvm::StringRef, ElementType,
                                     std::span<std::byte> to) -> Status {
    std::memcpy(to.data(), values.data(), to.size());
    return {};
  };
  std::vector<std::byte> bytes;
  HEDDLE_TRY(ParameterEvaluator(*module, source)
                 .evaluateStored(encoded, [&](std::span<const std::byte> piece) {
                   bytes.insert(bytes.end(), piece.begin(), piece.end());
                   return Status();
                 }));
  return StoredValues(std::move(bytes));
}

/// Returns the definition of a kernel, without its name.
std::string definitionOf(dataflow::KernelOp kernel) {
  dataflow::KernelOp copy = kernel.clone();
  copy.setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream(text) << copy;
  copy->destroy();
  return text;
}

/// Tries every distinct kernel computation once, as the first dispatch runs it.
void expectTwins(ModuleOp program, const std::string &binary) {
  SymbolTable symbols(program);
  std::vector<std::shared_ptr<const Artifact>> artifacts;
  for (const std::string &isa : runnableTargets(binary)) {
    auto artifact = Artifact::load(binary, {.isa = isa}, hostDevice());
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    artifacts.push_back(*artifact);
  }
  const manifest::Manifest &manifest = artifacts.front()->manifest();
  std::set<std::string> tried;
  for (auto [graph, entry] :
       llvm::zip_equal(program.getOps<dataflow::GraphOp>(), *manifest.entries())) {
    for (auto [op, dispatch] : llvm::zip_equal(graph.getDispatches(), *entry->dispatches())) {
      dataflow::DispatchOp here = op;
      auto kernel = symbols.lookup<dataflow::KernelOp>(here.getKernel());
      const std::string name = kernel.getSymName().str();
      ASSERT_EQ(name, manifest.kernels()->Get(dispatch->kernel())->name()->str());
      if (!tried.insert(definitionOf(kernel)).second) {
        continue;
      }
      auto encoder = [&](unsigned input, const std::vector<float> &values) {
        return encode(program, here.getInputs()[input].getDefiningOp<dataflow::ParameterOp>(),
                      values);
      };
      auto trial = KernelTrial::create(kernel, encoder, /*seed=*/tried.size());
      ASSERT_TRUE(trial.ok()) << trial.status().message();
      for (const auto &artifact : artifacts) {
        EXPECT_EQ((*trial)->run(*artifact, *dispatch), "") << name << " for " << artifact->isa();
      }
    }
  }
}

/// Returns all passes but the one that merges equal kernels, so that each is tried, and compiled,
/// once.
std::vector<std::string> passesToDisable() {
  std::vector<std::string> passes = optionalPasses();
  EXPECT_EQ(std::erase(passes, passNames::mergeKernels.str()), 1U);
  return passes;
}

/// Returns the program after the phase `dataflow`, and writes its binary, if a file is named.
Result<OwningOpRef<ModuleOp>> compileTo(MLIRContext &context, CompileRequest request) {
  request.texts = {Phase::Dataflow};
  request.stopAfter = request.output.empty() ? Phase::Dataflow : Phase::SharedObject;
  const CompileResult result = compile(request);
  HEDDLE_TRY(result.status);
  auto program = parseSourceString<ModuleOp>(result.texts.front().second, &context);
  if (!program) {
    return HEDDLE_ERROR(Internal, "the text of the phase 'dataflow' is no program");
  }
  return program;
}

/// Compiles a folder or a program and tries its kernels.
void expectTwins(const std::string &path, const std::vector<std::string> &disabledPasses,
                 const std::string &precision = "f32", const std::string &cache = "f32") {
  SCOPED_TRACE(path + (disabledPasses.empty() ? "" : ", without passes"));
  const TemporaryFolder folder;
  auto context = createContext();
  CompileRequest request = cachedRequest();
  request.path = path;
  request.precision = precision;
  request.cache = cache;
  request.disabledPasses = disabledPasses;
  request.output = folder / "model.so";
  const Result<OwningOpRef<ModuleOp>> program = compileTo(*context, request);
  ASSERT_TRUE(program.ok()) << program.status().message();
  expectTwins(**program, request.output);
}

TEST(KernelTwinsTest, AProgramThatIsRefusedIsOneFailure) {
  static const TemporaryFolder folder;
  std::ofstream(folder / "program.mlir") << "func.func @encode(\n";
  EXPECT_FATAL_FAILURE(expectTwins(folder / "program.mlir", {}), "program.mlir");
}

class KernelTwins : public testing::TestWithParam<std::string> {};

TEST_P(KernelTwins, AgreeWithPasses) { expectTwins(GetParam(), {}); }
TEST_P(KernelTwins, AgreeWithoutPasses) { expectTwins(GetParam(), passesToDisable()); }

std::vector<std::string> models() {
  std::vector<std::string> paths;
  for (const auto &folder : std::filesystem::directory_iterator(oracles)) {
    if (std::filesystem::exists(folder.path() / "model.safetensors")) {
      paths.push_back(folder.path());
    }
  }
  std::ranges::sort(paths);
  return paths;
}
INSTANTIATE_TEST_SUITE_P(Oracles, KernelTwins, testing::ValuesIn(models()), [](const auto &info) {
  std::string name = std::filesystem::path(info.param).filename();
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(KernelTwinsTest, AgreeOnNarrowWeights) {
  expectTwins(oracles + "bert-tiny", {}, "bf16-weights");
  expectTwins(oracles + "marian-tiny", {}, "bf16-weights");
  // Several scales per row, tables that products read, products of chosen rows.
  expectTwins(oracles + "bert-tiny", {}, "int8-weights");
  expectTwins(oracles + "t5-tiny", {}, "int8-weights");
  expectTwins(oracles + "multimodel/multimodel-text", {}, "int8-weights");
}

// Integer products: by row and in groups, also in a decoder, without passes, and together with
// products of chosen rows that compute in f32.
TEST(KernelTwinsTest, AgreeOnIntegers) {
  for (const char *precision : {"int8", "int8-g128", "int4", "int4-g8"}) {
    expectTwins(oracles + "bert-tiny", {}, precision);
    expectTwins(oracles + "t5-tiny", {}, precision);
    // Its words are looked up in the table that the last product reads.
    expectTwins(oracles + "marian-tiny", {}, precision);
    expectTwins(oracles + "marian-tiny", passesToDisable(), precision);
    expectTwins(oracles + "multimodel/multimodel-text", {}, precision);
  }
}

// bf16 products, in the same way.
TEST(KernelTwinsTest, AgreeOnBf16) {
  expectTwins(oracles + "bert-tiny", {}, "bf16");
  expectTwins(oracles + "t5-tiny", {}, "bf16");
  expectTwins(oracles + "marian-tiny", passesToDisable(), "bf16");
  expectTwins(oracles + "multimodel/multimodel-text", {}, "bf16");
}

// Attention of bf16 over rows: windows, heads that share keys, masks and functions of scores.
TEST(KernelTwinsTest, AgreeOnAttentionOfBf16) {
  for (const char *name : {"local/mixed", "local/window-odd", "modernbert-tiny", "mpnet-tiny"}) {
    expectTwins(oracles + name, {}, "bf16");
  }
  for (const char *name : {"soft-cap-and-mask", "soft-cap-of-a-bias", "bias-after-a-soft-cap"}) {
    expectTwins(HEDDLE_TEST_DATA "/EndToEnd/spellings/" + std::string(name) + ".mlir", {}, "bf16");
  }
}

// Caches in fewer bits: what is appended is rounded, and attention, its halves and nests read what
// is kept; heads of odd sizes among them.
TEST(KernelTwinsTest, AgreeOnNarrowCaches) {
  for (const char *cache : {"bf16", "int8"}) {
    for (const char *name : {"bart-tiny", "marian-tiny", "t5-tiny", "san-average", "local/mixed",
                             "local/window-odd", "recurrent/lstm-general", "recurrent/gru-additive",
                             "recurrent/location", "multimodel/multimodel-image-text"}) {
      expectTwins(oracles + name, {}, "f32", cache);
      expectTwins(oracles + name, passesToDisable(), "f32", cache);
    }
    for (const char *name : {"shared-heads-of-a-cache", "sum-over-shared-heads"}) {
      expectTwins(HEDDLE_TEST_DATA "/EndToEnd/RandomPrograms/kept/" + std::string(name) + ".mlir",
                  {}, "f32", cache);
    }
  }
}

// Nests that read one head of a cache for several heads, which occur in few random programs.
TEST(KernelTwinsTest, AgreeOnSharedHeadsOfCaches) {
  for (const char *name : {"shared-heads-of-a-cache", "sum-over-shared-heads"}) {
    const std::string path =
        HEDDLE_TEST_DATA "/EndToEnd/RandomPrograms/kept/" + std::string(name) + ".mlir";
    expectTwins(path, {});
    expectTwins(path, passesToDisable());
  }
}

// Functions of scores, with a bias before and after.
TEST(KernelTwinsTest, AgreeOnFunctionsOfScores) {
  for (const char *name : {"soft-cap-and-mask", "soft-cap-of-a-bias", "bias-after-a-soft-cap",
                           "scores-gated-by-themselves", "functions-of-a-sum-of-products"}) {
    expectTwins(HEDDLE_TEST_DATA "/EndToEnd/spellings/" + std::string(name) + ".mlir", {});
  }
}

// Values per key that a loop carries and states keep, convolutions over them, and their sums.
TEST(KernelTwinsTest, AgreeOnNumbersOfKeys) {
  for (const char *name : {"recurrent/location", "recurrent/location-cumulative"}) {
    expectTwins(oracles + name, {});
    expectTwins(oracles + name, passesToDisable());
  }
}

template <typename... Attributes>
void insertFamilies(std::set<std::string> &names, dataflow::detail::AttributeList<Attributes...>) {
  auto insert = [&]<typename Attribute>() {
    if constexpr (std::is_base_of_v<dataflow::KernelFamily::Trait<Attribute>, Attribute>) {
      names.insert(Attribute::getMnemonic().str());
    }
  };
  (insert.template operator()<Attributes>(), ...);
}

/// The name of a kernel whose rows are of a kind, or that reads rows of another space than its own.
std::string rowsOf(RowSpaceKind kind) {
  return "rows of " + std::string(rowSpaceTable[static_cast<size_t>(kind)].name);
}
/// One for images with individual widths.
const std::string ofAnyWidth = "rows of images of any width";
std::string acrossSpaces(llvm::StringRef family) { return family.str() + " of two row spaces"; }

/// A kernel that sums maths of pairs.
std::string ofPairs(llvm::StringRef family) { return family.str() + " of pairs"; }

/// A kernel whose pairs have locations, values per key: it has several weights.
std::string withLocations(llvm::StringRef family) { return family.str() + " that looks at keys"; }

bool hasLocations(dataflow::KernelOp kernel) {
  return llvm::count_if(kernel.getComputes().getInputs(kernel.getKernelType()),
                        [](const auto &input) { return input.weighsPairs; }) > 1;
}

/// Returns what random programs must cover: every family, every kind of rows, blocks as keys, and
/// scores of pairs, with values per key and without.
std::set<std::string> everything() {
  std::set<std::string> names;
  insertFamilies(names, dataflow::detail::Attributes());
  // Programs select tokens only for targets with memory of their own (BlockSelectTest.cpp).
  names.erase("peaks");
  names.erase("select");
  for (size_t kind = 0; kind < rowSpaceKinds; ++kind) {
    names.insert(rowsOf(static_cast<RowSpaceKind>(kind)));
  }
  names.insert(ofAnyWidth);
  for (const char *family : {"attention", "pool"}) {
    names.insert(acrossSpaces(family));
  }
  for (const char *family : {"attention", "attention_weights"}) {
    names.insert(ofPairs(family));
    names.insert(withLocations(family));
  }
  return names;
}

/// Removes what a program covers, with passes or without; returns whether there was something.
Result<bool> take(std::set<std::string> &missing, const std::string &path) {
  auto context = createContext();
  std::set<std::string> left = missing;
  for (const auto &disabledPasses : {std::vector<std::string>(), passesToDisable()}) {
    CompileRequest request = cachedRequest();
    request.path = path;
    request.disabledPasses = disabledPasses;
    HEDDLE_ASSIGN(const OwningOpRef<ModuleOp> program, compileTo(*context, request));
    for (auto kernel : (*program).getOps<dataflow::KernelOp>()) {
      const llvm::StringRef family = kernel.getComputes().getFamilyName();
      left.erase(family.str());
      left.erase(rowsOf(kernel.getRows().kind()));
      if (kernel.getRows().hasWidths()) {
        left.erase(ofAnyWidth);
      }
      if (!kernel.getPairs().empty()) {
        left.erase(ofPairs(family));
      }
      if (hasLocations(kernel)) {
        left.erase(withLocations(family));
      }
      const bool hasBlocks = llvm::any_of(dataflow::namedSpaces(kernel.getKernelType()),
                                          [](RowSpace space) { return space.isDerived(); });
      const bool isAcross = dataflow::namedSpaces(kernel.getKernelType()).size() > 1;
      if (hasBlocks && isAcross) {
        left.erase(acrossSpaces(family));
      }
    }
  }
  std::swap(missing, left);
  return missing.size() < left.size();
}

// Odd widths, heads and groups; every family, and every kind of rows.
TEST(KernelTwinsTest, AgreeInRandomPrograms) {
  auto context = createContext();
  std::set<std::string> missing = everything();
  for (uint64_t seed = 1; seed <= leastPrograms || !missing.empty(); ++seed) {
    ASSERT_LE(seed, mostPrograms) << *missing.begin() << " is in no program";
    const TemporaryFolder folder;
    Result<TestProgram> program = generateProgram(*context, seed);
    ASSERT_TRUE(program.ok()) << program.status().message();
    ASSERT_TRUE(program->write(folder / "program").ok());
    SCOPED_TRACE(seed);
    const Result<bool> hasMissing = take(missing, folder / "program.mlir");
    ASSERT_TRUE(hasMissing.ok()) << hasMissing.status().message();
    if (*hasMissing || seed <= leastPrograms) {
      expectTwins(folder / "program.mlir", {});
      expectTwins(folder / "program.mlir", passesToDisable());
    }
  }
}

} // namespace
} // namespace heddle
