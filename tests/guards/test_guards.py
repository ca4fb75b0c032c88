#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Shows of every guard that it passes a clean tree and fails one that breaks its rule."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import check_layers

HERE = pathlib.Path(__file__).resolve().parent
COPYRIGHT = "// Copyright (c) 2026 The Keymill Authors. See LICENSE.\n"


class GuardTest(unittest.TestCase):
    """A small tree that breaks no rule; each test breaks one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "tree"
        self.write("include/keymill/status.h", "#pragma once\n#include <string>\n")
        self.write("src/base/clock.cc", "auto t = std::chrono::system_clock::now();\n")
        self.write("src/base/text.h", '#pragma once\n#include "keymill/status.h"\n'
                   "inline std::string Empty() { return {}; }\n")
        self.write("src/mint/mint.h", '#pragma once\n#include "store/store.h"\n')
        self.write("src/store/store.h", '#pragma once\n#include "base/text.h"\n')
        self.write("src/store/sql/sql.h", '#pragma once\n#include "store/store.h"\n')
        self.write("src/store/sqlite/lite.h", '#pragma once\n#include "store/sql/sql.h"\n')
        self.write("src/store/memory/memory.h", '#pragma once\n#include "store/store.h"\n')
        self.write("src/store/store.cc", '#include "store/store.h"\n')
        self.write("src/store/store_test.cc", '#include "mint/mint.h"\nTEST(A, B) {}\n')
        self.write_raw("src/store/CMakeLists.txt",
                       "keymill_library(store LINK keymill_base TEST_LINK keymill_mint)\n")
        self.write_raw("README.md", "# Tree\n\nSee [the notes](docs/notes.md#words).\n")
        self.write_raw("docs/notes.md", "# Notes\n\n```\n# not a title\n[x](nowhere)\n```\n"
                       "\n## Words\n")
        self.compile_commands("src/store/store.cc", "src/store/store_test.cc")

    def write(self, path, text):
        self.write_raw(path, COPYRIGHT + text)

    def write_raw(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def compile_commands(self, *paths):
        flags = f"-std=gnu++20 -I{self.root}/include -I{self.root}/src -O2"
        entries = [{"directory": str(self.root), "file": str(self.root / path),
                    "command": f"/usr/bin/c++ {flags} -o x.o -c {path}"} for path in paths]
        self.commands = self.root.parent / "compile_commands.json"
        self.commands.write_text(json.dumps(entries), encoding="utf-8")

    def run_guard(self, guard):
        command = ["/usr/bin/python3", "-B", str(HERE / f"check_{guard}.py"), "--root",
                   str(self.root)]
        if guard in ("tests", "headers", "dead"):
            command += ["--compile-commands", str(self.commands)]
        if guard == "headers":
            command += ["--cache", str(self.root.parent / "cache")]
        return subprocess.run(command, text=True, capture_output=True, check=False)

    def assert_clean(self, guard):
        done = self.run_guard(guard)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def assert_finds(self, guard, *words):
        done = self.run_guard(guard)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stdout)


class LayersTest(GuardTest):
    def test_passes_a_clean_tree(self):
        self.assert_clean("layers")

    def test_nobody_includes_upward(self):
        self.write("src/base/bad.h", '#include "mint/mint.h"\n')
        self.assert_finds("layers", "src/base/bad.h:2:", "base may not include mint")

    def test_api_never_includes_a_store(self):
        self.write("src/api/http/bad.cc", '#  include "store/store.h"\n')
        self.assert_finds("layers", "src/api/http/bad.cc:2:")

    def test_stores_do_not_include_each_other(self):
        self.write("src/store/memory/bad.h", '#include "store/sqlite/lite.h"\n')
        self.assert_finds("layers", "store/memory may not include store/sqlite")

    def test_what_stores_share_does_not_include_one_of_them(self):
        self.write("src/store/bad.cc", '#include "store/memory/memory.h"\n')
        self.assert_finds("layers", "store may not include store/memory")

    def test_mint_knows_no_concrete_store(self):
        self.write("src/mint/bad.cc", '#include "store/sqlite/lite.h"\n')
        self.assert_finds("layers", "mint may not include store/sqlite")

    def test_app_includes_everything(self):
        self.write("src/app/main.cc", '#include "store/sqlite/lite.h"\n#include "mint/mint.h"\n')
        self.assert_clean("layers")

    def test_headers_of_tests_include_everything(self):
        self.write("src/base/text_test_support.h", '#include "support/temp_dir.h"\n')
        self.assert_clean("layers")

    def test_public_headers_include_only_the_standard_library_and_each_other(self):
        self.write("include/keymill/bad.h", '#include "base/text.h"\n#include <boost/asio.hpp>\n'
                   '#include <vector>\n#include "keymill/status.h"\n')
        self.assert_finds("layers", "bad.h:2:", "bad.h:3:")
        self.assertNotIn("bad.h:4:", self.run_guard("layers").stdout)

    def test_the_header_for_c_includes_the_standard_library_of_c(self):
        text = "#include <stdint.h>\n#include <unistd.h>\n"
        self.write("include/keymill/c.h", text)
        self.write("include/keymill/bad.h", text)
        self.assert_finds("layers", "c.h:3:", "bad.h:2:", "bad.h:3:")
        self.assertNotIn("c.h:2:", self.run_guard("layers").stdout)

    def test_a_path_without_room_is_refused(self):
        self.write("src/base/bad.cc", '#include "text.h"\n')
        self.assert_finds("layers", '"text.h" names no room')

    def test_a_new_room_must_be_entered(self):
        self.write("src/attic/old.h", "")
        self.assert_finds("layers", "src/attic/old.h:1:", "no known room")

    def test_a_client_library_stays_in_its_store(self):
        self.write("src/mint/bad.cc", "#include <sqlite3.h>\n")
        self.assert_finds("layers", "only store/sqlite may include <sqlite3.h>")

    def test_files_do_not_include_each_other(self):
        self.write("src/mint/one.h", '#include "mint/two.h"\n')
        self.write("src/mint/two.h", '#include "mint/three.h"\n')
        self.assert_clean("layers")
        self.write("src/mint/three.h", '#include "mint/one.h"\n')
        self.assert_finds("layers", "includes itself", "src/mint/one.h", "src/mint/two.h",
                          "src/mint/three.h")
        self.write("src/mint/three.h", '#include "mint/three.h"\n')
        self.assert_finds("layers", "src/mint/three.h:1: includes itself")

    def test_public_headers_do_not_include_each_other(self):
        self.write("include/keymill/one.h", '#include "keymill/two.h"\n')
        self.write("include/keymill/two.h", '#include "keymill/one.h"\n')
        self.assert_finds("layers", "includes itself", "include/keymill/two.h")

    def test_the_table_of_rooms_has_no_way_back(self):
        self.assertIsNone(check_layers.cycle(check_layers.MAY_INCLUDE))
        broken = {**check_layers.MAY_INCLUDE, "keys": {"base", "mint"}}
        self.assertEqual(set(check_layers.cycle(broken)), {"keys", "mint"})

    def test_link_lists_follow_the_same_rule(self):
        self.write_raw("src/keys/CMakeLists.txt",
                       "keymill_library(keys LINK\n  keymill_base keymill_mint)\n")
        self.assert_finds("layers", "src/keys/CMakeLists.txt:1:", "keys may not link mint")


class TextTest(GuardTest):
    def test_passes_a_clean_tree(self):
        self.assert_clean("text")

    def test_a_long_line(self):
        self.write("src/base/bad.cc", "// " + "x" * 97 + "\n// " + "é" * 98 + "\n")
        self.assert_finds("text", "bad.cc:3: 101 columns")
        self.assertNotIn("bad.cc:2:", self.run_guard("text").stdout)

    def test_a_long_file(self):
        self.write("src/base/bad.cc", "//\n" * 1000)
        self.assert_finds("text", "more than 1000 lines")

    def test_words_that_may_not_stay(self):
        for word in ("FIXME", "XXX", "HACK"):
            self.write("src/base/bad.cc", f"// {word}: later\n")
            self.assert_finds("text", f"bad.cc:2: {word}")

    def test_a_pattern_for_mkdtemp_is_no_such_word(self):
        self.write("src/base/good.cc", 'auto pattern = "keymill-XXXXXX";\n')
        self.assert_clean("text")

    def test_the_clock_is_injected(self):
        for call in ("std::chrono::system_clock::now()", "std::chrono::steady_clock::now()"):
            self.write("src/mint/bad.cc", f"auto t = {call};\n")
            self.assert_finds("text", "src/mint/bad.cc:2:", "take a Clock")

    def test_proofs_and_comments_may_name_the_clock(self):
        self.write("tests/proofs/speed.cc", "auto t = std::chrono::steady_clock::now();\n")
        self.write("src/mint/good.cc", "// Not steady_clock::now(): see Clock.\n")
        self.assert_clean("text")

    def test_randomness_comes_from_one_place(self):
        for call in ("std::rand()", "std::mt19937 engine;", "std::random_device d;", "rand()"):
            self.write("src/keys/bad.cc", f"auto r = {call};\n")
            self.assert_finds("text", "src/keys/bad.cc:2:", "base/random.h")

    def test_tests_do_not_sleep(self):
        for call in ("std::this_thread::sleep_for(1ms)", "usleep(1)", "sleep(1)"):
            self.write("src/store/store_test.cc", f"TEST(A, B) {{ {call}; }}\n")
            self.assert_finds("text", "store_test.cc:2:", "FakeClock")

    def test_source_location_is_banned(self):
        self.write("src/base/bad.h", "void Log(std::source_location where);\n")
        self.assert_finds("text", "bad.h:2:", "clang 14")

    def test_a_file_without_copyright(self):
        self.write_raw("src/base/bad.h", "#pragma once\n")
        self.assert_finds("text", "src/base/bad.h:1:", "Copyright")

    def test_c_is_read_as_well(self):
        self.write_raw("examples/bad.c", "// FIXME\n" + "x" * 101 + "\n")
        self.assert_finds("text", "bad.c:1: does not begin", "bad.c:1: FIXME", "bad.c:2: 101")

    def test_a_second_title_and_none(self):
        self.write_raw("docs/two.md", "# One\n\n# Two\n")
        self.write_raw("docs/none.md", "words\n")
        self.assert_finds("text", "docs/two.md:3: a second title", "docs/none.md:1: has no title")

    def test_a_dead_link(self):
        self.write_raw("docs/bad.md", "# Bad\n\n[x](missing.md)\n\n[y]: gone.md\n[z](#bad)\n"
                       "[w](https://example.org/)\n[up](../README.md)\n`[c](no.md)`\n")
        self.assert_finds("text", "bad.md:3: dead link: missing.md", "bad.md:5: dead link: gone.md")
        self.assertEqual(len(self.run_guard("text").stdout.splitlines()), 2)

    def test_an_image_that_is_not_there(self):
        self.write_raw("docs/bad.md", "# Bad\n\n![x](missing.svg) [![y](gone.svg)](notes.md)\n")
        self.assert_finds("text", "bad.md:3: dead link: missing.svg", "bad.md:3: dead link: gone")

    def test_a_link_to_a_heading_that_is_not_there(self):
        self.write_raw("docs/bad.md", "# Bad\n\n[x](notes.md#not-a-title) [y](notes.md#gone)\n"
                       "[z](#below)\n[up](../README.md#tree)\n")
        self.assert_finds("text", "bad.md:3: dead link: notes.md#not-a-title",
                          "bad.md:3: dead link: notes.md#gone", "bad.md:4: dead link: #below")
        self.assertEqual(len(self.run_guard("text").stdout.splitlines()), 3)

    def test_headings_are_spelt_as_on_the_web(self):
        self.write_raw("docs/good.md", "# Good\n\n## A `b_c`, [d](notes.md)!\n## Twice\n## Twice\n"
                       "\n[x](#a-b_c-d) [y](#twice) [z](#twice-1)\n")
        self.assert_clean("text")
        self.write_raw("docs/good.md", "# Good\n\n## Once\n\n[x](#once-1)\n")
        self.assert_finds("text", "good.md:5: dead link: #once-1")

    def test_what_a_build_left_is_not_read(self):
        self.write_raw("build/release/bad.cc", "// FIXME\n")
        self.write_raw("out/CMakeCache.txt", "")
        self.write_raw("out/bad.cc", "// FIXME\n")
        self.assert_clean("text")


class TestsTest(GuardTest):
    def test_passes_a_clean_tree(self):
        self.assert_clean("tests")

    def test_a_test_file_that_nobody_builds(self):
        self.write("src/base/text_test.cc", "TEST(A, B) {}\n")
        self.assert_finds("tests", "src/base/text_test.cc:1:", "never run")

    def test_a_test_that_is_switched_off(self):
        self.write("src/store/store_test.cc", "TEST(A, DISABLED_B) {}\n")
        self.assert_finds("tests", "store_test.cc:2:", "switched off")

    def test_a_skip_gives_its_reason(self):
        self.write("src/store/store_test.cc", 'TEST(A, B) { GTEST_SKIP() << "no server"; }\n')
        self.assert_clean("tests")
        self.write("src/store/store_test.cc", "TEST(A, B) { GTEST_SKIP(); }\n")
        self.assert_finds("tests", "store_test.cc:2:", "say why")


class DeadTest(GuardTest):
    """The same tree, in which everything is used."""

    def setUp(self):
        super().setUp()
        self.write("src/mint/mint.cc", '#include "mint/mint.h"\n#include "store/sqlite/lite.h"\n'
                   '#include "store/memory/memory.h"\n')
        self.write("fuzz/http_fuzz.cc", "")
        self.write_raw("fuzz/CMakeLists.txt", "keymill_fuzz(http LINK keymill_wire)\n")
        self.write("examples/embed.c", "")
        self.write_raw("examples/CMakeLists.txt", "add_executable(embed embed.c)\n")
        self.write_raw("tests/support/proof.py", "")
        self.write_raw("tests/proofs/fork.py", "from proof import prove\n")
        self.write_raw("cmake/Flags.cmake", "")
        self.write_raw("CMakeLists.txt", "include(Flags)\n")
        self.compile_commands("src/base/clock.cc", "src/mint/mint.cc", "src/store/store.cc",
                              "src/store/store_test.cc")

    def test_passes_a_clean_tree(self):
        self.assert_clean("dead")

    def test_a_source_that_no_target_builds(self):
        self.write("src/base/old.cc", "")
        self.write("fuzz/old_fuzz.cc", "")
        self.write("examples/old.c", "")
        self.assert_finds("dead", "src/base/old.cc:1: is part of no target", "fuzz/old_fuzz.cc:1:",
                          "examples/old.c:1:")

    def test_a_target_that_was_commented_out(self):
        self.write_raw("examples/CMakeLists.txt", "# add_executable(embed embed.c)\n")
        self.assert_finds("dead", "examples/embed.c:1: is part of no target")

    def test_a_header_that_nobody_includes(self):
        self.write("src/base/old.h", '#include "base/old.h"\n')
        self.assert_finds("dead", "src/base/old.h:1: is included by nobody")

    def test_a_helper_that_nobody_imports(self):
        self.write_raw("tests/support/old.py", "import old\n")
        self.assert_finds("dead", "tests/support/old.py:1: is imported by nobody")

    def test_a_cmake_file_that_nobody_names(self):
        self.write_raw("cmake/Old.cmake", "")
        self.assert_finds("dead", "cmake/Old.cmake:1: is named by no CMake file")

    def test_documents_that_link_only_each_other(self):
        self.write_raw("docs/one.md", "# One\n\n[two](two.md)\n")
        self.write_raw("docs/two.md", "# Two\n\n[one](one.md)\n")
        self.write_raw("docs/old.svg", "")
        self.assert_finds("dead", "docs/old.svg:1: cannot be reached", "docs/one.md:1:",
                          "docs/two.md:1:")
        self.write_raw("docs/notes.md", "# Notes\n\n[one](one.md) ![old](old.svg)\n")
        self.assert_clean("dead")


class HeadersTest(GuardTest):
    def test_passes_a_clean_tree_and_remembers(self):
        self.assert_clean("headers")
        remembered = sorted((self.root.parent / "cache").iterdir())
        self.assertEqual(len(remembered), 7)
        self.assert_clean("headers")
        self.assertEqual(sorted((self.root.parent / "cache").iterdir()), remembered)

    def test_a_header_that_needs_another(self):
        self.write("src/base/bad.h", "#pragma once\nstd::vector<int> Numbers();\n")
        self.assert_finds("headers", "src/base/bad.h:1: does not compile alone")

    def test_a_header_that_needs_what_another_no_longer_includes(self):
        self.assert_clean("headers")
        self.write("include/keymill/status.h", "#pragma once\n")
        self.assert_finds("headers", "src/base/text.h:1: does not compile alone")

    def test_a_header_of_tests_sees_tests(self):
        self.write("tests/support/dir.h", "#pragma once\n")
        self.write("src/base/text_test_support.h", '#pragma once\n#include "support/dir.h"\n')
        self.assert_clean("headers")

    def test_the_header_for_c_compiles_as_c(self):
        self.write("include/keymill/c.h", "#pragma once\n#include <stdint.h>\nint Next(void);\n")
        self.assert_clean("headers")
        self.write("include/keymill/c.h", "#pragma once\n#include <stdint.h>\n"
                   "inline int Next(int& n) { return n; }\n")
        self.assert_finds("headers", "include/keymill/c.h:1: does not compile alone")

    def test_a_public_header_does_not_see_src(self):
        self.write("include/keymill/bad.h", '#pragma once\n#include "base/text.h"\n')
        self.assert_finds("headers", "include/keymill/bad.h:1: does not compile alone")


if __name__ == "__main__":
    unittest.main()
