// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/generated_commands.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/command_tree.h"
#include "app/completion.h"
#include "app/manpage.h"
#include "app/output.h"
#include "app/text_file.h"

namespace keymill::app {

int RunCompletion(const CLI::App& app, std::string_view shell) {
  const Command root = ReadCommands(app);
  WriteData(shell == "zsh"    ? ZshCompletion(root)
            : shell == "fish" ? FishCompletion(root)
                              : BashCompletion(root));
  return kExitOk;
}

int RunManpage(const CLI::App& app, const std::string& directory, std::string_view examples) {
  const Command root = ReadCommands(app);
  if (directory.empty()) {
    WriteData(ManPage(root, Version(), examples));
    return kExitOk;
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Fail({Code::kUnavailable, fmt::format("create {}: {}", directory, error.message())});
  }
  const std::vector<const Command*> all = AllCommands(root);
  for (const Command* const command : all) {
    const auto path = std::filesystem::path(directory) / (ManPageName(*command) + ".1");
    const std::string page = ManPage(*command, Version(), command == &root ? examples : "");
    if (Status written = WriteTextFile(path.string(), page, /*over=*/true); !written.ok()) {
      return Fail(written);
    }
  }
  Say("keymill: wrote {} pages to {}\n", all.size(), directory);
  return kExitOk;
}

}  // namespace keymill::app
