# proofmark as an image. The reports are written as the user that starts it:
#   docker run --rm --network host --user "$(id -u)" -v "$PWD/reports:/work/reports" IMAGE check http://127.0.0.1:8787 …
FROM rust:1.95-slim-trixie AS build
# hadolint ignore=DL3008 # any version of the compiler and of its headers will do
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --locked --profile dist --bin proofmark \
    && mkdir -p /work/reports

# No shell and no package manager. The user of this image is not root; reports go to a folder that belongs to it.
FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=build /source/target/dist/proofmark /usr/local/bin/proofmark
COPY --from=build --chown=nonroot:nonroot /work /work
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/proofmark"]
CMD ["--help"]
