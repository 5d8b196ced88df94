// SPDX-License-Identifier: Apache-2.0
///
/// Compiles a program: takes a request and returns a binary, or the reason why there is none. A
/// request names a model's folder, a program in text, or what a ModelBuilder wrote, with tensors in
/// memory:
///
///     CompileRequest request;
///     request.path = "models/all-MiniLM-L6-v2";
///     request.output = "minilm.so";
///     const CompileResult result = compile(request);
///
/// compile() prints nothing and has no shared state: several threads may call it at the same time.
/// Every error in a request or a model is part of the result. Exceptions are LLVM's fatal errors
/// and running out of memory: they end the process, because LLVM cannot continue and a library must
/// not install a process-wide handler. A program that must survive them compiles in another
/// process, as heddlec does, or installs a handler to report more (LLVMInstallFatalErrorHandler).
/// In all cases the output file is either complete or absent. Installed as heddle/Compile.h, for
/// programs that link heddle::compiler; does not include headers of LLVM or MLIR.
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

/// A tensor in memory: elements in row-major order, little endian. The caller owns them and must
/// keep them alive until compile() returns.
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

/// The form of a report: none, every decision of every pass in JSON, or an HTML page that also
/// shows the program before and after.
enum class ReportForm : uint8_t { None, Json, Page };

/// The kind of a diagnostic that is not an error. A warning says that the binary may be another
/// model than the user intended.
enum class RemarkKind : uint8_t { Note, Warning };

/// The names of parts of a request in messages. A program with command-line options puts their
/// names here.
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

/// The largest number of tokens in a text.
inline constexpr int64_t longestText = int64_t(1) << 24;

/// A file to write, and what messages call it.
struct OutputFile {
  std::string_view name;
  std::string path;
};

struct CompileRequest : CompileOptions {
  /// A model's folder, or a program FILE.mlir.
  std::string path;
  /// The text of a program, for example ModelBuilder::text(), instead of a path. Messages call it
  /// `name`.
  std::string program;
  std::string name = "program";

  /// The weights of a program: a model's folder or a file, or tensors in memory. Without either,
  /// the files beside FILE.mlir.
  std::string weights;
  std::vector<TensorValues> tensors;

  /// The first phase to run on a program, by default the one after the program's own phase; and the
  /// last one.
  std::optional<Phase> startAt;
  Phase stopAfter = Phase::SharedObject;
  /// Phases after which to return the program as text.
  std::vector<Phase> texts;

  /// The file to write the binary to. It is written last, so a failure leaves no file. If empty,
  /// the binary is part of the result.
  std::string output;
  /// Other files that the caller is going to write, as of texts and of the report: refused before
  /// anything is compiled where one cannot be written, or is one of those that are read.
  std::vector<OutputFile> otherOutputs;
  /// A folder in which the code of functions is kept from one compilation to the next: what a
  /// binary shares with one before is not compiled again. It is made if it is not there; any file
  /// in it may be removed. Empty: none. What it has becomes part of binaries.
  std::string codeCache;
  /// Whether the binary includes the chat templates of the model. An unsupported template is an
  /// error.
  bool chatTemplate = true;
  /// The largest number of tokens in a text, for models whose rotary frequencies depend on it
  /// ("dynamic" and "longrope"): all texts use the frequencies of this length. 0: texts are at most
  /// as long as in the model's original training.
  int64_t textLength = 0;
  /// Whether to compile an ONNX graph for fixed sizes only, if its exporter replaced dynamic input
  /// sizes by constants. Otherwise such a graph is an error.
  bool staticSizes = false;
  /// A file of calibration texts, one per line, similar to the model's later inputs. Codes of 8 or
  /// 4 bits, which the precision must have, are then chosen to minimise the change of products with
  /// the rows of these texts. This process runs the model on them. Empty: each weight is rounded
  /// independently.
  std::string calibration;
  /// The memory limit for calibration data, in bytes. If a model needs more, it runs on the texts
  /// several times, with the same result.
  uint64_t calibrationBytes = uint64_t(1) << 30;
  /// The path of CUDA's ptxas, which assembles GPU kernels: the binary then has a cubin for each
  /// beside its PTX, so that drivers need not compile it. Empty: PTX only.
  std::string ptxas;
  ReportForm report = ReportForm::None;
  /// A file written by `heddle analyze`, to include in the page.
  std::string analysis;
  /// The producing program and its version, recorded in the binary; empty: this library's.
  std::string producer;
  RequestNames names;

  /// Callbacks on the calling thread; they must not throw. A returned failure ends the compilation.
  /// Output passed to `onText` or `onReport` is not part of the result.
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
  /// The savings: work per row, stored bytes, and cache bytes per position.
  int64_t flopsPerToken = 0;
  int64_t weightBytes = 0;
  int64_t cacheBytesPerToken = 0;
};

struct CompileResult {
  /// ok if there is a binary, else at most five errors with their locations.
  Status status;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  /// The decisions of all passes, in the order of the passes; empty without a report.
  std::vector<Decision> decisions;
  /// The program after each phase in CompileRequest::texts.
  std::vector<std::pair<Phase, std::string>> texts;
  std::string report;
  /// Empty if the binary was written to a file.
  std::string binary;
};

/// Compiles a request.
CompileResult compile(const CompileRequest &request);

/// Checks a request without reading files. compile() calls it too.
Status checkRequest(const CompileRequest &request);

/// A pass that may be disabled: its name, its phase, and its description.
struct OptionalPass {
  std::string name;
  Phase phase;
  std::string summary;
};

/// Return the passes that CompileOptions::disabledPasses may name, in the order in which they run:
/// the names alone, or with their descriptions.
std::vector<std::string> optionalPasses();
std::vector<OptionalPass> describePasses();

/// A target that CompileOptions::targets may name: its name, the machines that run it and their
/// features.
struct KnownTarget {
  std::string name;
  std::string summary;
};

/// Returns all targets, the least capable first.
std::vector<KnownTarget> knownTargets();

} // namespace heddle

#endif // HEDDLE_COMPILER_COMPILE_H
