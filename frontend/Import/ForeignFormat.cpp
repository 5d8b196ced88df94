// SPDX-License-Identifier: Apache-2.0
///
/// Recognises formats by their first bytes, or else by file names.
#include "frontend/Import/ForeignFormat.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle {

namespace fs = std::filesystem;

static constexpr std::string_view pointerStart = "version https://git-lfs.github.com/spec/";

/// The first bytes of a file; empty if it cannot be read.
static std::string firstBytes(const fs::path &path) {
  std::array<char, pointerStart.size()> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<size_t>(file.gcount())};
}

static std::string parentOf(const fs::path &path) {
  const std::string parent = path.parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Advice for getting a model's folder, given a file in another program's format.
static constexpr std::string_view downloads =
    "expected a model's folder in Hugging Face's format, as 'hf download OWNER/NAME --local-dir "
    "NAME' fetches it";

/// Names the format of a file, if it is known but unsupported.
static std::optional<std::string> describeForeign(const fs::path &path) {
  const std::string start = firstBytes(path);
  const std::string extension = path.extension().string();
  if (start.starts_with(pointerStart)) {
    return fmt::format("is a Git LFS pointer, not the file it stands for, expected the file: run "
                       "'git lfs pull' in {}",
                       parentOf(path));
  }
  if (start.starts_with("GGUF")) {
    return fmt::format("is a GGUF file, expected it by itself: heddlec {}", path.string());
  }
  if (start.starts_with("\x7f"
                        "ELF")) {
    return "is compiled already, expected a model's folder, a GGUF, ONNX or .mlir file; 'heddle "
           "info' shows what is in it";
  }
  if (extension == ".onnx") {
    return fmt::format("is an ONNX graph, expected it by itself: heddlec {}", path.string());
  }
  if (extension == ".safetensors" || path.filename() == "model.bin" ||
      path.filename() == "config.json") {
    return fmt::format("is one file of a model, expected the folder: heddlec {}", parentOf(path));
  }
  return std::nullopt;
}

static bool isPickle(const std::string &name) {
  return (name.starts_with("pytorch_model") && name.ends_with(".bin")) || name.ends_with(".pt") ||
         name.ends_with(".pth") || name.ends_with(".ckpt");
}

/// The command that converts the pickled tensors of a folder, for any model.
static std::string convertCommand(const std::string &folder) {
  return fmt::format(
      "python3 -c \"import glob, sys, torch; from safetensors.torch import save_file; "
      "f = sys.argv[1]; t = {{k: v.clone().contiguous() for p in sorted(glob.glob(f + "
      "'/pytorch_model*.bin')) "
      "for k, v in torch.load(p, map_location='cpu', weights_only=True).items()}}; "
      "save_file(t, f + '/model.safetensors')\" '{}'",
      folder);
}

Status refuseFile(const std::string &path) {
  const std::optional<std::string> known = describeForeign(path);
  return HEDDLE_ERROR(
      InvalidArgument,
      fmt::format("{}: {}", path,
                  known.value_or(isPickle(fs::path(path).filename().string())
                                     ? "holds pickled tensors of PyTorch, which "
                                       "are not supported, expected a model's folder"
                                     : "is neither a model's folder nor a GGUF, "
                                       "ONNX or .mlir file")));
}

/// The names of a folder's files, sorted, so that messages do not depend on the file system.
static std::vector<std::string> fileNames(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status checkNoPointer(const std::string &path) {
  return firstBytes(path).starts_with(pointerStart) ? refuseFile(path) : Status();
}

Status checkNoPointers(const std::string &folder) {
  for (const std::string &name : fileNames(folder)) {
    const fs::path path = fs::path(folder) / name;
    const std::string extension = path.extension().string();
    const bool isRead = extension == ".safetensors" || extension == ".json" ||
                        extension == ".model" || extension == ".spm" || name == "vocab.txt" ||
                        name == "model.bin";
    if (isRead) {
      HEDDLE_TRY(checkNoPointer(path.string()));
    }
  }
  return {};
}

Status checkWeights(const std::string &folder) {
  const std::vector<std::string> names = fileNames(folder);
  const auto has = [&](std::string_view name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  if (has("model.safetensors") || has("model.safetensors.index.json") || has("model.bin")) {
    return {};
  }
  for (const std::string &name : names) {
    if (isPickle(name)) {
      return HEDDLE_ERROR(
          Unsupported, fmt::format("{}: holds pickled tensors of PyTorch, which are not supported, "
                                   "expected model.safetensors: {}",
                                   (fs::path(folder) / name).string(), convertCommand(folder)));
    }
  }
  for (const std::string &name : names) {
    const std::string path = (fs::path(folder) / name).string();
    if (name.ends_with(".gguf") || name.ends_with(".onnx")) {
      return refuseFile(path);
    }
    if (name.ends_with(".h5") || name.ends_with(".msgpack")) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: holds tensors of {}, which are not supported, {}", path,
                                      name.ends_with(".h5") ? "TensorFlow" : "Flax", downloads));
    }
  }
  return {};
}

} // namespace heddle
