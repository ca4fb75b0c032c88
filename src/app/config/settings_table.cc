// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/settings_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/config/duration.h"
#include "app/config/keyspaces_text.h"
#include "app/config/listen_address.h"
#include "app/config/quote.h"
#include "app/config/store_url.h"
#include "base/check.h"
#include "base/suggest.h"
#include "links/link.h"
#include "store/store_url.h"

namespace keymill::app {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

Status Invalid(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

Status Unexpected(std::string_view expected, std::string_view text) {
  return Invalid(fmt::format("expected {}, not {}", expected, QuoteValue(text)));
}

std::optional<std::uint32_t> ParseNumber(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

SettingRow NumberRow(SettingInfo info, std::uint32_t Settings::*member, std::uint32_t min,
                     std::uint32_t max) {
  info.value = "N";
  const std::string expected = fmt::format("a whole number in [{}, {}]", min, max);
  return {.info = info,
          .expected = expected,
          .parse = [=](Settings& settings, std::string_view text) -> Status {
            const std::optional<std::uint32_t> number = ParseNumber(text);
            if (!number || *number < min || *number > max) return Unexpected(expected, text);
            settings.*member = *number;
            return {};
          },
          .print = [=](const Settings& settings) { return fmt::to_string(settings.*member); }};
}

SettingRow DurationRow(SettingInfo info, milliseconds Settings::*member, milliseconds min,
                       milliseconds max) {
  info.value = "DURATION";
  const std::string expected =
      fmt::format("a duration in [{}, {}], such as 250ms", DurationText(min), DurationText(max));
  return {.info = info,
          .expected = expected,
          .parse = [=](Settings& settings, std::string_view text) -> Status {
            const std::optional<milliseconds> duration = ParseDuration(text);
            if (!duration || *duration < min || *duration > max) return Unexpected(expected, text);
            settings.*member = *duration;
            return {};
          },
          .print = [=](const Settings& settings) { return DurationText(settings.*member); }};
}

SettingRow ChoiceRow(SettingInfo info, std::string Settings::*member,
                     std::vector<std::string_view> words) {
  info.value = "WORD";
  const std::string expected = fmt::format("one of {}", fmt::join(words, ", "));
  return {.info = info,
          .expected = expected,
          .parse = [=](Settings& settings, std::string_view text) -> Status {
            if (std::find(words.begin(), words.end(), text) == words.end()) {
              return Invalid(Unexpected(expected, text).message() + DidYouMean(text, words));
            }
            settings.*member = text;
            return {};
          },
          .print = [=](const Settings& settings) { return settings.*member; }};
}

SettingRow SwitchRow(SettingInfo info, bool Settings::*member) {
  info.value = "BOOL";
  static constexpr std::string_view kExpected = "true or false";
  return {.info = info,
          .expected = std::string(kExpected),
          .parse = [=](Settings& settings, std::string_view text) -> Status {
            if (text != "true" && text != "false") return Unexpected(kExpected, text);
            settings.*member = text == "true";
            return {};
          },
          .print = [=](const Settings& settings) { return settings.*member ? "true" : "false"; }};
}

// A text that `check` accepts.
SettingRow TextRow(SettingInfo info, std::string Settings::*member, std::string expected,
                   Status (*check)(std::string_view)) {
  return {.info = info,
          .expected = std::move(expected),
          .parse = [=](Settings& settings, std::string_view text) -> Status {
            if (Status status = check(text); !status.ok()) return status;
            settings.*member = text;
            return {};
          },
          .print = [=](const Settings& settings) { return settings.*member; }};
}

Status CheckListen(std::string_view text) {
  return text.empty() ? Status() : ParseListenAddress(text).status();
}

Status CheckDirectory(std::string_view text) {
  if (text.find('\0') == std::string_view::npos) return {};
  return Unexpected("the path of a directory", text);
}

// It goes into logs and probes, as one line.
Status CheckReason(std::string_view text) {
  constexpr std::size_t kReasonMax = 200;
  const bool printable =
      std::none_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
  if (printable && text.size() <= kReasonMax) return {};
  return Unexpected(fmt::format("one line of at most {} bytes", kReasonMax), text);
}

std::string_view TrimBlanks(std::string_view text) {
  static constexpr std::string_view kBlanks = " \t";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

Status ParseCompat(Settings& settings, std::string_view text) {
  settings.compat.clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = TrimBlanks(text.substr(0, comma));
    if (Status status = AddCompat(word, settings); !status.ok()) return status;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return {};
}

// PORT was always a bare number.
Result<std::optional<std::string>> ListenFromPort(std::string_view text) {
  const std::optional<std::uint32_t> port = ParseNumber(text);
  if (!port || *port > 65535) return Unexpected("a port in [0, 65535]", text);
  return std::optional(fmt::format("127.0.0.1:{}", *port));
}

Result<std::optional<std::string>> BlockSizeFromRange(std::string_view text) {
  return std::optional(std::string(text));
}

// The words are those that the older service's YAML library takes for a boolean.
Result<std::optional<std::string>> LogLevelFromDebug(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kYes = {
      "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "1"};
  static constexpr std::array<std::string_view, 12> kNo = {
      "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N", "0"};
  if (std::find(kYes.begin(), kYes.end(), text) != kYes.end()) {
    return std::optional(std::string("debug"));
  }
  if (std::find(kNo.begin(), kNo.end(), text) != kNo.end()) return std::optional<std::string>();
  return Unexpected("true or false", text);
}

SettingRow ListenRow() {
  SettingRow row =
      TextRow({.path = "listen.http",
               .flag = "--listen",
               .flag_alias = "--listen-http",
               .env = "KEYMILL_LISTEN_HTTP",
               .legacy = "PORT",
               .summary = "Where HTTP is spoken: HOST:PORT; port 0 picks a free one, \"\" is off",
               .value = "HOST:PORT"},
              &Settings::listen_http, "HOST:PORT or [IPv6]:PORT, or \"\" for off", CheckListen);
  row.may_be_empty = true;
  row.from_legacy = ListenFromPort;
  return row;
}

SettingRow OtherListenRow(SettingInfo info, std::string Settings::*member) {
  info.value = "HOST:PORT";
  SettingRow row = TextRow(info, member, "HOST:PORT or [IPv6]:PORT, or \"\" for off", CheckListen);
  row.may_be_empty = true;
  return row;
}

std::vector<SettingRow> ListenRows() {
  return {
      ListenRow(),
      OtherListenRow({.path = "listen.resp",
                      .flag = "--listen-resp",
                      .env = "KEYMILL_LISTEN_RESP",
                      .summary = "Where RESP (Redis' protocol) is spoken, in the same form"},
                     &Settings::listen_resp),
      OtherListenRow(
          {.path = "listen.grpc",
           .flag = "--listen-grpc",
           .env = "KEYMILL_LISTEN_GRPC",
           .summary = "Where gRPC is spoken: HOST:PORT; port 0 picks a free one, \"\" is off"},
          &Settings::listen_grpc),
      OtherListenRow({.path = "listen.links",
                      .flag = "--listen-links",
                      .env = "KEYMILL_LISTEN_LINKS",
                      .summary = "Where short links are followed, in the same form"},
                     &Settings::listen_links),
  };
}

Status CheckWebUrl(std::string_view text) {
  if (text.empty() || links::CheckTarget(text).ok()) return {};
  return Unexpected("an http or https URL, or \"\"", text);
}

std::vector<SettingRow> LinkRows() {
  std::vector<SettingRow> rows = {
      TextRow({.path = "links_keyspace",
               .flag = "--links-keyspace",
               .env = "KEYMILL_LINKS_KEYSPACE",
               .summary = "The keyspace that short links get their keys from",
               .value = "NAME"},
              &Settings::links_keyspace, "the name of a keyspace", CheckKeyspaceName),
      TextRow({.path = "links_public_url",
               .flag = "--links-public-url",
               .env = "KEYMILL_LINKS_PUBLIC_URL",
               .summary = "What short links begin with, such as https://sho.rt",
               .value = "URL"},
              &Settings::links_public_url, "an http or https URL, or \"\"", CheckWebUrl),
      TextRow({.path = "links_homepage",
               .flag = "--links-homepage",
               .env = "KEYMILL_LINKS_HOMEPAGE",
               .summary = "Where keys that lead nowhere lead to; \"\": a 404",
               .value = "URL"},
              &Settings::links_homepage, "an http or https URL, or \"\"", CheckWebUrl)};
  rows[1].may_be_empty = true;
  rows[2].may_be_empty = true;
  return rows;
}

SettingRow BlockSizeRow() {
  SettingRow row = NumberRow({.path = "block_size",
                              .flag = "--block-size",
                              .env = "KEYMILL_BLOCK_SIZE",
                              .legacy = "RANGE_SIZE",
                              .summary = "Numbers in the first block reserved from the store",
                              .reloads = true},
                             &Settings::block_size, 1, 1U << 24);
  row.from_legacy = BlockSizeFromRange;
  return row;
}

SettingRow LogLevelRow() {
  SettingRow row = ChoiceRow({.path = "log_level",
                              .flag = "--log-level",
                              .env = "KEYMILL_LOG_LEVEL",
                              .legacy = "DEBUG_ENABLED",
                              .summary = "trace, debug, info, warn or error",
                              .reloads = true},
                             &Settings::log_level, {"trace", "debug", "info", "warn", "error"});
  row.from_legacy = LogLevelFromDebug;
  return row;
}

SettingRow CompatRow() {
  return {.info = {.path = "compat",
                   .flag = "--compat",
                   .env = "KEYMILL_COMPAT",
                   .summary = "Peers served too: forge, generate-id, leaf, tinyid; \"\" for none",
                   .value = "LIST"},
          .expected = "a list of words: forge, generate-id, leaf, tinyid",
          .may_be_empty = true,
          .parse = ParseCompat,
          .print = [](const Settings& s) { return fmt::format("{}", fmt::join(s.compat, ",")); }};
}

SettingRow KeyspacesRow() {
  return {.info = {.path = "keyspaces",
                   .env = "KEYMILL_KEYSPACES",
                   .summary = "Keyspaces to create when absent: {name: {kind: shuffled, …}, …}",
                   .reloads = true},
          .expected = std::string(kKeyspacesExpected),
          .parse = [](Settings& settings, std::string_view text) -> Status {
            auto keyspaces = ParseKeyspaces(text);
            if (!keyspaces.ok()) return keyspaces.status();
            settings.keyspaces = *std::move(keyspaces);
            return {};
          },
          .print = [](const Settings& settings) { return KeyspacesText(settings.keyspaces); }};
}

SettingRow AcceptUnsafeRow() {
  SettingRow row =
      TextRow({.path = "accept_unsafe_store",
               .flag = "--accept-unsafe-store",
               .env = "KEYMILL_ACCEPT_UNSAFE_STORE",
               .summary = "Why a store that can lose acknowledged blocks is used all the same",
               .value = "REASON"},
              &Settings::accept_unsafe_store, "a reason in words, or \"\"", CheckReason);
  row.may_be_empty = true;
  return row;
}

Status CheckWorkerId(std::string_view text) {
  return text.empty() || ParseNumber(text) ? Status() : Unexpected("a number, or \"\"", text);
}

SettingRow WorkerIdRow() {
  SettingRow row = TextRow({.path = "worker_id",
                            .flag = "--worker-id",
                            .env = "KEYMILL_WORKER_ID",
                            .summary = "Of snowflake ids: this worker and no other",
                            .value = "N"},
                           &Settings::worker_id, "a number, or \"\"", CheckWorkerId);
  row.may_be_empty = true;
  return row;
}

// Where numbers come from, and how many at a time.
std::vector<SettingRow> StoreRows() {
  return {
      TextRow({.path = "data_dir",
               .flag = "--data-dir",
               .env = "KEYMILL_DATA_DIR",
               .summary = "Directory of the database and the witness",
               .value = "DIR"},
              &Settings::data_dir, "the path of a directory", CheckDirectory),
      TextRow(
          {.path = "store",
           .flag = "--store",
           .env = "KEYMILL_STORE",
           .summary = "The authority: sqlite:PATH (in data_dir), a server's URL, memory: (tests)",
           .value = "URL",
           .env_file = "KEYMILL_STORE_FILE"},
          &Settings::store, "sqlite:PATH, the URL of a server, or memory:", CheckStoreUrl),
      ChoiceRow({.path = "store_create",
                 .flag = "--store-create",
                 .env = "KEYMILL_STORE_CREATE",
                 .summary = "auto: create a missing database; never: refuse it"},
                &Settings::store_create, {"auto", "never"}),
      AcceptUnsafeRow(),
      BlockSizeRow(),
      ChoiceRow({.path = "block_growth",
                 .flag = "--block-growth",
                 .env = "KEYMILL_BLOCK_GROWTH",
                 .summary = "auto: blocks follow demand; off: always block_size",
                 .reloads = true},
                &Settings::block_growth, {"auto", "off"}),
      DurationRow({.path = "runway_target",
                   .flag = "--runway-target",
                   .env = "KEYMILL_RUNWAY_TARGET",
                   .summary = "How long minting should go on with the store gone",
                   .reloads = true},
                  &Settings::runway_target, 1s, 1h),
      NumberRow({.path = "pool_low",
                 .flag = "--pool-low",
                 .env = "KEYMILL_POOL_LOW",
                 .summary = "Fewer available keys in a pool and new ones are made; 0: never"},
                &Settings::pool_low, 0, 1'000'000'000),
      WorkerIdRow(),
      SwitchRow({.path = "accept_clock_ahead",
                 .flag = "--accept-clock-ahead",
                 .env = "KEYMILL_ACCEPT_CLOCK_AHEAD",
                 .summary = "Make snowflake ids although this clock is 10 minutes ahead of the "
                            "store's"},
                &Settings::accept_clock_ahead),
  };
}

// How requests are served.
std::vector<SettingRow> ServerRows() {
  return {
      DurationRow({.path = "request_timeout",
                   .flag = "--request-timeout",
                   .env = "KEYMILL_REQUEST_TIMEOUT",
                   .summary = "Longest wait for a block before 503",
                   .reloads = true},
                  &Settings::request_timeout, 10ms, 60s),
      NumberRow({.path = "threads",
                 .flag = "--threads",
                 .env = "KEYMILL_THREADS",
                 .summary = "Event loops; 0: one per core"},
                &Settings::threads, 0, 256),
      NumberRow({.path = "connections_max",
                 .flag = "--connections-max",
                 .env = "KEYMILL_CONNECTIONS_MAX",
                 .summary = "Connections open at once"},
                &Settings::connections_max, 1, 1'000'000),
      DurationRow({.path = "drain_delay",
                   .flag = "--drain-delay",
                   .env = "KEYMILL_DRAIN_DELAY",
                   .summary = "How long /readyz says 503 before the listener closes",
                   .reloads = true},
                  &Settings::drain_delay, 0s, 10min),
      DurationRow({.path = "shutdown_timeout",
                   .flag = "--shutdown-timeout",
                   .env = "KEYMILL_SHUTDOWN_TIMEOUT",
                   .summary = "Longest that a clean stop may take",
                   .reloads = true},
                  &Settings::shutdown_timeout, 1s, 1h),
      LogLevelRow(),
      ChoiceRow({.path = "log_format",
                 .flag = "--log-format",
                 .env = "KEYMILL_LOG_FORMAT",
                 .summary = "auto (text on a terminal, JSON otherwise), text or json"},
                &Settings::log_format, {"auto", "text", "json"}),
      SwitchRow({.path = "insecure",
                 .flag = "--insecure",
                 .env = "KEYMILL_INSECURE",
                 .summary = "Allow a listener that others can reach although nobody shows a token"},
                &Settings::insecure),
      CompatRow(),
      KeyspacesRow(),
  };
}

std::vector<SettingRow> MakeRows() {
  std::vector<SettingRow> rows;
  for (const std::vector<SettingRow>& part :
       {ListenRows(), StoreRows(), LinkRows(), ServerRows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace

const std::vector<SettingRow>& SettingRows() {
  static const std::vector<SettingRow> kRows = MakeRows();
  return kRows;
}

const SettingRow* FindSetting(std::string_view path) {
  const std::vector<SettingRow>& rows = SettingRows();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const SettingRow& r) { return r.info.path == path; });
  return row == rows.end() ? nullptr : &*row;
}

Status SetFromText(const SettingRow& row, std::string_view text, Settings& settings) {
  if (text.empty() && !row.may_be_empty) {
    return Invalid(fmt::format("is empty; expected {}", row.expected));
  }
  return row.parse(settings, text);
}

Result<bool> SetFromLegacy(const SettingRow& row, std::string_view text, const Origin& below,
                           Settings& settings) {
  KEYMILL_CHECK(row.from_legacy != nullptr);
  if (text.empty()) return false;
  const Result<std::optional<std::string>> meaning = row.from_legacy(text);
  if (!meaning.ok()) return meaning.status();
  if (!meaning->has_value() && !below.legacy) return false;
  const std::string value = meaning->has_value() ? **meaning : row.print(Settings());
  if (Status status = row.parse(settings, value); !status.ok()) return status;
  return true;
}

Status AddCompat(std::string_view word, Settings& settings) {
  static constexpr std::array<std::string_view, 4> kKnown = {"forge", "generate-id", "leaf",
                                                             "tinyid"};
  if (std::find(kKnown.begin(), kKnown.end(), word) == kKnown.end()) {
    const std::string meant = DidYouMean(word, kKnown);
    return Invalid(fmt::format(
        "unknown word {}{}", QuoteValue(word),
        meant.empty() ? fmt::format("; there are: {}", fmt::join(kKnown, ", ")) : meant));
  }
  if (std::find(settings.compat.begin(), settings.compat.end(), word) == settings.compat.end()) {
    settings.compat.emplace_back(word);
  }
  return {};
}

const std::vector<SettingInfo>& SettingTable() {
  static const std::vector<SettingInfo> kInfos = [] {
    std::vector<SettingInfo> infos;
    for (const SettingRow& row : SettingRows()) infos.push_back(row.info);
    return infos;
  }();
  return kInfos;
}

std::string SettingValue(const Settings& settings, std::string_view path) {
  const SettingRow* row = FindSetting(path);
  KEYMILL_CHECK(row != nullptr);
  return row->print(settings);
}

std::string ShownSetting(const Settings& settings, std::string_view path) {
  const SettingRow* row = FindSetting(path);
  KEYMILL_CHECK(row != nullptr);
  const std::string value = row->print(settings);
  return row->info.env_file.empty() ? value : store::ShownUrl(value);
}

}  // namespace keymill::app
