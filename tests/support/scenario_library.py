# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""libkeymill as others meet it: installed, moved, found by CMake and by pkg-config, and used by
the programs of examples/, in C++ and in C."""

import os
import pathlib
import shutil
import subprocess

from keymill_process import ROOT, clean_environment, duplicates, keymill_bin

# A user's compiler may be stricter than ours; headers and examples must please it.
C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
CXX_FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Werror"]


def run(*command, cwd, env=None):
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=clean_environment(env),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n"
                           f"{done.stdout}")
    return done.stdout


def install(directory):
    """Installs the build under test, and moves it: nothing in it may know where it was put."""
    first = directory / "installed"
    run("cmake", "--install", keymill_bin().resolve().parent, "--prefix", first, cwd=directory)
    prefix = directory / "prefix"
    first.rename(prefix)
    return prefix


def pkg_config(prefix, *arguments):
    env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    return run("pkg-config", *arguments, "keymill", cwd=prefix, env=env).split()


def compile_with_pkg_config(prefix, source, program):
    if pathlib.Path(source).suffix == ".c":
        compiler, flags = os.environ.get("CC", "cc"), C_FLAGS
    else:
        compiler, flags = os.environ.get("CXX", "c++"), CXX_FLAGS
    libdir, = pkg_config(prefix, "--variable=libdir")
    run(compiler, *flags, "-O1", source, "-o", program, *pkg_config(prefix, "--cflags", "--libs"),
        f"-Wl,-rpath,{libdir}", cwd=prefix)
    return program


def build_with_cmake(prefix, source, build):
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_C_FLAGS=" + " ".join(C_FLAGS[1:]),
        "-DCMAKE_CXX_FLAGS=" + " ".join(CXX_FLAGS[1:]), cwd=prefix)
    run("cmake", "--build", build, cwd=prefix)


def build_examples(prefix, directory):
    """Every example, built in each way outside of the source tree: name -> program."""
    source = directory / "examples"
    shutil.copytree(ROOT / "examples", source)
    build_with_cmake(prefix, source, directory / "build")
    programs = {"C++ by find_package": directory / "build/embed_cc",
                "C by find_package": directory / "build/embed_c"}
    for name, file in (("C++ by pkg-config", "embed.cc"), ("C by pkg-config", "embed.c")):
        program = directory / file.replace(".", "_")
        programs[name] = compile_with_pkg_config(prefix, source / file, program)
    return programs


def mint_with_examples(checks, directory, *, keys):
    """All of them on one store, one after the other, two threads each."""
    programs = build_examples(install(directory), directory)
    files = []
    for name, program in programs.items():
        files.append(directory / f"{program.name}-{len(files)}.keys")
        with open(files[-1], "wb") as out:
            done = subprocess.run([program, directory / "data", str(keys)], stdout=out,
                                  stderr=subprocess.PIPE, text=True, timeout=1800, check=False)
        found = duplicates(files[-1])
        checks.that(done.returncode == 0 and found["keys"] == keys and
                    found["duplicate_keys"] == 0,
                    f"{name}: exit {done.returncode}, {found['keys']:,} keys on two threads, "
                    f"{found['duplicate_keys']} duplicates {done.stderr}")
    found = duplicates(*files)
    checks.that(found["keys"] == keys * len(programs) and found["duplicate_keys"] == 0,
                f"all together: {found['keys']:,} keys, {found['duplicate_keys']} duplicates")
    return (f"{len(programs)} programs in C++ and C against the installed package: "
            f"{found['keys']:,} keys, {found['duplicate_keys']} duplicates")
