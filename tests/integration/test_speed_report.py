#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What ./dev bench shows of its results, and that the documents show the last ones."""

import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

# pylint: disable=wrong-import-position
import callgrind
import measure
import report
import run
import speed_rows

SVG = "{http://www.w3.org/2000/svg}"


def row(name, ours, theirs=(), relation="", bar=0, **other):
    return {"name": name, "title": f"Title of {name}", "what": "CPU per request", "unit": "ns",
            "peer": "nginx" if theirs else "", "relation": relation, "bar": bar, "note": "",
            "ours": list(ours), "theirs": list(theirs), **other}


def results(*rows):
    return {"run": {"commit": "abc"}, "rows": list(rows)}


class VerdictTest(unittest.TestCase):
    """Medians of ratios against bars."""

    def test_the_figure_is_the_median_of_the_ratios_of_each_round(self):
        # The ratio of the medians would be 2.
        self.assertEqual(report.median(row("a", (1, 20, 30), (10, 10, 10))), 2)
        self.assertEqual(report.median(row("a", (10, 20, 90), (10, 10, 100))), 1)

    def test_a_row_without_a_peer_is_its_own_figure(self):
        self.assertEqual(report.median(row("a", (5, 7, 6))), 6)

    def test_a_bar_is_held_up_to_and_including_itself(self):
        for relation, good, bad in (("<=", (9, 10), (11,)), (">=", (10, 11), (9,))):
            for value in (*good, *bad):
                self.assertEqual(report.held(row("a", (value,), (), relation, 10)),
                                 value in good, (relation, value))

    def test_rows_for_context_and_waived_ones_have_no_verdict(self):
        self.assertIsNone(report.held(row("a", (1,), (2,))))
        self.assertIsNone(report.held(row("a", (500,), (), "<=", 100, note="slow disk")))

    def test_those_that_miss_are_named(self):
        found = report.missed(results(row("good", (1,), (2,), "<=", 1),
                                      row("bad", (3,), (2,), "<=", 1)))
        self.assertEqual([one["name"] for one in found], ["bad"])

    def test_a_round_without_its_peer_is_an_error(self):
        with self.assertRaises(ValueError):
            report.median(row("a", (1, 2), (1,)))


class WordsTest(unittest.TestCase):
    """Numbers that people read."""

    def test_quantities_have_a_unit_of_their_size(self):
        for value, unit, text in ((301.4, "ns", "301 ns"), (5469, "ns", "5.47 µs"),
                                  (1.747e6, "/s", "1.75 M/s"), (126300, "/s", "126 k/s"),
                                  (1.333e9, "B/s", "1.33 GB/s"), (11.74, "MiB", "11.7 MiB"),
                                  (0.0315, "ms", "0.032 ms")):
            self.assertEqual(report.quantity(value, unit), text)

    def test_the_table_has_a_line_for_each_row_with_spread_bar_and_verdict(self):
        text = report.table(results(row("a", (5000, 6000, 7000), (10_000,) * 3, "<=", 1.0),
                                    row("b", (9,), (3,), "<=", 2)))
        a, b = (next(line for line in text.splitlines() if f"Title of {name}" in line)
                for name in "ab")
        for words in ("0.60 ×", "0.50 to 0.70", "≤ 1 ×", "held", "6.00 µs against 10.0 µs"):
            self.assertIn(words, a)
        for words in ("3.00 ×", "one value", "MISSED"):
            self.assertIn(words, b)
        self.assertIn("commit: abc", text)

    def test_markdown_keeps_a_row_that_is_lost_and_marks_it(self):
        lines = report.markdown(results(row("a", (9,), (3,), "<=", 2))).splitlines()
        self.assertIn("**MISSED**", lines[2])
        self.assertEqual({line.count("|") for line in lines[:3]}, {8})

    def test_the_short_table_never_leaves_out_a_row_that_is_lost(self):
        rows = (row("a", (1,), (3,), "<=", 2), row("b", (9,), (3,), "<=", 2), row("c", (1,)))
        lines = report.short_markdown(results(*rows), ["a"]).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn("Title of a", lines[2])
        self.assertIn("**MISSED**", lines[3])

    def test_text_goes_between_its_marks_and_nowhere_else(self):
        page = "a\n<!-- x: generated -->\nold\n<!-- x: end -->\nb\n"
        once = report.put_between(page, "x", "new\n")
        self.assertEqual(once, "a\n<!-- x: generated -->\nnew\n<!-- x: end -->\nb\n")
        self.assertEqual(report.put_between(once, "x", "new\n"), once)
        with self.assertRaises(ValueError):
            report.put_between(page, "y", "new\n")


class ChartTest(unittest.TestCase):
    """The chart is XML whose bars are as long as their figures."""

    def bars(self, *rows):
        tree = ElementTree.fromstring(report.svg(results(*rows)))
        return tree, tree.findall(f"{SVG}rect")

    def test_lengths_are_in_units_of_the_bar(self):
        _, (half, whole, cut) = self.bars(
            row("a", (1,), (2,), "<=", 1), row("b", (8,), (1,), "<=", 8),
            row("c", (900,), (1,), ">=", 8))
        width = float(whole.get("width"))
        self.assertAlmostEqual(float(half.get("width")), width / 2, delta=0.2)
        self.assertAlmostEqual(float(cut.get("width")), width * report.SCALE_MAX, delta=0.2)

    def test_a_missed_bar_is_told_by_word_and_colour(self):
        tree, (good, bad) = self.bars(row("a", (1,), (2,), "<=", 1),
                                      row("b", (3,), (2,), "<=", 1))
        self.assertNotEqual(good.get("fill"), bad.get("fill"))
        words = [text.text for text in tree.iter(f"{SVG}text") if "missed" in text.text]
        self.assertEqual(len(words), 1)

    def test_titles_cannot_break_it_and_rows_without_a_bar_are_left_out(self):
        tree, bars = self.bars(row("a", (1,), (2,), "<=", 1, title="a < b & c"),
                               row("b", (1,), (2,)))
        self.assertEqual(len(bars), 1)
        self.assertIn("a < b & c", [text.text for text in tree.iter(f"{SVG}text")])


class DocumentTest(unittest.TestCase):
    """./dev bench --write-docs and ./dev prove instructions --update were run to their end."""

    def test_the_page_and_the_chart_show_the_results_that_are_kept(self):
        kept = json.loads(run.RESULTS.read_text(encoding="utf-8"))
        counts = json.loads(run.INSTRUCTIONS.read_text(encoding="utf-8"))
        page = run.PAGE.read_text(encoding="utf-8")
        self.assertEqual(run.page_with(page, kept, counts), page,
                         "./dev bench --from bench/results.json --write-docs")
        self.assertEqual(run.CHART.read_text(encoding="utf-8"), report.svg(kept))
        readme = run.README.read_text(encoding="utf-8")
        self.assertEqual(run.readme_with(readme, kept), readme)
        self.assertLessEqual(set(run.README_ROWS), {one["name"] for one in kept["rows"]})

    def test_every_row_that_is_measured_is_shown_with_the_bar_of_today(self):
        kept = json.loads(run.RESULTS.read_text(encoding="utf-8"))
        self.assertEqual([(one["name"], one["relation"], one["bar"]) for one in kept["rows"]],
                         [(one.name, one.relation, one.bar) for one in speed_rows.ROWS])

    def test_samples_become_rows_and_a_slow_disk_waives_one_bar(self):
        samples = speed_rows.Samples()
        for one in speed_rows.ROWS:
            samples.add(one.name, 6.0, 3.0 if one.peer else None)
        for fsync_ms, verdict in ((1, True), (50, None)):
            samples.fsync_ms = fsync_ms
            rows = {one["name"]: one for one in run.assemble(samples, {})["rows"]}
            self.assertEqual(report.held(rows["first-key"]), verdict)
            self.assertEqual(report.median(rows["stream"]), 2)
            self.assertIs(report.held(rows["one-key-1-thread"]), False)


class ToolsTest(unittest.TestCase):
    """The measuring itself, where it can be told from outside."""

    def test_a_process_is_charged_for_what_it_spends_not_for_what_it_sleeps(self):
        with measure.Cpu(os.getpid()) as idle:
            time.sleep(0.05)
        with measure.Cpu(os.getpid()) as busy:
            own = time.process_time()
            while time.process_time() < own + 0.05:
                pass
        self.assertLess(idle.seconds, 0.02)
        self.assertGreaterEqual(busy.seconds, 0.05)
        self.assertLess(busy.seconds, 0.2)

    def test_every_round_begins_with_another_server(self):
        self.assertEqual([speed_rows.in_turns("abc", n) for n in range(4)],
                         [list("abc"), list("bca"), list("cab"), list("abc")])

    def test_a_cold_server_gives_a_key_and_a_busy_one_is_charged_for_its_work(self):
        with tempfile.TemporaryDirectory() as folder:
            directory = pathlib.Path(folder)
            self.assertGreater(measure.first_key_ms(directory / "cold"), 0)
            with measure.keymill(directory / "warm", "--threads", 1) as server:
                found, cpu = measure.load(server, pipeline=8, seconds=0.2)
                self.assertGreater(found["ok"], 0)
                self.assertGreater(cpu, 0)
                found, _ = measure.load(server, pipeline=1, seconds=0.2, keys=100)
                self.assertEqual(found["keys"], 100 * found["ok"])
                for changing in (False, True):
                    self.assertGreater(measure.header_cpu_ns(
                        server, seconds=0.1, changing=changing), 0)

    def test_functions_are_named_without_what_nobody_reads(self):
        for function, name in (
                ("void keymill::keys::(anonymous namespace)::EncryptNarrow<8ul>(keymill::keys::"
                 "Ff1Rounds const&, unsigned long*)", "keys::EncryptNarrow"),
                ("boost::asio::detail::scheduler::do_run_one(boost::asio::detail::op_queue<int>&)"
                 " [clone .isra.0]", "boost::asio::detail::scheduler::do_run_one"),
                ("std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data "
                 "const&)", "std::_Function_handler::_M_invoke"),
                ("pthread_mutex_lock@@GLIBC_2.2.5", "pthread_mutex_lock"),
                ("epoll_wait", "epoll_wait")):
            self.assertEqual(callgrind.short_name(function), name)

    def test_a_request_costs_the_difference_of_two_runs(self):
        once = callgrind.Profile(1500, {"start": 500, "work": 1000}, {})
        twice = callgrind.Profile(2500, {"start": 500, "work": 2000}, {})
        each = twice.per_request(once, 100)
        self.assertEqual((each.total, each.own), (10, {"work": 10, "start": 0}))
        self.assertTrue(once.is_like(twice))
        other = callgrind.Profile(2900, {"start": 500, "work": 2000, "open": 400}, {})
        self.assertFalse(once.is_like(other))


if __name__ == "__main__":
    unittest.main()
