// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/cli.h"

int main(int argc, char** argv) { return keymill::app::RunCli(argc, argv); }
