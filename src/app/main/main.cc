// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/cli.h"
#include "app/output.h"

int main(int argc, char** argv) {
  keymill::app::OccupyStandardDescriptors();
  return keymill::app::RunCli(argc, argv);
}
