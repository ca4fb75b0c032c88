#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The installed library and the examples."""

import ctypes
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import ROOT, Server
from proof import ScenarioTest
from scenario_library import (build_with_cmake, compile_with_pkg_config, install,
                              mint_with_examples, pkg_config, run)

# Every function that the C++ headers declare: what the library hides does not link.
ALL_OF_CXX = """
#include <keymill/clock.h>
#include <keymill/key_table.h>
#include <keymill/keymill.h>
#include <keymill/store.h>
#include <cstdio>
int main() {
  using namespace keymill;
  auto mill = Mill::Open({.store = "memory:"});
  if (!mill.ok() || !(*mill)->Create("n", DefaultRecipe(Kind::kSequence)).ok()) return 1;
  if ((*mill)->Next("n", 2).value().size() != 2 || *(*mill)->Next("n") != "3") return 1;
  if (!ParseKind(KindName(Kind::kShuffled)).ok() || !CheckKeyspaceName("n").ok()) return 1;
  if ((*mill)->Explain("n", "3")->number != 3) return 1;
  if (!(*mill)->Claim("n", "my-alias", "me").ok()) return 1;
  if ((*mill)->Derive("n", "content").ok() || (*mill)->FillPool("n", 1).ok()) return 1;
  if (SystemClock().WallMs() == 0) return 1;
  std::printf("%zu\\n", CodeName(Code::kOk).size() +
              KeyspaceStateName(KeyspaceState::kOpen).size() +
              BlockStateName(BlockState::kHeld).size() +
              KeyStateName(KeyState::kUsed).size());
}
"""

ONLY_C = """
cmake_minimum_required(VERSION 3.25)
project(only_c LANGUAGES C)
find_package(keymill 0.1 REQUIRED)
add_executable(only_c embed.c)
target_link_libraries(only_c PRIVATE keymill::keymill)
"""


class Options(ctypes.Structure):
    """keymill_options of keymill/c.h."""

    _fields_ = [("size", ctypes.c_size_t), ("data_dir", ctypes.c_char_p),
                ("store", ctypes.c_char_p), ("block_size", ctypes.c_uint32),
                ("timeout_ms", ctypes.c_uint32), ("never_create", ctypes.c_int),
                ("log", ctypes.c_int), ("worker_id", ctypes.POINTER(ctypes.c_uint32)),
                ("pool_low", ctypes.c_int32), ("accept_clock_ahead", ctypes.c_int)]


class Library(ScenarioTest):
    def test_examples_build_against_the_installed_package_and_mint_without_duplicates(self):
        self.run_scenario(mint_with_examples, keys=10_001)

    def test_every_function_of_the_headers_can_be_linked_and_nothing_else_is_visible(self):
        prefix = install(self.directory)
        source = self.directory / "all.cc"
        source.write_text(ALL_OF_CXX, encoding="utf-8")
        program = compile_with_pkg_config(prefix, source, self.directory / "all")
        words = "kOk" + "open" + "held" + "used"
        self.assertEqual(run(program, cwd=self.directory), f"{len(words)}\n")

        library = prefix / "lib/libkeymill.so"
        lines = run("nm", "-DC", "--defined-only", library, cwd=prefix).splitlines()
        names = {re.sub(r"@.*|\(.*|\[abi.*", "", line.split(" ", 2)[2]) for line in lines}
        names.discard("KEYMILL_0.1")
        headers = "".join(path.read_text(encoding="utf-8")
                          for path in (prefix / "include/keymill").glob("*.h"))
        in_c = set(re.findall(r"^[\w ]+\*? ?\b(keymill_\w+)\(", headers, re.MULTILINE))
        self.assertEqual({name for name in names if name.startswith("keymill_")}, in_c)
        in_cxx = {name.removeprefix("keymill::") for name in names if "::" in name}
        self.assertEqual(in_cxx, {"Mill::Open", "BlockStateName", "CheckKeyspaceName", "CodeName",
                                  "DefaultRecipe", "KeyStateName", "KeyspaceStateName", "KindName",
                                  "ParseKind", "SystemClock"})
        self.assertEqual(len(names), len(in_c) + len(in_cxx), names)

    def test_the_package_says_its_version(self):
        prefix = install(self.directory)
        version, = pkg_config(prefix, "--modversion")
        said = run(prefix / "bin/keymill", "version", cwd=self.directory)
        self.assertIn(version, said)
        minor = ".".join(version.split(".")[:2])
        dynamic = run("readelf", "-d", prefix / "lib/libkeymill.so", cwd=prefix)
        self.assertIn(f"soname: [libkeymill.so.{minor}]", dynamic)

    def test_a_project_that_speaks_only_c_finds_the_package(self):
        prefix = install(self.directory)
        source = self.directory / "only_c"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(ONLY_C, encoding="utf-8")
        (source / "embed.c").write_bytes((ROOT / "examples/embed.c").read_bytes())
        build_with_cmake(prefix, source, self.directory / "build")
        keys = run(self.directory / "build/only_c", self.directory / "data", 3,
                   cwd=self.directory).split()
        self.assertEqual((len(set(keys)), {len(key) for key in keys}), (3, {9}))

    def test_another_language_loads_the_library_and_mints(self):
        keymill = ctypes.CDLL(str(install(self.directory) / "lib/libkeymill.so"))
        keymill.keymill_message.restype = ctypes.c_char_p
        options = Options(size=ctypes.sizeof(Options), data_dir=bytes(self.directory / "data"))
        mill = ctypes.c_void_p()
        opened = keymill.keymill_open(ctypes.byref(options), ctypes.byref(mill))
        self.assertEqual(opened, 0, keymill.keymill_message())
        self.addCleanup(keymill.keymill_close, mill)
        key = ctypes.create_string_buffer(97)
        seen = set()
        for _ in range(1000):
            self.assertEqual(keymill.keymill_next(mill, b"default", key, ctypes.c_size_t(97)), 0)
            seen.add(key.value)
        self.assertEqual(len(seen), 1000)
        self.assertEqual(keymill.keymill_next(mill, b"nobody", key, ctypes.c_size_t(97)), 2)
        self.assertIn(b"nobody", keymill.keymill_message())

    def test_an_example_says_why_it_fails(self):
        prefix = install(self.directory)
        program = compile_with_pkg_config(prefix, ROOT / "examples/embed.c",
                                          self.directory / "embed")
        (self.directory / "file").write_text("", encoding="utf-8")
        done = subprocess.run([program, self.directory / "file", "3"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("embed: open: ", done.stderr)
        self.assertIn(str(self.directory / "file"), done.stderr)


class Http(ScenarioTest):
    def test_the_script_works_twice_against_a_server(self):
        with Server(self.directory) as server:
            url = f"http://127.0.0.1:{server.port}"
            for turn in range(2):
                said = run(ROOT / "examples/http.sh", url, cwd=self.directory,
                           env={"no_proxy": "127.0.0.1"})
                orders = set(re.findall(r"\bord_\d{8}\b", said))
                self.assertEqual(orders, {f"ord_{9 * turn + n:08}" for n in range(1, 10)}, said)
                self.assertRegex(said, r"bare:\n[0-9A-Za-z]{7}\n#")
                self.assertIn('"state":"issued"', said.replace(" ", ""))


if __name__ == "__main__":
    unittest.main()
