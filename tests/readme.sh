#!/usr/bin/env bash
# readme.sh README FOLDER: writes each ```cpp program of the README to FOLDER/readme_N.cpp, and the
# ```text block that follows it to FOLDER/readme_N.txt.
mkdir -p "$2" && rm -f "$2"/readme_* && awk -v folder="$2" '
  /^```/ && file { close(file); file = ""; next }
  /^```cpp$/ { file = folder "/readme_" ++n ".cpp"; printf "" > file; next }
  /^```text$/ && n { file = folder "/readme_" n ".txt"; printf "" > file; next }
  file { print > file }
' "$1"
