// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/ticket_overlap.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "keys/recipe_text.h"

namespace keymill::mint {
namespace {

constexpr std::size_t kOffsetsTold = 8;

// Whether keys of the two can be equally long: one that grows (length 0) comes to every length, and
// writes 1001 as one of four symbols does.
bool LengthsMeet(const Recipe& a, const Recipe& b) {
  return a.length == b.length || a.length == 0 || b.length == 0;
}

// As a ticket's text has it.
bool SameFormat(const Recipe& a, const Recipe& b) {
  // Symbols that are those of a named alphabet have its name here.
  return a.counter == b.counter && LengthsMeet(a, b) && a.prefix == b.prefix &&
         a.check == b.check &&
         keys::CanonicalRecipe(a).alphabet == keys::CanonicalRecipe(b).alphabet;
}

std::string FreeOffsets(std::string_view name, const Recipe& recipe,
                        std::span<const Ticket> others) {
  // What the others take of our offsets: all that are congruent to `offset` modulo `of`.
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
  for (const Ticket& other : others) {
    if (other.name == name || !SameFormat(recipe, other.recipe)) continue;
    const std::uint32_t of = std::gcd(recipe.stride, other.recipe.stride);
    taken.emplace(of, other.recipe.offset % of);
  }
  std::vector<bool> used(recipe.stride + 1);
  for (const auto& [of, offset] : taken) {
    for (std::uint32_t i = offset == 0 ? of : offset; i <= recipe.stride; i += of) used[i] = true;
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 1; i <= recipe.stride && free.size() <= kOffsetsTold; ++i) {
    if (!used[i]) free.push_back(i);
  }
  if (free.empty()) {
    return fmt::format(
        "no offset of stride {} is free: use a prefix of its own, or a larger stride"
        " for all of them",
        recipe.stride);
  }
  const bool more = free.size() > kOffsetsTold;
  if (more) free.pop_back();
  return fmt::format("of stride {}, offset {}{} {} free", recipe.stride, fmt::join(free, ", "),
                     more ? ", …" : "", free.size() == 1 && !more ? "is" : "are");
}

}  // namespace

bool TicketsMeet(const Recipe& a, const Recipe& b) {
  if (a.kind != Kind::kTicket || b.kind != Kind::kTicket || !SameFormat(a, b)) return false;
  const std::uint32_t of = std::gcd(a.stride, b.stride);
  return a.offset % of == b.offset % of;
}

std::vector<Ticket> TicketsIn(std::span<const KeyspaceRecord> records) {
  std::vector<Ticket> tickets;
  for (const KeyspaceRecord& record : records) {
    if (record.state == KeyspaceState::kRetired) continue;
    Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
    // One that this version cannot read was made by a newer one, which has seen to it.
    if (!recipe.ok() || recipe->kind != Kind::kTicket) continue;
    tickets.push_back({record.name, *std::move(recipe)});
  }
  return tickets;
}

Status CheckTickets(std::string_view name, const Recipe& recipe, std::span<const Ticket> others) {
  const auto met = std::find_if(others.begin(), others.end(), [&](const Ticket& other) {
    return other.name != name && TicketsMeet(recipe, other.recipe);
  });
  if (met == others.end()) return {};
  return {Code::kFailedPrecondition,
          fmt::format("keyspace {} would give the same keys as keyspace {}, which has offset {} of "
                      "stride {} in the same format; {}",
                      name, met->name, met->recipe.offset, met->recipe.stride,
                      FreeOffsets(name, recipe, others))};
}

}  // namespace keymill::mint
