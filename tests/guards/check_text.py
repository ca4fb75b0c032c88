#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Rules that a text search can check: lengths, banned words and calls, titles, links."""

import re
import sys
import urllib.parse

import guardlib

LINE_MAX = 100
FILE_LINES_MAX = 1000
COPYRIGHT = re.compile(r"^// Copyright \(c\) \d{4} The Keymill Authors\. See LICENSE\.$")
BANNED_WORDS = re.compile(r"\b(FIXME|XXX|HACK)\b")

IN_TESTS = re.compile(r"_test\.cc$|^tests/")
IN_TEST_FILES = re.compile(r"_test\.cc$")
NEVER = re.compile(r"(?!)")

# (what, where it counts, where it is allowed all the same, what to use instead)
BANNED_CALLS = [
    (re.compile(r"\b(system_clock|steady_clock|high_resolution_clock)::now\b"
                r"|\b(clock_gettime|gettimeofday)\s*\(|\bstd::time\s*\("),
     re.compile(r"^(src|include|tests|fuzz|bench)/"),
     re.compile(r"^src/base/clock\.cc$|^tests/proofs/"),
     "take a Clock (keymill/clock.h), so that a test can set the time"),
    (re.compile(r"\bstd::s?rand\b|(?<![\w:])s?rand\s*\(|\bmt19937|\brandom_device\b"),
     re.compile(r"^(src|include)/"), IN_TESTS, "use base/random.h"),
    (re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w:.>])sleep\s*\("),
     IN_TEST_FILES, NEVER, "use FakeClock (tests/support/fake_clock.h)"),
    (re.compile(r"\bstd::source_location\b|<source_location>"),
     re.compile(r"^(src|include|tests|fuzz|bench)/"), NEVER,
     "clang 14 cannot parse it; pass __FILE__ and __LINE__"),
]

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
LINK_DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?")
ABSOLUTE = re.compile(r"^([a-z][a-z0-9+.-]*:|//|/)", re.IGNORECASE)


def check_lengths(tree, findings):
    for path in tree.files((".c", ".cc", ".h", ".py", ".sh")) + tree.scripts():
        lines = tree.lines(path)
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                findings.add(path, number, f"{len(line)} columns; at most {LINE_MAX}")
        if len(lines) > FILE_LINES_MAX:
            findings.add(path, len(lines), f"more than {FILE_LINES_MAX} lines; divide the file")


def check_words(tree, findings):
    suffixes = (".c", ".cc", ".h", ".py", ".sh", ".md", ".txt", ".cmake")
    for path in tree.files(suffixes) + tree.scripts():
        if path.startswith("tests/guards/"):
            continue  # They name what they ban.
        for number, line in enumerate(tree.lines(path), 1):
            match = BANNED_WORDS.search(line)
            if match:
                findings.add(path, number, f"{match.group(1)} may not stay; do it, or write "
                             "TODO(name): what, and what would make it urgent")


def check_calls(tree, findings):
    for path in tree.files((".cc", ".h")):
        rules = [rule for rule in BANNED_CALLS if rule[1].search(path) and not rule[2].search(path)]
        for number, line in enumerate(tree.lines(path), 1):
            code = line.split("//")[0]
            for pattern, _, _, instead in rules:
                match = pattern.search(code)
                if match:
                    findings.add(path, number, f"{match.group(0).strip()}: {instead}")


def check_copyright(tree, findings):
    for path in tree.files((".c", ".cc", ".h")):
        lines = tree.lines(path)
        if not lines or not COPYRIGHT.match(lines[0]):
            findings.add(path, 1, 'does not begin with "// Copyright (c) YEAR The Keymill Authors. '
                         'See LICENSE."')


def prose_lines(lines, keep_code=False):
    """The lines of a markdown file outside fenced code; inline code is blanked unless kept."""
    fence = None
    for number, line in enumerate(lines, 1):
        mark = re.match(r"^\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark.group(1)[:3]
        elif mark and mark.group(1).startswith(fence):
            fence = None
        elif fence is None:
            yield number, line if keep_code else re.sub(r"`[^`]*`", "``", line)


def anchors(lines):
    """What a link may name after '#': the headings of a document, as GitHub spells them."""
    found = set()
    for _, line in prose_lines(lines, keep_code=True):
        heading = re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            number = 0
            while (anchor if number == 0 else f"{anchor}-{number}") in found:
                number += 1
            found.add(anchor if number == 0 else f"{anchor}-{number}")
    return found


def check_link(tree, path, target):
    """Whether a link in markdown file `path` leads somewhere: to a file of the project, and to a
    heading in it."""
    if ABSOLUTE.match(target):
        return True
    name, _, anchor = target.partition("#")
    name = urllib.parse.unquote(name.split("?")[0])
    found = (tree.root / path).parent.joinpath(name) if name else tree.root / path
    if not found.exists():
        return False
    if not anchor or found.suffix != ".md":
        return True
    return anchor in anchors(found.read_text(encoding="utf-8").splitlines())


def check_markdown(tree, findings):
    for path in tree.files((".md",)):
        titles = 0
        for number, line in prose_lines(tree.lines(path)):
            titles += line.startswith("# ")
            if titles > 1 and line.startswith("# "):
                findings.add(path, number, "a second title; use ## for sections")
            for target in LINK.findall(line) + LINK_DEFINITION.findall(line):
                if not check_link(tree, path, target):
                    findings.add(path, number, f"dead link: {target}")
        if titles == 0:
            findings.add(path, 1, 'has no title ("# Title")')


def main():
    arguments = guardlib.parser(__doc__).parse_args()
    tree = guardlib.Tree(arguments.root)
    findings = guardlib.Findings("check_text")
    check_lengths(tree, findings)
    check_words(tree, findings)
    check_calls(tree, findings)
    check_copyright(tree, findings)
    check_markdown(tree, findings)
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
