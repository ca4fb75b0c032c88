// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/file_system.h"

#include <array>

#include <fmt/format.h>
#include <linux/magic.h>

namespace keymill {
namespace {

using Trait = FileSystemTrait;

// Those that linux/magic.h leaves out are in statfs(2).
constexpr std::array kKinds = {
    FileSystemKind{NFS_SUPER_MAGIC, "nfs", Trait::kRemote},
    FileSystemKind{0xff534d42, "cifs", Trait::kRemote},
    FileSystemKind{0xfe534d42, "smb2", Trait::kRemote},
    FileSystemKind{0x517b, "smb", Trait::kRemote},
    FileSystemKind{V9FS_MAGIC, "9p", Trait::kRemote},
    FileSystemKind{0x65735546, "fuse", Trait::kUserMade},
    FileSystemKind{0x00c36400, "ceph", Trait::kRemote},
    FileSystemKind{AFS_SUPER_MAGIC, "afs", Trait::kRemote},
    FileSystemKind{CODA_SUPER_MAGIC, "coda", Trait::kRemote},
    FileSystemKind{0x786f4256, "vboxsf", Trait::kRemote},
    FileSystemKind{TMPFS_MAGIC, "tmpfs", Trait::kVolatile},
    FileSystemKind{RAMFS_MAGIC, "ramfs", Trait::kVolatile},
    FileSystemKind{OVERLAYFS_SUPER_MAGIC, "overlay", Trait::kLayer},
    FileSystemKind{EXT4_SUPER_MAGIC, "ext4", Trait::kSound},
    FileSystemKind{XFS_SUPER_MAGIC, "xfs", Trait::kSound},
    FileSystemKind{BTRFS_SUPER_MAGIC, "btrfs", Trait::kSound},
    FileSystemKind{F2FS_SUPER_MAGIC, "f2fs", Trait::kSound},
    FileSystemKind{0x2fc12fc1, "zfs", Trait::kSound},
};

}  // namespace

FileSystemKind FileSystemKindOf(std::uint64_t type) {
  for (const FileSystemKind& kind : kKinds) {
    if (kind.type == type) return kind;
  }
  return {type, "", Trait::kSound};
}

std::string FileSystemName(const FileSystemKind& kind) {
  return kind.name.empty() ? fmt::format("file system {:#x}", kind.type) : std::string(kind.name);
}

}  // namespace keymill
