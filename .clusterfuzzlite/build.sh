#!/bin/bash -eu
# The same build as on OSS-Fuzz.
exec bash "$SRC/proofmark/fuzz/oss-fuzz/build.sh"
