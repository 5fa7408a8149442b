#!/bin/sh
# Build the C++ engine with the address and undefined-behaviour sanitizers, in a folder of its own, and run the engine's
# tests on it, on every instruction set of this machine.
#
#     sh tests/engines/sanitize.sh [pytest arguments]       PYTHON and CXX choose the tools
set -eu
project=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python}
compiler=${CXX:-g++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cp -r "$project/setup.py" "$project/pyproject.toml" "$project/csrc" "$project/src" "$folder"
rm -f "$folder"/src/slowfade/*.so
touch "$folder/README.md" "$folder/LICENSE"
cd "$folder"
flags="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
SLOWFADE_CFLAGS=$flags CC=$compiler CXX=$compiler "$python" setup.py -q build_ext --inplace >build.log 2>&1 || true
[ -f src/slowfade/_engine.so ] || { cat build.log; exit 1; }

cd "$project"
[ $# -gt 0 ] || set -- tests/engines/test_agreement.py tests/engines/test_cpu_lstm.py tests/engines/test_cpu_math.py \
    tests/test_layer.py tests/test_layer_extremes.py tests/test_layer_properties.py
sanitized() {
    LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)" \
        ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH="$folder/src" "$@"
}
for variant in $(sanitized "$python" -c 'from slowfade.engines import cpu; print(*cpu.variants())'); do
    echo "sanitizers on $variant"
    SLOWFADE_ISA=$variant sanitized "$python" -m pytest -q -x -p no:cacheprovider "$@"
done
