// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/layout.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/rules.h"

namespace keymill::store::etcd {
namespace {

using Json = nlohmann::json;

Status Damaged(std::string_view key, std::string_view what) {
  return {Code::kInternal, fmt::format("read {}: {}", key, what)};
}

// What is no UTF-8 is a caller's name for itself, of which the rest will do.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// Reads the fields of a value one by one, and remembers the first that is wrong.
class Fields {
 public:
  explicit Fields(const KeyValue& found)
      : key_(found.key), json_(Json::parse(found.value, nullptr, /*allow_exceptions=*/false)) {
    if (!json_.is_object()) failed_ = Damaged(key_, "no JSON object");
  }
  Fields(std::string_view key, Json json) : key_(key), json_(std::move(json)) {
    if (!json_.is_object()) failed_ = Damaged(key_, "no JSON object");
  }

  std::string Text(const char* name) {
    const auto found = json_.find(name);
    if (failed_.ok() && (found == json_.end() || !found->is_string())) Fail(name);
    return failed_.ok() ? found->get<std::string>() : std::string();
  }

  // Numbers are kept as integers of JSON, which are exact here and in etcd's eyes just bytes.
  template <typename Number>
  Number Integer(const char* name) {
    const auto found = json_.find(name);
    if (failed_.ok() && (found == json_.end() || !found->is_number_integer() ||
                         (std::is_unsigned_v<Number> && !found->is_number_unsigned()))) {
      Fail(name);
    }
    return failed_.ok() ? found->get<Number>() : Number{};
  }

  std::string Bytes(const char* name) {
    Result<std::string> bytes = FromBase64(Text(name));
    if (failed_.ok() && !bytes.ok()) Fail(name);
    return failed_.ok() ? *bytes : std::string();
  }

  [[nodiscard]] Json Object(const char* name) const {
    return json_.is_object() && json_.contains(name) ? json_[name] : Json();
  }

  template <typename Enum>
  Enum Named(const char* name, Result<Enum> (*parse)(std::string_view)) {
    Result<Enum> parsed = parse(Text(name));
    if (failed_.ok() && !parsed.ok()) failed_ = parsed.status();
    return failed_.ok() ? *parsed : Enum{};
  }

  [[nodiscard]] const Status& failed() const { return failed_; }

 private:
  void Fail(const char* name) { failed_ = Damaged(key_, fmt::format("no {}", name)); }

  std::string key_;
  Json json_;
  Status failed_;
};

Json RowJson(const LedgerRow& row) {
  return {{"block", row.block_id},
          {"first", row.first},
          {"count", row.count},
          {"instance", row.instance},
          {"reservation", row.reservation},
          {"reserved_at_ms", row.reserved_at_ms},
          {"state", BlockStateName(row.state)}};
}

Range AllOf(const std::string& prefix) { return {.key = prefix, .end = PrefixEnd(prefix)}; }

Result<LedgerRow> RowOf(Fields fields, std::string_view key) {
  LedgerRow row{.block_id = fields.Text("block"),
                .first = fields.Integer<std::uint64_t>("first"),
                .count = fields.Integer<std::uint64_t>("count"),
                .instance = fields.Text("instance"),
                .reservation = fields.Text("reservation"),
                .reserved_at_ms = fields.Integer<std::int64_t>("reserved_at_ms"),
                .state = fields.Named("state", ParseBlockState)};
  if (!fields.failed().ok()) return fields.failed();
  if (row.count == 0 || row.first >= kNumberEnd || row.count > kNumberEnd - row.first) {
    return Damaged(key, fmt::format("a row of {} numbers from {}", row.count, row.first));
  }
  return row;
}

}  // namespace

std::string NumberKey(std::uint64_t number) { return fmt::format("{:016x}", number); }

std::string Layout::Store() const { return fmt::format("{}/store", prefix_); }
std::string Layout::Name(std::string_view name) const {
  return fmt::format("{}/names/{}", prefix_, name);
}
std::string Layout::Keyspace(std::string_view id) const {
  return fmt::format("{}/keyspaces/{}", prefix_, id);
}
std::string Layout::Row(std::string_view id, std::uint64_t first) const {
  return fmt::format("{}/ledger/{}/{}", prefix_, id, NumberKey(first));
}
std::string Layout::Held(std::string_view id, std::string_view block_id) const {
  return fmt::format("{}/held/{}/{}", prefix_, id, block_id);
}
std::string Layout::Returned(std::string_view id, std::uint64_t first) const {
  return fmt::format("{}/returned/{}/{}", prefix_, id, NumberKey(first));
}
std::string Layout::Lent(std::string_view id, std::uint64_t first) const {
  return fmt::format("{}/lent/{}/{}", prefix_, id, NumberKey(first));
}

Range Layout::AllNames() const { return AllOf(Name("")); }
Range Layout::AllKeyspaces() const { return AllOf(Keyspace("")); }
Range Layout::AllRows() const { return AllOf(fmt::format("{}/ledger/", prefix_)); }
Range Layout::Everything() const {
  // All the other names come before it.
  return {.key = fmt::format("{}/", prefix_), .end = Store()};
}
Range Layout::Rows(std::string_view id, std::uint64_t from, std::optional<std::uint64_t> to) const {
  return {
      .key = Row(id, from),
      .end = to ? PrefixEnd(Row(id, *to)) : PrefixEnd(fmt::format("{}/ledger/{}/", prefix_, id))};
}
Range Layout::ReturnedFrom(std::string_view id, std::uint64_t from) const {
  return {.key = Returned(id, from), .end = PrefixEnd(fmt::format("{}/returned/{}/", prefix_, id))};
}
Range Layout::AllLent(std::string_view id) const {
  return AllOf(fmt::format("{}/lent/{}/", prefix_, id));
}

std::string EntryText(const Entry& entry) {
  const KeyspaceRecord& record = entry.record;
  Json json = {{"name", record.name},
               {"id", record.id},
               {"recipe", record.recipe},
               {"recipe_hash", record.recipe_hash},
               {"secret", Base64(record.secret)},
               {"state", KeyspaceStateName(record.state)},
               {"reason", record.reason},
               {"first", record.first},
               {"end", record.end},
               {"next", record.next},
               {"rev", record.rev},
               {"created_at_ms", record.created_at_ms},
               {"testified_rev", record.testified.rev},
               {"testified_next", record.testified.next}};
  if (entry.tail) json["tail"] = RowJson(*entry.tail);
  return Dump(json);
}

std::string RowText(const LedgerRow& row) { return Dump(RowJson(row)); }

std::string StoreText(const StoreEntry& store) {
  Json json = {{"id", store.id},         {"schema", kSchemaVersion},
               {"agreed", store.agreed}, {"moved_to", store.moved_to},
               {"fill", store.fill},     {"clearing", store.clearing}};
  if (store.lead) json["lead"] = *store.lead;
  return Dump(json);
}

Result<Entry> ReadEntry(const KeyValue& found) {
  Fields fields(found);
  Entry entry{.record = {.name = fields.Text("name"),
                         .id = fields.Text("id"),
                         .recipe = fields.Text("recipe"),
                         .recipe_hash = fields.Text("recipe_hash"),
                         .secret = fields.Bytes("secret"),
                         .state = fields.Named("state", ParseKeyspaceState),
                         .reason = fields.Text("reason"),
                         .first = fields.Integer<std::uint64_t>("first"),
                         .end = fields.Integer<std::uint64_t>("end"),
                         .next = fields.Integer<std::uint64_t>("next"),
                         .rev = fields.Integer<std::uint64_t>("rev"),
                         .created_at_ms = fields.Integer<std::int64_t>("created_at_ms"),
                         .testified = {fields.Integer<std::uint64_t>("testified_rev"),
                                       fields.Integer<std::uint64_t>("testified_next")}},
              .tail = {},
              .mod_revision = found.mod_revision};
  if (!fields.failed().ok()) return fields.failed();
  if (Status sound = CheckRecord(entry.record); !sound.ok()) return sound;
  if (Json tail = fields.Object("tail"); !tail.is_null()) {
    Result<LedgerRow> row = RowOf(Fields(found.key, std::move(tail)), found.key);
    if (!row.ok()) return row.status();
    entry.tail = *std::move(row);
  }
  return entry;
}

Result<LedgerRow> ReadRow(const KeyValue& found) { return RowOf(Fields(found), found.key); }

Result<std::uint64_t> ReadFirst(const KeyValue& found) {
  std::uint64_t first = 0;
  const char* const last = found.value.data() + found.value.size();
  const auto [end, error] = std::from_chars(found.value.data(), last, first, 16);
  if (error != std::errc() || end != last) return Damaged(found.key, "no number");
  return first;
}

Result<StoreEntry> ReadStore(const KeyValue& found) {
  Fields fields(found);
  // The schema first: a newer one may lack the other fields.
  const auto schema = fields.Integer<std::uint32_t>("schema");
  if (fields.failed().ok() && schema > kSchemaVersion) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("open the store: its schema is version {}, this program knows {}",
                              schema, kSchemaVersion));
  }
  StoreEntry store{.id = fields.Text("id"),
                   .agreed = fields.Text("agreed"),
                   .lead = {},
                   .moved_to = fields.Text("moved_to"),
                   .fill = fields.Text("fill"),
                   .clearing = fields.Object("clearing") != false,
                   .mod_revision = found.mod_revision};
  if (!fields.Object("lead").is_null()) store.lead = fields.Integer<std::int64_t>("lead");
  if (!fields.failed().ok()) return fields.failed();
  return store;
}

Change::Change(const Layout& layout, const StoreEntry& store, Entry entry)
    : layout_(layout), entry_(std::move(entry)) {
  transaction_.unchanged[layout_.Store()] = store.mod_revision;
  transaction_.unchanged[layout_.Keyspace(entry_.record.id)] = entry_.mod_revision;
}

void Change::Remove(const LedgerRow& row) {
  const std::string& id = entry_.record.id;
  transaction_.writes[layout_.Row(id, row.first)] = {};
  if (CanGiveBack(row.state)) transaction_.writes[layout_.Held(id, row.block_id)] = {};
  if (row.state == BlockState::kLent) transaction_.writes[layout_.Lent(id, row.first)] = {};
  if (row.state == BlockState::kReturned) {
    transaction_.writes[layout_.Returned(id, row.first)] = {};
  }
}

void Change::Put(const LedgerRow& row) {
  const std::string& id = entry_.record.id;
  const std::string key = layout_.Row(id, row.first);
  // A second lock on the promise that rows never overlap.
  if (!transaction_.writes.contains(key)) transaction_.unchanged.try_emplace(key, 0);
  transaction_.writes[key] = RowText(row);
  if (CanGiveBack(row.state)) {
    transaction_.writes[layout_.Held(id, row.block_id)] = NumberKey(row.first);
  }
  if (row.state == BlockState::kLent) {
    transaction_.writes[layout_.Lent(id, row.first)] = RowText(row);
  }
  if (row.state == BlockState::kReturned) {
    transaction_.writes[layout_.Returned(id, row.first)] = RowText(row);
  }
  if (!entry_.tail || row.first >= entry_.tail->first) entry_.tail = row;
}

Transaction Change::Finish(std::optional<std::uint64_t> rev) {
  entry_.record.rev = rev.value_or(entry_.record.rev + 1);
  transaction_.writes[layout_.Keyspace(entry_.record.id)] = EntryText(entry_);
  return std::move(transaction_);
}

}  // namespace keymill::store::etcd
