#!/usr/bin/env bash
# Installs proofmark for the action in ../action.yml: the binary of a release if VERSION names one, otherwise the commit of the
# action, built with cargo. Puts its folder on the path of the later steps.
#
# Variables: VERSION, REPOSITORY (owner/name), SOURCE (folder of the action), and those of a runner of GitHub.

set -euo pipefail

program=proofmark
if [ "$RUNNER_OS" = Windows ]; then program=proofmark.exe; fi
# Runners of Windows spell it with backslashes, which `tar` does not take.
temporary="${RUNNER_TEMP//\\//}"
place="$temporary/proofmark/bin"
mkdir -p "$place"

triple() {
    case "$RUNNER_OS-$RUNNER_ARCH" in
        Linux-X64) echo x86_64-unknown-linux-musl ;;
        Linux-ARM64) echo aarch64-unknown-linux-musl ;;
        macOS-X64) echo x86_64-apple-darwin ;;
        macOS-ARM64) echo aarch64-apple-darwin ;;
        Windows-X64) echo x86_64-pc-windows-msvc ;;
        *) return 1 ;;
    esac
}

# Downloads the binary of a release, and refuses one whose checksum differs.
download() {
    local name
    name="proofmark-$(triple).tar.gz" || return 1
    local folder="$temporary/proofmark/release"
    rm -rf "$folder"
    mkdir -p "$folder"
    gh release download "$VERSION" --repo "$REPOSITORY" --dir "$folder" --pattern "$name" --pattern "$name.sha256" || return 1
    if command -v sha256sum >/dev/null; then
        (cd "$folder" && sha256sum --check "$name.sha256")
    else
        (cd "$folder" && shasum -a 256 --check "$name.sha256")
    fi || { echo "::error::the checksum of $name is wrong"; exit 1; }
    (cd "$folder" && tar -xzf "$name" -C "$place" "$program")
}

case "$VERSION" in
    v[0-9]*.[0-9]*.[0-9]*) download || echo "no binary of $VERSION for $RUNNER_OS $RUNNER_ARCH: building it" ;;
esac
if [ ! -x "$place/$program" ]; then
    command -v cargo >/dev/null || { echo "::error::cargo is needed to build proofmark; name a release in \`version\`"; exit 1; }
    cargo install --locked --path "$SOURCE" --root "$temporary/proofmark" --target-dir "$temporary/proofmark/target"
fi
"$place/$program" --version
echo "$place" >>"$GITHUB_PATH"
