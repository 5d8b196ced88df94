// SPDX-License-Identifier: Apache-2.0
///
/// A small model for tests, described by plain structures, so that a test can change any part of it
/// and write the file. It has the features of compiled models: two targets, an entry with outputs
/// per token and per sequence (one read by the other), a finish kernel, scratch memory, an optional
/// input, a tokenizer.
#ifndef HEDDLE_TESTS_RUNTIME_ARTIFACT_FIXTUREMODEL_H
#define HEDDLE_TESTS_RUNTIME_ARTIFACT_FIXTUREMODEL_H

#include "formats/Binary/Manifest_generated.h"
#include "formats/Binary/SymbolicSize.h"
#include "heddle/Abi.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::fixture {

/// The floats of a row, the rows of the two tables, and the maximum length of a sequence.
inline constexpr int width = 32;
inline constexpr int words = 50;
inline constexpr int types = 2;
inline constexpr int longest = 300;

using Shape = std::vector<manifest::Dimension>;
using SizeTerms = std::vector<manifest::SizeTerm>;

/// Returns a size in tokens, sequences and tokens * longest; zero terms are omitted.
SizeTerms sizeTerms(uint64_t perToken, uint64_t perSequence, uint64_t perTokenAndLongest);

/// Returns the spaces of tokens and sequences.
std::vector<manifest::RowSpace> usualSpaces();
/// Returns the space of blocks of `size` tokens.
manifest::RowSpace blocksOf(uint64_t size);

struct PortSpec {
  std::string name;
  ElementType element;
  Shape shape;
  uint64_t limit;
  bool optional;
  uint32_t buffer;
  manifest::Observed observed = manifest::Observed::No;
  int32_t pad = -1;
  std::vector<int64_t> axes = {};
  std::string after = "";
  uint64_t rows = 0;
};

struct BufferSpec {
  manifest::Location location;
  ElementType element;
  Shape shape;
  std::optional<SizeTerms> offset;
  /// The parameter that every target reads, unless `stored` specifies it for each.
  uint32_t index;
  std::vector<uint32_t> stored = {};
};

struct CacheSpec {
  std::string name;
  uint64_t width;
  manifest::CacheLayout layout;
  bool written;
  uint32_t buffer;
  ElementType element = ElementType::F32;
  std::vector<manifest::PositionBound> readFrom = {};
};

struct StateSpec {
  std::string name;
  uint64_t width;
  bool written;
  uint32_t buffer;
  ElementType element = ElementType::F32;
  bool keyed = false;
};

struct DispatchSpec {
  std::string name;
  uint32_t kernel;
  int32_t finish;
  std::vector<manifest::Operand> operands;
  uint8_t rows;
  uint32_t rowTile;
  uint32_t columns;
  uint64_t flops;
  uint64_t flopsPerKey;
  uint64_t weightBytes = 0;
  uint64_t weightBytesPerRow = 0;
  uint64_t columnElements = 0;
  uint64_t groupElements = 0;
  uint32_t written = 1;
  /// Overrides the columns for each target.
  std::vector<manifest::TargetColumns> targetColumns = {};
  std::vector<uint8_t> spaces = {tokensSpace};
  uint8_t countedRows = tokensSpace;
  uint8_t countedKeys = tokensSpace;
  uint32_t chosenGroups = 0;
  uint32_t chosenBy = 0;
  uint8_t arithmetic = 0;
  bool rowByRow = false;
  uint8_t floatProducts = 0;
};

struct LoopSpec {
  uint32_t first;
  uint32_t count;
  uint8_t rows;
  std::vector<manifest::EarlierOperand> earlier;
  bool beside = false;
};

struct EntrySpec {
  std::string name;
  std::vector<PortSpec> inputs;
  std::vector<PortSpec> outputs;
  std::vector<BufferSpec> buffers;
  std::vector<DispatchSpec> dispatches;
  SizeTerms arena;
  uint64_t maxLength;
  std::vector<CacheSpec> caches = {};
  std::vector<StateSpec> states = {};
  std::vector<manifest::RowSpace> spaces = usualSpaces();
  std::vector<LoopSpec> loops = {};
  uint8_t appended = tokensSpace;
  std::vector<manifest::RowLimit> rowLimits = {};
};

struct GenerationSpec {
  std::vector<int32_t> start;
  std::vector<int32_t> end;
  std::vector<int32_t> suppressed;
  int32_t pad;
  int32_t forcedFirst;
  int32_t forcedLast;
  std::string rules;
  int32_t maxLength;
  int32_t beams;
  float lengthPenalty;
  int32_t noRepeatNgram;
  float repetitionPenalty;
  bool earlyStopping = false;
  int32_t minLength = 0;
  bool neverStopEarly = false;
  bool sample = false;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  float minP = 0;
  int32_t contextLength = 0;
};

struct KernelSpec {
  std::string name;
  std::vector<std::string> symbols;
  uint64_t scratch;
  uint64_t scratchPerLongest;
  /// If empty, those of CPUs, for every target.
  std::vector<manifest::LaunchShape> launches = {};
};

struct ImageSpec {
  uint32_t target;
  manifest::ImageKind kind;
  std::string bytes;
  uint64_t offset;
  uint64_t size;
  std::string compiler = "fixture";
  std::optional<uint64_t> checksum = {};
};

struct ParameterSpec {
  std::string name;
  ElementType element;
  std::vector<uint64_t> shape;
  uint64_t offset;
  uint64_t size;
  std::vector<float> values;
};

/// Layers of another precision.
struct KeptSpec {
  std::string layers, precision;
  uint64_t tensors, bytes;
};

struct ModelSpec {
  uint32_t abi = HEDDLE_ABI;
  std::string precision = "f32";
  std::vector<KeptSpec> kept;
  std::vector<std::string> targets;
  std::vector<EntrySpec> entries;
  std::vector<KernelSpec> kernels;
  std::vector<ParameterSpec> parameters;
  uint64_t weightsSize = 0;
  /// The actual size of the section, which may differ in a test.
  uint64_t actualWeightsSize = 0;
  std::optional<uint64_t> codeChecksum;
  bool tokenizer = true;
  bool targetTokenizer = false;
  std::optional<GenerationSpec> generation;
  std::vector<ImageSpec> images = {};
  /// The labels of a classifier.
  std::optional<std::vector<std::string>> labels = {};
  manifest::Problem problem = manifest::Problem::SingleLabel;
  /// The languages of a generating model.
  struct LanguageSpec {
    std::vector<std::string> names;
    std::vector<int32_t> tokens;
    bool endsSource = false;
    bool startsTarget = false;
    int32_t source = -1;
    int32_t target = -1;
  };
  std::optional<LanguageSpec> languages = {};
};

/// Adds a parameter of pseudo-random values that are the same everywhere; a kernel of two targets.
void addParameter(ModelSpec &spec, const std::string &name, std::vector<uint64_t> shape);
void addKernel(ModelSpec &spec, const std::string &name, uint64_t scratchPerLongest);

/// Returns the valid model. Entries "encode" and "embed"; parameters words, types, weight, bias.
ModelSpec model();

/// Returns the model with a third target, a device with two images, neither of which is code.
ModelSpec modelWithImages();

/// Returns the model with an additional target, sm_80, with an image of its kernels for the
/// emulated GPU.
ModelSpec withDevice(ModelSpec spec);
/// Returns the image; one without the kernels that measure a GPU; and one that requires features
/// that the emulated GPU lacks.
std::string emulatedImage();
std::string olderImage();
std::string untaughtImage();
/// Sets the images of the last target.
void setImages(ModelSpec &spec,
               const std::vector<std::pair<manifest::ImageKind, std::string>> &images);

/// The vocabulary of the generating model, its heads, and the maximum lengths of source and target.
inline constexpr int vocabulary = 1600;
/// The number of logits that a column of the projection's grid computes.
inline constexpr int piece = 48;
inline constexpr int heads = 2;
inline constexpr int longestSource = 200;
inline constexpr int longestTarget = 250;

/// Returns a model that generates. Entries "encode" and "decode"; caches of keys and of rows,
/// history and memory of each; parameters sources, targets, projection.
ModelSpec generatingModel();

/// Returns it with a projection in two groups of logits, each of which ends inside a piece.
ModelSpec groupedModel();

/// The number of best tokens that selecting models select.
inline constexpr int selected = 24;

/// Returns a model that generates with a selection of tokens (heddle/Selection.h).
ModelSpec selecting(ModelSpec spec);
/// Returns the generating model with a selection.
ModelSpec selectingModel();
/// Returns it with the selection in one dispatch, as older compilers wrote it.
ModelSpec selectingAtOnceModel();

/// Returns the generating model with a state "sum", buffer 12: the query of the history is the mean
/// of all targets so far.
ModelSpec averagingModel();

/// Returns the same without the history: the mean attends to the memory. Caches "cross.value" and
/// "cross.key"; one dispatch writes the mean and updates the state.
ModelSpec historylessModel();

/// Returns the generating model without sources: it continues prompts, and has no start. Its only
/// entry is "decode", without the attention.
ModelSpec continuingModel();

/// Returns the manifest.
std::string serialize(const ModelSpec &spec, uint64_t codeChecksum);

/// Returns the bytes of the weights section.
std::string weights(const ModelSpec &spec);

/// Returns the bytes of the images section.
std::string images(const ModelSpec &spec);

/// Returns the kernels as linked.
std::string linkedKernels();

/// Writes the whole file.
Status write(const ModelSpec &spec, const std::string &path);

/// Returns a path in a folder of this process that is removed when it ends.
std::string temporaryPath(const std::string &name);

/// Reads and writes the bytes of a file.
std::string readBytes(const std::string &path);
void writeBytes(const std::string &path, const std::string &bytes);

} // namespace heddle::fixture

#endif // HEDDLE_TESTS_RUNTIME_ARTIFACT_FIXTUREMODEL_H
