// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/timeline.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"

namespace keymill::store::sql {

Result<Present> ReadPresent(Connection& db, Driver& driver) {
  const Dialect& dialect = driver.dialect();
  if (dialect.timeline.empty()) {
    Result<std::string> timeline = driver.Timeline();
    if (!timeline.ok()) return timeline.status();
    return Present{*std::move(timeline), 0};
  }
  Result<std::vector<Row>> rows =
      db.Query(fmt::format("SELECT {}, {}", dialect.timeline, dialect.now_ms), {});
  if (!rows.ok()) return rows.status();
  const bool one = rows->size() == 1 && rows->front().size() == 2;
  const auto* const text = one ? std::get_if<std::string>(&rows->front()[0]) : nullptr;
  const auto* const now_ms = one ? std::get_if<std::int64_t>(&rows->front()[1]) : nullptr;
  if (text == nullptr || now_ms == nullptr || (text->empty() && dialect.begin_timeline.empty())) {
    return Status(Code::kInternal, "read the store's timeline: the server does not tell it");
  }
  return Present{*text, *now_ms};
}

Result<std::string> ReadTimeline(Connection& db, Driver& driver) {
  Result<Present> present = ReadPresent(db, driver);
  if (!present.ok()) return present.status();
  return std::move(present->timeline);
}

Result<Present> BegunTimeline(Connection& db, Driver& driver) {
  Result<Present> present = ReadPresent(db, driver);
  if (!present.ok() || !present->timeline.empty()) return present;
  const std::array<Value, 1> name = {RandomHex(16)};
  if (Result<std::int64_t> begun = db.Execute(driver.dialect().begin_timeline, name); !begun.ok()) {
    return begun.status();
  }
  present = ReadPresent(db, driver);
  if (present.ok() && present->timeline.empty()) {
    return Status(Code::kInternal, "begin the store's timeline: the server does not keep it");
  }
  return present;
}

}  // namespace keymill::store::sql
