#!/bin/sh
# Takes out of a folder of installed packages what neither the service nor the jobs use: `trim.sh SITE-PACKAGES`.
# `check_imports.py` fails if it was too much. Needs strip of binutils.
set -eu
cd "$1"

# tests, and what only compilers read
find . -type d \( -name tests -o -path ./pyarrow/include -o -path ./numpy/_core/include \) -prune -exec rm -r {} +
find . -type f \( -name "*.pyi" -o -name "*.pyx" -o -name "*.pxd" -o -name "*.pxi" -o -name "*.a" -o -name "*.h" \) -delete

# parts of Arrow that talk to other servers and file systems, and ORC
rm -f pyarrow/*flight* pyarrow/*arrow_s3* pyarrow/_s3fs* pyarrow/_hdfs* pyarrow/_gcsfs* pyarrow/_azurefs* pyarrow/*orc*
# wheels cannot hold links, so the wheel has the same library under three names
for versioned in pyarrow/libarrow_python*.so.*.*.*; do
    [ -e "$versioned" ] || continue
    short=${versioned%.*.*}
    for copy in "$short" "${short%.*}"; do
        if cmp -s "$versioned" "$copy"; then ln -sf "$(basename "$versioned")" "$copy"; fi
    done
done

# parts of SciPy that hubless does not import
for part in cluster datasets differentiate fftpack io misc odr signal; do rm -rf "scipy/$part"; done

# symbols that only debuggers read: most of uvloop, a fifth of Arrow
strip --strip-unneeded uvloop/*.so
find pyarrow -type f -name "*.so*" -exec strip --strip-unneeded {} +
