// SPDX-License-Identifier: Apache-2.0
///
/// The description of the test model.
#include "tests/runtime/Artifact/FixtureModel.h"

#include "formats/Binary/AppendSections.h"
#include "formats/Binary/Layout.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace heddle::fixture {
using manifest::Dimension;
using manifest::Location;
using manifest::Operand;

static constexpr uint64_t rowBytes = width * sizeof(float);
static const Dimension tokens(0, tokensSpace, false);
static const Dimension sequences(0, sequencesSpace, false);
static const Dimension columns(width, tokensSpace, false);

SizeTerms sizeTerms(uint64_t perToken, uint64_t perSequence, uint64_t perTokenAndLongest) {
  SizeTerms terms;
  const auto add = [&](uint64_t bytes, uint8_t rows, uint8_t keys) {
    if (bytes != 0) {
      terms.emplace_back(bytes, rows, keys);
    }
  };
  add(perToken, tokensSpace, 0);
  add(perSequence, sequencesSpace, 0);
  add(perTokenAndLongest, tokensSpace, tokensSpace + 1);
  return terms;
}

static constexpr auto numberOf(RowSpaceKind kind) { return static_cast<uint8_t>(kind); }

std::vector<manifest::RowSpace> usualSpaces() {
  return {{0, numberOf(RowSpaceKind::Tokens)}, {0, numberOf(RowSpaceKind::Sequences)}};
}

manifest::RowSpace blocksOf(uint64_t size) { return {size, numberOf(RowSpaceKind::Blocks)}; }

/// Returns pseudo-random values that are the same everywhere.
static std::vector<float> values(size_t count, uint32_t seed) {
  std::vector<float> list(count);
  for (float &value : list) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return list;
}

void addParameter(ModelSpec &spec, const std::string &name, std::vector<uint64_t> shape) {
  size_t count = 1;
  for (const uint64_t dimension : shape) {
    count *= dimension;
  }
  const auto seed = static_cast<uint32_t>(spec.parameters.size() + 1);
  const uint64_t offset = alignUp(spec.weightsSize, HEDDLE_ALIGNMENT);
  spec.parameters.push_back({name, ElementType::F32, std::move(shape), offset,
                             count * sizeof(float), values(count, seed)});
  spec.weightsSize = offset + count * sizeof(float);
}

void addKernel(ModelSpec &spec, const std::string &name, uint64_t scratchPerLongest) {
  spec.kernels.push_back({name, {name + "_v3", name + "_v4"}, 0, scratchPerLongest});
}

/// The inputs, which both entries have, are buffers 0 and 1; the parameters 2 to 5.
static EntrySpec commonEntry(const std::string &name) {
  EntrySpec entry;
  entry.name = name;
  entry.maxLength = longest;
  entry.inputs = {{"input_ids", ElementType::I32, {tokens}, words, false, 0},
                  {"token_type_ids", ElementType::I32, {tokens}, types, true, 1}};
  entry.buffers = {{Location::Input, ElementType::I32, {tokens}, std::nullopt, 0},
                   {Location::Input, ElementType::I32, {tokens}, std::nullopt, 1}};
  const std::vector<Shape> shapes = {{Dimension(words, tokensSpace, false), columns},
                                     {Dimension(types, tokensSpace, false), columns},
                                     {columns, columns},
                                     {columns}};
  for (uint32_t i = 0; i < shapes.size(); ++i) {
    entry.buffers.push_back({Location::Parameter, ElementType::F32, shapes[i], std::nullopt, i});
  }
  return entry;
}

enum KernelNumber : uint32_t { Gather, Linear, Center, Mix, Mean };

static DispatchSpec dispatch(const std::string &name, uint32_t kernel,
                             std::vector<Operand> operands, uint8_t rows = tokensSpace) {
  return {name, kernel, -1, std::move(operands), rows, 4, 2, 2 * width, 0};
}

/// Buffers 6 and 7 are the embedding and its mixture; 8 is last_hidden_state, 9 pooler_output.
static EntrySpec encodeEntry() {
  EntrySpec entry = commonEntry("encode");
  entry.outputs = {{"last_hidden_state", ElementType::F32, {tokens, columns}, 0, false, 8},
                   {"pooler_output", ElementType::F32, {sequences, columns}, 0, false, 9}};
  entry.buffers.push_back(
      {Location::Arena, ElementType::F32, {tokens, columns}, sizeTerms(0, 0, 0), 0});
  entry.buffers.push_back(
      {Location::Arena, ElementType::F32, {tokens, columns}, sizeTerms(rowBytes, 0, 0), 0});
  entry.buffers.push_back({Location::Output, ElementType::F32, {tokens, columns}, std::nullopt, 0});
  entry.buffers.push_back(
      {Location::Output, ElementType::F32, {sequences, columns}, std::nullopt, 1});
  entry.arena = sizeTerms(2 * rowBytes, 0, 0);
  entry.dispatches = {dispatch("embeddings", Gather, {{6, 0}, {0, 0}, {1, 0}, {2, 0}, {3, 0}}),
                      dispatch("mixture", Mix, {{7, 0}, {6, 0}}),
                      dispatch("dense", Linear, {{8, 0}, {7, 0}, {4, 0}, {5, 0}}),
                      dispatch("pooler", Mean, {{9, 0}, {8, 0}}, sequencesSpace)};
  entry.dispatches[1].flopsPerKey = 2 * width;
  entry.dispatches[2].finish = Center;
  entry.dispatches[3].rowTile = 1;
  // In the order of its result, then its input.
  entry.dispatches[3].spaces = {sequencesSpace, tokensSpace};
  return entry;
}

/// As encodeEntry(), but the result of the dense layer stays in the arena: buffer 8 has the place
/// of buffer 6, which is not read any more.
static EntrySpec embedEntry() {
  EntrySpec entry = encodeEntry();
  entry.name = "embed";
  entry.outputs = {{"embedding", ElementType::F32, {sequences, columns}, 0, false, 9}};
  entry.buffers[8] = {Location::Arena, ElementType::F32, {tokens, columns}, sizeTerms(0, 0, 0), 0};
  entry.buffers[9].index = 0;
  return entry;
}

ModelSpec model() {
  ModelSpec spec;
  spec.targets = {"x86-64-v3", "x86-64-v4"};
  addKernel(spec, "gather", 0);
  addKernel(spec, "linear", 0);
  addKernel(spec, "center", 0);
  addKernel(spec, "mix", sizeof(float));
  addKernel(spec, "mean", 0);
  addParameter(spec, "words", {words, width});
  addParameter(spec, "types", {types, width});
  addParameter(spec, "weight", {width, width});
  addParameter(spec, "bias", {width});
  spec.actualWeightsSize = spec.weightsSize;
  spec.entries = {encodeEntry(), embedEntry()};
  return spec;
}

ModelSpec modelWithImages() {
  ModelSpec spec = model();
  spec.targets.emplace_back("device");
  for (KernelSpec &kernel : spec.kernels) {
    kernel.symbols.push_back(kernel.name);
    kernel.launches = {{}, {}, {manifest::LaunchUnit::Caller, 64, 0, 0, 0, 0, 0, 0, 0}};
  }
  std::string elf = "\x7f"
                    "ELF";
  elf.resize(200, 'x');
  std::string text = "// no code\n";
  text.push_back('\0');
  spec.images = {{2, manifest::ImageKind::Cubin, elf, 0, elf.size()},
                 {2, manifest::ImageKind::Ptx, text, 256, text.size()}};
  return spec;
}

std::string emulatedImage() { return readBytes(HEDDLE_FIXTURE_IMAGE); }

std::string olderImage() { return readBytes(HEDDLE_FIXTURE_OLDER); }

std::string untaughtImage() { return readBytes(HEDDLE_FIXTURE_UNTAUGHT); }

void setImages(ModelSpec &spec,
               const std::vector<std::pair<manifest::ImageKind, std::string>> &images) {
  const auto target = static_cast<uint32_t>(spec.targets.size() - 1);
  uint64_t offset = 0;
  spec.images.clear();
  for (const auto &[kind, bytes] : images) {
    spec.images.push_back({target, kind, bytes, offset, bytes.size()});
    offset = alignUp(offset + bytes.size(), HEDDLE_ALIGNMENT);
  }
}

ModelSpec withDevice(ModelSpec spec) {
  spec.targets.emplace_back("sm_80");
  for (KernelSpec &kernel : spec.kernels) {
    kernel.symbols.push_back(kernel.name);
    kernel.launches = {{}, {}, {manifest::LaunchUnit::Caller, 32, 0, 0, 0, 0, 0, 0, 0}};
  }
  setImages(spec, {{manifest::ImageKind::Host, emulatedImage()}});
  return spec;
}

std::string images(const ModelSpec &spec) {
  std::string section;
  for (const ImageSpec &image : spec.images) {
    section.resize(alignUp(section.size(), HEDDLE_ALIGNMENT));
    section += image.bytes;
  }
  return section;
}

std::string weights(const ModelSpec &spec) {
  std::string bytes(spec.actualWeightsSize, '\0');
  for (const ParameterSpec &parameter : spec.parameters) {
    const uint64_t size = parameter.values.size() * sizeof(float);
    if (parameter.offset <= bytes.size() && size <= bytes.size() - parameter.offset) {
      std::memcpy(bytes.data() + parameter.offset, parameter.values.data(), size);
    }
  }
  return bytes;
}

Status write(const ModelSpec &spec, const std::string &path) {
  const std::string bytes = weights(spec);
  return writeArtifact(
      linkedKernels(), bytes.size(),
      [&](const WeightsSink &sink) -> Status {
        // In two pieces, like the compiler's consecutive tensors.
        const auto all = std::as_bytes(std::span(bytes));
        HEDDLE_TRY(sink(all.first(all.size() / 2)));
        return sink(all.subspan(all.size() / 2));
      },
      images(spec),
      [&](uint64_t checksum) -> Result<std::string> { return serialize(spec, checksum); }, path);
}

std::string linkedKernels() { return readBytes(HEDDLE_FIXTURE_KERNELS); }

std::string temporaryPath(const std::string &name) {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("heddle-test-" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return (folder.path / name).string();
}

std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeBytes(const std::string &path, const std::string &bytes) {
  // A new file each time: the old one may still be mapped as a program.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace heddle::fixture
