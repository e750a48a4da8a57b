#!/usr/bin/env bash
# Installs the Debian packages that fsr is built from, and only those that are missing. Root is asked for only then.
#   deploy/setup.sh          what building and testing need
#   deploy/setup.sh lint     also what `make format`, `make lint` and `make fuzz` need
set -euo pipefail

packages=(
  g++ cmake ninja-build make git ca-certificates    # the toolchain
  ccache                                            # rebuilds in seconds
  mold                                              # links a gRPC program in a second instead of ten
  pkg-config
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev  # the API
  libabsl-dev                                       # Status, Mutex, Time
  libsqlite3-dev libsqlitecpp-dev                   # the store
  libssl-dev                                        # SHA-256 and unguessable bits
  libfmt-dev libspdlog-dev                          # messages and logs
  libyaml-cpp-dev                                   # task.yaml
  libcli11-dev                                      # command lines
  libkainjow-mustache-dev                           # prompt templates
  nlohmann-json3-dev                                # answers in JSON
  catch2                                            # tests
)
if [ "${1:-}" = lint ]; then
  packages+=(clang-14 clang-format-14 clang-tidy-14
    libclang-rt-14-dev)                             # clang's sanitizers and fuzzer
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "fsr needs these Debian packages: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Install them as root, then run this again: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -e "${FSR_CUDA_ROOT:-/usr/local/cuda}/include/nvrtc.h" ]; then
  echo "No CUDA Toolkit under ${FSR_CUDA_ROOT:-/usr/local/cuda}: fsrd and fsr will be built, fsr-worker will not."
  echo "The worker needs CUDA Toolkit 13 (its headers and NVRTC); it needs no GPU. Set FSR_CUDA_ROOT if it lies elsewhere."
fi
