#!/bin/bash -eu
# Builds every target with its seeds and words; OSS-Fuzz and ClusterFuzzLite run this inside their image.

cd "$SRC/proofmark/fuzz"
cargo fuzz build -O --debug-assertions

for program in fuzz_targets/*.rs; do
  name=$(basename "$program" .rs)
  cp "target/x86_64-unknown-linux-gnu/release/$name" "$OUT/$name"
  # Reproducers of fixed bugs are the best seeds.
  find "corpus/$name" "reproducers/$name" -type f 2>/dev/null | zip -qj "$OUT/${name}_seed_corpus.zip" -@
  if [ -f "dict/$name.dict" ]; then
    cp "dict/$name.dict" "$OUT/$name.dict"
  fi
done
