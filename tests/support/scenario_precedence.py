# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Flags over environment over file over defaults, for every setting and every combination.

The environment has names of its own and, for some settings, those of the older service, and
`serve` also reads both from .env; a file has both kinds of names as well. What `config show`
tells is compared with what was given, and so is what a server does with it.
"""

import itertools
import json
import random
from typing import NamedTuple, Optional

from keymill_process import Server, free_port, ledger, run_keymill

LAYERS = ("flag", "environment", "file")
COMBINATIONS = tuple(itertools.product((False, True), repeat=len(LAYERS)))


class Legacy(NamedTuple):
    """The older service's name, and what it can say."""
    name: str
    text: str
    value: str


class Setting(NamedTuple):
    """A setting with a value of its own for each layer, as far as there are that many."""
    path: str
    flag: Optional[str]
    environment: str
    file: str
    aliases: tuple = ()
    legacy: Optional[Legacy] = None
    flag_takes_value: bool = True

    @property
    def flag_name(self):
        if self.path == "listen.http":
            return "--listen"
        return "--" + self.path.replace("_", "-").replace(".", "-")

    @property
    def variable(self):
        return "KEYMILL_" + self.path.upper().replace(".", "_")


def keyspaces(name):
    return f"{{{name}: {{kind: sequence, alphabet: decimal, length: 0}}}}"


SETTINGS = (
    Setting("listen.http", "127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003",
            aliases=("--listen-http",), legacy=Legacy("PORT", "7004", "127.0.0.1:7004")),
    Setting("listen.resp", "127.0.0.1:7005", "127.0.0.1:7006", "127.0.0.1:7007"),
    Setting("listen.grpc", "127.0.0.1:7008", "127.0.0.1:7009", "127.0.0.1:7010"),
    Setting("listen.links", "127.0.0.1:7011", "127.0.0.1:7012", "127.0.0.1:7013"),
    Setting("links_keyspace", "short", "shorter", "shortest"),
    Setting("links_public_url", "https://a.test", "https://b.test", "https://c.test"),
    Setting("links_homepage", "https://a.test", "https://b.test", "https://c.test"),
    Setting("data_dir", "flagged", "exported", "written"),
    Setting("store", "sqlite:flagged.db", "sqlite:exported.db", "sqlite:written.db"),
    Setting("store_create", "never", "auto", "never"),
    Setting("accept_unsafe_store", "flagged", "exported", "written"),
    Setting("block_size", "11", "12", "13", legacy=Legacy("RANGE_SIZE", "14", "14")),
    Setting("block_growth", "off", "auto", "off"),
    Setting("runway_target", "11s", "12s", "13s"),
    Setting("pool_low", "11", "12", "13"),
    Setting("worker_id", "1", "2", "3"),
    Setting("accept_clock_ahead", "true", "false", "true", flag_takes_value=False),
    Setting("request_timeout", "11s", "12s", "13s"),
    Setting("threads", "1", "2", "3"),
    Setting("connections_max", "11", "12", "13"),
    Setting("drain_delay", "1s", "2s", "3s"),
    Setting("shutdown_timeout", "11s", "12s", "13s"),
    Setting("log_level", "trace", "warn", "error", legacy=Legacy("DEBUG_ENABLED", "true", "debug")),
    Setting("log_format", "text", "json", "text"),
    Setting("insecure", "true", "false", "true", flag_takes_value=False),
    Setting("compat", "leaf", "tinyid", "generate-id"),
    Setting("keyspaces", None, keyspaces("exported"), keyspaces("written")),
)


class Given(NamedTuple):
    """What one layer is told of one setting, and what must be shown for it."""
    words: tuple  # Arguments; or a name and a text.
    value: str
    where: str


def flag_forms(setting):
    if setting.flag is None:
        return []
    return [Given((name, setting.flag) if setting.flag_takes_value else (name,), setting.flag,
                  setting.flag_name)
            for name in (setting.flag_name, *setting.aliases)]


def environment_forms(setting):
    """In the environment and in .env, by our own name and by the older one."""
    names = [(setting.variable, setting.environment, setting.environment)]
    if setting.legacy:
        names.append(setting.legacy)
    return ([(Given((name, text), value, name), False) for name, text, value in names] +
            [(Given((name, text), value, f"{name} (.env)"), True) for name, text, value in names])


def file_forms(setting):
    """In the second line of a file, by our own name and by the older one."""
    name, _, below = setting.path.partition(".")
    text = f"{{{below}: {json.dumps(setting.file)}}}" if below else setting.file
    forms = [Given((name, f"[{text}]" if name == "compat" else text), setting.file,
                   "keymill.yml:2")]
    if setting.legacy:
        forms.append(Given(setting.legacy[:2], setting.legacy.value, "keymill.yml:2"))
    return forms


class Desk:
    """A directory with a configuration, and `keymill config show` in it."""

    def __init__(self, directory):
        self.directory = directory
        done = run_keymill("config", "show", "-o", "json", cwd=directory)
        self.defaults = json.loads(done.stdout)["settings"]

    def write(self, name, lines):
        path = self.directory / name
        path.unlink(missing_ok=True)
        if lines:
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def show(self, flags, env, dot_env, file):
        """Flags as words, the others as pairs of a name and a text."""
        self.write(".env", [f"{name}='{text}'" for name, text in dot_env])
        self.write("keymill.yml", [f"{name}: {text}" for name, text in file])
        done = run_keymill("config", "show", "-o", "json", *flags, cwd=self.directory,
                           env=dict(env))
        if done.returncode != 0:
            raise RuntimeError(f"{flags} {env} {dot_env} {file}: {done.stderr}")
        return json.loads(done.stdout)["settings"]


def shown(given, layer):
    return {"value": given.value, "origin": layer, "where": given.where}


def one_setting(desk, setting):
    """All combinations of layers in all their forms; returns how many, and what was wrong."""
    wrong, cases, combinations = [], 0, set()
    for flag, (variable, in_dot_env), file in itertools.product(
            [None, *flag_forms(setting)], [(None, False), *environment_forms(setting)],
            [None, *file_forms(setting)]):
        cases += 1
        combinations.add((flag is not None, variable is not None, file is not None))
        pairs = [variable.words] if variable else []
        # Another setting first, so that the line is worth telling.
        lines = [("keyspaces", keyspaces("other")), file.words] if file else []
        if file and setting.path == "keyspaces":
            lines[0] = ("threads", "1")
        told = desk.show(flag.words if flag else (), [] if in_dot_env else pairs,
                         pairs if in_dot_env else [], lines)
        expected = desk.defaults[setting.path]
        for given, layer in ((file, "file"), (variable, "environment"), (flag, "flag")):
            if given:
                expected = shown(given, layer)
        if told[setting.path] != expected:
            wrong.append(f"{setting.path} by {flag}, {variable}, {file}: {told[setting.path]}, "
                         f"not {expected}")
    return cases, combinations, wrong


def mixed(desk, seed):
    """Every setting at once, each in layers drawn by lot; returns what was wrong."""
    lot = random.Random(seed)
    flags, env, file, expected = [], [], [], {}
    for setting in SETTINGS:
        expected[setting.path] = desk.defaults[setting.path]
        by_flag, by_variable, by_file = lot.choice(COMBINATIONS)
        if by_file:
            given = file_forms(setting)[0]
            name, text = given.words
            if file and file[-1][0] == name:  # Two of one mapping.
                text = f"{file.pop()[1][:-1]}, {text[1:]}"
            file.append((name, text))
            expected[setting.path] = shown(given, "file") | {"where": f"keymill.yml:{len(file)}"}
        if by_variable:
            given = environment_forms(setting)[0][0]
            env.append(given.words)
            expected[setting.path] = shown(given, "environment")
        if by_flag and setting.flag:
            given = flag_forms(setting)[0]
            flags += given.words
            expected[setting.path] = shown(given, "flag")
    told = desk.show(flags, env, [], file)
    return [f"seed {seed}, {path}: {told[path]}, not {each}" for path, each in expected.items()
            if told[path] != each]


def served(directory, by_flag, by_variable, by_file):
    """A server that is told its port, directory, block size and peers; returns what is wrong."""
    ports = {layer: free_port() for layer in LAYERS}
    folder = directory / f"served-{by_flag:d}{by_variable:d}{by_file:d}"
    folder.mkdir()
    flags, env = [], {}
    port, data, block, get_key = 0, "data", 1000, 200  # By default, but for the port.
    if by_file:
        port, data, block, get_key = ports["file"], "written", 13, 404
        (folder / "keymill.yml").write_text(
            f"listen: {{http: '127.0.0.1:{port}'}}\ndata_dir: {data}\nblock_size: {block}\n"
            "compat: []\n", encoding="utf-8")
    if by_variable:
        port, data, block, get_key = ports["environment"], "exported", 12, 200
        env = {"PORT": str(port), "KEYMILL_DATA_DIR": data, "RANGE_SIZE": str(block),
               "KEYMILL_COMPAT": "forge"}
    if by_flag:
        port, data, block, get_key = ports["flag"], "flagged", 11, 404
        flags = ["--listen", f"127.0.0.1:{port}", "--data-dir", data, "--block-size", block,
                 "--compat", ""]
    if port == 0:  # 8080 may be somebody else's.
        flags = ["--listen", "127.0.0.1:0"]
    with Server(folder, *flags, env=env, listen=None) as server:
        found = (server.port if port else 0, server.ask("GET", "/get-key").status,
                 ledger(folder / data / "keymill.db", "default")[0][1])
        code = server.stop()
    expected = (port, get_key, block)
    return [] if (found, code) == (expected, 0) else [f"{folder.name}: {found}, not {expected}"]


def precedence(checks, directory, *, mixes):
    """Returns the figures in a line."""
    desk = Desk(directory)
    checks.that(set(desk.defaults) == {setting.path for setting in SETTINGS},
                f"all {len(desk.defaults)} settings that there are take part")
    total, flagless = 0, []
    for setting in SETTINGS:
        cases, combinations, wrong = one_setting(desk, setting)
        total += cases
        if setting.flag is None:
            flagless.append(setting.path)
        all_there = len(combinations) == (4 if setting.flag is None else len(COMBINATIONS))
        checks.that(all_there and not wrong,
                    f"{setting.path}: {len(combinations)} combinations in {cases} forms" +
                    "".join(f"\n        {each}" for each in wrong))
    wrong = [each for seed in range(mixes) for each in mixed(desk, seed)]
    checks.that(not wrong, f"all settings at once, layers drawn by lot, {mixes} times" +
                "".join(f"\n        {each}" for each in wrong))
    for name in (".env", "keymill.yml"):
        (directory / name).unlink(missing_ok=True)
    wrong = [each for combination in COMBINATIONS for each in served(directory, *combination)]
    checks.that(not wrong, f"servers do as they are told in {len(COMBINATIONS)} combinations" +
                "".join(f"\n        {each}" for each in wrong))
    return (f"{len(SETTINGS) - len(flagless)} settings × {len(COMBINATIONS)} combinations, "
            f"{', '.join(flagless)} (no flag) × 4: {total} forms, each with value and origin; "
            f"{mixes} mixtures; {len(COMBINATIONS)} servers")
