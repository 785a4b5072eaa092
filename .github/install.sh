#!/usr/bin/env bash
# Installs proofmark for the action in ../action.yml: the binary of a release if VERSION names one, otherwise the commit of the
# action, built with cargo. Puts its folder on the path of the later steps.
#
# Variables: VERSION, REPOSITORY (owner/name), SOURCE (folder of the action), and those of a runner of GitHub.

set -euo pipefail

place="$RUNNER_TEMP/proofmark/bin"
mkdir -p "$place"

triple() {
    case "$RUNNER_OS-$RUNNER_ARCH" in
        Linux-X64) echo x86_64-unknown-linux-musl ;;
        Linux-ARM64) echo aarch64-unknown-linux-musl ;;
        macOS-X64) echo x86_64-apple-darwin ;;
        macOS-ARM64) echo aarch64-apple-darwin ;;
        *) return 1 ;;
    esac
}

# Downloads the binary of a release, and refuses one whose checksum differs.
download() {
    local name
    name="proofmark-$(triple).tar.gz" || return 1
    local folder="$RUNNER_TEMP/proofmark/release"
    rm -rf "$folder"
    mkdir -p "$folder"
    gh release download "$VERSION" --repo "$REPOSITORY" --dir "$folder" --pattern "$name" --pattern "$name.sha256" || return 1
    if command -v sha256sum >/dev/null; then
        (cd "$folder" && sha256sum --check "$name.sha256")
    else
        (cd "$folder" && shasum -a 256 --check "$name.sha256")
    fi || { echo "::error::the checksum of $name is wrong"; exit 1; }
    tar -xzf "$folder/$name" -C "$place" proofmark
}

if [ "$RUNNER_OS" = Windows ]; then
    echo "::error::proofmark runs on Linux and macOS; on Windows use the container image or the Linux subsystem"
    exit 1
fi
case "$VERSION" in
    v[0-9]*.[0-9]*.[0-9]*) download || echo "no binary of $VERSION for $RUNNER_OS $RUNNER_ARCH: building it" ;;
esac
if [ ! -x "$place/proofmark" ]; then
    command -v cargo >/dev/null || { echo "::error::cargo is needed to build proofmark; name a release in \`version\`"; exit 1; }
    cargo install --locked --path "$SOURCE" --root "$RUNNER_TEMP/proofmark" --target-dir "$RUNNER_TEMP/proofmark/target"
fi
"$place/proofmark" --version
echo "$place" >>"$GITHUB_PATH"
