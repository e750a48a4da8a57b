#!/usr/bin/env bash
# Packs the programs with the shared libraries they need, prompts and tasks into BUILD/../fsr-bundle.tar.gz: unpack it on
# another recent x86-64 Linux and run fsr/bin/fsr. Driver and CUDA Toolkit are not in it: they are opened at run time.
#   deploy/bundle.sh build/release
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/fsr
mkdir -p "$root/bin" "$root/lib" "$root/share/fsr"
cp -r prompts tasks "$root/share/fsr/"
cp README.md "$root/"
mkdir -p "$root/tests/gpu"
cp tests/gpu/*.sh tests/gpu/*.py "$root/tests/gpu/"

programs=(fsr fsrd fsr-worker)
for extra in gpu_tests gpu_bench profile_gpu_check; do [ -x "$build/bin/$extra" ] && programs+=("$extra"); done
for program in "${programs[@]}"; do
  [ -x "$build/bin/$program" ] || { echo "bundle: $build/bin/$program is missing; run make build" >&2; exit 1; }
  cp "$build/bin/$program" "$root/bin/"
done
# glibc and its loader belong to the machine the bundle runs on; everything else comes along and is found by $ORIGIN.
ldd "$root"/bin/* | awk '/=> \//{print $3}' | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux-x86-64)\.so' |
  xargs -I{} cp -Lu {} "$root/lib/"
tar -C "$stage" -czf "$(dirname "$build")/fsr-bundle.tar.gz" fsr
ls -l "$(dirname "$build")/fsr-bundle.tar.gz"
