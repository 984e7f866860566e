# Shared by demos/run.sh and the notebooks' tests, after setup.sh: JupyterLab and the kernel.
notebooks=${XDG_CACHE_HOME:-$HOME/.cache}/xtape-notebooks
notebooks_python=$notebooks/bin/python

notebooks_installed() {
  cmp -s "$root/demos/notebooks/kernel/requirements.txt" "$notebooks/installed.txt"
}

# A virtual environment outside of the tree; for the next time only what it holds is compared.
install_notebooks() {
  install g++ nlohmann-json3-dev graphviz gnuplot-nox
  python3 -c 'import ensurepip, venv' 2>/dev/null || install python3-venv
  [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
    install python3-dev
  notebooks_installed && return
  local requirements=$root/demos/notebooks/kernel/requirements.txt
  stage "python3 -m venv" python3 -m venv --clear "$notebooks" || exit
  stage "pip install (some minutes)" "$notebooks_python" -m pip install --no-input \
    --disable-pip-version-check -r "$requirements" || exit
  # Cling compiles the standard library's headers in advance, once.
  stage "first start of Cling" "$notebooks_python" -c 'import cppyy' || exit
  cp "$requirements" "$notebooks/installed.txt"
}

# write_kernel FOLDER LIBRARIES: a kernel xcpp17 for the headers of this tree and that library.
write_kernel() {
  mkdir -p "$1/kernels/xcpp17" || exit
  "$notebooks_python" - "$root" "$2" >"$1/kernels/xcpp17/kernel.json" <<'PYTHON' || exit
import json, sys
root, libraries = sys.argv[1:]
print(json.dumps({
    "argv": [sys.executable, f"{root}/demos/notebooks/kernel/cling_kernel.py", "-f",
             "{connection_file}"],
    "display_name": "C++17", "language": "C++17",
    "env": {"XTAPE_INCLUDE": f"{root}/engine/include:{root}/ops/include",
            "XTAPE_LIBRARIES": libraries}}))
PYTHON
}
