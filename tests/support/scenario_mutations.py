# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Breaks the rules of this very tree, in a copy, one at a time, and sees that each is noticed:
by the guards, and by the comparison of keymill.example.yml with the defaults."""

import json
import pathlib
import re
import shutil
import subprocess

from keymill_process import ROOT, keymill_bin, run_keymill

COPYRIGHT = "// Copyright (c) 2026 The Keymill Authors. See LICENSE.\n"
EXAMPLE = "keymill.example.yml"
SETTING = re.compile(r"(?m)^( *)([a-z_]+): (\S.*)$")

# (what is done, the guard that must find it, file, what is put at its end, words of the finding)
MUTATIONS = (
    ("base includes mint", "layers", "src/base/hex.h", '#include "mint/engine.h"\n',
     "base may not include mint"),
    ("api includes a store", "layers", "src/api/status_map.h", '#include "store/rules.h"\n',
     "api may not include store"),
    ("a public header includes Boost", "layers", "include/keymill/status.h",
     "#include <boost/version.hpp>\n", "public headers may not include"),
    ("a header includes itself by a detour", "layers", "src/mint/reservoir.h",
     '#include "mint/counter_keyspace.h"\n', "includes itself"),
    ("a public header includes itself by a detour", "layers", "include/keymill/status.h",
     '#include "keymill/store.h"\n', "includes itself"),
    ("keys links mint", "layers", "src/keys/CMakeLists.txt",
     "target_link_libraries(keymill_keys PRIVATE keymill_mint)\n", "keys may not link mint"),
    ("a source that nobody builds", "dead", "src/base/attic.cc", COPYRIGHT,
     "is part of no target"),
    ("a header that nobody includes", "dead", "src/base/attic.h", COPYRIGHT,
     "is included by nobody"),
    ("a helper that nobody imports", "dead", "tests/support/attic.py", "# Old.\n",
     "is imported by nobody"),
    ("a document that nobody links", "dead", "docs/attic.md", "# Attic\n",
     "cannot be reached by links"),
    ("a file of CMake that nobody names", "dead", "cmake/Attic.cmake", "# Old.\n",
     "is named by no CMake file"),
    ("a test that nobody builds", "tests", "src/base/attic_test.cc", COPYRIGHT, "never run"),
    ("a test that is switched off", "tests", "src/base/hex_test.cc",
     "TEST(Hex, DISABLED_Old) {}\n", "switched off"),
    ("a link to no file", "text", "README.md", "\n[x](docs/attic.md)\n", "dead link"),
    ("a link to no heading", "text", "README.md", "\n[x](docs/kinds.md#attic)\n", "dead link"),
    ("an image that is not there", "text", "README.md", "\n![x](docs/attic.svg)\n", "dead link"),
    ("a clock that nobody can set", "text", "src/mint/engine.cc",
     "auto t = std::chrono::system_clock::now();\n", "take a Clock"),
    ("randomness of another source", "text", "src/mint/engine.cc", "int r = std::rand();\n",
     "use base/random.h"),
    ("a source without its first line", "text", "src/base/attic.cc", "int x;\n", "Copyright"),
    ("a header that needs what it does not include", "headers", "src/base/attic.h",
     COPYRIGHT + "#pragma once\nstd::deque<int> Old();\n", "does not compile alone"),
    ("a public header that needs what it does not include", "headers",
     "include/keymill/attic.h", COPYRIGHT + "#pragma once\nstd::deque<int> Old();\n",
     "does not compile alone"),
    ("a header for C that is none", "headers", "include/keymill/c.h",
     "inline int Old(int& n) { return n; }\n", "does not compile alone"),
)


class Copy:
    """The tree without what a build left, and its compile commands, which know the copy."""

    def __init__(self, directory, only=("",)):
        self.root = directory / "tree"
        self.commands = directory / "compile_commands.json"
        self.cache = directory / "cache"
        skipped = shutil.ignore_patterns(".git", "build", "build-*", "data", "__pycache__")
        for part in only:
            if (ROOT / part).is_file():
                shutil.copy(ROOT / part, self.root / part)
            else:
                shutil.copytree(ROOT / part, self.root / part, ignore=skipped)
        commands = (keymill_bin().resolve().parent / "compile_commands.json").read_text(
            encoding="utf-8")
        entries = [entry for entry in json.loads(commands.replace(f"{ROOT}/", f"{self.root}/"))
                   if pathlib.Path(entry["file"]).exists()]
        self.commands.write_text(json.dumps(entries), encoding="utf-8")

    def findings(self, guard):
        """The exit code of a guard, and what it said."""
        command = ["/usr/bin/python3", "-B", str(ROOT / f"tests/guards/check_{guard}.py"),
                   "--root", str(self.root)]
        if guard in ("tests", "headers", "dead"):
            command += ["--compile-commands", str(self.commands)]
        if guard == "headers":
            command += ["--cache", str(self.cache)]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def mutated(self, guard, path, text):
        """The same, with `text` at the end of a file for as long as the guard looks."""
        target = self.root / path
        before = target.read_bytes() if target.exists() else None
        with open(target, "a", encoding="utf-8") as file:
            file.write(text)
        try:
            return self.findings(guard)
        finally:
            if before is None:
                target.unlink()
            else:
                target.write_bytes(before)


def broken_rules(checks, directory):
    """How many rules were broken, and how many of those were found."""
    (directory / "all").mkdir()
    (directory / "few").mkdir()
    whole = Copy(directory / "all")
    # To compile every header of the tree would take minutes, and show no more.
    few = Copy(directory / "few", ("include", "src/base"))
    for guard in dict.fromkeys(each[1] for each in MUTATIONS):
        code, said = (few if guard == "headers" else whole).findings(guard)
        checks.that(code == 0, f"check_{guard} passes the tree as it is {said}")
    found = 0
    for what, guard, path, text, words in MUTATIONS:
        copy = few if guard == "headers" else whole
        code, said = copy.mutated(guard, path, text)
        held = code == 1 and words in said and path in said
        found += checks.that(held, f"check_{guard} finds {what}" + ("" if held else f": {said}"))
    return len(MUTATIONS), found


# --- Configuration ----------------------------------------------------------------------


def shown(directory, *arguments):
    done = run_keymill("config", "show", "-o", "json", *arguments, cwd=directory)
    return json.loads(done.stdout)["settings"] if done.returncode == 0 else done.stderr


def departures(directory, text):
    """Where a file that should have every setting at its default has not."""
    path = directory / "example.yml"
    path.write_text(text, encoding="utf-8")
    defaults, told = shown(directory), shown(directory, "--config", path)
    if isinstance(told, str):
        return [told.strip()]
    found = [f"{name} is {told[name]['value']} and not {each['value']}"
             for name, each in defaults.items() if told[name]["value"] != each["value"]]
    return found + [f"{name} is not there" for name, each in told.items()
                    if each["origin"] != "file"]


def other_value(value, comment):
    """Another value that a setting may have, by what the comment above it says."""
    words = re.search(r"one of ([a-z, ]+)[;\n]", comment)
    if words:
        return next(word for word in words.group(1).split(", ") if word != value)
    if "; a number, or" in comment:
        return "7"
    if value == '""' and "HOST:PORT" in comment:
        return '"127.0.0.1:0"'
    if value == '""' and "https URL" in comment:
        return '"https://other.test"'
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    if value.startswith("["):
        return "[]"
    if "length: 0" in value:  # Few other lengths hold a snowflake.
        return value.replace("length: 0", "length: 20")
    numbers = list(re.finditer(r"\d+", value))
    if numbers:
        last = numbers[-1]
        return value[:last.start()] + str(int(last.group()) + 1) + value[last.end():]
    return f'{value[:-1]}-other"' if value.startswith('"') else f"{value}-other"


def config_mutations(text):
    """(what, text, words of what is noticed) of files in which one setting is changed, missing,
    or too many."""
    for match in SETTING.finditer(text):
        name, value = match.group(2), match.group(3)
        comment = text[:match.start()].rpartition("\n\n")[2]
        changed = other_value(value, comment)
        yield (f"{name}: {changed}", f"{text[:match.start(3)]}{changed}{text[match.end(3):]}",
               " and not ")
        yield f"no {name}", text[:match.start()] + text[match.end() + 1:], " not "
    yield "a setting that there is not", text + "block_sice: 5\n", "unknown setting"


def broken_defaults(checks, directory):
    """How often keymill.example.yml was made wrong, and how often that was noticed."""
    text = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    settings = shown(directory)
    checks.that(departures(directory, text) == [], f"{EXAMPLE} has every default: "
                f"{departures(directory, text)}")
    written = run_keymill("config", "init", "-", cwd=directory).stdout
    checks.that(written == text, f"{EXAMPLE} is what `keymill config init` writes")
    made = found = 0
    for what, mutated, words in config_mutations(text):
        made += 1
        said = departures(directory, mutated)
        found += checks.that(len(said) == 1 and words in said[0],
                             f"{EXAMPLE} with {what}: {'; '.join(said)}")
    # The keyspaces are one setting in two lines.
    checks.that(made == 2 * (len(settings) + 1) + 1,
                f"each of {len(settings)} settings was changed and taken out")
    return made, found


def mutations(checks, directory):
    rules, rules_found = broken_rules(checks, directory)
    values, values_found = broken_defaults(checks, directory)
    return (f"{rules + values} mutations, {rules_found + values_found} found: {rules_found} of "
            f"{rules} in the tree, {values_found} of {values} in {EXAMPLE}")
