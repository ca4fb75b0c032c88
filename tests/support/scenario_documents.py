# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Does what the documents say: runs every command of a document in order, in a directory and a
network of its own, and gives every other block to whoever would read it.

The text is run as it stands. A network of its own is what makes the documents' port 8080 free.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from documents import DocumentError, read_blocks, read_commands
from keymill_process import ROOT, Server, await_that, clean_environment, keymill_bin

sys.path.insert(0, str(ROOT / "tests/guards"))

# pylint: disable=wrong-import-position
import check_text as guard_text
import guardlib

COMMAND_SECONDS = 60
SERVES = re.compile(r"(^|[\s/])(dev|keymill) serve\b")
LOOKS_LIKE_SHELL = re.compile(r"^(\$ |sudo |\./dev\b|keymill [a-z]|curl |apt-get )", re.MULTILINE)

# Commands that cannot run inside a test, and why. An entry that no document needs is a failure.
NOT_RUN = {
    r"^\./dev (build|test|prove|bench|sanitize|lint|format|fuzz)\b":
        "builds, or runs this test; ./dev must know the verb",
    r"(?m)^\s*(adduser|apt-get|install|systemctl) ": "changes the machine, or asks systemd",
}

# Puts up the loopback of a new network, which `unshare` leaves down.
LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
request = struct.pack("16sH22x", b"lo", 0x41)
fcntl.ioctl(socket.socket(), 0x8914, request)
os.execvp(sys.argv[1], sys.argv[1:])
"""

# Runs what comes on its standard input, file by file, and tells how each ended. A failed
# command anywhere in the text counts, not only the last.
SHELL = """
set -o pipefail
while IFS= read -r mill_file <&3; do
  mill_failed=0
  trap 'mill_failed=$?' ERR
  if [[ $mill_file == *.server ]]; then
    { source "$mill_file"; } >"$mill_file.out" 2>&1 </dev/null 3<&- 4>&- &
    echo $! >&4
    continue
  fi
  { source "$mill_file"; } >"$mill_file.out" 2>&1 </dev/null 3<&- 4>&-
  mill_last=$?
  trap - ERR
  if ((mill_last == 0)); then mill_last=$mill_failed; fi
  echo "$mill_last" >&4
done
"""

KEYMILL = """#!/bin/bash
# The program, except that a server tells when it is ready.
if [[ ${1:-} == serve ]]; then
  shift
  exec "$MILL_BIN" serve --print-ports "$MILL_PORTS/$$" "$@"
fi
exec "$MILL_BIN" "$@"
"""

DEV = """#!/bin/bash
# ./dev, once it has built: here everything is built.
if [[ ${1:-} == serve ]]; then exec "$MILL_PORTS/../.bin/keymill" "$@"; fi
echo "dev: $1 does not run in this test" >&2
exit 1
"""


def network():
    """The words before a command that give it a network of its own; [] if the machine lets
    nobody have one and the documents' ports are free; None if neither."""
    for way in (["unshare", "-n"], ["unshare", "-rn"]):
        words = [*way, "/usr/bin/python3", "-c", LOOPBACK_UP]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    with contextlib.ExitStack() as probes:
        for port in range(8080, 8083):
            probe = probes.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return None
    return []


class Bash:
    """One bash for a document, as its reader has one: variables and directory stay."""

    def __init__(self, directory, before):
        self.directory = directory
        self.scripts = directory / ".scripts"
        self.ports = directory / ".ports"
        home, program = directory / ".home", directory / ".bin"
        for folder in (self.scripts, self.ports, home, program):
            folder.mkdir()
        self._write(program / "keymill", KEYMILL)
        self._write(directory / "dev", DEV)
        for name in ("examples", "docs", "include", "keymill.example.yml", ".env.example"):
            (directory / name).symlink_to(ROOT / name)
        (directory / "build").mkdir()
        (directory / "build/release").symlink_to(keymill_bin().resolve().parent)
        self.count = 0
        ours, self.files = os.pipe()
        self.outcomes, theirs = os.pipe()
        env = clean_environment({
            "HOME": str(home), "MILL_BIN": str(keymill_bin()), "MILL_PORTS": str(self.ports),
            "PATH": f"{program}:/usr/sbin:{os.environ['PATH']}", "NO_COLOR": "1"})
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [*before, "bash", "-c", f"exec 3<&{ours} 4>&{theirs}\n{SHELL}"], cwd=directory,
            env=env, pass_fds=(ours, theirs), stdin=subprocess.DEVNULL, start_new_session=True)
        os.close(ours)
        os.close(theirs)

    @staticmethod
    def _write(path, text):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def _start(self, text, suffix):
        self.count += 1
        script = self.scripts / f"{self.count}{suffix}"
        script.write_text(text + "\n", encoding="utf-8")
        with contextlib.suppress(BrokenPipeError):  # Its end is told below.
            os.write(self.files, f"{script}\n".encode())
        timer = threading.Timer(COMMAND_SECONDS, self.kill)
        timer.start()
        try:
            line = b""
            while not line.endswith(b"\n"):
                piece = os.read(self.outcomes, 100)
                if not piece:
                    raise DocumentError(f"bash ended, or took more than {COMMAND_SECONDS} s")
                line += piece
        finally:
            timer.cancel()
        return int(line), pathlib.Path(f"{script}.out")

    def run(self, text):
        """The exit code of a command and what it wrote, on both streams."""
        code, output = self._start(text, ".sh")
        return code, output.read_text(encoding="utf-8", errors="replace")

    def serve(self, text):
        """Starts a server and comes back when it is ready."""
        before = set(self.servers())
        pid, output = self._start(text, ".server")
        try:
            await_that(lambda: set(self.servers()) - before or not is_running(pid),
                       "the server is ready", COMMAND_SECONDS)
        except RuntimeError as error:
            raise DocumentError(f"{error}\n{output.read_text(encoding='utf-8')}") from error
        if not set(self.servers()) - before:
            raise DocumentError(f"the server ended:\n{output.read_text(encoding='utf-8')}")

    def servers(self):
        return [int(path.name) for path in self.ports.iterdir() if path.name.isdigit()]

    def stop_servers(self):
        """Ends the servers that still run, cleanly; the number of those that were started."""
        pids = self.servers()
        for pid in pids:
            if is_keymill(pid):
                os.kill(pid, signal.SIGTERM)
        for pid in pids:
            await_that(lambda pid=pid: not is_keymill(pid), f"server {pid} ended")
        return len(pids)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self):
        self.kill()
        self.process.wait()
        os.close(self.files)
        os.close(self.outcomes)


def is_running(pid):
    with contextlib.suppress(OSError):
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return state.rpartition(")")[2].split()[0] != "Z"
    return False


def is_keymill(pid):
    """Whether that process still runs, and is the program under test."""
    with contextlib.suppress(OSError):
        return is_running(pid) and os.readlink(f"/proc/{pid}/exe") == str(keymill_bin().resolve())
    return False


def same_shape(shown, came):
    """Whether a line that came has the shape of the one that is shown: a key stands for a key as
    long, a number for a number, and … for anything."""
    if "…" in shown:
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        return re.fullmatch(pattern, came) is not None
    with contextlib.suppress(ValueError):
        return json_shape(json.loads(shown)) == json_shape(json.loads(came))
    words, others = shown.split(), came.split()
    return len(words) == len(others) and all(map(same_word, words, others))


def same_word(shown, came):
    if re.fullmatch(r"[\d.,]+", shown):
        return re.fullmatch(r"[\d.,]+", came) is not None
    if re.search(r"\d|[a-z][A-Z]", shown):  # A key.
        return len(shown) == len(came)
    return shown == came


def json_shape(value):
    if isinstance(value, dict):
        return {name: json_shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [json_shape(each) for each in value]
    return len(value) if isinstance(value, str) else type(value).__name__


class Documents:
    """Runs documents and collects what is wrong with them."""

    def __init__(self, directory, before=None):
        self.directory = directory
        self.before = network() if before is None else before
        self.findings = []
        self.counts = {}
        self.used = set()  # Of NOT_RUN.
        self.lock = threading.Lock()

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + number

    def find(self, place, what):
        with self.lock:
            self.findings.append(f"{place}: {what}")

    def run_all(self, root=ROOT):
        """Every document of the project; then no entry of NOT_RUN may be left over."""
        paths = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda path: self.run(path.relative_to(root).as_posix(),
                                                path.read_text(encoding="utf-8")), paths))
        for pattern, reason in NOT_RUN.items():
            if pattern not in self.used:
                self.find("NOT_RUN", f"no document has a command {pattern} ({reason}) any more")
        return self

    def run(self, name, text):
        """One document."""
        self.count("documents")
        try:
            blocks = read_blocks(name, text)
            if blocks:
                folder = tempfile.mkdtemp(prefix=name.replace("/", "-"), dir=self.directory)
                self._run_blocks(blocks, pathlib.Path(folder))
        except DocumentError as error:
            self.find(name, str(error))

    def _run_blocks(self, blocks, folder):
        bash = Bash(folder, self.before)
        try:
            for number, block in enumerate(blocks):
                self.count("blocks")
                reader = READERS.get(block.tag)
                if reader is None:
                    self.find(block.place, f'unknown kind of block "{block.tag}"; known: '
                              f"{', '.join(READERS)}")
                    continue
                problem = reader(self, bash, block, folder / f".block-{number}")
                if problem:
                    self.find(block.place, problem)
            self.count("servers", bash.stop_servers())
        finally:
            bash.close()

    def shell(self, bash, block, _):
        for command in read_commands(block):
            reason = next((each for each in NOT_RUN if re.search(each, command.text)), None)
            if reason is not None:
                self.used.add(reason)
                self.count("commands not run")
                if command.text.startswith("./dev") and not knows_verb(command.text.split()[1]):
                    self.find(command.place, f"./dev does not know {command.text.split()[1]}")
                continue
            self.count("commands")
            try:
                self._run_command(bash, command)
            except DocumentError as error:
                self.find(command.place, f"{command.text}\n{error}")
                return

    def _run_command(self, bash, command):
        if SERVES.search(command.text) and command.code == 0:
            bash.serve(command.text)
            return
        code, output = bash.run(command.text)
        if code != command.code:
            raise DocumentError(f"exit {code} instead of {command.code}:\n{output}")
        if command.output:
            came = output.splitlines()
            if command.output[-1] == "…":
                came = came[:len(command.output) - 1] + ["…"]
            if len(came) != len(command.output) or \
                    not all(map(same_shape, command.output, came)):
                raise DocumentError(f"the document shows {command.output}, what came is {came}")
            self.count("outputs compared")


def knows_verb(verb):
    usage = subprocess.run([str(ROOT / "dev"), "help"], text=True, capture_output=True,
                           check=False).stdout
    return re.search(rf"^  {re.escape(verb)}\b", usage, re.MULTILINE) is not None


def complaint(*command):
    """None if the command succeeds, else what it said."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=clean_environment(), check=False)
    return None if done.returncode == 0 else f"{command[0]} says:\n{done.stdout}"


def check_text(_documents, _bash, block, _path):
    match = LOOKS_LIKE_SHELL.search(block.text)
    return f"looks like a command, so it should be sh: {match.group(0)}" if match else None


def check_yaml(documents, _bash, block, path):
    """Prometheus's files are Prometheus's to check; all others are keymill.yml."""
    path = path.with_suffix(".yml")
    path.write_text(block.text, encoding="utf-8")
    for word, what in (("scrape_configs:", "config"), ("groups:", "rules")):
        if block.text.startswith(word):
            documents.count("files for Prometheus")
            return complaint("promtool", "check", what, path)
    documents.count("configurations")
    return complaint(keymill_bin(), "config", "check", path)


def check_json(_documents, _bash, block, _path):
    try:
        json.loads(block.text)
    except ValueError as error:
        return f"not JSON: {error}"
    return None


def check_code(documents, _bash, block, path):
    """A program, or the inside of one below its includes."""
    suffix, flags = (".cc", ["c++", "-std=c++20"]) if block.tag == "cpp" else \
        (".c", ["cc", "-std=c11"])
    lines = block.text.splitlines()
    head = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    if not any(re.match(r"int main\(", line) for line in body):
        body = ["int main() {", *body, "}"]
    path = path.with_suffix(suffix)
    path.write_text("\n".join([*head, *body, ""]), encoding="utf-8")
    documents.count("programs compiled")
    return complaint(*flags, "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                     "-Wno-unused-variable", f"-I{ROOT}/include", path)


def check_unit(documents, bash, block, path):
    """A unit of systemd: by systemd itself where it is installed."""
    if not re.match(r"(#.*\n)*\[Unit\]\n", block.text):
        return "a unit begins with [Unit]"
    plain = path.with_name("plain.service")
    plain.write_text("[Service]\nExecStart=/bin/true\n", encoding="utf-8")
    verify = ("systemd-analyze", "verify", "--man=no")
    # It may be installed and not work, as in a chroot.
    if shutil.which(verify[0]) is None or complaint(*verify, plain):
        documents.count("blocks nobody could check")
        return None
    # The program is not installed on the machine that tests.
    path = path.with_name("keymill@.service" if "%i" in block.text else "keymill.service")
    program = re.escape("/usr/local/bin/keymill")
    text = re.sub(program, str(bash.directory / ".bin/keymill"), block.text)
    path.write_text(text, encoding="utf-8")
    documents.count("files for systemd")
    return complaint(*verify, path)


def check_nginx(documents, _bash, block, path):
    """The inside of nginx's http block: by nginx itself where it is installed."""
    nginx = shutil.which("nginx", path=f"/usr/sbin:{os.environ['PATH']}")
    if nginx is None:
        documents.count("blocks nobody could check")
        return None
    # What nginx would otherwise open belongs to root.
    places = "".join(f"{what}_temp_path {path}.tmp;\n" for what in
                     ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path.write_text(f"pid {path}.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{places}"
                    f"{block.text}}}\n", encoding="utf-8")
    documents.count("files for nginx")
    return complaint(nginx, "-t", "-q", "-e", f"{path}.log", "-c", path)


READERS = {
    "sh": Documents.shell,
    "yaml": check_yaml,
    "json": check_json,
    "cpp": check_code,
    "c": check_code,
    "systemd": check_unit,
    "nginx": check_nginx,
    "text": check_text,
}


def check_links(root=ROOT):
    """The number of links between the files of the project, and those that lead nowhere."""
    tree = guardlib.Tree(root)
    links = [(path, number, target) for path in tree.files((".md",))
             for number, line in guard_text.prose_lines(tree.lines(path))
             for target in guard_text.LINK.findall(line) + guard_text.LINK_DEFINITION.findall(line)
             if not guard_text.ABSOLUTE.match(target)]
    return len(links), [f"{path}:{number}: {target}" for path, number, target in links
                        if not guard_text.check_link(tree, path, target)]


def metrics_complaints(directory):
    """What promtool says about the metrics of a server that has something to tell."""
    with Server(directory) as server:
        server.mint(count=100)
        server.ask("GET", "/nowhere")
        text = server.ask("GET", "/metrics").text
        server.stop()
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout if done.returncode == 0 else f"exit {done.returncode} {done.stdout}"
    return len(re.findall(r"(?m)^# TYPE ", text)), said


def all_documents(checks, directory):
    documents = Documents(directory)
    checks.that(documents.before is not None, "there is a network for the documents' servers")
    documents.run_all()
    checks.that(not documents.findings, "every block of every document holds "
                f"{documents.findings or ''}")
    for pattern, reason in NOT_RUN.items():
        checks.note(f"not run: {pattern} ({reason})")
    links, dead = check_links()
    checks.that(links > 0 and not dead, f"{links} links between documents, {len(dead)} dead {dead}")
    families, said = metrics_complaints(directory)
    checks.that(families > 20 and not said,
                f"promtool reads {families} figures of a live server and has no remark {said}")
    return f"{figures(documents.counts)}; {links} links; {families} figures"


def figures(counts):
    return ", ".join(f"{number} {what}" for what, number in counts.items())
