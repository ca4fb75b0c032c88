// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/verify.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "load/duplicate_finder.h"
#include "load/key_lines.h"
#include "load/posix_file.h"

namespace keymill::load {
namespace {

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options),
        finder_({.temp_dir = options.temp_dir,
                 .memory_max = options.memory_max,
                 .report_max = options.report_max}) {}

  Result<VerifyReport> Run();

 private:
  Status ReadFile(const std::string& name);
  [[nodiscard]] Duplicate Describe(const DuplicateFinder::Found& found) const;
  void Locate(std::uint64_t place, std::string* file, std::uint64_t* line) const;

  const VerifyOptions& options_;
  DuplicateFinder finder_;
  // Places count the lines of all files; files_end_[i] is the place of file i's last line.
  std::uint64_t place_ = 0;
  std::vector<std::uint64_t> files_end_;
};

Result<VerifyReport> Verifier::Run() {
  for (const std::string& name : options_.files) {
    if (Status status = ReadFile(name); !status.ok()) return status;
    files_end_.push_back(place_);
  }
  if (Status status = finder_.Finish(); !status.ok()) return status;
  VerifyReport report;
  report.keys = finder_.keys();
  report.distinct = finder_.distinct();
  report.duplicate_keys = finder_.duplicate_keys();
  for (const auto& found : finder_.first()) report.first.push_back(Describe(found));
  return report;
}

Status Verifier::ReadFile(const std::string& name) {
  auto file = PosixFile::OpenForReading(name);
  if (!file.ok()) return file.status();
  KeyLines lines(std::move(*file), name, kVerifyKeySizeMax);
  while (lines.Next()) {
    ++place_;
    if (lines.line().empty()) continue;
    if (Status status = finder_.Add(lines.line(), place_); !status.ok()) return status;
  }
  return lines.status();
}

Duplicate Verifier::Describe(const DuplicateFinder::Found& found) const {
  Duplicate duplicate;
  duplicate.key = found.key;
  duplicate.count = found.sightings.count;
  Locate(found.sightings.first, &duplicate.first_file, &duplicate.first_line);
  Locate(found.sightings.second, &duplicate.second_file, &duplicate.second_line);
  return duplicate;
}

void Verifier::Locate(std::uint64_t place, std::string* file, std::uint64_t* line) const {
  const auto holder = std::lower_bound(files_end_.begin(), files_end_.end(), place);
  const auto index = static_cast<std::size_t>(holder - files_end_.begin());
  *file = options_.files[index];
  *line = place - (index == 0 ? 0 : files_end_[index - 1]);
}

}  // namespace

Result<VerifyReport> Verify(const VerifyOptions& options) { return Verifier(options).Run(); }

}  // namespace keymill::load
