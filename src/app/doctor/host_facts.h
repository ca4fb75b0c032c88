// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What `keymill doctor` wants to know of the machine, apart from how it finds out: a check is a
// function of these facts, so that a test can have any machine it likes.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace keymill::app::doctor {

struct FileSystemFacts {
  int error = 0;           // errno: why nothing below is known.
  std::uint64_t type = 0;  // statfs(2): f_type.
  bool read_only = false;
  std::uint64_t bytes_free = 0;  // For this user.
  std::uint64_t bytes_total = 0;
  std::uint64_t files_free = 0;
  std::uint64_t files_total = 0;  // 0 where files are not counted.
};

// Some writes of a page, each followed by fdatasync(2).
struct SyncFacts {
  int error = 0;  // errno: why there are fewer, or none.
  std::uint32_t writes = 0;
  double median_ms = 0;
  double worst_ms = 0;
};

// A directory that the server writes to.
struct PlaceFacts {
  std::string name = {};  // "data_dir"
  std::string path = {};  // Absolute.
  bool exists = false;
  std::string nearest =
      {};  // `path`, or, while it is missing, the nearest one above it that is there.
  bool is_directory = true;  // All of these are of `nearest`.
  int access_error = 0;      // errno of entering and writing; 0 when both are allowed.
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;
  std::uint32_t user = 0;  // Who asks.
  FileSystemFacts file_system;
  SyncFacts sync;
};

struct ClockFacts {
  std::optional<bool> synchronised = {};  // Nothing where the kernel does not tell.
  std::int64_t wall_ms = 0;
  std::int64_t newest_ms = 0;  // The latest time that the store has recorded; 0 for none.
  bool in_keys = false;        // A kind in use makes its keys from the time.
};

struct LimitFacts {
  std::uint64_t files_soft = 0;
  std::uint64_t files_hard = 0;
  std::uint32_t connections_max = 0;  // The setting.
  std::uint32_t threads = 0;          // Event loops that will run.
};

struct ListenerFacts {
  std::string address = {};      // The setting; "" is off.
  std::uint16_t port = 0;        // 0: the system picks one.
  std::string failure = {};      // Why the address means nothing here, or "".
  int bind_error = 0;            // errno
  std::string url = {};          // Where the one who has it was asked.
  std::string answered_by = {};  // "keymill 0.1.0"; "" for anybody else.
};

struct MachineFacts {
  std::optional<std::uint64_t> backlog_max = {};  // net.core.somaxconn
  std::uint32_t cpus = 1;
  std::optional<double> cpu_quota = {};                // Of the control group, in cores.
  std::uint32_t threads = 0;                           // The setting; 0: one per core.
  std::optional<std::uint64_t> memory_available = {};  // Bytes.
  bool hardware_aes = true;
};

}  // namespace keymill::app::doctor
