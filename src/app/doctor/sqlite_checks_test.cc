// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/sqlite_checks.h"

#include <algorithm>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/recipe_text.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace keymill::app::doctor {
namespace {

using State = store::SqliteInspection::State;
using testing::HasSubstr;

constexpr std::int64_t kNowMs = 1'790'000'000'000;
constexpr std::int64_t kDayMs = 86'400'000;

// A store with one keyspace, "links", a tenth of which is used, and its witness.
SqliteFacts Sound() {
  SqliteFacts facts;
  facts.path = "/srv/data/keymill.db";
  facts.flags = " --data-dir /srv/data";
  facts.user = 990;
  facts.now_ms = kNowMs;
  facts.witness_path = "/srv/data/witness";
  facts.files = {{facts.path, 0600, 0}, {facts.witness_path, 0600, 0}};
  facts.seen.state = State::kReadable;
  facts.seen.bytes = 32768;
  facts.seen.schema_version = facts.seen.schema_known = 1;
  facts.seen.store_id = "store";
  facts.seen.checked = true;
  KeyspaceRecord links;
  links.name = "links";
  links.id = "k";
  links.recipe = keys::RecipeText(DefaultRecipe(Kind::kShuffled));
  links.end = 1000;
  links.next = 100;
  links.rev = 5;
  links.created_at_ms = kNowMs - 1000;
  facts.seen.keyspaces = {links};
  facts.witness.exists = true;
  facts.witness.locations = {{"store", "sqlite:/srv/data/keymill.db"}};
  facts.witness.keyspaces = {{"store", "k", "links", {5, 100}}};
  return facts;
}

// The only finding, which must be of this check.
Finding Only(const SqliteFacts& facts, std::string_view check) {
  const Findings all = CheckSqlite(facts);
  Findings found;
  for (const Finding& each : all) {
    if (each.severity == Severity::kOk) {
      EXPECT_EQ(each.fix, "") << each.check;
    } else {
      found.push_back(each);
    }
  }
  EXPECT_EQ(found.size(), 1U) << FindingsTable(all);
  if (found.empty()) return {};
  EXPECT_EQ(found[0].check, check);
  return found[0];
}

void ExpectFound(const Finding& finding, Severity severity, const std::string& says,
                 const std::string& fix) {
  EXPECT_EQ(SeverityName(finding.severity), SeverityName(severity)) << finding.says;
  EXPECT_THAT(finding.says, HasSubstr(says));
  EXPECT_THAT(finding.fix, HasSubstr(fix));
}

TEST(SqliteChecksTest, ASoundStoreHasNoFinding) {
  const Findings findings = CheckSqlite(Sound());
  EXPECT_EQ(CountOf(findings, Severity::kOk), findings.size()) << FindingsTable(findings);
  EXPECT_EQ(findings.size(), 5U);
}

TEST(SqliteChecksTest, AMissingStoreIsFineUnlessSomebodyRemembersOne) {
  for (const State state : {State::kAbsent, State::kNoSchema}) {
    SqliteFacts facts = Sound();
    facts.seen = {.state = state};
    ExpectFound(Only(facts, "store"), Severity::kProblem, "remembers sqlite:/srv/data/keymill.db",
                "mv /srv/data/witness /srv/data/witness.old");
    facts.witness.locations.clear();
    ExpectFound(Only(facts, "store"), Severity::kProblem, "remembers a store", "mv ");
    facts.witness = {};
    EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
    facts.may_create = false;
    ExpectFound(Only(facts, "store"), Severity::kProblem, "store_create is never",
                "--store-create auto");
  }
}

TEST(SqliteChecksTest, AStoreThatCannotBeReadSaysWhatToDo) {
  struct Case {
    State state;
    Severity severity;
    std::string fix;
  };
  for (const Case& each :
       {Case{State::kLocked, Severity::kWarning, "fuser -v /srv/data/keymill.db"},
        Case{State::kHotJournal, Severity::kWarning, "keymill keyspace list --data-dir /srv/data"},
        Case{State::kWal, Severity::kWarning,
             "sqlite3 /srv/data/keymill.db 'PRAGMA journal_mode = DELETE'"},
        Case{State::kNotOurs, Severity::kProblem, "--store sqlite:PATH"},
        Case{State::kUnreadable, Severity::kProblem, "chown 990 /srv/data/keymill.db"},
        Case{State::kDamaged, Severity::kProblem,
             "mv /srv/data/keymill.db /srv/data/keymill.db.damaged"}}) {
    SqliteFacts facts = Sound();
    facts.seen = {.state = each.state, .said = "what was said"};
    ExpectFound(Only(facts, "store"), each.severity, "", each.fix);
  }
}

TEST(SqliteChecksTest, TheSchemaMustBeKnown) {
  SqliteFacts facts = Sound();
  facts.seen.schema_version = 2;
  ExpectFound(Only(facts, "store"), Severity::kProblem, "this program knows 1", "keymill version");
  facts.seen.schema_known = 3;
  ExpectFound(Only(facts, "store"), Severity::kNote, "schema version 2", "brings it up to date");
}

TEST(SqliteChecksTest, AStoreThatWasMovedOrIsNotCompleteIsNoneToUse) {
  SqliteFacts facts = Sound();
  facts.seen.moved_to = "postgres://db/keys";
  facts.seen.keyspaces[0].state = KeyspaceState::kSealed;
  ExpectFound(Only(facts, "store"), Severity::kProblem, "went to postgres://db/keys", "--store");
  facts = Sound();
  facts.seen.being_filled = true;
  ExpectFound(Only(facts, "store"), Severity::kProblem, "not complete", "keymill store copy");
}

TEST(SqliteChecksTest, DamageIsAProblemAndAnUnfinishedCheckANote) {
  SqliteFacts facts = Sound();
  facts.seen.damage = "Page 3: never used";
  ExpectFound(Only(facts, "integrity"), Severity::kProblem, "Page 3", ".damaged");
  facts = Sound();
  facts.seen.checked = false;
  ExpectFound(Only(facts, "integrity"), Severity::kNote, "too much", "PRAGMA quick_check");
}

TEST(SqliteChecksTest, FilesMustBeUsableAndClosedToOthers) {
  SqliteFacts facts = Sound();
  facts.files[1].access_error = EACCES;
  ExpectFound(Only(facts, "files"), Severity::kProblem, "user 990 cannot use /srv/data/witness",
              "chown 990 /srv/data/witness");
  facts = Sound();
  facts.files[0].mode = 0640;
  ExpectFound(Only(facts, "files"), Severity::kWarning, "mode 640",
              "chmod 600 /srv/data/keymill.db");
  facts = Sound();
  facts.files[0].access_error = EROFS;  // Told of with the file system.
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
}

TEST(SqliteChecksTest, TheWitnessMustBeThereAndOfThisStore) {
  SqliteFacts facts = Sound();
  facts.witness = {};
  ExpectFound(Only(facts, "witness"), Severity::kWarning, "is missing",
              "keymill mint -n 1 links --data-dir /srv/data");
  facts.seen.keyspaces.clear();
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
  facts = Sound();
  facts.seen.store_id = "other";
  ExpectFound(Only(facts, "witness"), Severity::kProblem, "another store was at",
              "mv /srv/data/witness /srv/data/witness.old");
  facts = Sound();
  facts.witness_status = Status(Code::kFailedPrecondition, "the witness is damaged");
  facts.witness = {};
  ExpectFound(Only(facts, "witness"), Severity::kProblem, "damaged", "restore /srv/data/witness");
  facts.witness_status = Status(Code::kUnavailable, "Permission denied");
  ExpectFound(Only(facts, "witness"), Severity::kProblem, "denied", "chown 990 /srv/data/witness");
}

TEST(SqliteChecksTest, AStoreThatWentBackIsFoundByRevisionAndByNumber) {
  for (const Witness seen : {Witness{6, 100}, Witness{5, 101}}) {
    SqliteFacts facts = Sound();
    facts.witness.keyspaces[0].seen = seen;
    ExpectFound(Only(facts, "keyspace links"), Severity::kProblem, "the store went back",
                "or: keymill recover links --data-dir /srv/data");
  }
  SqliteFacts ahead = Sound();
  ahead.witness.keyspaces[0].seen = {4, 99};
  EXPECT_TRUE(IsHealthy(CheckSqlite(ahead)));
  SqliteFacts elsewhere = Sound();
  elsewhere.witness.keyspaces.push_back({"another store", "k", "links", {99, 999}});
  EXPECT_TRUE(IsHealthy(CheckSqlite(elsewhere)));
}

TEST(SqliteChecksTest, AKeyspaceThatTheStoreHasLostIsFound) {
  SqliteFacts facts = Sound();
  facts.witness.keyspaces.push_back({"store", "k2", "orders", {1, 1}});
  ExpectFound(Only(facts, "keyspace orders"), Severity::kProblem, "does not have it",
              "put the newer copy back");
}

TEST(SqliteChecksTest, AQuarantinedKeyspaceIsToBeRecovered) {
  SqliteFacts facts = Sound();
  facts.seen.keyspaces[0].state = KeyspaceState::kQuarantined;
  facts.seen.keyspaces[0].reason = "somebody said so";
  ExpectFound(Only(facts, "keyspace links"), Severity::kProblem, "quarantined: somebody said so",
              "keymill recover links --data-dir /srv/data");
}

TEST(SqliteChecksTest, AKeyspaceThatIsNearlyUsedUpNeedsASuccessor) {
  SqliteFacts facts = Sound();
  KeyspaceRecord& record = facts.seen.keyspaces[0];
  record.next = 900;
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
  record.next = 901;
  ExpectFound(Only(facts, "keyspace links"), Severity::kWarning, "90.1 % used, 99 left",
              "keymill keyspace create links2 --kind shuffled --alphabet base62 --length 8 "
              "--data-dir /srv/data");
  record.next = 1000;
  ExpectFound(Only(facts, "keyspace links"), Severity::kProblem, "exhausted", "--length 8");
  record.state = KeyspaceState::kRetired;
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
}

TEST(SqliteChecksTest, ASuccessorIsMadeByTheSameRecipe) {
  SqliteFacts facts = Sound();
  KeyspaceRecord& record = facts.seen.keyspaces[0];
  record.next = 1000;
  Recipe recipe = DefaultRecipe(Kind::kTicket);
  recipe.length = 6;
  recipe.stride = 4;
  recipe.offset = 3;
  recipe.check = CheckSymbol::kAppended;
  recipe.blocklist = {"bad"};
  record.recipe = keys::RecipeText(recipe);
  ExpectFound(Only(facts, "keyspace links"), Severity::kProblem, "exhausted",
              "keymill keyspace create links2 --kind ticket --stride 4 --offset 3 --alphabet "
              "base62 --length 7 --check appended --blocklist bad --data-dir");
  // One that grows had all the numbers that there are.
  record.recipe = keys::RecipeText(DefaultRecipe(Kind::kSequence));
  ExpectFound(Only(facts, "keyspace links"), Severity::kProblem, "exhausted",
              "links2 --kind sequence --alphabet base62 --prefix 2_ --data-dir");
}

TEST(SqliteChecksTest, ASuccessorKeepsImportedCodes) {
  SqliteFacts facts = Sound();
  KeyspaceRecord& record = facts.seen.keyspaces[0];
  record.next = 1000;
  Recipe recipe = DefaultRecipe(Kind::kShuffled);
  recipe.taken = std::string(32, 'a');
  record.recipe = keys::RecipeText(recipe);
  ExpectFound(
      Only(facts, "keyspace links"), Severity::kProblem, "exhausted",
      "keymill import codes FILE links2 --kind shuffled --alphabet base62 --length 8 --data");
}

TEST(SqliteChecksTest, AForecastNeedsADayOfExperience) {
  SqliteFacts facts = Sound();
  KeyspaceRecord& record = facts.seen.keyspaces[0];
  record.created_at_ms = kNowMs - 3 * kDayMs;  // 100 in 3 days: 900 last 27.
  ExpectFound(Only(facts, "keyspace links"), Severity::kWarning, "last 2", "keyspace create");
  record.created_at_ms = kNowMs - 4 * kDayMs;
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
  record.created_at_ms = kNowMs - kDayMs + 1;
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
}

TEST(SqliteChecksTest, ANewDirectoryIsGatheredWithoutMakingIt) {
  const TempDir dir;
  const FakeClock clock;
  const Settings settings;
  const auto data_dir = dir.path() / "data";
  const SqliteFacts facts = GatherSqlite(settings, data_dir, "", clock);
  EXPECT_EQ(facts.path, (data_dir / "keymill.db").string());
  EXPECT_EQ(facts.seen.state, State::kAbsent);
  EXPECT_TRUE(facts.files.empty());
  EXPECT_FALSE(std::filesystem::exists(data_dir));
  EXPECT_TRUE(IsHealthy(CheckSqlite(facts)));
}

TEST(SqliteChecksTest, TheDatabaseMayLieElsewhere) {
  EXPECT_EQ(DatabasePath("/d", "sqlite:x.db"), "/d/x.db");
  EXPECT_EQ(DatabasePath("/d", "sqlite:sub/../x.db"), "/d/x.db");
  EXPECT_EQ(DatabasePath("/d", "sqlite:/srv/x.db"), "/srv/x.db");
}

}  // namespace
}  // namespace keymill::app::doctor
