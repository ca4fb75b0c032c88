#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Settings from flags, environment and file, and those of the older service."""

import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, free_port, keymill_bin, ledger
from proof import ScenarioTest
from scenario_refusals import refused


class Configuration(ScenarioTest):
    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def serve(self, *flags, port, env=None):
        """A server that was told its port by its configuration only."""
        server = Server(self.directory, *flags, env=env, listen=None).launch()
        self.addCleanup(server.kill)
        server.await_ready()
        self.assertEqual(server.port, port)
        return server

    def first_block(self):
        return ledger(self.directory / "data/keymill.db", "default")[0][1]

    def test_port_and_range_size_of_the_environment_keep_their_meaning(self):
        port = free_port()
        server = self.serve(port=port, env={"PORT": str(port), "RANGE_SIZE": "77"})
        self.assertEqual(len(server.ask("GET", "/get-key").text), 7)
        self.assertEqual(self.first_block(), 77)

    def test_a_dot_env_file_is_read_and_the_environment_wins(self):
        port, other = free_port(), free_port()
        self.write(".env", f"PORT={other}\nRANGE_SIZE=55\nUNRELATED=x\n")
        self.serve(port=port, env={"PORT": str(port)})
        self.assertEqual(self.first_block(), 55)

    def test_config_path_names_a_directory_with_the_older_file(self):
        port = free_port()
        folder = self.write("conf/config.yml",
                            f"PORT: {port}\nRANGE_SIZE: 33\nDEBUG_ENABLED: true\n").parent
        self.serve(port=port, env={"CONFIG_PATH": str(folder)})
        self.assertEqual(self.first_block(), 33)

    def test_config_path_may_come_from_the_dot_env_file(self):
        port = free_port()
        self.write("conf/config.yml", f"PORT: {port}\nRANGE_SIZE: 44\n")
        self.write(".env", "CONFIG_PATH=./conf\n")
        self.serve(port=port)
        self.assertEqual(self.first_block(), 44)

    def test_flags_win_over_environment_over_file(self):
        port, other = free_port(), free_port()
        self.write("keymill.yml", f"listen: {{http: '127.0.0.1:{other}'}}\nblock_size: 11\n"
                   "block_growth: off\n")
        self.serve("--listen", f"127.0.0.1:{port}", port=port,
                   env={"KEYMILL_LISTEN_HTTP": f"127.0.0.1:{other}", "KEYMILL_BLOCK_SIZE": "22"})
        self.assertEqual(self.first_block(), 22)

    def test_variables_in_the_file_are_expanded(self):
        port = free_port()
        self.write("keymill.yml", "listen: {http: '127.0.0.1:${MY_PORT}'}\n")
        self.serve(port=port, env={"MY_PORT": str(port)})

    def test_keyspaces_of_the_file_are_there_from_the_start(self):
        port = free_port()
        self.write("keymill.yml", f"listen: {{http: '127.0.0.1:{port}'}}\nkeyspaces:\n"
                   "  orders: {kind: sequence, alphabet: decimal, length: 6}\n"
                   "  links: {kind: shuffled, length: 8}\n")
        server = self.serve(port=port)
        self.assertEqual(server.mint("orders", 2), ["000001", "000002"])
        self.assertEqual(len(server.mint("links")[0]), 8)

    def test_an_empty_compat_list_serves_no_get_key(self):
        port = free_port()
        server = self.serve("--compat", "", port=port, env={"PORT": str(port)})
        self.assertEqual(server.ask("GET", "/get-key").status, 404)

    def test_grpc_alone(self):
        if not (keymill_bin().resolve().parent / "libkeymill_grpc.so").exists():
            self.skipTest("built without gRPC")
        server = Server(self.directory, "--listen", "", "--listen-grpc", "127.0.0.1:0").launch()
        self.addCleanup(server.kill)
        server.await_ready()
        self.assertEqual(set(server.ports), {"grpc"})
        socket.create_connection(("127.0.0.1", server.ports["grpc"])).close()
        self.assertIn("grpcurl", server.log())
        self.assertEqual(server.stop(), 0)

    def test_a_port_that_is_none_is_refused(self):
        def bad_port(checks, directory):
            server = Server(directory, env={"PORT": "http"})
            refused(checks, server, "PORT=http", "PORT")

        self.run_scenario(bad_port)


if __name__ == "__main__":
    unittest.main()
