#!/bin/sh
# Takes out of a folder of installed packages what neither the service nor the jobs use: `trim.sh SITE-PACKAGES`.
# `check_imports.py` fails if it was too much. Needs strip of binutils.
set -eu
cd "$1"

# Replaces a file by a link to another one, if both are the same.
link_same() {
    if [ -e "$2" ] && cmp -s "$1" "$2"; then ln -sf "$(realpath --relative-to "$(dirname "$2")" "$1")" "$2"; fi
}

# tests, and what only compilers read
find . -type d \( -name tests -o -path ./pyarrow/include -o -path ./numpy/_core/include \) -prune -exec rm -r {} +
find . -type f \( -name "*.pyi" -o -name "*.pyx" -o -name "*.pxd" -o -name "*.pxi" -o -name "*.a" -o -name "*.h" \) -delete
rm -rf numpy/distutils numpy/random/lib numpy/_core/_simd.*.so numpy/_core/_*_tests.*.so pyarrow/src
rm -rf faiss/contrib scipy/_lib/_test_*.so pyarrow/_pyarrow_cpp_tests.*.so

# parts of Arrow that talk to other servers and file systems, and ORC
rm -f pyarrow/*flight* pyarrow/*arrow_s3* pyarrow/_s3fs* pyarrow/_hdfs* pyarrow/_gcsfs* pyarrow/_azurefs* pyarrow/*orc*
# wheels cannot hold links, so the wheel has the same library under three names
for versioned in pyarrow/libarrow_python*.so.*.*.*; do
    [ -e "$versioned" ] || continue
    short=${versioned%.*.*}
    link_same "$versioned" "$short"
    link_same "$versioned" "${short%.*}"
done

# parts of SciPy that hubless does not import
for part in cluster datasets differentiate fftpack io misc odr signal; do rm -rf "scipy/$part"; done
rm -f scipy/stats/_sobol_direction_numbers.npz
# NumPy and SciPy each bring a Fortran library; where it is the same, it is loaded once
for library in numpy.libs/*.so*; do link_same "$library" "scipy.libs/${library#*/}"; done

# Rich colours tracebacks, which are in Python
find pygments/lexers -type f ! -name "__init__*" ! -name "_mapping*" ! -name "python*" ! -name "special*" -delete

# a page of documents that the service does not show
rm -f fastapi_offline/static/redoc*

# Symbols that only debuggers read. Not in *.libs: strip breaks libraries that were patched to find each other there.
find . -type f -name "*.so*" ! -path "./*.libs/*" -exec strip --strip-unneeded {} +
