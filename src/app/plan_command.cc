// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill plan`: what a recipe comes to, before a keyspace is made of it.

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "app/plan_text.h"

namespace keymill::app {

int RunPlan(const PlanFlags& flags) {
  double rate = 0;
  if (!flags.rate.empty()) {
    const std::optional<double> parsed = ParseRate(flags.rate);
    if (!parsed) {
      return Fail({Code::kInvalidArgument,
                   fmt::format("--rate \"{}\": use keys per time, such as 1000/s, 5k/h or 2M/day",
                               flags.rate)});
    }
    rate = *parsed;
  }
  const Result<Recipe> recipe = mint::RecipeFromWords(flags.words);
  if (!recipe.ok()) return Fail(recipe.status());
  const Result<keys::Plan> plan = keys::MakePlan(*recipe, rate);
  if (!plan.ok()) return Fail(plan.status());
  if (flags.json) {
    Print("{}\n", PlanJson(*recipe, *plan, rate));
    return kExitOk;
  }
  for (const auto& [name, text] : PlanRows(*recipe, *plan, flags.rate)) {
    Print("{:<10} {}\n", name, text);
  }
  for (const keys::PlanWarning& warning : plan->warnings) {
    Print("{:<10} {}\n", "warning", warning.text);
  }
  return kExitOk;
}

}  // namespace keymill::app
