// SPDX-License-Identifier: Apache-2.0
///
/// Compiling from a program: a request in, a binary or the reason why there is none out. A request
/// names a model's folder, a program in text, or what a ModelBuilder wrote with tensors in memory:
///
///     CompileRequest request;
///     request.path = "models/all-MiniLM-L6-v2";
///     request.output = "minilm.so";
///     const CompileResult result = compile(request);
///
/// compile() prints nothing and shares nothing between calls: several threads may compile at the
/// same time. Every mistake in a request or a model is in the result. What LLVM calls a fatal
/// error, and running out of memory, ends the process instead: LLVM's code is not able to go on,
/// and a library may not install a handler for the whole process. A program that has to outlive
/// that compiles in a process of its own, as heddlec does, or installs a handler to say more before
/// it ends (LLVMInstallFatalErrorHandler). The output file is complete or not there in either case.
/// Installed as heddle/Compile.h, for programs that link heddle::compiler; needs no header of LLVM
/// or MLIR.
#ifndef HEDDLE_COMPILER_COMPILE_H
#define HEDDLE_COMPILER_COMPILE_H

#include "CompileOptions.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// A tensor in memory: elements in row-major order, little endian, which belong to the caller and
/// must live until compile() returns.
struct TensorValues {
  TensorValues(std::string name, std::vector<int64_t> shape, std::span<const float> values)
      : TensorValues(std::move(name), std::move(shape), ElementType::F32, std::as_bytes(values)) {}
  TensorValues(std::string name, std::vector<int64_t> shape, ElementType type,
               std::span<const std::byte> bytes)
      : name(std::move(name)), shape(std::move(shape)), type(type), bytes(bytes) {}

  std::string name;
  std::vector<int64_t> shape;
  ElementType type;
  std::span<const std::byte> bytes;
};

/// What a report is written as: nothing, every decision of every pass in JSON, or a page in HTML
/// that shows the program before and after as well.
enum class ReportForm : uint8_t { None, Json, Page };

/// Something that a user may want to know, and that is no error. A warning says that the binary may
/// be another model than the user wants.
enum class RemarkKind : uint8_t { Note, Warning };

/// What messages call parts of a request; a program with options puts their names here.
struct RequestNames {
  std::string_view targets = "targets";
  std::string_view precision = "precision";
  std::string_view cache = "cache";
  std::string_view keep = "keep";
  std::string_view sharing = "sharing";
  std::string_view disabledPasses = "disabledPasses";
  std::string_view weights = "weights";
  std::string_view startAt = "startAt";
  std::string_view stopAfter = "stopAfter";
  std::string_view texts = "texts";
  std::string_view analysis = "analysis";
  std::string_view page = "report=Page";
  std::string_view codeCache = "codeCache";
  std::string_view calibration = "calibration";
  std::string_view chatTemplate = "chatTemplate = false";
  std::string_view textLength = "textLength";
  std::string_view staticSizes = "staticSizes";
  std::string_view output = "output";
  std::string_view ptxas = "ptxas";
};

/// The most tokens of a text.
inline constexpr int64_t longestText = int64_t(1) << 24;

struct CompileRequest : CompileOptions {
  /// A model's folder, or a program FILE.mlir.
  std::string path;
  /// Instead of a path: the program itself, ModelBuilder::text() for example. Messages call it
  /// `name`.
  std::string program;
  std::string name = "program";

  /// Weights of a program: a model's folder or a file, or tensors in memory. With neither, what
  /// lies beside FILE.mlir.
  std::string weights;
  std::vector<TensorValues> tensors;

  /// The first phase to run on a program, by default the one after the phase that it says it is in;
  /// and the last one.
  std::optional<Phase> startAt;
  Phase stopAfter = Phase::SharedObject;
  /// Phases after which the program is wanted as text.
  std::vector<Phase> texts;

  /// The file to write the binary to. It is written last: if anything fails, there is none. Empty:
  /// the binary is part of the result.
  std::string output;
  /// A folder in which the code of functions is kept from one compilation to the next: what a
  /// binary shares with one before is not compiled again. It is made if it is not there; any file
  /// in it may be removed. Empty: none. What it has becomes part of binaries.
  std::string codeCache;
  /// Whether the binary has the chat templates of the model. One that is not understood is an
  /// error.
  bool chatTemplate = true;
  /// The most tokens of a text, of a model's folder whose rotary positions depend on that
  /// ("dynamic" and "longrope"): all texts have the frequencies of so long a one. 0: texts are no
  /// longer than those that the model was first trained with.
  int64_t textLength = 0;
  /// Whether an ONNX graph in which the exporter made constants of sizes that its inputs leave open
  /// is compiled for these sizes alone. Without it such a graph is refused.
  bool staticSizes = false;
  /// A file of texts, one a line, like those that the model will read. Codes of 8 or 4 bits, which
  /// the precision must have, are then chosen so that products with the rows of these texts change
  /// little. The model is run on the texts for that, by this process. Empty: each weight is rounded
  /// for itself.
  std::string calibration;
  /// What it may have in memory of what products read, in bytes: where that is less than a model
  /// needs, it runs on the texts several times. The result is the same.
  uint64_t calibrationBytes = uint64_t(1) << 30;
  /// The program ptxas of CUDA, which assembles the kernels of GPUs: the binary has a cubin for
  /// each beside PTX, so that no driver has to compile that. Empty: none.
  std::string ptxas;
  ReportForm report = ReportForm::None;
  /// A file of `heddle analyze`, to be shown in the page.
  std::string analysis;
  /// The program and its version, recorded in the binary; empty: this library's.
  std::string producer;
  RequestNames names;

  /// Called as the compilation goes on, by the calling thread; they must not throw. A failure that
  /// one returns ends the compilation. What `onText` and `onReport` are given is not part of the
  /// result.
  std::function<void(std::string_view step)> onStep;
  std::function<void(RemarkKind, std::string_view)> onRemark;
  std::function<Status(Phase, std::string_view)> onText;
  std::function<Status(std::string_view)> onReport;
};

/// What a pass did at one place, or the first reason why it did nothing.
struct Decision {
  /// The name of the pass, "fuse-attention".
  std::string pass;
  /// The name in the checkpoint, "encoder.layer.0.attention.self".
  std::string where;
  bool taken = false;
  std::string text;
  /// What is no longer computed for each row, no longer stored, and no longer kept for each
  /// position.
  int64_t flopsPerToken = 0;
  int64_t weightBytes = 0;
  int64_t cacheBytesPerToken = 0;
};

struct CompileResult {
  /// Why there is no binary, at most five errors with their places; ok if there is one.
  Status status;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  /// What every pass decided, in the order of the passes; empty without a report.
  std::vector<Decision> decisions;
  /// The program after each of CompileRequest::texts.
  std::vector<std::pair<Phase, std::string>> texts;
  std::string report;
  /// Empty if it was written to a file.
  std::string binary;
};

/// Compiles.
CompileResult compile(const CompileRequest &request);

/// Checks what can be checked without reading a file. compile() does so too.
Status checkRequest(const CompileRequest &request);

/// A pass that may be left out: its name, the phase that it is part of, and what it does.
struct OptionalPass {
  std::string name;
  Phase phase;
  std::string summary;
};

/// The passes that CompileOptions::disabledPasses knows, in the order in which they run: their
/// names alone, or all that is declared of them.
std::vector<std::string> optionalPasses();
std::vector<OptionalPass> describePasses();

/// A target that CompileOptions::targets knows: its name, the machines that run it and what they
/// have.
struct KnownTarget {
  std::string name;
  std::string summary;
};

/// All of them, the least capable first.
std::vector<KnownTarget> knownTargets();

} // namespace heddle

#endif // HEDDLE_COMPILER_COMPILE_H
