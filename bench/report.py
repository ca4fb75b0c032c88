# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Shows results: as a table, as Markdown, as a chart. Pure: from the results alone.

Results are what `./dev bench --save` writes:

  {"run": {what: text, …}, "rows": [{"name", "title", "what", "unit", "peer", "relation", "bar",
    "note", "ours": [one for each round], "theirs": […]}, …]}
"""

import html
import statistics

RELATIONS = {"<=": "≤", ">=": "≥"}


def figures(row):
    """What is compared with the bar, for each round: ours / theirs, or ours alone."""
    if not row["peer"]:
        return row["ours"]
    return [ours / theirs for ours, theirs in zip(row["ours"], row["theirs"], strict=True)]


def median(row):
    return statistics.median(figures(row))


def held(row):
    """Whether the median keeps to the bar; None where there is none, or where it is waived."""
    if not row["relation"] or row["note"]:
        return None
    return median(row) <= row["bar"] if row["relation"] == "<=" else median(row) >= row["bar"]


def verdict(row):
    return {True: "held", False: "MISSED", None: "–"}[held(row)]


def missed(results):
    return [row for row in results["rows"] if held(row) is False]


# --- Words ------------------------------------------------------------------------------


def number(value):
    """Three digits are all that a shared machine can tell."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"


def quantity(value, unit):
    """A measurement with its unit, in a size that can be read."""
    if unit == "ns" and value >= 1000:
        return f"{number(value / 1e3)} µs"
    if unit == "/s":
        return f"{number(value / 1e6)} M/s" if value >= 1e6 else f"{number(value / 1e3)} k/s"
    if unit == "B/s":
        return f"{number(value / 1e9)} GB/s"
    return f"{number(value)} {unit}"


def figure_text(row, value):
    return f"{number(value)} ×" if row["peer"] else quantity(value, row["unit"])


def bar_text(row):
    if not row["relation"]:
        return "–"
    bar = f"{row['bar']:g}"
    return f"{RELATIONS[row['relation']]} {bar} {'×' if row['peer'] else row['unit']}"


def spread_text(row):
    values = figures(row)
    return f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else "one value"


def sides_text(row):
    """The two measurements behind a ratio."""
    if not row["peer"]:
        return row["note"]
    ours = quantity(statistics.median(row["ours"]), row["unit"])
    theirs = quantity(statistics.median(row["theirs"]), row["unit"])
    return f"{ours} against {theirs}" + (f"; {row['note']}" if row["note"] else "")


def subject(row):
    return f"{row['what']}, {row['peer']} = 1" if row["peer"] else row["what"]


def line(row):
    """A row as words, for the figures of a proof."""
    bar = f", bar {bar_text(row)}" if row["relation"] else ""
    return (f"{row['title']}: {subject(row)}: {figure_text(row, median(row))} "
            f"({spread_text(row)}{bar})")


# --- Table ------------------------------------------------------------------------------


def table(results):
    """For a terminal."""
    cells = [("", "", "median", "spread", "bar", "", "measured")]
    for row in results["rows"]:
        cells.append((row["title"], subject(row), figure_text(row, median(row)),
                      spread_text(row), bar_text(row), verdict(row), sides_text(row)))
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = ["  ".join(cell.rjust(width) if i == 2 else cell.ljust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
             for row in cells]
    run = [f"{what}: {text}" for what, text in results["run"].items()]
    return "\n".join([*lines, "", *run]) + "\n"


def markdown(results):
    """The table of docs/benchmarks.md, with what it was measured on."""
    lines = ["| work | figure | median | spread | bar | verdict | measured |",
             "|---|---|---:|---|---|---|---|"]
    for row in results["rows"]:
        word = f"**{verdict(row)}**" if held(row) is False else verdict(row)
        lines.append(f"| {row['title']} | {subject(row)} | {figure_text(row, median(row))} | "
                     f"{spread_text(row)} | {bar_text(row)} | {word} | {sides_text(row)} |")
    lines += ["", "| | |", "|---|---|"]
    lines += [f"| {what} | {text} |" for what, text in results["run"].items()]
    return "\n".join(lines) + "\n"


def short_markdown(results, names):
    """The table of README.md: the rows that are named, and whatever missed its bar."""
    lines = ["| work | figure | median | bar |", "|---|---|---:|---|"]
    for row in results["rows"]:
        if row["name"] in names or held(row) is False:
            bar = f"{bar_text(row)}, **MISSED**" if held(row) is False else bar_text(row)
            lines.append(f"| {row['title']} | {subject(row)} | "
                         f"{figure_text(row, median(row))} | {bar} |")
    return "\n".join(lines) + "\n"


def instructions_markdown(counts):
    """Counted instructions, from bench/instructions.json."""
    lines = ["| request | instructions |", "|---|---:|"]
    lines += [f"| {case['title']} | {case['instructions']:,} |" for case in counts.values()]
    for case in counts.values():
        lines += ["", f"{case['title']}:", "", "| function | instructions | share |",
                  "|---|---:|---:|"]
        for function, count in case["where"]:
            share = count / case["instructions"]
            lines.append(f"| `{function}` | {count:,} | {share:.0%} |")
    return "\n".join(lines) + "\n"


def put_between(text, mark, content):
    """`text` with `content` between the comments that name `mark`."""
    begin, end = f"<!-- {mark}: generated -->\n", f"<!-- {mark}: end -->\n"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"no place for {mark}: {begin.strip()} … {end.strip()} must be there once")
    head, rest = text.split(begin)
    return head + begin + content + end + rest.split(end)[1]


# --- Chart ------------------------------------------------------------------------------

# Greys and colours with enough contrast on white and on black, because the page that shows the
# chart has a theme of its own that an image cannot see.
GREY, GOOD, BAD = "#768390", "#2f81f7", "#d4622a"
LABELS, WIDTH, ROW, TEXT = 330, 860, 40, 13
SCALE_MAX = 2.0  # Times the bar; what is longer is cut, with its figure beside it.

STYLE = (f"text{{font:{TEXT}px system-ui,sans-serif;fill:{GREY}}}"
         f".small{{font-size:{TEXT - 2}px}}.end{{text-anchor:end}}.head{{font-weight:600}}")


def svg(results):
    """Bars of the rows that have a bar to keep, each drawn in units of it."""
    unit = (WIDTH - LABELS - 190) / SCALE_MAX
    parts = []
    y = 8

    def text(x, y, words, kind=""):
        extra = f' class="{kind}"' if kind else ""
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{extra}>{html.escape(words)}</text>')

    for relation, title in (("<=", "at most: shorter is better"),
                            (">=", "at least: longer is better")):
        rows = [row for row in results["rows"] if row["relation"] == relation]
        if not rows:
            continue
        y += 20
        text(LABELS, y, title, "head end")
        text(LABELS + 12 + unit - 4, y, "the bar", "small end")
        top = y - TEXT
        for row in rows:
            y += ROW
            share = min(median(row) / row["bar"], SCALE_MAX)
            colour = BAD if held(row) is False else GOOD
            text(LABELS, y - 14, row["title"], "end")
            text(LABELS, y, subject(row), "small end")
            parts.append(f'<rect x="{LABELS + 12}" y="{y - 24}" width="{share * unit:.1f}" '
                         f'height="20" rx="2" fill="{colour}"/>')
            words = f"{figure_text(row, median(row))} ({bar_text(row)})"
            if held(row) is False:
                words += " missed"
            text(LABELS + 12 + unit * max(share, 1) + 8, y - 10, words)
        x = LABELS + 12 + unit
        parts.append(f'<path d="M{x:.1f} {top}V{y}" stroke="{GREY}" stroke-width="1.5" '
                     'stroke-dasharray="4 3"/>')
        y += 14
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" '
            f'height="{y}" role="img" aria-label="Measured ratios and their bars">\n'
            f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n")
