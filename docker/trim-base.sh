#!/bin/sh
# Takes out of the base image what nothing in the image uses: `trim-base.sh PYTHON`. Licences stay, and Debian's list of
# packages, which scanners read.
set -eu
python=$1

# hubless brings its packages with it, in an environment that does not see these
"$python" -c 'import site; print(*site.getsitepackages(), sep="\n")' | xargs rm -rf
rm -rf /usr/share/python-wheels
rm -f /usr/bin/pip* /usr/local/bin/pip* /usr/local/bin/wheel

# parts of Python to install, edit and draw with
stdlib=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
for part in ensurepip idlelib lib2to3 pydoc_data test tkinter turtledemo; do rm -rf "${stdlib:?}/$part"; done
rm -f /usr/local/bin/idle3* /usr/local/bin/2to3* /usr/bin/2to3*

# encodings for programs in C; Python brings its own
rm -rf /usr/lib/*/gconv

# lists and archives of apt, pages to read, and translations
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/* /tmp/*
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/* /usr/share/lintian /usr/share/bug
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -type l ! -name copyright ! -xtype d -delete
find /usr/share/doc -mindepth 1 -type d -empty -delete
