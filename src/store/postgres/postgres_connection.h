// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One session on PostgreSQL, as the SQL store wants it. Everything that a transaction needs is set
// inside it (SET LOCAL), and no statement is prepared under a name: it may run behind a pooler
// that gives each transaction another session.

#pragma once

#include <memory>
#include <string>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/postgres/pq_link.h"
#include "store/sql/connection.h"

namespace keymill::store {

// `sql` with $1, $2, … instead of ?, save inside quotes.
std::string NumberedPlaceholders(std::string_view sql);

// A name in double quotes.
std::string QuoteName(std::string_view name);

// A text in single quotes.
std::string QuoteText(std::string_view text);

// The one place that reads SQLSTATEs: what a failed attempt to connect to `where` means.
//   kFailedPrecondition  the server does not let us in; somebody must change that.
//   kUnavailable         anything else.
Status ConnectError(const PqAnswer& answer, std::string_view where);

std::unique_ptr<sql::Connection> MakePostgresConnection(std::unique_ptr<PqLink> link,
                                                        const std::string& schema,
                                                        std::string where, const Clock& clock);

}  // namespace keymill::store
