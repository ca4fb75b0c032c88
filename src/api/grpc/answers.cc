// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/answers.h"

#include <nlohmann/json.hpp>

#include "base/utc_text.h"

namespace keymill::api::grpc {
namespace {

// The values of ExplainResponse.State.
int StateNumber(mint::Explanation::State state) {
  switch (state) {
    case mint::Explanation::State::kIssued:
      return 1;
    case mint::Explanation::State::kReserved:
      return 2;
    case mint::Explanation::State::kAlias:
      return 3;
    case mint::Explanation::State::kUnknown:
      break;
  }
  return 4;
}

template <typename Number>
std::optional<std::string> Text(const std::optional<Number>& number) {
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

// A number that may be above 2^53 is text in JSON, too.
std::string PublicRecipe(const mint::KeyspaceInfo& info) {
  auto recipe = nlohmann::ordered_json::parse(info.record.recipe);
  if (recipe.contains("start")) recipe["start"] = std::to_string(info.recipe.start);
  return recipe.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

Explained Tell(const mint::Explanation& explanation) {
  Explained told{.keyspace = explanation.keyspace,
                 .state = StateNumber(explanation.state),
                 .kind = std::string(KindName(explanation.kind)),
                 .number = Text(explanation.number),
                 .index = Text(explanation.index),
                 .time = {},
                 .worker = explanation.worker,
                 .sequence = explanation.sequence,
                 .block = {},
                 .record = {}};
  if (explanation.time_ms) told.time = UtcText(*explanation.time_ms);
  if (const auto& block = explanation.block) {
    told.block = {.id = block->block_id,
                  .first = std::to_string(block->first),
                  .count = std::to_string(block->count),
                  .state = std::string(BlockStateName(block->state)),
                  .instance = block->instance,
                  .reserved_at = UtcText(block->reserved_at_ms)};
  }
  if (const auto& row = explanation.record) {
    told.record = {
        .state = std::string(KeyStateName(row->state)),
        .since = UtcText(row->since_ms),
        .instance = row->instance,
        .owner = row->owner,
        .expires_at = row->expires_at_ms == 0 ? "" : UtcText(row->expires_at_ms),
        // Of a link the field counts who followed it.
        .generation = row->state == KeyState::kLink ? "" : std::to_string(row->generation)};
  }
  return told;
}

KeyspacePage::Row Tell(const mint::KeyspaceInfo& info) {
  KeyspacePage::Row row{.name = info.record.name,
                        .kind = std::string(KindName(info.recipe.kind)),
                        .state = std::string(KeyspaceStateName(info.record.state)),
                        .reason = info.record.reason,
                        .recipe = PublicRecipe(info),
                        .created_at = UtcText(info.record.created_at_ms),
                        .capacity = {},
                        .used = {},
                        .left = {}};
  // The reason is the address of another store, which may be internal.
  if (info.record.state == KeyspaceState::kSealed) row.reason.clear();
  if (!info.endless) {
    row.capacity = std::to_string(info.capacity);
  }
  if (info.counted()) {
    row.used = std::to_string(info.used);
    row.left = std::to_string(info.left);
  }
  return row;
}

}  // namespace keymill::api::grpc
