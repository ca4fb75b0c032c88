// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "app/doctor/host_checks.h"
#include "base/file_system.h"

namespace keymill::app::doctor {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
// A commit needs a journal as large as what it changes, and a few pages.
constexpr std::uint64_t kBytesProblem = 8 * kMiB;
constexpr std::uint64_t kBytesWarning = 64 * kMiB;
// A journal and a new witness are made for each block.
constexpr std::uint64_t kFilesProblem = 16;
constexpr std::uint64_t kFilesWarning = 256;
constexpr double kSlowMs = 50;
constexpr double kTooFastMs = 0.02;  // No disk, and no cache that survives a power cut.

constexpr std::string_view kElsewhere =
    "choose a directory on a local disk: data_dir in keymill.yml, or --data-dir DIR";

std::string Reason(int error) { return std::generic_category().message(error); }

using Trait = FileSystemTrait;

std::string Bytes(std::uint64_t bytes) {
  if (bytes >= 1024 * kMiB) {
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * kMiB));
  }
  if (bytes >= kMiB) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
  return fmt::format("{} KiB", bytes / 1024);
}

Finding MissingDirectory(const PlaceFacts& place) {
  if (place.access_error == 0 || place.access_error == EROFS) {
    return {place.name, Severity::kOk,
            fmt::format("{} is not there yet; the first start makes it", place.path), ""};
  }
  return {place.name, Severity::kProblem,
          fmt::format("{} is not there and cannot be made in {}: {}", place.path, place.nearest,
                      Reason(place.access_error)),
          fmt::format("install -d -o {} -m 700 {}", place.user, ShellWord(place.path))};
}

}  // namespace

Finding CheckDirectory(const PlaceFacts& place) {
  const std::string word = ShellWord(place.path);
  if (!place.is_directory) {
    return {place.name, Severity::kProblem, fmt::format("{} is not a directory", place.nearest),
            fmt::format("move it away: mv {0} {0}.old", ShellWord(place.nearest))};
  }
  if (!place.exists) return MissingDirectory(place);
  // A file system that is mounted read-only is told of with the file system.
  if (place.access_error != 0 && place.access_error != EROFS) {
    return {
        place.name, Severity::kProblem,
        fmt::format("user {} cannot write to {}, which belongs to {} with mode {:03o}: {}",
                    place.user, place.path, place.owner, place.mode, Reason(place.access_error)),
        OwnershipFix(place.user, place.path, /*directory=*/true)};
  }
  // Whoever may write there can put another database in its place.
  if ((place.mode & 022) != 0) {
    return {
        place.name, Severity::kWarning,
        fmt::format("{} has mode {:03o}: others can replace the database", place.path, place.mode),
        fmt::format("chmod 700 {}", word)};
  }
  if (place.owner != place.user) {
    return {
        place.name, Severity::kNote,
        fmt::format("{} belongs to user {}, and user {} asks", place.path, place.owner, place.user),
        fmt::format("ask as the server's user, for its rights count: setpriv --reuid {} "
                    "--clear-groups keymill doctor",
                    place.owner)};
  }
  return {place.name, Severity::kOk,
          fmt::format("{}, writable, mode {:03o}", place.path, place.mode), ""};
}

Finding CheckFileSystem(const PlaceFacts& place) {
  const FileSystemFacts& facts = place.file_system;
  const std::string where = place.nearest;
  const auto found = [](Severity severity, std::string says, std::string fix) {
    return Finding{"filesystem", severity, std::move(says), std::move(fix)};
  };
  if (facts.error != 0) {
    return found(Severity::kProblem, fmt::format("{}: {}", where, Reason(facts.error)),
                 std::string(kElsewhere));
  }
  if (facts.read_only) {
    return found(
        Severity::kProblem, fmt::format("{} is mounted read-only", where),
        fmt::format("mount -o remount,rw \"$(findmnt -no TARGET -T {})\"", ShellWord(where)));
  }
  const FileSystemKind kind = FileSystemKindOf(facts.type);
  switch (kind.trait) {
    case Trait::kRemote:
    case Trait::kUserMade:
      return found(
          Severity::kProblem,
          fmt::format("{} is on {}: SQLite cannot rely on its locks, and two servers could "
                      "hand out the same keys",
                      where, FileSystemName(kind)),
          std::string(kElsewhere));
    case Trait::kVolatile:
      return found(Severity::kProblem,
                   fmt::format("{} is on {}, in memory: keys repeat after a restart of the machine",
                               where, FileSystemName(kind)),
                   std::string(kElsewhere));
    case Trait::kLayer:
      return found(
          Severity::kWarning,
          fmt::format("{} is on overlay, a container's own layer: database and witness go "
                      "when the container is removed, and keys repeat",
                      where),
          fmt::format("mount a volume there: docker run -v keymill:{} …", ShellWord(place.path)));
    case Trait::kSound:
      break;
  }
  return found(Severity::kOk, fmt::format("{}, {}", where, FileSystemName(kind)), "");
}

Finding CheckSpace(const PlaceFacts& place) {
  const FileSystemFacts& facts = place.file_system;
  const std::string& where = place.nearest;
  if (facts.error != 0) {
    return {"space", Severity::kNote, fmt::format("not known: {}", Reason(facts.error)),
            std::string(kElsewhere)};
  }
  const bool counts_files = facts.files_total > 0;
  const std::string files = counts_files ? fmt::format(", {} files", facts.files_free) : "";
  Severity severity = Severity::kOk;
  if (facts.bytes_free < kBytesWarning) severity = Severity::kWarning;
  if (counts_files && facts.files_free < kFilesWarning) severity = Severity::kWarning;
  if (facts.bytes_free < kBytesProblem) severity = Severity::kProblem;
  if (counts_files && facts.files_free < kFilesProblem) severity = Severity::kProblem;
  const std::string says = fmt::format("room for {} of {}{} in {}", Bytes(facts.bytes_free),
                                       Bytes(facts.bytes_total), files, where);
  if (severity == Severity::kOk) return {"space", severity, says, ""};
  const bool few_files = counts_files && facts.files_free < kFilesWarning;
  return {"space", severity, says,
          fmt::format("make room; what takes it: du -x{} --max-depth=2 \"$(findmnt -no TARGET -T "
                      "{})\" | sort -{} | tail",
                      few_files ? " --inodes" : "h", ShellWord(where), few_files ? "n" : "h")};
}

Finding CheckSync(const PlaceFacts& place) {
  const SyncFacts& facts = place.sync;
  if (facts.error == EIO) {
    return {"fsync", Severity::kProblem, fmt::format("{}: {}", place.nearest, Reason(facts.error)),
            "replace the disk; what the kernel says of it: dmesg --level err"};
  }
  if (facts.writes == 0) {
    return {"fsync", Severity::kNote,
            fmt::format("not measured in {}: {}", place.nearest, Reason(facts.error)),
            "see the directory, its file system and its space"};
  }
  const std::string says =
      fmt::format("{:.2f} ms (median of {}, the slowest {:.2f} ms) in {}", facts.median_ms,
                  facts.writes, facts.worst_ms, place.nearest);
  if (facts.median_ms > kSlowMs) {
    return {"fsync", Severity::kWarning,
            fmt::format("{}: slow, each block waits for several", says),
            "use a faster disk, or ask the store less often: block_size: 100000 in keymill.yml, or "
            "--block-size 100000"};
  }
  if (facts.median_ms < kTooFastMs &&
      FileSystemKindOf(place.file_system.type).trait != Trait::kVolatile) {
    return {"fsync", Severity::kNote,
            fmt::format("{}: does not seem to reach a disk, so a power cut may lose what is "
                        "committed (a restart of keymill does not)",
                        says),
            "let the disk honour flushes: for a virtual machine cache=none or writethrough, not "
            "cache=unsafe"};
  }
  return {"fsync", Severity::kOk, says, ""};
}

}  // namespace keymill::app::doctor
