# The image of one Fanfold node: the program, the certificates by which it knows others, and an empty data directory.
#
#   docker build --build-arg VERSION=v1.2.3 -t fanfold:v1.2.3 .

FROM golang:1.26.8-bookworm@sha256:dc9ad6c05acc7a88e5b71bde60a5fe3bd4b9f0db209011711b464107438a8107 AS build
# The toolchain is the one that go.mod names: it comes through the module proxy, and the checksum database vouches for it.
ENV GOTOOLCHAIN=auto
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
# SQLite is C, so that cgo is needed; linked statically the program runs on an empty image. Go then looks up names by itself.
RUN mkdir -p /out/data && CGO_ENABLED=1 go build -tags netgo,osusergo,sqlite_omit_load_extension \
    -ldflags "-s -w -linkmode external -extldflags -static -X github.com/fanfold/fanfold/node.version=${VERSION}" \
    -o /out/fanfold ./cmd/fanfold

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="Fanfold" \
      org.opencontainers.image.description="An event-sourced JSON document store that keeps declared copies right" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/fanfold /usr/bin/fanfold
COPY --from=build --chown=65532:65532 /out/data /data
# Temporary files are in the data directory, the only one that is written: the rest may be read-only.
ENV FANFOLD_DATA=/data TMPDIR=/data
WORKDIR /data
VOLUME /data
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=4s --start-period=5m --retries=3 CMD ["/usr/bin/fanfold", "status", "--ready"]
ENTRYPOINT ["/usr/bin/fanfold"]
CMD ["serve"]
