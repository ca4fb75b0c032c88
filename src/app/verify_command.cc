// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <cstdlib>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "base/json.h"
#include "load/verify.h"

namespace keymill::app {
namespace {

void PrintJson(const load::VerifyReport& report) {
  std::string duplicates;
  for (const load::Duplicate& each : report.first) {
    duplicates += fmt::format("{}{{\"key\":{},\"count\":{},\"first\":{},\"second\":{}}}",
                              duplicates.empty() ? "" : ",", JsonQuote(each.key), each.count,
                              JsonQuote(fmt::format("{}:{}", each.first_file, each.first_line)),
                              JsonQuote(fmt::format("{}:{}", each.second_file, each.second_line)));
  }
  Print("{{\"keys\":{},\"distinct\":{},\"duplicate_keys\":{},\"first\":[{}]}}\n", report.keys,
        report.distinct, report.duplicate_keys, duplicates);
}

void PrintTable(const load::VerifyReport& report) {
  for (const load::Duplicate& each : report.first) {
    Print("{}  {} times, first at {}:{}, again at {}:{}\n", each.key, each.count, each.first_file,
          each.first_line, each.second_file, each.second_line);
  }
  if (report.duplicate_keys > report.first.size()) {
    Print("… and {} more\n", report.duplicate_keys - report.first.size());
  }
  const std::uint64_t extra = report.keys - report.distinct;
  Print("{} {}, {} distinct, {} {}\n", report.keys, report.keys == 1 ? "key" : "keys",
        report.distinct, extra, extra == 1 ? "duplicate" : "duplicates");
}

}  // namespace

int RunVerify(const VerifyFlags& flags) {
  load::VerifyOptions options;
  options.files = flags.files;
  const char* const tmpdir = std::getenv("TMPDIR");
  options.temp_dir = !flags.temp_dir.empty() ? flags.temp_dir : tmpdir != nullptr ? tmpdir : "/tmp";
  Result<load::VerifyReport> report = load::Verify(options);
  if (!report.ok()) return Fail({Code::kUnavailable, report.status().message()});
  if (flags.json) {
    PrintJson(*report);
  } else {
    PrintTable(*report);
  }
  return report->duplicate_keys == 0 ? kExitOk : kExitFailure;
}

}  // namespace keymill::app
