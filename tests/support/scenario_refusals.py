# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Starts that must not happen: exit code 78, and a message that says what to do."""

from keymill_process import Server, await_that

REFUSED = 78


def refused(checks, server, what, *said):
    """`server` exits with 78, and its message has every word of `said`."""
    server.launch()
    try:
        await_that(lambda: not server.running() or server.ports_path.exists(), "it ends or serves")
        code = None if server.running() else server.process.returncode
    finally:
        server.kill()
    log = server.log().strip()
    checks.that(code == REFUSED and all(word in log for word in said),
                f"{what}: {'no refusal, it serves' if code is None else f'exit {code}'}, “{log}”")


def other_recipe(checks, directory):
    server = Server(directory, config="keyspaces: {default: {kind: shuffled, length: 7}}\n")
    with server:
        server.mint(count=3)
        server.stop()
    other = Server(directory, config="keyspaces: {default: {kind: shuffled, length: 8}}\n")
    refused(checks, other, "another length", "default", "length", "7", "8")


def vanished_database(checks, directory):
    with Server(directory) as server:
        server.mint(count=3)
        server.stop()
    (directory / "data/keymill.db").unlink()
    refused(checks, Server(directory), "a database that vanished", "keymill.db", "missing",
            "witness", "Restore")
    checks.that(not (directory / "data/keymill.db").exists(), "and none was made in its place")


def removed_witness(checks, directory):
    """A witness that is removed under a live server comes back with all that it knew: whether
    the next to write it is a reservation or the stop."""
    for block_size in (5, 1000):
        folder = directory / str(block_size)
        folder.mkdir()
        with Server(folder, "--block-size", block_size, "--block-growth", "off") as server:
            server.mint(count=3)
            (folder / "data/witness").unlink()
            for _ in range(30):
                server.mint()
            server.stop()
        (folder / "data/keymill.db").unlink()
        refused(checks, Server(folder), f"the witness was removed, blocks of {block_size}, then "
                "the database", "keymill.db", "missing", "witness")
        checks.that(not (folder / "data/keymill.db").exists(), "and none was made in its place")


def open_bind(checks, directory):
    refused(checks, Server(directory, "--listen", "0.0.0.0:0"), "a bind for everybody",
            "0.0.0.0", "--insecure")
    with Server(directory, "--listen", "0.0.0.0:0", "--insecure") as server:
        checks.that(server.ask("GET", "/get-key").status == 200, "with --insecure it serves")
        server.stop()


def misspelt_setting(checks, directory):
    config = "data_dir: data\nblock_sise: 500\n"
    refused(checks, Server(directory, config=config), "a misspelt setting", "keymill.yml:2",
            "block_sise", "block_size")


SCENARIOS = (other_recipe, vanished_database, removed_witness, open_bind, misspelt_setting)


def refusals(checks, directory):
    for scenario in SCENARIOS:
        folder = directory / scenario.__name__
        folder.mkdir()
        scenario(checks, folder)
    return f"{len(SCENARIOS)} unsafe starts refused with exit code {REFUSED}"
