// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The tree, and what is made of it: completions and manual pages of a small command line.

#include "app/command_tree.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/completion.h"
#include "app/manpage.h"

namespace keymill::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CommandTreeTest : public testing::Test {
 protected:
  CommandTreeTest() {
    CLI::App* const serve = app_.add_subcommand("serve", "Run it; don't stop");
    serve->add_option("--listen,--listen-http", text_, "Where")->type_name("HOST:PORT");
    serve->add_option("--hidden", text_, "Not told")->group("");
    CLI::App* const group = app_.add_subcommand("group", "Several");
    CLI::App* const show = group->add_subcommand("show", "One");
    show->add_option("FILE", texts_, "Files")->required()->type_name("");
    show->add_option("-o,--output", text_, "table or json")
        ->check(CLI::IsMember({"table", "json"}))
        ->type_name("FORMAT");
    show->add_option("-n", number_, "How many")->check(CLI::Range(1, 5))->type_name("N");
    show->add_flag("--all", flag_, ".dot \\ back");
    show->footer("A last word.");
  }

  CLI::App app_{"Does things", "keymill"};
  std::string text_;
  std::vector<std::string> texts_;
  int number_ = 0;
  bool flag_ = false;
};

TEST_F(CommandTreeTest, HasVerbsFlagsAndArguments) {
  const Command root = ReadCommands(app_);
  std::vector<std::string> paths;
  for (const Command* const command : AllCommands(root)) paths.push_back(command->path);
  EXPECT_THAT(paths,
              ElementsAre("keymill", "keymill serve", "keymill group", "keymill group show"));
  const Command& show = root.verbs.at(1).verbs.at(0);
  ASSERT_EQ(show.arguments.size(), 1U);
  EXPECT_THAT(show.arguments[0].names, ElementsAre("FILE"));
  EXPECT_TRUE(show.arguments[0].required);
  EXPECT_TRUE(show.arguments[0].several);
  ASSERT_EQ(show.options.size(), 4U);  // --help is the first.
  EXPECT_THAT(show.options[1].names, ElementsAre("-o", "--output"));
  EXPECT_EQ(show.options[1].value, "FORMAT");
  EXPECT_THAT(show.options[1].choices, ElementsAre("table", "json"));
  EXPECT_EQ(show.options[2].value, "N");
  EXPECT_EQ(show.options[3].value, "");
  EXPECT_FALSE(show.options[3].several);
  EXPECT_EQ(show.footer, "A last word.");
}

TEST_F(CommandTreeTest, LeavesOutWhatTheHelpIsSilentOn) {
  const Command root = ReadCommands(app_);
  ASSERT_EQ(root.verbs.at(0).options.size(), 2U);
  EXPECT_THAT(root.verbs.at(0).options[1].names, ElementsAre("--listen", "--listen-http"));
  EXPECT_EQ(root.verbs.at(0).options[1].value, "HOST:PORT");
  EXPECT_THAT(BashCompletion(root), Not(HasSubstr("hidden")));
}

TEST_F(CommandTreeTest, CompletionsNameEveryVerbAndFlag) {
  const Command root = ReadCommands(app_);
  for (const std::string& script :
       {BashCompletion(root), ZshCompletion(root), FishCompletion(root)}) {
    for (const Command* const command : AllCommands(root)) {
      EXPECT_THAT(script, HasSubstr("'" + command->path + "'"));
    }
    for (const char* const word : {"listen-http", "output", "all", "table json"}) {
      EXPECT_THAT(script, HasSubstr(word));
    }
  }
  EXPECT_THAT(ZshCompletion(root), HasSubstr("'serve:Run it; don'\\''t stop'"));
  EXPECT_THAT(FishCompletion(root), HasSubstr("-d 'Run it; don\\'t stop'"));
}

TEST_F(CommandTreeTest, ManualPagesHaveTheirSections) {
  const Command root = ReadCommands(app_);
  const Command& show = root.verbs.at(1).verbs.at(0);
  EXPECT_EQ(ManPageName(show), "keymill-group-show");
  const std::string page = ManPage(show, "1.2.3", "");
  EXPECT_THAT(page, testing::StartsWith(".TH \"KEYMILL\\-GROUP\\-SHOW\" 1 \"\" \"keymill 1.2.3\""));
  for (const char* const part :
       {".SH NAME\nkeymill\\-group\\-show \\- One\n",
        ".SH SYNOPSIS\n\\fBkeymill group show\\fR [\\fIflags\\fR] \\fIFILE\\fR ...\n",
        ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFORMAT\\fR (table, json)\ntable or json\n",
        ".TP\n\\fB\\-\\-all\\fR\n\\&.dot \\e back\n", ".PP\nA last word.\n", ".SH EXIT STATUS\n",
        "\\fBkeymill\\-group\\fR(1)"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr(".SH VERBS")));
  EXPECT_THAT(ManPage(root, "1.2.3", "  keymill serve"),
              HasSubstr(".SH EXAMPLES\n.nf\n  keymill serve\n.fi\n"));
  EXPECT_THAT(ManPage(root, "1.2.3", ""), HasSubstr(".SH VERBS\n.TP\n\\fBserve\\fR\nRun it"));
}

}  // namespace
}  // namespace keymill::app
