#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What the documents tell a reader to do works, word for word; and this test would notice if it
did not."""

import errno
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from documents import read_blocks, read_commands
from keymill_process import ROOT
from proof import ScenarioTest
from scenario_documents import NOT_RUN, Documents, figures, network, same_shape

NETWORK = network()
FENCE = "`" * 3
# Nobody but nginx itself knows what it accepts.
IF_INSTALLED = [("nginx", "server { listn 127.0.0.1:80; }", "listn")] if shutil.which(
    "nginx", path=f"/usr/sbin:{os.environ['PATH']}") else []


@unittest.skipIf(NETWORK is None, "no network of its own to be had, and port 8080 is in use")
class DocumentsTest(ScenarioTest):
    def setUp(self):
        super().setUp()
        self.documents = Documents(self.directory, NETWORK)

    def findings(self, *blocks):
        """What is wrong with a document of blocks (tag, text)."""
        text = "# Title\n" + "".join(f"\n{FENCE}{tag}\n{body}\n{FENCE}\n" for tag, body in blocks)
        self.documents.run("a.md", text)
        return "\n".join(self.documents.findings)

    def test_every_block_of_every_document_holds(self):
        self.documents.run_all()
        print(figures(self.documents.counts), file=sys.stderr)
        for pattern in sorted(self.documents.used):
            print(f"not run: {pattern} ({NOT_RUN[pattern]})", file=sys.stderr)
        self.assertEqual(self.documents.findings, [])
        self.assertGreater(self.documents.counts["commands"], 20)

    def test_what_holds_is_passed(self):
        self.assertEqual("", self.findings(
            ("sh", "./dev serve  # in the background"),
            ("sh", "curl -s localhost:8080/get-key\n# yNNZhhb\n\nn=3; cd docs"),
            ("sh", "echo $n; test -e kinds.md\n# 5"),
            ("sh", "keymill frobnicate\n# exit 2"),
            ("yaml", "block_size: 5"), ("json", "{}"), ("text", "a → b"),
            ("cpp", "#include <keymill/keymill.h>\nkeymill::MillOptions options;")))

    def test_a_command_that_fails(self):
        self.assertIn("a.md:4: false\nexit 1", self.findings(("sh", "false")))

    def test_a_command_that_fails_before_one_that_does_not(self):
        self.assertIn("exit 1", self.findings(("sh", "false; true")))
        self.assertIn("exit 1", self.findings(("sh", "false | cat")))

    def test_a_flag_that_is_not_there(self):
        self.assertIn("exit 2", self.findings(("sh", "keymill plan --rat 5/s")))

    def test_a_server_that_does_not_start(self):
        self.assertIn("the server ended", self.findings(("sh", "./dev serve --block-size 0")))

    def test_a_server_that_is_not_there(self):
        self.assertIn("exit 7", self.findings(("sh", "curl -s localhost:8080/get-key")))

    def test_an_exit_code_that_is_not_as_shown(self):
        self.assertIn("exit 0 instead of 78", self.findings(("sh", "keymill version\n# exit 78")))

    def test_output_that_is_not_as_shown(self):
        self.assertIn("the document shows", self.findings(("sh", "keymill mint\n# abcdef7h")))

    def test_a_command_that_is_not_whole(self):
        self.assertIn("not a whole command", self.findings(("sh", "echo 'a")))

    def test_a_verb_that_dev_does_not_have(self):
        self.documents.run("a.md", f"{FENCE}sh\n./dev frobnicate\n{FENCE}\n")
        self.assertIn("does not run in this test", "\n".join(self.documents.findings))

    def test_an_unknown_kind_of_block(self):
        self.assertIn('unknown kind of block "shell"', self.findings(("shell", "false")))

    def test_a_block_without_a_kind(self):
        self.assertIn('unknown kind of block ""', self.findings(("", "false")))

    def test_a_command_that_hides_as_text(self):
        self.assertIn("should be sh", self.findings(("text", "keymill frobnicate")))

    def test_a_fence_that_stays_open(self):
        self.documents.run("a.md", f"{FENCE}sh\nfalse\n")
        self.assertIn("never closed", self.documents.findings[0])

    def test_files_that_their_reader_refuses(self):
        for tag, text, said in (
                ("yaml", "blok_size: 5", "did you mean"),
                ("yaml", "scrape_configs:\n  - job: x", "field job not found"),
                ("yaml", "groups: [{name: a, rules: [{alert: B, expr: 'up ='}]}]", "unexpected"),
                ("json", "{a: 1}", "not JSON"),
                ("cpp", "#include <keymill/keymill.h>\nkeymill::Mil mill;", "Mil"),
                ("c", "#include <keymill/c.h>\nint n = keymill_frob();", "keymill_frob"),
                ("systemd", "[Service]\nExecStart=/bin/true", "begins with [Unit]"),
                *IF_INSTALLED):
            with self.subTest(tag=tag, text=text):
                self.documents = Documents(self.directory / said, NETWORK)
                self.documents.directory.mkdir()
                self.assertIn(said, self.findings((tag, text)))

    def test_an_exception_that_nobody_needs_any_more(self):
        root = self.directory / "root"
        root.mkdir()
        (root / "README.md").write_text(f"# A\n\n{FENCE}sh\n./dev test\n{FENCE}\n",
                                        encoding="utf-8")
        self.documents.run_all(root)
        self.assertEqual(len(self.documents.findings), len(NOT_RUN) - 1)
        self.assertEqual(self.documents.counts["commands not run"], 1)
        self.assertIn("any more", self.documents.findings[0])


class ReferenceTest(unittest.TestCase):
    """What is listed in a document is what is in the sources, no more and no less."""

    def section(self, path, heading):
        text = (ROOT / path).read_text(encoding="utf-8")
        return re.split(r"(?m)^## ", text.split(f"## {heading}\n")[1])[0]

    def test_files_that_are_named_exist(self):
        folders = ("bench", "cmake", "docs", "examples", "fuzz", "include", "src", "tests")
        names = {path.name for folder in folders for path in (ROOT / folder).rglob("*")}
        names |= {path.name for path in ROOT.iterdir()} | {"keymill.yml", "config.yml"}
        for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r"`([\w./-]+\.(?:cc|c|h|json|map|md|py|sh|svg|yml))`", text):
                self.assertIn(name.rpartition("/")[2], names, path)
            for name in re.findall(rf"`((?:{'|'.join(folders)})/[\w./-]*)`", text):
                self.assertTrue((ROOT / name).exists(), f"{path}: {name}")

    def test_every_type_of_problem_is_explained(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in
                          (ROOT / "src/api").rglob("*.cc") if not path.name.endswith("_test.cc"))
        slug = r'"([a-z]+(?:-[a-z]+)*)"'
        known = set(re.findall(rf"\{{(?:\w+::)+\w+, \d+, {slug}", sources)) | \
            set(re.findall(rf"Problem\(\s*\d+, {slug}", sources)) | \
            set(re.findall(rf"case \d+:\s+return {slug};", sources))
        self.assertGreater(len(known), 20)
        told = re.findall(r"`([a-z]+(?:-[a-z]+)*)`", "".join(
            line.split("|")[1] if line.startswith("|") else line
            for line in self.section("docs/http.md", "Problems").splitlines()))
        self.assertEqual(known, set(told) - {"type", "detail"})

    def test_messages_that_are_explained_are_said(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in
                          (ROOT / "src").rglob("*.cc") if not path.name.endswith("_test.cc"))
        sources = re.sub(r'"\s*\n\s*"', "", sources)
        system = {os.strerror(number) for number in errno.errorcode}
        rows = [line.split("|")[1] for line in
                self.section("docs/operations.md", "Refused with 78").splitlines()
                if line.startswith("| `")]
        pieces = [piece.strip(" :") for row in rows for phrase in re.findall(r"`([^`]+)`", row)
                  for piece in phrase.split("…")]
        self.assertGreater(len(pieces), 20)
        self.assertEqual([piece for piece in pieces
                          if piece not in sources and piece not in system], [])

    def test_every_figure_is_explained(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in
                          (ROOT / "src").rglob("*metrics.cc"))
        sources += (ROOT / "src/store/metered_store.cc").read_text(encoding="utf-8")
        sources += (ROOT / "src/app/metrics_page.cc").read_text(encoding="utf-8")
        known = set(re.findall(r'"(keymill_[a-z_]+)"', sources))
        self.assertGreater(len(known), 15)
        told, last = set(), ""
        for name in re.findall(r"`(keymill_[a-z_]+|…_[a-z_]+)`",
                               self.section("docs/metrics.md", "Figures")):
            # …_x shares all but the last words of the name before it.
            tail = name.removeprefix("…")
            last = name if tail == name else next(
                (one for one in known if one.endswith(tail) and
                 one.startswith(last.rsplit("_", 2)[0])), name)
            told.add(last)
        self.assertEqual(known, told)


class ReadingTest(unittest.TestCase):
    def commands(self, text):
        block, = read_blocks("a.md", f"{FENCE}sh\n{text}\n{FENCE}\n")
        return [(each.text, each.output, each.code) for each in read_commands(block)]

    def test_commands_of_several_lines(self):
        self.assertEqual(self.commands("a \\\n  b\ncat <<END\nx\nEND\nfor x in 1; do\n  c\ndone"),
                         [("a \\\n  b", [], 0), ("cat <<END\nx\nEND", [], 0),
                          ("for x in 1; do\n  c\ndone", [], 0)])

    def test_comments_below_a_command_are_its_output(self):
        self.assertEqual(self.commands("# why\na # b\n# one\n# two\n\n# why\nc\n# exit 3"),
                         [("a # b", ["one", "two"], 0), ("c", [], 3)])

    def test_shapes(self):
        for shown, came in (("yNNZhhb", "5PXjvh0"), ("12 keys", "3,456 keys"), ("a … z", "a b z"),
                            ('{"a":["yNNZhhb"],"n":1}', '{"a":["5PXjvh0"],"n":22}')):
            self.assertTrue(same_shape(shown, came), shown)
        for shown, came in (("yNNZhhb", "5PXjvh"), ("12 keys", "12 key"), ("a … z", "a b c"),
                            ('{"a":["x"]}', '{"a":["x","y"]}'), ('{"a":1}', '{"b":1}'),
                            ('{"a":1}', '{"a":"1"}')):
            self.assertFalse(same_shape(shown, came), shown)


if __name__ == "__main__":
    unittest.main()
