// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/posix_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace keymill::load {
namespace {

// The one place that looks at errno.
Status PosixError(std::string_view action, std::string_view name, int error) {
  Code code = Code::kUnavailable;
  if (error == ENOENT || error == ENOTDIR) code = Code::kNotFound;
  if (error == EISDIR || error == ENAMETOOLONG) code = Code::kInvalidArgument;
  if (error == EACCES || error == EPERM) code = Code::kPermissionDenied;
  std::string message(action);
  message.append(" ").append(name).append(": ").append(std::generic_category().message(error));
  return {code, std::move(message)};
}

// For file systems without O_TMPFILE: the name exists for a moment.
int CreateAndUnlink(const std::filesystem::path& dir) {
  std::string pattern = (dir / "keymill-verify-XXXXXX").string();
  const int descriptor = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(pattern.c_str());
  return descriptor;
}

}  // namespace

Result<PosixFile> PosixFile::OpenForReading(const std::string& name) {
  if (name == "-") return PosixFile(STDIN_FILENO, false, "standard input");
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return PosixError("open", name, errno);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);  // Advice: it may fail.
  return PosixFile(descriptor, true, name);
}

Result<PosixFile> PosixFile::CreateUnnamed(const std::filesystem::path& dir) {
  std::error_code error;
  const auto where = dir.empty() ? std::filesystem::temp_directory_path(error) : dir;
  if (error) return PosixError("find", "the directory for temporary files", error.value());
  int descriptor = ::open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    descriptor = CreateAndUnlink(where);
  }
  if (descriptor < 0) return PosixError("create a temporary file in", where.string(), errno);
  return PosixFile(descriptor, true, "a temporary file in " + where.string());
}

PosixFile::PosixFile(int descriptor, bool owned, std::string name)
    : descriptor_(descriptor), owned_(owned), name_(std::move(name)) {}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : descriptor_(other.descriptor_),
      owned_(std::exchange(other.owned_, false)),
      name_(std::move(other.name_)) {}

PosixFile::~PosixFile() {
  if (owned_) ::close(descriptor_);
}

Result<std::size_t> PosixFile::Read(std::span<char> out) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, out.data(), out.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return PosixError("read", name_, errno);
  }
}

Status PosixFile::ReadAt(std::uint64_t offset, std::span<char> out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return PosixError("read", name_, errno);
    if (got == 0) return {Code::kUnavailable, "read " + name_ + ": it is shorter than written"};
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return Status::Ok();
}

Status PosixFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return PosixError("write to", name_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return Status::Ok();
}

}  // namespace keymill::load
