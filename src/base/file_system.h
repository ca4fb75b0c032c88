// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a file lies on, as far as it matters to somebody who must not lose what he wrote.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace keymill {

enum class FileSystemTrait : std::uint8_t {
  kSound,     // Or nothing is known against it.
  kRemote,    // Locks that programs on two hosts cannot rely on.
  kUserMade,  // FUSE: as good as the program behind it.
  kVolatile,  // In memory.
  kLayer,     // A container's own layer, gone with the container.
};

struct FileSystemKind {
  std::uint64_t type = 0;      // statfs(2): f_type.
  std::string_view name = {};  // "nfs"; "" when nobody has heard of it.
  FileSystemTrait trait = FileSystemTrait::kSound;
};

FileSystemKind FileSystemKindOf(std::uint64_t type);

// "nfs", or the number of one without a name.
std::string FileSystemName(const FileSystemKind& kind);

}  // namespace keymill
