#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The examples of each language, run as their comments say, against one server."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import ROOT, Server
from proof import ScenarioTest

COUNT = 200
EXAMPLES = ROOT / "examples"


class Examples(ScenarioTest):
    def run_example(self, *command):
        # Debian's, whatever else is on the path; caches stay in the test's directory.
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.directory),
               "LANG": "C.UTF-8", "GOCACHE": str(self.directory / "go"),
               "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
        done = subprocess.run([*map(str, command)], cwd=self.directory, env=env, text=True,
                              capture_output=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        self.assertEqual(done.stderr, "", command)
        return done.stdout

    def test_every_language_mints_and_no_key_comes_twice(self):
        all_keys = []
        with Server(self.directory, resp="127.0.0.1:0") as server:
            url = f"http://127.0.0.1:{server.port}"
            redis_url = f"redis://127.0.0.1:{server.resp_port}"
            commands = (
                ("/usr/bin/python3", "-B", EXAMPLES / "python/mint.py", url),
                ("/usr/bin/python3", "-B", EXAMPLES / "python/mint_redis.py", redis_url),
                ("/usr/bin/go", "run", EXAMPLES / "go/mint.go", url),
                ("/usr/bin/node", EXAMPLES / "node/mint.mjs", url),
                ("/usr/bin/java", EXAMPLES / "java/Mint.java", url),
            )
            for command in commands:
                with self.subTest(command=command):
                    keys = self.run_example(*command, COUNT).splitlines()
                    self.assertEqual(len(keys), COUNT)
                    self.assertTrue(all(len(key) == 7 for key in keys), keys[:3])
                    all_keys += keys
            shell = self.run_example(EXAMPLES / "redis-cli.sh", server.resp_port)
            minted = shell.split("\n")[1]
            self.assertEqual(len(minted), 7, shell)
            self.assertIn("default", shell.partition("# Which keyspaces")[2])
        self.assertEqual(len(set(all_keys)), len(commands) * COUNT)


if __name__ == "__main__":
    unittest.main()
