#!/usr/bin/env bash
# Makes all files of a release under dist/: programs, packages, the image, checksums and the bill of materials. Nothing is published.
#
#   build.sh v1.2.3          a release: the commit has this tag, and no file was changed
#   build.sh --snapshot      what is there, under a version that names the commit
#
# ARCHES names the architectures; each needs its C compiler (make release installs it).
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export DIST=$root/dist GOFLAGS=-trimpath
ARCHES=${ARCHES:-amd64 arm64}

revision=$(git -C "$root" rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git -C "$root" show -s --format=%ct HEAD)
MADE=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH MADE
if [ "${1:-}" = --snapshot ]; then
  version=v0.0.0-snapshot.$(git -C "$root" rev-parse --short=12 HEAD)
  PACKAGE_VERSION=0.0.0~snapshot.$SOURCE_DATE_EPOCH
elif [[ ${1:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9.]+)?$ ]]; then
  version=$1
  PACKAGE_VERSION=${1#v}
  PACKAGE_VERSION=${PACKAGE_VERSION/-/\~} # a candidate comes before its release
  [ "$(git -C "$root" describe --tags --exact-match 2>/dev/null)" = "$version" ] || { echo "the commit does not have the tag $version"; exit 1; }
  [ -z "$(git -C "$root" status --porcelain)" ] || { echo "files were changed since the commit"; exit 1; }
else
  echo "usage: build.sh v1.2.3 | build.sh --snapshot"
  exit 2
fi
export PACKAGE_VERSION
if [ -e "$DIST" ] && [ ! -e "$DIST/checksums.txt" ] && [ ! -e "$DIST/.unfinished" ]; then
  echo "$DIST is there, and is no release of before: move it away"
  exit 1
fi
rm -rf "$DIST"
mkdir -p "$DIST/completions"
touch "$DIST/.unfinished"

declare -A compiler=([amd64]=x86_64-linux-gnu-gcc [arm64]=aarch64-linux-gnu-gcc)
images=()
for arch in $ARCHES; do
  STAGE=$DIST/stage/$arch
  # SQLite is C. Linked statically, the program runs on any Linux; Go then looks up names by itself.
  CC=${compiler[$arch]} CGO_ENABLED=1 GOOS=linux GOARCH=$arch go build -C "$root" -tags netgo,osusergo,sqlite_omit_load_extension -o "$STAGE/fanfold" \
    -ldflags "-s -w -linkmode external -extldflags -static -X github.com/fanfold/fanfold/node.version=$version -X github.com/fanfold/fanfold/node.revision=$revision" ./cmd/fanfold
  images+=("$arch=$STAGE/fanfold")
done

# The licences of the modules whose code is in the program.
{
  echo "Fanfold is under the Apache License, Version 2.0. It has code of others, under their licences:"
  go list -C "$root" -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/fanfold | sort -u | while read -r module number dir; do
    printf '\n==== %s %s\n' "$module" "$number"
    found=$(find "$dir" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
    [ -n "$found" ] || { echo "no licence is found in $module" >&2; exit 1; }
    cat $found
  done
  printf '\n==== Fanfold\n'
  cat "$root/LICENSE"
} >"$DIST/LICENSES"

host=$(go env GOHOSTARCH)
for shell in bash:fanfold.bash zsh:_fanfold fish:fanfold.fish; do
  "$DIST/stage/$host/fanfold" completion "${shell%%:*}" >"$DIST/completions/${shell#*:}"
done

for arch in $ARCHES; do
  STAGE=$DIST/stage/$arch
  sed "s|\${GOARCH}|$arch|; s|\${PACKAGE_VERSION}|$PACKAGE_VERSION|; s|\${MADE}|$MADE|; s|\${STAGE}|$STAGE|; s|\${DIST}|$DIST|" nfpm.yaml >"$DIST/stage/nfpm.yaml"
  for packager in deb rpm; do
    go tool nfpm package --config "$DIST/stage/nfpm.yaml" --packager $packager --target "$DIST/"
  done
  name=fanfold-${version#v}-linux-$arch
  mkdir "$DIST/stage/$name"
  cp "$STAGE/fanfold" "$DIST/LICENSES" "$root/README.md" "$DIST/stage/$name"
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$DIST/stage" "$name" | gzip --no-name >"$DIST/$name.tar.gz"
  go tool cyclonedx-gomod bin -json -licenses -noserial -notimestamp -version "$version" -output "$DIST/$name.cdx.json" "$STAGE/fanfold"
done
go run ./image -out "$DIST/image" -version "$version" -revision "$revision" -epoch "$SOURCE_DATE_EPOCH" -licences "$DIST/LICENSES" "${images[@]}"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$DIST/image" . >"$DIST/fanfold-${version#v}-image.tar"

rm -rf "$DIST/stage" "$DIST/completions" "$DIST/image" "$DIST/.unfinished"
(cd "$DIST" && sha256sum -- *.tar.gz *.deb *.rpm *.tar *.cdx.json LICENSES >checksums.txt)
echo "$version is in $DIST:"
ls -l "$DIST"
