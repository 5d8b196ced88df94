// SPDX-License-Identifier: Apache-2.0
///
/// Opens a file and the files of its weights.
#include "formats/Onnx/OnnxFile.h"

#include "base/FileDescriptor.h"
#include "base/Utf8.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heddle {

namespace fs = std::filesystem;

/// Returns the names between slashes; nullopt if one of them would leave the folder.
static std::optional<std::vector<std::string>> namesOf(std::string_view location) {
  if (location.empty() || location.front() == '/' ||
      location.find_first_of(std::string_view("\\\0", 2)) != std::string_view::npos) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string_view name = location.substr(begin, end - begin);
    if (name.empty() || name == "..") {
      return std::nullopt;
    }
    names.emplace_back(name);
    begin = end + 1;
  }
  return names;
}

/// Opens one name after another, rejecting links: for systems without openat2.
static int openByNames(int folder, const std::vector<std::string> &names) {
  int at = ::dup(folder);
  for (size_t i = 0; i < names.size() && at >= 0; ++i) {
    const bool isLast = i + 1 == names.size();
    const int next =
        ::openat(at, names[i].c_str(),
                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (isLast ? 0 : O_DIRECTORY));
    const int error = errno;
    ::close(at);
    errno = error;
    at = next;
  }
  return at;
}

static int openWithin(int folder, const std::string &location,
                      const std::vector<std::string> &names) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long number = ::syscall(SYS_openat2, folder, location.c_str(), &how, sizeof how);
  // ENOSYS: an old kernel; EPERM: a container that does not allow the call.
  if (number < 0 && (errno == ENOSYS || errno == EPERM)) {
    return openByNames(folder, names);
  }
  return static_cast<int>(number);
}

Result<MappedFile> openBeneath(const std::string &folder, std::string_view location) {
  const auto refuse = [&](StatusCode code, std::string_view what) {
    return Status(code, fmt::format("external data {}: {}", quote(location), what), __FILE_NAME__,
                  __LINE__);
  };
  const std::optional<std::vector<std::string>> names = namesOf(location);
  if (!names) {
    return refuse(StatusCode::InvalidArgument,
                  "expected the name of a file beneath the model's folder");
  }
  const FileDescriptor directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor file(openWithin(directory.number(), std::string(location), *names));
  if (file.number() < 0) {
    const bool isMissing = errno == ENOENT || errno == ENOTDIR;
    return refuse(isMissing ? StatusCode::NotFound : StatusCode::InvalidArgument,
                  isMissing                          ? "no such file in the model's folder"
                  : errno == ELOOP || errno == EXDEV ? "a symbolic link, expected a file itself"
                                                     : std::strerror(errno));
  }
  struct stat information;
  if (::fstat(file.number(), &information) != 0 || !S_ISREG(information.st_mode)) {
    return refuse(StatusCode::InvalidArgument, "a folder, device or pipe, expected a regular file");
  }
  if (information.st_nlink > 1) {
    return refuse(StatusCode::InvalidArgument, "the file has several names, expected one");
  }
  return MappedFile::ofDescriptor(file.number(), (fs::path(folder) / location).string());
}

Status OnnxFile::findExternal(OnnxTensor &tensor) {
  if (!tensor.external) {
    return {};
  }
  const auto &[location, offset, length] = *tensor.external;
  const std::string where = fmt::format("{}: tensor {}", path(), quote(tensor.name));
  auto known = opened.find(location);
  if (known == opened.end()) {
    const std::string folder = fs::path(path()).parent_path().string();
    Result<MappedFile> file = openBeneath(folder.empty() ? "." : folder, location);
    HEDDLE_TRY_WITH(file.status(), where);
    known = opened.emplace(location, files.size()).first;
    files.push_back(std::make_shared<const MappedFile>(*std::move(file)));
  }
  const std::span<const std::byte> bytes = files[known->second]->bytes();
  const uint64_t size = byteSize(tensor.dtype, tensor.shape).value_or(0);
  if (offset > bytes.size() || size > bytes.size() - offset) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: its data has offset {} and {} bytes in {}, "
                                              "which has {}",
                                              where, offset, size, quote(location), bytes.size()));
  }
  tensor.bytes = bytes.subspan(offset, size);
  return {};
}

Status OnnxFile::findExternal(std::vector<OnnxNode> &nodes) {
  for (OnnxNode &node : nodes) {
    for (OnnxAttribute &attribute : node.attributes) {
      if (attribute.tensor) {
        HEDDLE_TRY(findExternal(*attribute.tensor));
      }
      if (attribute.graph) {
        HEDDLE_TRY(findExternal(*attribute.graph));
      }
    }
  }
  return {};
}

Status OnnxFile::findExternal(OnnxGraph &graph) {
  for (OnnxTensor &tensor : graph.initializers) {
    HEDDLE_TRY(findExternal(tensor));
  }
  return findExternal(graph.nodes);
}

Result<OnnxFile> OnnxFile::open(const std::string &path) {
  OnnxFile file;
  HEDDLE_ASSIGN(MappedFile mapped, MappedFile::open(path));
  file.files.push_back(std::make_shared<const MappedFile>(std::move(mapped)));
  HEDDLE_ASSIGN(file.content, parseOnnx(file.files.front()->bytes(), path));
  HEDDLE_TRY(file.findExternal(file.content.graph));
  for (OnnxFunction &function : file.content.functions) {
    HEDDLE_TRY(file.findExternal(function.nodes));
  }
  return file;
}

} // namespace heddle
